from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from math import inf

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import ConfigError
from peers.engine.rescoring.model import ModelWeights
from peers.policy.log_rules import QueryLogRules, SecondRanking, SecondWeights
from peers.policy.policy_file import read_policy
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
    rule = next(policy.rules_for(url))
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


FTP_URL = "ftp://ftp.a.org/pub/"


@pytest.mark.parametrize(
    "rules",
    [
        (Rule(action=CRAWL),),
        (Rule(action=CRAWL, hosts=("ftp.a.org",)), Rule(action=CRAWL, domains=("a.org",))),
        (Rule(action=CRAWL, urls=("*", "http*", "*/pub/", "*ftp://ftp.a.org/*")),),
        (Rule(action=CRAWL, urls=("ftp://ftp.b.org/*",)), Rule(action=CRAWL)),
    ],
)
def test_no_rule_is_of_an_ftp_server_that_does_not_name_it(rules: tuple[Rule, ...]) -> None:
    policy = Policy(rules=rules)
    assert not policy.has_room_for(FTP_URL)
    assert action_of(policy, FTP_URL) is None
    assert policy.rule_for_page(FTP_URL, "inode/directory", "") is None


def test_a_pattern_opens_an_ftp_server_wherever_it_stands_and_other_rules_hold_for_it() -> None:
    opens = Rule(action=CRAWL, urls=("ftp://ftp.a.org/*", "*.html"), depth_max=3)
    for wide in (Rule(action=CRAWL), Rule(action=CRAWL, domains=("a.org",))):
        policy = Policy(rules=(wide, opens))
        assert policy.has_room_for(FTP_URL, 3)
        assert not policy.has_room_for(FTP_URL, 4)
        assert list(policy.rules_for(FTP_URL)) == [opens]
        assert policy.crawls_ftp
    assert action_of(Policy(rules=(Rule(action=SKIP, domains=("a.org",)), opens)), FTP_URL) is SKIP
    assert action_of(Policy(rules=(Rule(action=PAUSE, hosts=("ftp.a.org",)), opens)), FTP_URL) is PAUSE
    hidden = Policy(rules=(Rule(action=DOWN, domains=("ftp.a.org",)), opens))
    assert hidden.is_taken_down(FTP_URL)
    assert not hidden.is_taken_down("ftp://ftp2.a.org/")
    assert not Policy(rules=(Rule(action=SKIP, urls=("ftp://*",)), Rule(action=CRAWL))).crawls_ftp


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
        {"action": "take_down", "languages": ["en"]},  # nobody can tell by the URL
        {"action": "pause", "media_types": ["text/plain"]},
        {"action": "crawl", "languages": ["en"], "delay_s": 3.0},
        {"action": "skip", "languages": ["zh-CN"]},
        {"action": "skip", "media_types": ["html"]},
        {"action": "crawl", "hours": "25:00-26:00"},
        {"action": "crawl", "host": ["a.org"]},
        {"action": "fetch"},
        {"hosts": ["a.org"]},
    ],
)
def test_rule_that_means_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"rules": [wrong]}, Policy)


def test_rule_about_a_page_costs_the_urls_of_other_hosts_nothing() -> None:
    downs = (Rule(action=DOWN, urls=(f"http://h{n}.org/x", f"http://h{n}.org/*/y")) for n in range(1_999))
    policy = Policy(rules=(*downs, Rule(action=CRAWL)))
    assert policy.is_taken_down("http://h7.org/z/y")
    assert calls_of(policy.is_taken_down, "http://other.org/x") < 100


def calls_of(work: Callable[[str], object], url: str) -> int:
    """Count the calls and returns of functions."""
    events: list[str] = []
    sys.setprofile(lambda frame, event, argument: events.append(event))
    work(url)
    sys.setprofile(None)
    return len(events)


NAMES = st.sampled_from(["a.org", "x.a.org", "y.x.a.org", "b.org"])
PATTERNS = st.one_of(
    st.builds("http://{}/{}".format, NAMES, st.text("ab*", max_size=4)),
    st.builds("http://*{}{}".format, NAMES, st.sampled_from(["/*", "*", "/ab"])),
    st.text("ab*/.", min_size=1, max_size=4),
).filter(lambda pattern: pattern.count("*") <= WILDCARDS_MAX)
RULES = st.builds(
    Rule,
    action=st.sampled_from([CRAWL, SKIP, DOWN]),
    hosts=st.lists(NAMES, max_size=1).map(tuple),
    domains=st.lists(NAMES, max_size=1).map(tuple),
    urls=st.lists(PATTERNS, max_size=3).map(tuple),
)
URLS = st.builds("http://{}/{}".format, NAMES, st.text("ab/", max_size=5))


@given(st.lists(RULES, max_size=6), URLS)
def test_rule_that_is_found_is_the_one_that_trying_all_in_order_finds(rules: list[Rule], url: str) -> None:
    first = next((rule for rule in rules if matches(rule, url)), None)
    assert next(Policy(rules=tuple(rules)).rules_for(url)) is first


def matches(rule: Rule, url: str) -> bool:
    host = url.split("/")[2]
    of_host = host in rule.hosts or any(f".{host}".endswith(f".{domain}") for domain in rule.domains)
    patterns = (".*".join(map(re.escape, pattern.split("*"))) for pattern in rule.urls)
    of_url = any(re.fullmatch(pattern, url) for pattern in patterns)
    return (of_host or not (rule.hosts or rule.domains)) and (of_url or not rule.urls)


def test_pause_of_all_pauses_all_whatever_is_left_out_before() -> None:
    pause = Rule(action=PAUSE, reason="power cut")
    assert Policy(rules=(pause, Rule(action=CRAWL))).pauses_all
    down = Rule(action=DOWN, urls=("http://a.org/x",))
    assert Policy(rules=(down, Rule(action=PAUSE, hosts=("a.org",)), pause, Rule(action=CRAWL))).pauses_all
    assert not Policy(rules=(Rule(action=CRAWL, hosts=("a.org",)), pause)).pauses_all
    assert not Policy(rules=(Rule(action=SKIP), pause)).pauses_all
    assert not Policy(rules=(Rule(action=PAUSE, hosts=("a.org",)),)).pauses_all
    assert not EVERYTHING.pauses_all


def test_only_what_a_take_down_decides_is_taken_down() -> None:
    policy = Policy(rules=(Rule(action=DOWN, domains=("a.org",)), Rule(action=CRAWL)))
    assert policy.is_taken_down("https://www.a.org/x")
    assert not policy.is_taken_down("https://b.org/x")
    assert not EVERYTHING.is_taken_down("https://a.org/x")


CHINESE = Rule(action=CRAWL, domains=("a.org",), languages=("zh",))
NO_TEXT = Rule(action=SKIP, media_types=("text/plain",))


@pytest.mark.parametrize(
    ("rules", "is_visited", "kept"),
    [
        ((CHINESE, Rule(action=SKIP)), True, {"zh"}),
        ((NO_TEXT, Rule(action=CRAWL)), True, {"zh", "en", ""}),
        ((NO_TEXT, CHINESE, Rule(action=SKIP)), True, {"zh"}),
        ((NO_TEXT, Rule(action=SKIP)), False, set()),
        ((CHINESE,), True, {"zh"}),
    ],
)
def test_what_may_be_wanted_is_visited_and_what_is_wanted_is_kept(
    rules: tuple[Rule, ...], is_visited: bool, kept: set[str]
) -> None:
    policy, url = Policy(rules=rules), "http://a.org/"

    def is_kept(media_type: str, language: str) -> bool:
        rule = policy.rule_for_page(url, media_type, language)
        return rule is not None and rule.action is CRAWL

    assert policy.is_of_pages
    assert policy.has_room_for(url) is is_visited
    assert {language for language in ("zh", "en", "") if is_kept("text/html", language)} == kept
    if NO_TEXT in rules:
        assert not any(is_kept("text/plain", language) for language in ("zh", "en", ""))


def test_take_downs_and_clocks_of_hosts_do_not_wait_for_what_a_page_turns_out_to_be() -> None:
    down, slow = Rule(action=DOWN, urls=("http://a.org/x",)), Rule(action=CRAWL, delay_s=9.0)
    policy = Policy(rules=(CHINESE, NO_TEXT, down, slow))
    assert policy.is_taken_down("http://a.org/x")
    assert policy.host_rule("a.org") == slow
    assert not policy.pauses_all


def test_policy_is_the_same_after_a_way_as_bytes() -> None:
    policy = Policy(rules=(Rule(action=CRAWL, domains=("a.org",), hours="01:00-02:00"), Rule(action=SKIP)))
    assert policy_in(policy_bytes(policy)) == policy


CAMPUS, CLOUD = "162.105.0.0/16", "2001:db8::/32"


@pytest.mark.parametrize(
    ("address", "rule"),
    [
        ("162.105.1.1", 0),
        ("2001:db8::1", 1),
        ("2001:db9::1", 2),
        ("162.106.1.1", 2),
    ],
)
def test_first_rule_whose_network_the_host_is_in_decides(address: str, rule: int) -> None:
    rules = (
        Rule(action=SKIP, addresses=(CAMPUS,)),
        Rule(action=CRAWL, addresses=(CLOUD,)),
        Rule(action=SKIP),
    )
    assert list(Policy(rules=rules).rules_for("http://a.org/", address)) == [rules[rule]]


def test_url_is_queued_when_it_may_be_wanted_wherever_its_host_turns_out_to_be() -> None:
    inside = Policy(rules=(Rule(action=CRAWL, addresses=(CAMPUS,), depth_max=2), Rule(action=SKIP)))
    assert inside.has_room_for("http://a.org/", 2)
    assert not inside.has_room_for("http://a.org/", 3)
    outside = Policy(rules=(Rule(action=SKIP, addresses=(CAMPUS,)), Rule(action=CRAWL)))
    assert outside.has_room_for("http://a.org/", 3)


def test_where_the_host_is_in_no_network_of_a_rule_no_rule_decides() -> None:
    policy = Policy(rules=(Rule(action=CRAWL, addresses=(CAMPUS,)),))
    assert list(policy.rules_for("http://a.org/", "9.9.9.9")) == [None]


def test_delay_of_a_rule_with_networks_holds_for_hosts_that_are_there() -> None:
    slow, quick = Rule(action=CRAWL, addresses=(CAMPUS,), delay_s=9.0), Rule(action=CRAWL)
    policy = Policy(rules=(slow, quick))
    assert policy.host_rule("a.org", "162.105.1.1") == slow
    assert policy.host_rule("a.org", "9.9.9.9") == quick
    assert policy.host_rule("a.org") == quick


def test_what_is_taken_down_is_so_wherever_its_host_is() -> None:
    shown = Rule(action=CRAWL, addresses=(CAMPUS,))
    assert Policy(rules=(shown, Rule(action=DOWN, hosts=("a.org",)))).is_taken_down("http://a.org/")
    with pytest.raises(ValueError, match="not a matter of addresses"):
        Rule(action=DOWN, addresses=(CAMPUS,))


@pytest.mark.parametrize("network", ["162.105.1.1/16", "162.105/16", "1.2.3.4/33", "::1::/8"])
def test_what_is_no_network_is_told(network: str) -> None:
    with pytest.raises(ValueError, match=re.escape(network)):
        Rule(action=CRAWL, addresses=(network,))


def test_rule_that_has_ended_matches_nothing_any_more() -> None:
    end = datetime(2030, 1, 1, tzinfo=UTC)
    policy = Policy(rules=(Rule(action=SKIP, domains=("a.org",), until=end), Rule(action=CRAWL)))
    assert not policy.at(end.timestamp() - 1.0).has_room_for("http://a.org/")
    assert policy.at(end.timestamp()).has_room_for("http://a.org/")
    assert policy.next_end_s(0.0) == end.timestamp()
    assert policy.next_end_s(end.timestamp()) == inf
    assert policy_in(policy_bytes(policy)) == policy


def test_what_is_taken_down_depends_on_no_end() -> None:
    end = datetime(2030, 1, 1, tzinfo=UTC)
    with pytest.raises(ValueError, match="has no end"):
        Rule(action=DOWN, hosts=("a.org",), until=end)
    with pytest.raises(ValueError, match="behind all that take something down"):
        Policy(rules=(Rule(action=CRAWL, until=end), Rule(action=DOWN, hosts=("a.org",))))


def test_a_second_ranking_has_weights_of_features_that_there_are_and_wants_clicks() -> None:
    assert SecondWeights.__struct_fields__ == ModelWeights.__struct_fields__
    second = SecondRanking(name="titles", weights=SecondWeights(title=0.9, depth=0.0))
    policy = Policy(rules=EVERYTHING.rules, query_log=QueryLogRules(days=7, clicks=True, second=second))
    assert policy_in(policy_bytes(policy)) == policy
    assert ModelWeights(**second.weights.given) == ModelWeights(title=0.9, depth=0.0)
    with pytest.raises(ValueError, match="clicks = true"):
        QueryLogRules(days=7, second=second)
    with pytest.raises(ValueError, match="no weights of its own"):
        SecondRanking(name="same", weights=SecondWeights())


def test_other_weights_are_another_comparison() -> None:
    names = {
        SecondRanking(name="titles", weights=SecondWeights(**weights)).comparison
        for weights in ({"title": 0.9}, {"title": 0.8}, {"depth": 0.9}, {"title": 0.9})
    }
    assert len(names) == 3
    assert all(re.fullmatch(r"titles\.[0-9a-f]{8}", name) for name in names)


@pytest.mark.parametrize(
    "written",
    [
        '[query_log]\ndays = 7\nsecond = {name = "a", weights = {title = 0.9}}',
        '[query_log]\ndays = 7\nclicks = true\nsecond = {name = "A b", weights = {title = 0.9}}',
        '[query_log]\ndays = 7\nclicks = true\nsecond = {name = "a", weights = {beauty = 0.9}}',
        '[query_log]\ndays = 7\nclicks = true\nsecond = {name = "a", weights = {title = 2.1}}',
        '[query_log]\ndays = 7\nclicks = true\nsecond = {name = "a", weights = {}}',
    ],
)
def test_a_second_ranking_that_makes_no_sense_is_no_policy(written: str) -> None:
    rules = '[[rules]]\naction = "crawl"\n'
    with pytest.raises(ConfigError, match=r"policy\.toml"):
        read_policy(f"{rules}{written}", "policy.toml")
    good = '[query_log]\ndays = 7\nclicks = true\nsecond = {name = "a", weights = {title = 0.9}}'
    assert read_policy(f"{rules}{good}", "policy.toml").query_log is not None
