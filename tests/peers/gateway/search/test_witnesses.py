"""Hits that a second member does not know: what is shown, who is asked again, and who is blamed."""

from __future__ import annotations

import pytest

from mesh.actors.actor import Address, Message
from mesh.actors.conduct import Misbehaved, Offence
from peers.gateway import searcher
from peers.gateway.errands.round import REPEAT_AFTER_S
from peers.gateway.search.doubts import AGAIN_AFTER_S, SUSPECT_AFTER, Doubt, Doubts
from peers.gateway.search.stage import READING_S_MAX
from peers.gateway.search.witness_recheck import ANSWER_S_MAX
from peers.gateway.search.witnesses import DENIALS_MAX
from peers.index.wire_messages import Excerpt, ExcerptsRead, ReadExcerpts
from tests.peers.gateway.mesh_of_three import PEERS, Conversation, ownership, url_of

REAL = [url_of("cyd", n, witness="bob") for n in range(3)]
INVENTED = [url_of("bob", n, witness="cyd") for n in range(20)]


def excerpt(url: str) -> Excerpt:
    return Excerpt(url, "title", "snippet", (), (), 0.0)


def asked_again(talk: Conversation) -> dict[str, tuple[str, ...]]:
    """Who is asked for which pages by what was sent last."""
    return {target.peer: message.urls for target, message in talk.sent if isinstance(message, ReadExcerpts)}


def found(*, invented: int, replicas: int = 2, k: int = 10) -> Conversation:
    """Bob has put hits that nobody else knows before all others; they are to be read."""
    talk = Conversation(ownership(replicas=replicas))
    talk.search("crawler", k=k)
    talk.all_counted(1)
    talk.found("ann")
    talk.found("bob", *((url, 2.0 - n / 100) for n, url in enumerate(INVENTED[:invented])))
    talk.found("cyd", *((url, 1.0 - n / 100) for n, url in enumerate(REAL)))
    return talk


def answer_as_if(talk: Conversation, known: list[str], unsettled: tuple[str, ...] = ()) -> None:
    """Let all that are asked answer, with what they know of these."""
    while questions := asked_again(talk):
        request, sent = talk.request, []
        for peer, urls in questions.items():
            excerpts = tuple(excerpt(url) for url in urls if url in known)
            left = tuple(url for url in urls if url in unsettled and url not in known)
            sent += talk.from_peer(peer, ExcerptsRead(request, excerpts, left))
        talk.sent = sent


def test_hit_is_read_from_another_member_than_the_one_that_gave_it() -> None:
    talk = found(invented=1)
    assert asked_again(talk) == {"bob": tuple(REAL), "cyd": (INVENTED[0],)}


def test_invented_hit_makes_room_for_another_one() -> None:
    talk = found(invented=1, k=2)
    answer_as_if(talk, REAL)
    assert [(hit.url, hit.is_confirmed) for hit in talk.answer().hits] == [(url, True) for url in REAL[:2]]
    assert talk.searcher.observe().hits_denied == 1
    assert talk.searcher.observe().cache_pages == 0


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_copy_of_another_domain_is_shown_under_a_hit_when_a_second_member_knows_it(
    *, is_known: bool, is_first: bool
) -> None:
    talk = Conversation(ownership())
    talk.search("crawler")
    talk.all_counted(1)
    talk.found("ann")
    talk.found("bob", (INVENTED[0], 2.0 if is_first else 0.5), content=7)
    talk.found("cyd", (REAL[0], 1.0), content=7)
    assert asked_again(talk) == {"bob": (REAL[0],), "cyd": (INVENTED[0],)}
    answer_as_if(talk, [REAL[0], *INVENTED[:is_known]])
    shown = [INVENTED[0], REAL[0]] if is_first else [REAL[0], INVENTED[0]]
    [hit] = talk.answer().hits
    assert [hit.url, *hit.also_at] == (shown if is_known else [REAL[0]])


def test_many_invented_hits_cost_one_round_more_and_no_place() -> None:
    talk = found(invented=20)
    rounds = 0
    while asked_again(talk):
        rounds += 1
        request, sent = talk.request, []
        for peer, urls in asked_again(talk).items():
            known = tuple(excerpt(url) for url in urls if url in REAL)
            sent += talk.from_peer(peer, ExcerptsRead(request, known))
        talk.sent = sent
    assert rounds == 2
    assert {hit.url for hit in talk.answer().hits} == set(REAL)


def test_few_denials_hide_nothing_else_of_a_member() -> None:
    talk = found(invented=DENIALS_MAX)
    answer_as_if(talk, REAL + INVENTED[1:])
    assert {hit.url for hit in talk.answer().hits} == {*REAL, *INVENTED[1:DENIALS_MAX]}


def test_hit_that_its_witness_can_say_nothing_of_is_shown_beside_invented_ones() -> None:
    talk = found(invented=20)
    while questions := asked_again(talk):
        request, sent = talk.request, []
        for peer, urls in questions.items():
            known = tuple(excerpt(url) for url in urls if peer == "bob")
            unsettled = tuple(url for url in urls if url == INVENTED[0])
            sent += talk.from_peer(peer, ExcerptsRead(request, known, unsettled if peer == "cyd" else ()))
        talk.sent = sent
    confirmed = {hit.url: hit.is_confirmed for hit in talk.answer().hits}
    assert confirmed == {INVENTED[0]: False} | dict.fromkeys(REAL, True)


def test_hit_that_its_witness_can_say_nothing_of_is_read_where_it_came_from() -> None:
    talk = found(invented=1)
    request = talk.request
    talk.from_peer("bob", ExcerptsRead(request, tuple(map(excerpt, REAL))))
    talk.from_peer("cyd", ExcerptsRead(request, (), (INVENTED[0],)))
    assert asked_again(talk) == {"bob": (INVENTED[0],)}
    talk.from_peer("bob", ExcerptsRead(talk.request, (excerpt(INVENTED[0]),)))
    confirmed = {hit.url: hit.is_confirmed for hit in talk.answer().hits}
    assert confirmed == {INVENTED[0]: False} | dict.fromkeys(REAL, True)


def test_hit_whose_witness_is_late_is_read_where_it_came_from() -> None:
    talk = found(invented=1)
    talk.from_peer("bob", ExcerptsRead(talk.request, tuple(map(excerpt, REAL))))
    talk.wait(REPEAT_AFTER_S)
    assert "bob" in asked_again(talk)
    talk.from_peer("bob", ExcerptsRead(talk.request, (excerpt(INVENTED[0]),)))
    confirmed = {hit.url: hit.is_confirmed for hit in talk.answer().hits}
    assert confirmed == {INVENTED[0]: False} | dict.fromkeys(REAL, True)


def test_hit_whose_witness_is_late_is_not_shown_where_who_gave_it_does_not_know_it() -> None:
    talk = found(invented=1)
    talk.from_peer("bob", ExcerptsRead(talk.request, tuple(map(excerpt, REAL))))
    talk.wait(REPEAT_AFTER_S)
    talk.from_peer("bob", ExcerptsRead(talk.request, ()))
    answer_as_if(talk, REAL)
    assert [(hit.url, hit.is_confirmed) for hit in talk.answer().hits] == [(url, True) for url in REAL]
    assert talk.searcher.observe().hits_denied == 1


def test_a_team_of_one_is_believed() -> None:
    talk = found(invented=1, replicas=1)
    assert INVENTED[0] in asked_again(talk)[talk.view.answerer_of(talk.view.slot_of(INVENTED[0][7:-1])) or ""]


# --- Asking again ----------------------------------------------------------------------------------


def reports(talk: Conversation) -> list[Message]:
    return [message for _, message in talk.sent if isinstance(message, Misbehaved)]


def in_doubt(*pairs: tuple[str, str], each: int = 1) -> Conversation:
    """Hits of claimants were denied by their witnesses; it is time to ask these again."""
    talk = denied(*pairs, each=each)
    talk.wait(AGAIN_AFTER_S)
    return talk


def denied(*pairs: tuple[str, str], each: int = 1) -> Conversation:
    """Hits of claimants were denied by their witnesses just now."""
    talk = Conversation()
    talk.search("crawler")
    talk.all_counted(1)
    for peer in PEERS:
        witnesses = [witness for claimant, witness in pairs if claimant == peer]
        urls = [url_of(peer, n, witness=witness) for witness in witnesses for n in range(each)]
        talk.found(peer, *((url, 1.0) for url in urls))
    answer_as_if(talk, [])
    assert talk.answer().hits == ()
    return talk


def test_witness_is_asked_again_and_what_it_knows_by_then_is_forgotten() -> None:
    talk = in_doubt(("bob", "cyd"), ("bob", "ann"), each=2)
    to_ann = tuple(url_of("bob", n, witness="ann") for n in range(2))
    assert {peer: set(urls) for peer, urls in asked_again(talk).items()} == {
        "cyd": set(INVENTED[:2]),
        "ann": set(to_ann),
    }
    answer_as_if(talk, [INVENTED[0], *to_ann], (INVENTED[1],))
    assert reports(talk) == []
    assert talk.searcher.observe().in_flight == 0


def test_doubts_go_while_a_gateway_has_its_hands_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """They stayed due, so that the searcher was woken without end."""
    talk = denied(("bob", "cyd"), ("bob", "ann"))
    monkeypatch.setattr(searcher, "ERRANDS_MAX", 0)
    talk.wait(AGAIN_AFTER_S)
    assert asked_again(talk) == {}
    assert talk.searcher.wake_at() > talk.now


def test_who_contradicts_several_members_is_blamed() -> None:
    talk = in_doubt(("bob", "cyd"), ("bob", "ann"), each=2)
    answer_as_if(talk, [])
    [report] = reports(talk)
    assert isinstance(report, Misbehaved)
    assert (report.peer, report.offence) == ("bob", Offence.CONTRADICTED)
    assert "cyd" in report.evidence or "ann" in report.evidence


def test_nobody_is_blamed_where_two_members_differ_with_nobody_else() -> None:
    talk = in_doubt(("bob", "cyd"), each=SUSPECT_AFTER)
    answer_as_if(talk, [])
    assert reports(talk) == []


def test_this_peer_believes_itself() -> None:
    talk = in_doubt(("bob", "ann"), each=SUSPECT_AFTER)
    answer_as_if(talk, [])
    assert [report.peer for report in reports(talk) if isinstance(report, Misbehaved)] == ["bob"]


def test_who_does_not_answer_has_contradicted_nobody() -> None:
    talk = in_doubt(("bob", "ann"), ("bob", "cyd"), each=2)
    talk.wait(ANSWER_S_MAX)
    assert reports(talk) == []
    assert talk.searcher.observe().in_flight == 0


@pytest.mark.parametrize("liar_is", ["claimant", "witness"])
def test_the_one_that_is_in_all_contradictions_is_suspect(liar_is: str) -> None:
    doubts = Doubts("me")
    others = ["ann", "bob", "cyd"]
    pairs = [("liar", other) if liar_is == "claimant" else (other, "liar") for other in others]
    wrong = doubts.note_contradictions([Doubt("http://a.test/", *pair) for pair in pairs], 0.0)
    assert set(wrong) == {"liar"}
    assert "liar" in doubts.suspects
    assert not any(other in doubts.suspects for other in others)


def test_members_that_all_differ_with_each_other_are_not_suspect() -> None:
    doubts = Doubts("me")
    pairs = [(a, b) for a in ("ann", "bob", "cyd") for b in ("ann", "bob", "cyd") if a != b]
    assert doubts.note_contradictions([Doubt("http://a.test/", *pair) for pair in pairs] * 5, 0.0) == {}


def test_contradictions_are_forgotten_with_time() -> None:
    doubts = Doubts("me")
    pairs = [Doubt("http://a.test/", "liar", other) for other in ("ann", "bob")]
    doubts.note_contradictions(pairs, 0.0)
    assert doubts.note_contradictions(pairs[:1], 1_000.0) == {}
    assert "liar" not in doubts.suspects


def test_a_suspect_is_no_witness() -> None:
    talk = in_doubt(("bob", "ann"), each=SUSPECT_AFTER)
    answer_as_if(talk, [])
    talk.search("crawler")
    talk.all_counted(1)
    for peer in ("ann", "bob"):
        talk.found(peer)
    talk.found("cyd", (REAL[0], 1.0))
    assert asked_again(talk) == {"cyd": (REAL[0],)}


def test_late_answers_are_waited_for_as_long_as_reading_may_take() -> None:
    talk = found(invented=1)
    talk.wait(READING_S_MAX)
    assert {hit.url for hit in talk.answer().hits} == {INVENTED[0], *REAL}
    assert Address("ann", "http") in [target for target, _ in talk.sent]
