from __future__ import annotations

import pytest

from mesh.errors import ConfigError
from peers.policy import edits
from peers.policy.policy_file import difference, read_policy, write_policy
from peers.policy.rules import EVERYTHING, Action, Policy, Rule

LIMITS = Rule(action=Action.CRAWL)


def scoped(*texts: str, policy: Policy | None = None) -> Policy:
    return edits.widened(policy, [edits.target(text) for text in texts], LIMITS)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("pku.edu.cn", "https://www.pku.edu.cn/a", "https://tsinghua.edu.cn/"),
        ("PKU.edu.cn", "http://pku.edu.cn/", "http://edu.cn/"),
        ("北大.中国", "http://xn--djry4l.xn--fiqs8s/", "http://xn--fiqs8s/"),
        ("http://a.org/x", "http://a.org/x", "http://a.org/x/y"),
        ("http://a.org/x*", "http://a.org/x/y", "http://a.org/y"),
        ("127.0.0.1", "http://127.0.0.1:8080/", "http://127.0.0.2/"),
    ],
)
def test_target_is_a_domain_a_page_or_a_pattern(text: str, inside: str, outside: str) -> None:
    policy = scoped(text)
    assert policy.has_room_for(inside)
    assert not policy.has_room_for(outside)


@pytest.mark.parametrize("text", ["", "a b", "ftp://a.org/", "*****", "http://a.org/ä*"])
def test_what_is_no_target_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match=r"give one with|is neither|cannot be used|no URL"):
        edits.target(text)


def test_seeds_stay_on_their_registrable_domains() -> None:
    assert edits.domains_of(
        ["http://www.pku.edu.cn/x", "https://lib.pku.edu.cn/", "http://a.github.io/"]
    ) == (
        "pku.edu.cn",
        "a.github.io",
    )


def test_each_scope_is_added_to_those_before_and_stands_once() -> None:
    policy = scoped("b.org", policy=scoped("a.org"))
    assert policy.has_room_for("http://a.org/")
    assert policy.has_room_for("http://b.org/")
    assert not policy.has_room_for("http://c.org/")
    assert scoped("b.org", policy=policy) == policy


def test_what_a_person_skips_stays_skipped_when_the_scope_grows() -> None:
    written = Policy(rules=(Rule(action=Action.SKIP, hosts=("x.a.org",)), Rule(action=Action.SKIP)))
    policy = scoped("a.org", policy=written)
    assert policy.has_room_for("http://y.a.org/")
    assert not policy.has_room_for("http://x.a.org/")


def test_anywhere_opens_what_no_rule_is_about() -> None:
    policy = edits.anywhere(scoped("a.org"), LIMITS)
    assert policy.has_room_for("http://c.org/")
    assert edits.anywhere(None, LIMITS) == EVERYTHING


def test_pause_and_resume_leave_the_policy_as_it_was() -> None:
    before = scoped("a.org")
    for what in (None, edits.target("x.a.org")):
        halted = edits.paused(before, what)
        rule = halted.host_rule("x.a.org")
        assert rule is not None
        assert rule.action is Action.PAUSE
        assert edits.paused(halted, what) == halted
        assert edits.resumed(halted, what) == before
    with pytest.raises(ConfigError, match="not paused"):
        edits.resumed(before, None)


def test_take_down_goes_before_all_else_and_can_be_taken_back() -> None:
    before = edits.paused(scoped("a.org"), None)
    down = edits.taken_down(before, edits.target("http://a.org/x*"), "a court says so")
    assert down.is_taken_down("http://a.org/x1")
    assert not down.is_taken_down("http://a.org/y")
    assert down.rules[0].reason == "a court says so"
    assert edits.restored(down, edits.target("http://a.org/x*")) == before
    with pytest.raises(ConfigError, match="not taken down"):
        edits.restored(before, edits.target("http://a.org/x*"))


def test_take_down_without_a_policy_leaves_everything_else_as_it_was() -> None:
    down = edits.taken_down(None, edits.target("a.org"), "")
    assert down.is_taken_down("http://a.org/")
    assert down.has_room_for("http://b.org/")


def test_too_many_rules_are_told() -> None:
    policy = Policy(rules=tuple(Rule(action=Action.SKIP, hosts=(f"h{n}",)) for n in range(2_000)))
    with pytest.raises(ConfigError, match="2,001"):
        edits.taken_down(policy, edits.target("a.org"), "")


def test_policy_reads_as_it_was_written() -> None:
    policy = edits.taken_down(
        edits.paused(scoped("a.org", "http://b.org/*"), None), edits.target("c.org"), "x"
    )
    assert read_policy(write_policy(policy), "p.toml") == policy


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules = 3", "p.toml: Expected `array`"),
        ("[[rules]\n", "p.toml is not TOML"),
        ('[[rules]]\naction = "fly"', "Invalid enum value 'fly'"),
        ("[[rules]]\naction = 'crawl'\ndomain = ['a']", "unknown field `domain`"),
    ],
)
def test_file_that_is_no_policy_is_told_with_the_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_policy(text, "p.toml")


def test_difference_of_two_policies_names_the_lines() -> None:
    old, new = write_policy(scoped("a.org")), write_policy(scoped("b.org"))
    assert '+domains = ["b.org"]' in difference(old, new)
    assert difference(old, old) == ""
