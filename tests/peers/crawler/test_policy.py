"""The crawl under a policy of the mesh: what is queued, what is asked, and when."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from mesh.actor import Send
from mesh.decree import POLICY, Decree
from mesh.membership.messages import DecreesInForce
from peers.crawler.politeness import PAUSED_LOOK_S, POLICY_REVIEW_S
from peers.crawler.wire_messages import FoundLink
from peers.policy.rules import Action, Policy, Rule, policy_bytes
from tests.peers.crawler.desk import Desk, asked

ORIGIN = "http://www.pku.edu.cn"
HOME, OTHER = f"{ORIGIN}/", "http://www.debian.org/"
REST = Rule(action=Action.SKIP)


def decree(desk: Desk, *rules: Rule) -> list[Send]:
    body = policy_bytes(Policy(rules=rules))
    made = Decree(POLICY, "", 1, 0.0, inf, body, b"", b"")
    return desk.tell(DecreesInForce(POLICY, (made,)), "membership")


def crawl(**limits: Any) -> Rule:
    return Rule(action=Action.CRAWL, domains=("pku.edu.cn",), **limits)


def test_links_out_of_scope_are_counted_and_kept_as_texts_but_not_queued() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, crawl(), REST)
    desk.seed(HOME, OTHER, anchor="a word", linker="x.org")
    assert desk.state_of(HOME) is not None
    assert desk.state_of(OTHER) is None
    assert desk.anchors_of(OTHER) != ()
    assert desk.observe().links_left_out == 1


def test_what_was_queued_before_is_not_asked_once_the_policy_leaves_it_out() -> None:
    desk = Desk(delay_s=0.0)
    desk.seed(HOME)
    decree(desk, REST)
    assert asked(desk.allow(ORIGIN)) == []
    assert desk.observe().fetch_status == {"policy": 1}
    decree(desk, crawl())
    assert asked(desk.wake(POLICY_REVIEW_S + 1.0)) == [f"{ORIGIN}/robots.txt"]


def test_page_that_no_rule_is_about_is_counted_as_an_error_of_the_policy() -> None:
    desk = Desk(delay_s=0.0)
    desk.seed(HOME)
    decree(desk, Rule(action=Action.CRAWL, domains=("debian.org",)))
    desk.allow(ORIGIN)
    assert desk.observe().fetch_status == {"unruled": 1}


@pytest.mark.parametrize(
    ("limits", "delay_s"), [({"delay_s": 9.0}, 9.0), ({"delay_s": 0.5}, 0.5), ({"pages_a_day": 2_880}, 30.0)]
)
def test_delay_of_a_rule_stands_for_the_peers_own(limits: dict[str, float], delay_s: float) -> None:
    desk = Desk(delay_s=2.0)
    decree(desk, crawl(**limits), REST)
    desk.seed(HOME)
    desk.allow(ORIGIN)
    assert asked(desk.wake(delay_s - 2.0)) == ([HOME] if delay_s > 2.0 else [])
    assert desk.observe().in_flight == 1


def test_robots_txt_that_wants_a_longer_delay_gets_it() -> None:
    desk = Desk(delay_s=2.0)
    decree(desk, crawl(delay_s=1.0), REST)
    desk.seed(HOME)
    desk.allow(ORIGIN, b"User-agent: *\nCrawl-delay: 20")
    assert asked(desk.wake(17.9)) == []
    assert asked(desk.wake(0.1)) == [HOME]


def test_paused_host_is_left_alone_and_asked_soon_after_it_is_resumed() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, Rule(action=Action.PAUSE, hosts=("www.pku.edu.cn",)), crawl())
    assert asked(desk.seed(HOME)) == []
    assert asked(desk.wake(10 * PAUSED_LOOK_S)) == []
    assert desk.observe().queued == 1
    decree(desk, crawl())
    assert asked(desk.wake(PAUSED_LOOK_S)) == [f"{ORIGIN}/robots.txt"]


def test_paused_mesh_asks_nobody_and_need_not_wake_for_it() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, Rule(action=Action.PAUSE), crawl())
    assert asked(desk.seed(HOME)) == []
    assert asked(desk.wake(1_000.0)) == []
    assert asked(decree(desk, crawl())) == [f"{ORIGIN}/robots.txt"]


def test_host_is_asked_only_within_its_hours() -> None:
    midnight = 20_000 * 86_400.0
    desk = Desk(delay_s=0.0, now=midnight + 3_600.0)
    decree(desk, crawl(hours="02:00-03:00"), REST)
    assert asked(desk.seed(HOME)) == []
    assert asked(desk.wake(3_599.0)) == []
    assert asked(desk.wake(1.0)) == [f"{ORIGIN}/robots.txt"]


def test_depth_and_pages_of_a_rule_are_limits() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, crawl(depth_max=1, pages_per_host_max=1), REST)
    desk.seed(HOME)
    desk.allow(ORIGIN)
    desk.store(HOME, FoundLink(f"{ORIGIN}/1"), FoundLink(f"{ORIGIN}/2"))
    desk.seed(f"{ORIGIN}/deep", depth=2)
    assert desk.state_of(f"{ORIGIN}/deep") is None
    desk.wake()
    assert desk.observe().fetch_status["host_budget"] == 2


def test_without_a_policy_everything_is_crawled_again() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, REST)
    desk.tell(DecreesInForce(POLICY, ()), "membership")
    assert asked(desk.seed(HOME)) == [f"{ORIGIN}/robots.txt"]
