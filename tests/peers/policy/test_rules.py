from __future__ import annotations

import msgspec
import pytest

from peers.policy.rules import (
    EVERYTHING,
    WILDCARDS_MAX,
    Action,
    Policy,
    Rule,
    policy_bytes,
    policy_in,
)

CRAWL, SKIP, PAUSE, DOWN = Action.CRAWL, Action.SKIP, Action.PAUSE, Action.TAKE_DOWN


def action_of(policy: Policy, url: str) -> Action | None:
    rule = policy.rule_for(url)
    return rule.action if rule is not None else None


def test_first_rule_that_matches_decides() -> None:
    policy = Policy(
        rules=(
            Rule(action=DOWN, urls=("https://a.pku.edu.cn/secret*",)),
            Rule(action=SKIP, hosts=("a.pku.edu.cn",)),
            Rule(action=CRAWL, domains=("pku.edu.cn",)),
        )
    )
    assert action_of(policy, "https://a.pku.edu.cn/secret/1") is DOWN
    assert action_of(policy, "https://a.pku.edu.cn/open") is SKIP
    assert action_of(policy, "https://b.a.pku.edu.cn/") is CRAWL  # hosts are matched alone
    assert action_of(policy, "https://pku.edu.cn/") is CRAWL
    assert action_of(policy, "https://notpku.edu.cn/") is None


def test_where_no_rule_matches_nothing_is_crawled() -> None:
    policy = Policy(rules=(Rule(action=CRAWL, domains=("a.org",)),))
    assert policy.has_room_for("http://a.org/")
    assert not policy.has_room_for("http://b.org/")
    assert not Policy().has_room_for("http://a.org/")
    assert EVERYTHING.has_room_for("http://b.org/", depth=1_000)


def test_all_kinds_of_conditions_of_a_rule_must_hold() -> None:
    policy = Policy(rules=(Rule(action=CRAWL, domains=("a.org",), urls=("*/docs/*", "*/en/*")),))
    assert policy.has_room_for("http://x.a.org/docs/1")
    assert policy.has_room_for("http://x.a.org/en/1")
    assert not policy.has_room_for("http://x.a.org/blog/1")
    assert not policy.has_room_for("http://b.org/docs/1")


def test_patterns_are_of_whole_urls_and_know_no_other_sign_than_the_star() -> None:
    policy = Policy(rules=(Rule(action=CRAWL, urls=("http://a.org/x.y?z=(1)",)),))
    assert policy.has_room_for("http://a.org/x.y?z=(1)")
    assert not policy.has_room_for("http://a.org/xzy?z=(1)")
    assert not policy.has_room_for("http://a.org/x.y?z=(1)2")


def test_depth_of_the_deciding_rule_is_the_limit() -> None:
    policy = Policy(rules=(Rule(action=CRAWL, domains=("a.org",), depth_max=2), Rule(action=CRAWL)))
    assert policy.has_room_for("http://a.org/", 2)
    assert not policy.has_room_for("http://a.org/", 3)
    assert policy.has_room_for("http://b.org/", 3)


def test_host_goes_by_the_first_rule_that_is_not_about_urls() -> None:
    slow = Rule(action=CRAWL, domains=("a.org",), delay_s=9.0)
    policy = Policy(rules=(Rule(action=SKIP, urls=("http://a.org/x*",)), slow, Rule(action=CRAWL)))
    assert policy.host_rule("www.a.org") == slow
    assert policy.host_rule("b.org") == Rule(action=CRAWL)


def test_pages_a_day_are_spread_over_it() -> None:
    assert Rule(action=CRAWL, pages_a_day=8_640).least_delay_s == 10.0
    assert Rule(action=CRAWL, pages_a_day=8_640, delay_s=30.0).least_delay_s == 30.0
    assert Rule(action=CRAWL).least_delay_s is None


@pytest.mark.parametrize(
    ("hours", "now", "opens"),
    [
        ("22:00-06:00", 23 * 3_600, 23 * 3_600),
        ("22:00-06:00", 5 * 3_600, 5 * 3_600),
        ("22:00-06:00", 6 * 3_600, 22 * 3_600),
        ("22:00-06:00", 21 * 3_600, 22 * 3_600),
        ("01:00-02:30", 2 * 3_600, 2 * 3_600),
        ("01:00-02:30", 3 * 3_600, 25 * 3_600),
        ("00:00-00:00", 3 * 3_600, 3 * 3_600),
    ],
)
def test_host_is_open_within_its_hours(hours: str, now: float, opens: float) -> None:
    day = 20_000 * 86_400.0
    assert Rule(action=CRAWL, hours=hours).opens_at(day + now) == day + opens


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": "crawl", "urls": ["*" * (WILDCARDS_MAX + 1)]},
        {"action": "pause", "urls": ["http://a.org/*"]},  # a host has one clock
        {"action": "crawl", "urls": ["http://a.org/*"], "delay_s": 3.0},
        {"action": "skip", "depth_max": 3},
        {"action": "crawl", "hours": "25:00-26:00"},
        {"action": "crawl", "host": ["a.org"]},
        {"action": "fetch"},
        {"hosts": ["a.org"]},
    ],
)
def test_rule_that_means_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"rules": [wrong]}, Policy)


def test_only_a_pause_without_conditions_in_front_pauses_all() -> None:
    assert Policy(rules=(Rule(action=PAUSE, reason="power cut"), Rule(action=CRAWL))).pauses_all
    assert not Policy(rules=(Rule(action=PAUSE, hosts=("a.org",)),)).pauses_all
    assert not EVERYTHING.pauses_all


def test_only_what_a_take_down_decides_is_taken_down() -> None:
    policy = Policy(rules=(Rule(action=DOWN, domains=("a.org",)), Rule(action=CRAWL)))
    assert policy.is_taken_down("https://www.a.org/x")
    assert not policy.is_taken_down("https://b.org/x")
    assert not EVERYTHING.is_taken_down("https://a.org/x")


def test_policy_is_the_same_after_a_way_as_bytes() -> None:
    policy = Policy(rules=(Rule(action=CRAWL, domains=("a.org",), hours="01:00-02:00"), Rule(action=SKIP)))
    assert policy_in(policy_bytes(policy)) == policy
