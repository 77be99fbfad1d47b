"""The crawl under rules on where hosts are, which is known only when their names are looked up."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from mesh.actors.actor import Send
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from peers.crawler.model.address_rules import AddressRules, HostRule, PageRule
from peers.crawler.model.politeness import POLICY_REVIEW_S
from peers.crawler.model.web_request import FailureReason, FetchFailed, FetchPage
from peers.policy.rules import Action, Policy, Rule, policy_bytes
from tests.helpers import fetched
from tests.peers.crawler.desk import Desk, asked, of_kind

ORIGIN = "http://www.pku.edu.cn"
HOME, ROBOTS = f"{ORIGIN}/", f"{ORIGIN}/robots.txt"
CAMPUS, INSIDE, OUTSIDE = "162.105.0.0/16", "162.105.1.1", "9.9.9.9"
ALL, REST = Rule(action=Action.CRAWL), Rule(action=Action.SKIP)


def decree(desk: Desk, *rules: Rule, number: int = 1) -> list[Send]:
    body = policy_bytes(Policy(rules=rules))
    made = Decree(POLICY, "", number, 0.0, inf, body, b"", b"")
    return desk.tell(DecreesInForce(POLICY, (made,)), "membership")


def on_campus(action: Action = Action.CRAWL, **limits: Any) -> Rule:
    return Rule(action=action, addresses=(CAMPUS,), **limits)


def rules_of(sends: list[Send]) -> AddressRules:
    (request,) = of_kind(sends, FetchPage)
    assert request.address_rules is not None
    return request.address_rules  # type: ignore[no-any-return]


def look_up(desk: Desk, request: FetchPage, ip: str) -> list[Send]:
    """Answer a request as the fetcher does when the host turns out to be there."""
    verdict = None if request.address_rules is None else request.address_rules.at(ip)
    if verdict is None or verdict.is_to_ask:
        return desk.tell(fetched(request.url, 404 if request.url == ROBOTS else 200, ip=ip))
    pause_s = 0.0 if verdict.reason else verdict.pause_s
    return desk.tell(FetchFailed(request.url, FailureReason.POLICY, verdict.reason, pause_s, ip))


@pytest.mark.parametrize(
    ("rules", "is_asked_inside", "is_asked_outside"),
    [
        ((on_campus(), REST), True, False),
        ((on_campus(Action.SKIP), ALL), False, True),
        ((on_campus(),), True, False),
        ((on_campus(depth_max=0), Rule(action=Action.CRAWL, depth_max=0)), False, False),
    ],
)
def test_request_says_at_which_addresses_it_may_be_made(
    rules: tuple[Rule, ...], is_asked_inside: bool, is_asked_outside: bool
) -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, *rules)
    sends = desk.seed(HOME, depth=1)
    if not (is_asked_inside or is_asked_outside):
        assert asked(sends) == []
        return
    told = rules_of(sends)
    assert (told.at(INSIDE).is_to_ask, told.at(OUTSIDE).is_to_ask) == (is_asked_inside, is_asked_outside)


def test_request_says_nothing_of_addresses_where_they_make_no_difference() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, Rule(action=Action.CRAWL, domains=("pku.edu.cn",)), on_campus(), REST)
    (request,) = of_kind(desk.seed(HOME), FetchPage)
    assert request.address_rules is None


def test_page_whose_address_is_ruled_out_is_counted_once_and_not_fetched() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, on_campus(), REST)
    (request,) = of_kind(desk.seed(HOME), FetchPage)
    assert asked(look_up(desk, request, OUTSIDE)) == []
    assert desk.observe().fetch_status == {"policy": 1}
    assert desk.observe().links_left_out == 1
    assert desk.observe().in_flight == 0
    assert desk.state_of(HOME) == "Xpolicy"


def test_other_pages_of_such_a_host_are_left_out_without_another_look_up() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, on_campus(), REST)
    desk.wake(1.0)
    (request,) = of_kind(desk.seed(HOME), FetchPage)
    desk.seed(*(f"{ORIGIN}/{n}" for n in range(5)))
    assert asked(look_up(desk, request, OUTSIDE)) == []
    assert asked(desk.wake(1.0)) == []
    assert desk.observe().fetch_status == {"policy": 6}


def test_host_that_moved_is_looked_up_again_after_a_day() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, on_campus(), REST)
    (request,) = of_kind(desk.seed(HOME), FetchPage)
    look_up(desk, request, OUTSIDE)
    assert asked(desk.wake(POLICY_REVIEW_S + 1.0)) == [ROBOTS]


def test_address_that_no_rule_is_about_is_an_error_that_is_counted() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, on_campus())
    (request,) = of_kind(desk.seed(HOME), FetchPage)
    look_up(desk, request, OUTSIDE)
    assert desk.observe().fetch_status == {"unruled": 1}


def test_later_policy_that_wants_what_was_left_out_has_it_asked_at_once() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, on_campus(), REST)
    (request,) = of_kind(desk.seed(HOME), FetchPage)
    look_up(desk, request, OUTSIDE)
    desk.wake(1.0)
    decree(desk, ALL, number=2)
    assert asked(desk.wake(1.0)) == [ROBOTS]


@pytest.mark.parametrize(("limits", "delay_s"), [({"delay_s": 9.0}, 9.0), ({"pages_a_day": 2_880}, 30.0)])
def test_limits_of_a_rule_hold_for_hosts_that_are_where_it_says(
    limits: dict[str, Any], delay_s: float
) -> None:
    for ip, expected_s in ((INSIDE, delay_s), (OUTSIDE, 2.0)):
        desk = Desk(delay_s=2.0)
        decree(desk, on_campus(**limits), ALL)
        (request,) = of_kind(desk.seed(HOME), FetchPage)
        look_up(desk, request, ip)
        assert asked(desk.wake(expected_s - 0.1)) == []
        assert asked(desk.wake(0.1)) == [HOME]


def test_address_itself_is_left_alone_for_the_delay_of_its_rule() -> None:
    desk = Desk(delay_s=2.0)
    decree(desk, on_campus(delay_s=9.0), ALL)
    rules = rules_of(desk.seed(HOME))
    assert (rules.at(INSIDE).delay_s, rules.at(OUTSIDE).delay_s) == (9.0, 2.0)


def test_host_in_a_paused_network_waits_and_is_asked_as_soon_as_that_is_resumed() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, on_campus(Action.PAUSE), ALL)
    (request,) = of_kind(desk.seed(HOME), FetchPage)
    assert asked(look_up(desk, request, INSIDE)) == []
    assert asked(desk.wake(10.0)) == []
    assert desk.observe().fetch_status == {}
    assert desk.observe().queued == 1
    assert asked(decree(desk, ALL, number=2)) == [ROBOTS]


def test_host_in_a_paused_network_is_not_looked_up_again_meanwhile() -> None:
    desk = Desk(delay_s=0.0)
    decree(desk, on_campus(Action.PAUSE), ALL)
    (request,) = of_kind(desk.seed(HOME), FetchPage)
    look_up(desk, request, INSIDE)
    for _ in range(5):
        assert asked(desk.wake(3_600.0)) == []


def test_of_several_addresses_those_that_are_ruled_out_are_not_asked() -> None:
    rules = AddressRules((PageRule((CAMPUS,)), PageRule((), "policy")), (HostRule((), 0.0, 2.0),))
    assert rules.to_ask((OUTSIDE, INSIDE, "2001:db8::1")) == (INSIDE,)
    assert rules.refusal((OUTSIDE, "2001:db8::1"))[0] == OUTSIDE


def test_host_waits_rather_than_being_left_out_when_one_address_opens_later() -> None:
    rules = AddressRules(
        (PageRule((CAMPUS,)), PageRule((), "policy")),
        (HostRule((CAMPUS,), 60.0, 2.0), HostRule((), 0.0, 2.0)),
    )
    address, verdict = rules.refusal((OUTSIDE, INSIDE))
    assert (address, verdict.reason, verdict.pause_s) == (INSIDE, "", 60.0)
