"""What a member leaves out of its answers is found by those who would answer in its place."""

from __future__ import annotations

import pytest

from mesh.actors.actor import EVERYBODY, Message
from mesh.actors.conduct import Misbehaved
from peers.gateway.search.doubts import AGAIN_AFTER_S
from peers.gateway.search.stage import SEARCHING_S_MAX
from peers.gateway.search.stand_in_check import SEARCHES_EACH
from peers.index.wire_messages import Hit, HitsFound, SearchSlots
from tests.peers.gateway.mesh_of_three import PEERS, Conversation, url_of

COMPARED = "cyd"
KEPT_BACK = [url_of(COMPARED, n, witness="ann") for n in range(3)]


def compared() -> Conversation:
    """As many searches have been answered as it takes to compare one."""
    talk = Conversation()
    for number in range(SEARCHES_EACH):
        talk.search(f"word{number}")
        talk.all_counted(1)
        for peer in PEERS:
            talk.found(peer)
    return talk


def questions(talk: Conversation) -> dict[str, SearchSlots]:
    """What each peer is asked, by what was sent last."""
    asked: dict[str, SearchSlots] = {}
    for target, message in talk.sent:
        if isinstance(message, SearchSlots):
            everybody = target.peer == EVERYBODY
            asked |= dict.fromkeys(set(PEERS) - {COMPARED} if everybody else {target.peer}, message)
    return asked


def answer(talk: Conversation, hits: dict[str, list[str]], silent: str = "") -> list[Message]:
    """Let all that are asked answer with these hits, but for one; return who is reported."""
    reports: list[Message] = []
    for peer, question in questions(talk).items():
        if peer == silent:
            continue
        found = tuple(Hit(url, 1.0) for url in hits.get(peer, []))
        talk.from_peer(peer, HitsFound(question.request, talk.view.serving_epoch, 1, len(found), found))
        reports += [message for _, message in talk.sent if isinstance(message, Misbehaved)]
    return reports


def test_one_of_twenty_searches_is_asked_of_those_too_who_stand_in() -> None:
    talk = compared()
    asked = questions(talk)
    assert {peer: question.absent for peer, question in asked.items()} == {
        COMPARED: (),
        "ann": (COMPARED,),
        "bob": (COMPARED,),
    }
    assert answer(talk, {"ann": KEPT_BACK, COMPARED: KEPT_BACK}) == []
    assert talk.searcher.observe().in_flight == 0


def test_member_that_keeps_pages_to_itself_is_blamed_when_it_still_does() -> None:
    talk = compared()
    assert answer(talk, {"ann": KEPT_BACK}) == []
    talk.wait(AGAIN_AFTER_S)
    [report] = answer(talk, {"ann": KEPT_BACK})
    assert isinstance(report, Misbehaved)
    assert report.peer == COMPARED
    assert any(url in report.evidence for url in KEPT_BACK)
    assert talk.searcher.observe().in_flight == 0


def test_what_comes_late_is_no_contradiction() -> None:
    talk = compared()
    assert answer(talk, {"ann": KEPT_BACK}) == []
    talk.wait(AGAIN_AFTER_S)
    assert answer(talk, {"ann": KEPT_BACK, COMPARED: KEPT_BACK}) == []
    assert talk.searcher.observe().in_flight == 0


def test_stand_in_that_keeps_pages_to_itself_is_not_taken_for_right() -> None:
    talk = compared()
    mine = [url_of(COMPARED, n, witness="bob") for n in range(3)]
    assert answer(talk, {COMPARED: mine}) == []
    talk.wait(AGAIN_AFTER_S)
    assert answer(talk, {COMPARED: mine}) == []  # bob and cyd differ, and either may be wrong


@pytest.mark.parametrize("silent", ["ann", COMPARED])
def test_nothing_follows_where_somebody_does_not_answer(silent: str) -> None:
    talk = compared()
    assert answer(talk, {"ann": KEPT_BACK}, silent) == []
    talk.wait(SEARCHING_S_MAX)
    assert talk.searcher.observe().in_flight == 0


def test_hits_below_the_worst_that_were_given_are_not_missed() -> None:
    talk = compared()
    asked = questions(talk)
    better = [Hit(url_of(COMPARED, n), 2.0 - n / 1_000) for n in range(asked[COMPARED].k)]
    for peer, hits in ((COMPARED, better), ("ann", [Hit(url, 0.5) for url in KEPT_BACK]), ("bob", [])):
        epoch = talk.view.serving_epoch
        known = [
            hit for hit in better if talk.view.serving.team_of(talk.view.slot_of(hit.url[7:-1]))[1] == peer
        ]
        found = tuple(sorted([*hits, *known] if peer != COMPARED else hits, key=lambda hit: -hit.score))
        talk.from_peer(peer, HitsFound(asked[peer].request, epoch, 1, len(found), found))
    assert talk.searcher.observe().in_flight == 0
