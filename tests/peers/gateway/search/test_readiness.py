"""Whether a mesh answers for all slots, as one of its peers finds out."""

from __future__ import annotations

from mesh.actors.actor import Address
from peers.gateway.model.messages import CheckReadiness, Coverage, Lacking, ReadinessTold
from peers.gateway.model.readiness_json import ReadinessJson, readiness_json
from peers.gateway.searcher import Searcher
from peers.index.wire_messages import CountTerms
from tests.peers.gateway.mesh_of_three import EVERY_INDEXER, PEERS, SLOT_COUNT, Conversation, ownership

N_CYD = ownership().slots_answered["cyd"]


def begun() -> Conversation:
    talk = Conversation()
    [(target, question)] = talk.order(CheckReadiness(5))
    assert target == EVERY_INDEXER
    assert isinstance(question, CountTerms)
    assert (question.terms, question.absent) == ((), ())
    return talk


def told(talk: Conversation) -> ReadinessTold:
    [(target, message)] = talk.sent
    assert target == Address("ann", "http")
    assert isinstance(message, ReadinessTold)
    return message


def test_a_mesh_whose_peers_lack_nothing_is_ready() -> None:
    talk = begun()
    talk.all_counted()
    assert told(talk) == ReadinessTold(5, Coverage(SLOT_COUNT, SLOT_COUNT, 0))


def test_others_are_asked_for_what_a_peer_lacks_as_in_a_search() -> None:
    talk = begun()
    talk.counted("ann", ())
    talk.counted("bob", ())
    stand_ins = talk.counted("cyd", (), missing=N_CYD)
    assert {send.message.absent for send in stand_ins if isinstance(send.message, CountTerms)} == {("cyd",)}
    talk.counted("ann", ())
    talk.counted("bob", ())
    assert told(talk) == ReadinessTold(5, Coverage(SLOT_COUNT, SLOT_COUNT, 0))


def test_what_nobody_has_is_told_with_who_is_waited_for() -> None:
    talk = begun()
    talk.counted("ann", ())
    talk.counted("bob", ())
    talk.counted("cyd", (), missing=N_CYD)
    talk.counted("ann", (), missing=3)
    talk.counted("bob", ())
    coverage = Coverage(SLOT_COUNT, SLOT_COUNT - 3, 3)
    assert told(talk) == ReadinessTold(5, coverage, (Lacking("cyd", N_CYD, True),))


def test_peers_that_are_silent_are_waited_for_a_second_and_named() -> None:
    talk = begun()
    talk.counted("ann", ())
    while not talk.sent or talk.sent[0].target.actor != "http":
        talk.wait(0.1)
        assert talk.now < 5.0
    assert told(talk).coverage.missing > 0
    assert [each.has_answered for each in told(talk).lacking] == [False, False]


def test_a_peer_under_another_epoch_is_asked_again() -> None:
    talk = begun()
    talk.counted("ann", (), epoch=b"another.")
    for peer in PEERS[1:]:
        talk.counted(peer, ())
    [again] = talk.wait(0.15)
    assert again.target == Address("ann", "indexer")
    talk.counted("ann", ())
    assert told(talk).coverage.missing == 0


def test_when_others_answer_for_slots_it_begins_anew() -> None:
    talk = begun()
    first = talk.request
    talk.change_ownership(ownership(("ann", "bob")))
    assert talk.request != first
    assert talk.counted("cyd", (), request=first) == []
    talk.counted("ann", ())
    talk.counted("bob", ())
    assert told(talk).coverage == Coverage(SLOT_COUNT, SLOT_COUNT, 0)


def test_a_mesh_in_which_nobody_serves_says_so() -> None:
    searcher = Searcher("ann")
    talk = Conversation(ownership(()))
    talk.order(CheckReadiness(5))
    assert told(talk) == ReadinessTold(5, Coverage(SLOT_COUNT, 0, SLOT_COUNT), (), SLOT_COUNT)
    assert readiness_json(told(talk)).waits_for == (f"nobody answers for {SLOT_COUNT} slots yet",)
    [(_, refused)] = searcher.receive(Address("ann", "http"), CheckReadiness(5), 0.0)
    assert "starting" in refused.reason  # type: ignore[attr-defined]


def test_what_is_waited_for_is_said_in_words_the_most_first() -> None:
    lacking = (Lacking("bob", 3, True), Lacking("cyd", 2_000, False))
    assert readiness_json(ReadinessTold(5, Coverage(50_000, 47_997, 2_003), lacking)) == ReadinessJson(
        "waiting",
        50_000,
        47_997,
        2_003,
        ("cyd with 2,000 slots has not answered", "bob brings or compares what belongs to 3 slots"),
    )
    many = tuple(Lacking(f"p{n}", n + 1, True) for n in range(12))
    assert readiness_json(ReadinessTold(5, Coverage(99, 21, 78), many)).waits_for[-1] == "2 more peers"
