from __future__ import annotations

from datetime import UTC, datetime
from math import inf

import pytest

from mesh.errors import ConfigError
from mesh.slots import slot_of
from peers.policy import edits
from peers.policy.crawl_order import GUIDE_WORDS_MAX, CrawlOrder, Order
from peers.policy.policy_file import difference, read_policy, write_policy
from peers.policy.rules import (
    EVERYTHING,
    OF_SEEDS,
    SYNONYMS_EACH_MAX,
    Action,
    Pin,
    Policy,
    Rule,
    policy_bytes,
    policy_in,
)
from peers.text.regional_words import WAYS_MAX

LIMITS = Rule(action=Action.CRAWL)


def scoped(*texts: str, policy: Policy | None = None) -> Policy:
    return edits.widened(policy, [edits.target(text) for text in texts], LIMITS)


def test_guide_words_come_to_those_that_there_are_up_to_their_limit() -> None:
    policy = edits.guided(scoped("a.org"), ("ice",), None)
    assert policy.ordering == CrawlOrder(order=Order.FOCUSED, guide_words=("ice",))
    assert not policy.has_room_for("http://b.org/")
    weight = edits.guided(None, ("ice",), Order.WEIGHT)
    assert edits.guided(weight, ("ice", "snow"), None).ordering == CrawlOrder(
        order=Order.WEIGHT, guide_words=("ice", "snow")
    )
    with pytest.raises(ConfigError, match="take some out"):
        edits.guided(policy, [f"w{n}" for n in range(GUIDE_WORDS_MAX)], None)
    with pytest.raises(ConfigError, match="weight, fish, focused"):
        edits.guided(policy, ("ice",), Order.DEPTH)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("pku.edu.cn", "https://www.pku.edu.cn/a", "https://tsinghua.edu.cn/"),
        ("PKU.edu.cn", "http://pku.edu.cn/", "http://edu.cn/"),
        ("北大.中国", "http://xn--djry4l.xn--fiqs8s/", "http://xn--fiqs8s/"),
        ("http://a.org/x", "http://a.org/x", "http://a.org/x/y"),
        ("http://a.org/x*", "http://a.org/x/y", "http://a.org/y"),
        ("HTTPS://A.org:443/X*", "https://a.org/Xy", "https://a.org/xy"),
        ("https://北大.中国/*", "https://xn--djry4l.xn--fiqs8s/x", "https://xn--fiqs8s/x"),
        ("https://*.A.org/*", "https://b.a.org/x", "https://a.org/x"),
        ("http*://a.org/*", "https://a.org/x", "https://b.org/x"),
        ("*.PDF", "https://a.org/x.PDF", "https://a.org/x.pdf"),
        ("127.0.0.1", "http://127.0.0.1:8080/", "http://127.0.0.2/"),
    ],
)
def test_target_is_a_domain_a_page_or_a_pattern(text: str, inside: str, outside: str) -> None:
    policy = scoped(text)
    assert policy.has_room_for(inside)
    assert not policy.has_room_for(outside)


@pytest.mark.parametrize("text", ["", "a b", "gopher://a.org/", "*****", "http://a.org/ä*"])
def test_what_is_no_target_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match=r"give one with|is neither|cannot be used|no URL"):
        edits.target(text)


@pytest.mark.parametrize(
    "text", ["a.org/*", "gopher://a.org/*", "//a.org/*", "http:/a.org/*", "https://a b/*"]
)
def test_pattern_that_matches_nothing_is_told_and_how_one_begins(text: str) -> None:
    with pytest.raises(ConfigError, match=r"begin a pattern with http://, https://, ftp:// or \*"):
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


@pytest.mark.parametrize("action", [Action.PAUSE, Action.TAKE_DOWN])
def test_a_pause_and_a_take_down_of_everything_outlast_any_change_of_scope(action: Action) -> None:
    of_all = Rule(action=action)
    policy = Policy(rules=(of_all, Rule(action=Action.SKIP)))
    for changed in (edits.anywhere(policy, LIMITS), scoped("a.org", policy=policy)):
        assert changed.rules[0] == of_all
        assert changed.rules[1].action is Action.CRAWL


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
        ("a = " + "[" * 5_000, "p.toml is not TOML"),
        ('[[rules]]\naction = "fly"', "Invalid enum value 'fly'"),
        ("[[rules]]\naction = 'crawl'\ndomain = ['a']", "unknown field `domain`"),
        ("[[rules]]\naction = 'skip'\nurls = ['a.org/*']", "begin a pattern with"),
        ("[[rules]]\naction = 'skip'\nurls = ['https://A.org/*']", "write it 'https://a.org/\\*'"),
        ("[[rules]]\naction = 'skip'\nurls = ['https://a.org']", "write it 'https://a.org/'"),
        ("synonyms = [['pku']]\n[[rules]]\naction = 'crawl'", "Expected `array` of length >= 2"),
        ("synonyms = [['pku', 'my lab']]\n[[rules]]\naction = 'crawl'", "“my lab” is none"),
        ("user_words = ['爱心社 n 3']\n[[rules]]\naction = 'crawl'", "“爱心社 n 3” is none"),
        ("user_words = ['爱']\n[[rules]]\naction = 'crawl'", "Expected `str` of length >= 2"),
    ],
)
def test_file_that_is_no_policy_is_told_with_the_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_policy(text, "p.toml")


def test_synonyms_stand_in_the_file_as_in_the_policy() -> None:
    text = 'synonyms = [["北大", "北京大学"]]\n[[rules]]\naction = "crawl"\n'
    policy = read_policy(text, "p.toml")
    assert policy.synonyms == (("北大", "北京大学"),)
    assert read_policy(write_policy(policy), "p.toml") == policy
    assert SYNONYMS_EACH_MAX == WAYS_MAX


def test_user_words_stand_in_the_file_as_in_the_policy() -> None:
    text = 'user_words = ["爱心社 12 n", "单片机"]\n[[rules]]\naction = "crawl"\n'
    policy = read_policy(text, "p.toml")
    assert policy.user_words == ("爱心社 12 n", "单片机")
    assert read_policy(write_policy(policy), "p.toml") == policy
    assert b"user_words" not in policy_bytes(scoped("a.org"))


def test_difference_of_two_policies_names_the_lines() -> None:
    old, new = write_policy(scoped("a.org")), write_policy(scoped("b.org"))
    assert '+domains = ["b.org"]' in difference(old, new)
    assert difference(old, old) == ""


def test_network_is_a_scope_of_its_own_to_which_others_are_added() -> None:
    policy = scoped("2001:db8::/32", "a.org", policy=scoped("162.105.0.0/16"))
    domains, networks, rest = sorted(policy.rules, key=lambda rule: (rule.action, len(rule.addresses)))
    assert domains.domains == ("a.org",)
    assert networks.addresses == ("162.105.0.0/16", "2001:db8::/32")
    assert rest == edits.NOTHING_ELSE
    assert read_policy(write_policy(policy), "x") == policy


def test_network_is_paused_and_resumed() -> None:
    halted = edits.paused(scoped("a.org"), edits.target("162.105.0.0/16"))
    rule = halted.host_rule("x.a.org", "162.105.3.4")
    assert rule is not None
    assert rule.action is Action.PAUSE
    assert edits.resumed(halted, edits.target("162.105.0.0/16")) == scoped("a.org")


END = datetime(2030, 1, 1, tzinfo=UTC)
BEFORE_S, AFTER_S = END.timestamp() - 1.0, END.timestamp()


def test_end_of_a_policy_becomes_one_of_each_rule_and_then_everything_is_crawled() -> None:
    policy = edits.ending(scoped("a.org"), END.timestamp())
    assert not policy.at(BEFORE_S).has_room_for("http://b.org/")
    assert policy.at(AFTER_S).has_room_for("http://b.org/")
    assert edits.ending(scoped("a.org"), inf) == scoped("a.org")
    assert read_policy(write_policy(policy), "x") == policy


def test_what_is_taken_down_or_paused_before_an_end_stays_so_after_it() -> None:
    policy = edits.taken_down(edits.ending(scoped("a.org"), AFTER_S), edits.target("http://a.org/x"), "")
    policy = edits.paused(policy, edits.target("a.org"))
    assert policy.is_taken_down("http://a.org/x")
    for now in (BEFORE_S, AFTER_S):
        rule = policy.at(now).host_rule("a.org")
        assert rule is not None
        assert rule.action is Action.PAUSE
        assert policy.at(now).is_taken_down("http://a.org/x")


def test_scope_that_is_added_before_an_end_holds_before_and_after_it() -> None:
    policy = scoped("b.org", policy=edits.ending(scoped("a.org"), AFTER_S))
    assert policy.at(BEFORE_S).has_room_for("http://b.org/")
    assert not policy.at(BEFORE_S).has_room_for("http://c.org/")
    assert not edits.goes_anywhere(policy)
    assert policy.at(AFTER_S).has_room_for("http://c.org/")
    assert not edits.goes_anywhere(policy.at(AFTER_S)), "it is as without a policy"


def test_rules_with_an_end_before_a_take_down_are_refused_in_a_file() -> None:
    with pytest.raises(ConfigError, match="behind all that take something down"):
        read_policy(
            '[[rules]]\naction = "crawl"\nuntil = 2030-01-01T00:00:00Z\n'
            '[[rules]]\naction = "take_down"\nhosts = ["a.org"]\n',
            "x",
        )


def test_pins_are_written_and_read_and_those_that_make_no_sense_are_refused() -> None:
    text = '[[rules]]\naction = "crawl"\n\n[[pins]]\npeer = "ann"\nhost = "a.test"\n\n'
    text += '[[pins]]\npeer = "bob"\nslot = 3\n\n[[pins]]\npeer = "cyd"\nslots = [2, 5]\n'
    policy = read_policy(text, "p.toml")
    assert read_policy(write_policy(policy), "p.toml") == policy
    assert policy.pinned(lambda host: slot_of(host, 50_000)) == {
        slot_of("a.test", 50_000): "ann",
        3: "bob",
        **dict.fromkeys((2, 4, 5), "cyd"),
    }
    assert policy_in(policy_bytes(policy)) == policy
    for pins in (
        '[[pins]]\npeer = "ann"\n',
        '[[pins]]\npeer = "ann"\nhost = "a.test"\nslot = 3\n',
        '[[pins]]\npeer = "ann"\nslot = 65536\n',
        '[[pins]]\npeer = "ann"\nslots = [5, 2]\n',
        '[[pins]]\npeer = "ann"\nslots = [0, 20000]\n',
        '[[pins]]\npeer = "ann"\nslot = 3\n\n[[pins]]\npeer = "bob"\nslot = 3\n',
    ):
        with pytest.raises(ConfigError, match=r"pin|Expected"):
            read_policy(pins, "p.toml")


def test_sites_that_are_shown_inside_only_are_written_and_read() -> None:
    text = '[[rules]]\naction = "crawl"\n\n[[inside]]\n'
    text += 'domains = ["journals.test"]\nnetworks = ["162.105.0.0/16", "2001:da8::/32"]\n'
    policy = read_policy(text, "p.toml")
    assert read_policy(write_policy(policy), "p.toml") == policy == policy_in(policy_bytes(policy))
    assert policy.hidden_from("162.105.3.4") == policy.hidden_from("2001:da8:0:1::/64") == ()
    for outside in ("162.106.3.4", "2001:db9::/64", "::1", "", "nobody"):
        assert policy.hidden_from(outside) == ("journals.test",)
    many = "".join(f'"a{n}.test", ' for n in range(17))
    for wrong in (
        'domains = ["a.test"]\n',
        'domains = []\nnetworks = ["10.0.0.0/8"]\n',
        'domains = ["a.test"]\nnetworks = ["10.0.0.1/8"]\n',
        'domains = ["a.test"]\nnetworks = ["2001:da8::/96"]\n',
        f'domains = [{many}]\nnetworks = ["10.0.0.0/8"]\n',
    ):
        with pytest.raises(ConfigError, match=r"inside|networks|host bits"):
            read_policy(f'[[rules]]\naction = "crawl"\n\n[[inside]]\n{wrong}', "p.toml")


def test_a_policy_says_when_another_one_was_to_follow() -> None:
    policy = read_policy('next_at = 1970-01-01T00:01:00Z\n[[rules]]\naction = "crawl"\n', "p.toml")
    assert (policy.late_s(59.0), policy.late_s(90.0), EVERYTHING.late_s(90.0)) == (0.0, 30.0, 0.0)
    assert read_policy(write_policy(policy), "p.toml") == policy


def test_of_two_pins_of_one_slot_the_first_counts() -> None:
    pins = (Pin(peer="ann", host="a.test"), Pin(peer="bob", slot=slot_of("a.test", 8)))
    assert Policy(pins=pins).pinned(lambda host: slot_of(host, 8)) == {slot_of("a.test", 8): "ann"}


@pytest.mark.parametrize("text", ["", "pages_max = 9\n", '[[pins]]\npeer = "ann"\nslot = 3\n'])
def test_a_file_without_a_rule_would_stop_the_crawl_and_is_refused(text: str) -> None:
    with pytest.raises(
        ConfigError, match="no rule, so nothing would be crawled: add it to what `tianmesh policy show`"
    ):
        read_policy(text, "p.toml")


def test_orders_to_a_mesh_without_a_policy_leave_it_on_the_domains_of_its_seeds() -> None:
    for policy in (edits.taken_down(None, edits.target("a.org"), ""), edits.paused(None, None)):
        assert policy.has_room_for("http://b.org/")
        assert not policy.has_room_for("http://b.org/", is_abroad=True)
        assert not edits.goes_anywhere(policy)
        assert edits.anywhere(policy, LIMITS).has_room_for("http://b.org/", is_abroad=True)


def test_at_its_end_a_policy_leaves_a_mesh_as_if_there_was_none() -> None:
    ending = edits.ending(edits.widened(None, [edits.target("a.org")], LIMITS), 100.0)
    assert not ending.at(50.0).has_room_for("http://b.org/")
    assert ending.at(100.0).rules == OF_SEEDS.rules
