"""The limit of pages that the policy sets for the mesh as a whole."""

from __future__ import annotations

from math import inf

import pytest

from mesh.actors.actor import Send
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import CrawlLicensed, DecreesInForce, QueueMeasured
from peers.crawler.model.settings import Tuning
from peers.crawler.page_limit import ROUNDS, SETTLING_S, PageLimit
from peers.policy.rules import EVERYTHING, Policy, policy_bytes
from tests.helpers import ME
from tests.peers.crawler.desk import HOME, MINE, OTHER, Desk, asked, of_kind

PEERS = frozenset("abcde")


def decree(desk: Desk, pages_max: int | None, number: int = 1) -> list[Send]:
    body = policy_bytes(Policy(rules=EVERYTHING.rules, pages_max=pages_max))
    made = Decree(POLICY, "", number, 0.0, inf, body, b"", b"")
    return desk.tell(DecreesInForce(POLICY, (made,)), "membership")


@pytest.mark.parametrize("busy", [1, 2, 5])
@pytest.mark.parametrize("lag", [0, 1])
def test_limit_is_nearly_reached_and_not_passed_whoever_has_the_urls(busy: int, lag: int) -> None:
    """Each hears of the others as they were a round ago."""
    peers, visited = len(PEERS), [0] * len(PEERS)
    limits = [PageLimit() for _ in range(peers)]
    for limit in limits:
        limit.share_with(PEERS)
        limit.change(1_000)
    told = [[0] * peers] * 2
    for round_number in range(300):
        heard = told[-1 - lag]
        for peer, limit in enumerate(limits):
            limit.hear(sum(heard) - heard[peer], busy - (peer < busy), ROUNDS * round_number)
            limit.take(visited[peer], is_wanted=peer < busy)
            while peer < busy and limit.has_room(visited[peer]):
                visited[peer] += 1
        told.append([limit.claim(visited[peer]) for peer, limit in enumerate(limits)])
    assert 1_000 - busy < sum(visited) <= 1_000 + busy * lag
    assert all(limit.is_reached(visited[peer]) for peer, limit in enumerate(limits))


def test_no_other_part_is_taken_before_all_have_spoken_twice() -> None:
    limit = PageLimit()
    limit.share_with(frozenset("ab"))
    limit.change(80)
    limit.hear(0, 1, 2)
    assert limit.take(0, is_wanted=True)
    assert limit.claim(0) == 10
    limit.hear(0, 1, 3)
    assert not limit.take(10, is_wanted=True)
    assert not limit.has_room(10)
    limit.hear(10, 1, 4)
    assert limit.take(10, is_wanted=True)
    assert limit.claim(10) == 17


def test_slots_that_come_or_go_neither_give_nor_take_room() -> None:
    limit = PageLimit()
    limit.share_with(frozenset("ab"))
    limit.change(80)
    limit.hear(0, 1, 2)
    limit.take(20, is_wanted=True)
    room = limit.claim(0) - 20
    limit.move(-20)
    assert limit.has_room(room - 1)
    assert not limit.has_room(room)


def test_weights_that_change_make_nobody_wait() -> None:
    limit = PageLimit()
    assert limit.share_with(frozenset("ab"))
    limit.change(80)
    limit.hear(0, 1, 2)
    assert not limit.share_with(frozenset("ab"))
    assert limit.take(0, is_wanted=True)


def test_part_that_nobody_wants_here_is_given_back() -> None:
    limit = PageLimit()
    limit.share_with(frozenset("ab"))
    limit.change(80)
    limit.hear(0, 1, 2)
    limit.take(0, is_wanted=True)
    limit.take(3, is_wanted=False)
    assert limit.claim(3) == 3


def test_peer_alone_visits_as_many_pages_as_the_policy_says_and_keeps_the_others_queued() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, 2)
    desk.seed(HOME, *(f"{HOME}{n}" for n in range(5)))
    sends = desk.allow()
    for _ in range(2):
        (url,) = asked(sends)
        sends = desk.store(url) + desk.wake(1.0)
    assert asked(sends) == []
    seen = desk.observe()
    assert (seen.pages_max, seen.queued, seen.is_idle) == (2, 4, True)
    assert desk.controller.wake_at() == inf
    assert len(asked(decree(desk, 3, number=2))) == 1
    assert not desk.observe().is_idle
    assert desk.observe().pages_max == 3, "what is being asked for is the last"


def test_limit_that_is_taken_back_holds_no_more() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, 1)
    desk.with_home_asked(f"{HOME}1")
    assert asked(desk.store(HOME) + desk.wake(1.0)) == []
    assert asked(decree(desk, None, number=2)) == [f"{HOME}1"]


def test_peer_takes_its_part_of_what_the_others_have_left() -> None:
    desk = Desk(peers=(ME, OTHER), delay_s=0.0)
    decree(desk, 12)
    desk.tell(CrawlLicensed(desk.now + 9.0, 12, 1, 2), "membership")
    assert asked(desk.seed(f"{MINE}/")) == []
    assert asked(desk.tell(CrawlLicensed(desk.now + 9.0, 9, 1, 4), "membership")) == [f"{MINE}/robots.txt"]


def test_nobody_begins_a_visit_while_the_counts_of_new_owners_are_not_told() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, 1_000)
    desk.share((ME, OTHER))
    assert asked(desk.seed(f"{MINE}/")) == []
    assert asked(desk.tell(CrawlLicensed(desk.now + 9.0, 0, 1, 2), "membership")) == []
    assert asked(desk.wake(SETTLING_S)) == [f"{MINE}/robots.txt"]


def test_what_is_taken_is_told_to_the_others_at_once() -> None:
    desk = Desk(peers=(ME, OTHER), delay_s=0.0, tuning=Tuning(measure_s=60.0))
    decree(desk, 80)
    desk.seed(f"{MINE}/", f"{MINE}/1")
    desk.news.clear()
    desk.tell(CrawlLicensed(desk.now + 9.0, 0, 1, 2), "membership")
    assert of_kind(desk.news, QueueMeasured) == [QueueMeasured(2, 10)]
