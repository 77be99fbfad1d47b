from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from mesh.urls import canonical
from peers.crawler.model import robots
from peers.crawler.model.path_rules import STARS_MAX, WILDCARDS_MAX
from peers.crawler.model.robots import (
    FIELDS_MAX,
    ODD_BYTES_MAX,
    ROBOTS_BYTES_MAX,
    RobotsLine,
    RobotsRules,
    beginning_of,
    line_of,
    product_token,
    sitemaps_named,
)
from tests.processor import processor_seconds
from tests.shared_data import SHARED, shared

SITE = "http://a.test"
REAL_FILES_VARIABLE: Final = "TIANMESH_REAL_ROBOTS"


def parse(body: bytes, agent: str = "tianmesh") -> RobotsRules:
    return robots.parse(body, agent)


def rules_for_status(status: int, body: bytes) -> RobotsRules:
    return robots.rules_for_status(status, body, "tianmesh")


def allowed(robots: str, path: str, agent: str = "tianmesh") -> bool:
    return parse(robots.encode(), agent).allows(SITE + path)


# Google keeps the bytes of URL and rule as they are in these; ours are both canonical: escapes of unreserved
# characters undone, others written out, so that both spellings are one.
KNOWN_DIFFERENCES = [
    ("Allow: /foo/bar/ツ", "http://foo.bar/foo/bar/ツ"),
    ("Allow: /foo/bar/%E3%83%84", "http://foo.bar/foo/bar/ツ"),
    ("Allow: /foo/bar/%62%61%7A", "http://foo.bar/foo/bar/baz"),
]


@pytest.mark.more
def test_google_cases() -> None:
    cases = json.loads(shared("suites/robots-google/rep_cases.json").read_text(encoding="utf-8"))["cases"]
    assert len(cases) == 140
    with_urls = [(case, canonical(case["url"])) for case in cases if case["url"]]
    assert len(with_urls) == 136
    wrong = [
        (case["robots"].splitlines()[-1], case["url"])
        for case, url in with_urls
        if parse(case["robots"].encode(), case["agent"]).allows(url or "") != case["allowed"]
    ]
    assert wrong == KNOWN_DIFFERENCES


def test_rfc9309_2_2_1_the_most_specific_group_is_that_of_our_token() -> None:
    robots = "User-agent: *\nDisallow: /\n\nUser-agent: TianMesh/2.0 (x)\nDisallow: /private\n"
    assert allowed(robots, "/open")
    assert not allowed(robots, "/private/x")
    assert not allowed(robots, "/open", agent="other")


@pytest.mark.parametrize("token", ["tian", "tianmesh-news", "mesh", "xtianmesh"])
def test_rfc9309_2_2_1_parts_of_our_token_are_not_us(token: str) -> None:
    assert allowed(f"User-agent: {token}\nDisallow: /\n", "/")


def test_rfc9309_2_2_1_groups_of_the_same_token_are_joined() -> None:
    ours = "User-agent: tianmesh\nDisallow: /{}\n\n"
    robots = ours.format("a") + "User-agent: x\nDisallow: /\n\n" + ours.format("b")
    assert [allowed(robots, path) for path in ("/a", "/b", "/c")] == [False, False, True]


def test_rfc9309_2_2_2_longest_match_wins() -> None:
    robots = (
        "User-agent: *\nDisallow: /example/page/disallowed.gif\nAllow: /example/page/\nDisallow: /example/"
    )
    assert allowed(robots, "/example/page/x")
    assert not allowed(robots, "/example/page/disallowed.gif")
    assert not allowed(robots, "/example/")
    assert allowed(robots, "/other")


def test_rfc9309_2_2_2_allow_wins_a_tie() -> None:
    assert allowed("User-agent: *\nDisallow: /a\nAllow: /a\n", "/a")


def test_rfc9309_2_2_2_robots_txt_itself_is_always_allowed() -> None:
    assert allowed("User-agent: *\nDisallow: /\n", "/robots.txt")
    assert rules_for_status(503, b"").allows(SITE + "/robots.txt")
    assert not rules_for_status(503, b"").allows(SITE + "/robots.txt?x")


def test_rfc9309_2_2_3_wildcards_and_end() -> None:
    robots = "User-agent: *\nDisallow: /*.php$\nDisallow: /x*y\n"
    assert not allowed(robots, "/a/b.php")
    assert allowed(robots, "/a/b.php?c")
    assert not allowed(robots, "/x/1/y/2")


def test_rfc9309_2_2_2_escaped_and_raw_paths_are_one() -> None:
    for path in ("/中/", "/%e4%b8%ad/", "/%E4%B8%AD/"):
        assert not allowed(f"User-agent: *\nDisallow: {path}\n", "/%E4%B8%AD/x")


def test_paths_in_another_encoding_match_their_own_escapes() -> None:
    assert not parse("User-agent: *\nDisallow: /中".encode("gbk")).allows(SITE + "/%D6%D0")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 301, 308])
def test_rfc9309_2_3_1_3_unavailable_allows_all(status: int) -> None:
    rules = rules_for_status(status, b"User-agent: *\nDisallow: /")
    assert rules.allows(SITE + "/")


@pytest.mark.parametrize("status", [500, 502, 503, 504, 599, 429, 0, -1])
def test_rfc9309_2_3_1_4_unreachable_disallows_all_for_now(status: int) -> None:
    rules = rules_for_status(status, b"")
    assert not rules.allows(SITE + "/")


def test_rfc9309_2_3_1_1_success_is_parsed() -> None:
    rules = rules_for_status(200, b"User-agent: *\nDisallow: /x")
    assert [rules.allows(SITE + path) for path in ("/", "/x")] == [True, False]


def test_rfc9309_2_5_at_least_500_kib_are_read() -> None:
    head = "User-agent: *\n"
    rule = "Disallow: /x\n"
    filler = "#" * (ROBOTS_BYTES_MAX - len(head) - len(rule) - 1) + "\n"
    assert not allowed(head + filler + rule, "/x")
    assert allowed(head + filler + "#\n" + rule, "/x")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0" * 1000,
        b"<!doctype html><html><body>Not found</body></html>",
        bytes(range(256)) * 20,
        b"User-agent",
    ],
)
def test_garbage_allows_all(body: bytes) -> None:
    assert parse(body).allows(SITE + "/")


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_does_not_hide_the_first_group(codec: str) -> None:
    assert not parse("User-agent: *\nDisallow: /x\n".encode(codec)).allows(SITE + "/x")


@pytest.mark.parametrize(
    ("value", "delay_s"), [("2", 2.0), ("0.5", 0.5), ("3600", 3_600.0), ("0", 0.0), ("2 # s", 2.0)]
)
def test_crawl_delay_is_read(value: str, delay_s: float) -> None:
    assert parse(f"User-agent: *\nCrawl-delay: {value}\n".encode()).crawl_delay_s == delay_s


@pytest.mark.parametrize("value", ["", "soon", "-1", "nan", "inf", "1e999"])
def test_a_meaningless_crawl_delay_is_none(value: str) -> None:
    assert parse(f"User-agent: *\nCrawl-delay: {value}\n".encode()).crawl_delay_s is None


def test_crawl_delay_of_another_agent_is_not_ours() -> None:
    assert parse(b"User-agent: other\nCrawl-delay: 9\n").crawl_delay_s is None


def test_the_longest_crawl_delay_of_our_groups_counts() -> None:
    ours = b"User-agent: tianmesh\nCrawl-delay: 5\nCrawl-delay: 9\nCrawl-delay: 7\n"
    assert parse(ours + b"User-agent: *\nCrawl-delay: 99").crawl_delay_s == 9.0


@pytest.mark.more
def test_rfc9309_2_2_4_a_crawl_delay_does_not_end_a_group() -> None:
    body = shared("suites/robots-crawler-commons/crawl-delay-group-merging.txt").read_bytes()
    for agent, delay_s in (("mybot", 10.0), ("yourbot", None)):
        rules = parse(body, agent)
        assert rules.crawl_delay_s == delay_s
        assert not rules.allows(SITE + "/private/x")
    assert parse(body).crawl_delay_s == 30.0


def test_rules_around_a_crawl_delay_are_of_one_group() -> None:
    rules = parse(
        b"User-agent: a\nCrawl-delay: 7\nUser-agent: tianmesh\nDisallow: /x\n\nUser-agent: *\nAllow: /\n", "a"
    )
    assert rules.crawl_delay_s == 7.0
    assert not rules.allows(SITE + "/x")


@pytest.mark.parametrize(
    "names", ["a, tianmesh", "a tianmesh b", "tianmesh,a", "Mozilla/5.0 (compatible; tianmesh/1)"]
)
def test_several_agents_on_one_line_are_all_meant(names: str) -> None:
    assert not allowed(f"User-agent: {names}\nDisallow: /\n\nUser-agent: *\nAllow: /\n", "/")


def test_bytes_that_mean_nothing_in_an_encoding_forbid_nothing_there() -> None:
    """They were an empty path of GB 18030, which forbade the whole site."""
    rules = parse(b"User-agent: *\nDisallow: \xc6\xff\xff\n", "tianmesh")
    assert rules.allows(SITE + "/")
    assert rules.deciding(SITE + "/") is None


@pytest.mark.parametrize("encoding", ["latin-1", "gb18030"])
def test_rules_in_an_old_encoding_are_read_as_urls_spell_them(encoding: str) -> None:
    word = "caf\xe9s" if encoding == "latin-1" else "\u4e2d\u56fd"
    rules = parse(f"User-agent: *\nDisallow: /{word}/\n".encode(encoding))
    for url in (f"{SITE}/{word}/x", SITE + "/" + quote(word.encode(encoding)) + "/x"):
        assert not rules.allows(canonical(url) or "")
    assert rules.allows(SITE + "/caf")


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("tianmesh/0.1 (+https://tianmesh.example/bot)", "tianmesh"),
        ("My-Own_Bot 2", "My-Own_Bot"),
        ("bot2", "bot"),
        ("(x)", ""),
    ],
)
def test_rfc9309_2_2_1_the_product_token_begins_the_user_agent(user_agent: str, token: str) -> None:
    assert product_token(user_agent) == token


@pytest.mark.parametrize("agent", ["foobot", "FooBot"])
def test_the_group_of_our_token_is_ours_in_any_case(agent: str) -> None:
    assert not allowed("User-agent: FOOBOT/1.2\nDisallow: /\n", "/", agent=agent)


def test_what_is_kept_of_a_long_file_ends_with_a_whole_line() -> None:
    body = b"User-agent: *\nDisallow: /long-path\n" * 20_000
    kept = beginning_of(body)
    assert ROBOTS_BYTES_MAX - 40 < len(kept) <= ROBOTS_BYTES_MAX
    assert kept.endswith(b"\n")
    assert beginning_of(kept) == kept


def test_31_853_rules_are_obeyed_and_cost_no_more_per_url_than_ten() -> None:
    """As many as docs.oracle.com has; with more than 5,000 a host was forbidden."""
    body = b"User-agent: *\n" + b"".join(b"Disallow: /%04x\n" % number for number in range(31_853))
    rules = parse(body)
    assert not rules.allows(SITE + "/0000/x")
    assert not rules.allows(SITE + "/7c6c")
    assert rules.allows(SITE + "/x")
    assert processor_seconds(lambda: [rules.allows(f"{SITE}/ffff/{n}") for n in range(2_000)]) < 2.0


def test_wildcards_beyond_the_limit_forbid_no_less() -> None:
    lines = [f"Disallow: /{number}/*x$\n" for number in range(WILDCARDS_MAX + 10)]
    rules = "User-agent: *\n" + "".join(lines)
    for number in (0, WILDCARDS_MAX, WILDCARDS_MAX + 9):
        assert not allowed(rules, f"/{number}/x")
    assert allowed(rules, "/0/y")
    assert allowed(rules, "/x")


@pytest.mark.parametrize(
    "body",
    [
        b"user-agent: *\n" * 18_000 + b"allow: /a\n" * 30_000,
        b"".join(b"user-agent: a%d\n" % number for number in range(16_000)) * 2,
        b"user-agent: *\ndisallow: /" + b"*a" * 200_000 + b"$",
        b"user-agent: *\n" + b"".join(b"disallow: /*a*b*c*%d$\n" % number for number in range(20_000)),
        b"user-agent: *\n" + b"".join(b"disallow: /%b\n" % (b"a" * number) for number in range(900)),
    ],
)
def test_hostile_files_cost_little(body: bytes) -> None:
    assert processor_seconds(lambda: parse(body).allows(SITE + "/" + "abcd" * 500)) < 8.0


@given(st.binary(max_size=300))
def test_any_bytes_are_read(body: bytes) -> None:
    rules = parse(b"User-agent: *\nDisallow: /x\n" + body)
    assert isinstance(rules, RobotsRules)
    rules.allows(SITE + "/%FF?x")


@pytest.mark.more
def test_crawler_commons_files_are_read() -> None:
    folder = shared("suites/robots-crawler-commons")
    files = sorted(folder.glob("*.txt"))
    assert len(files) >= 20
    for path in files:
        parse(path.read_bytes()).allows(SITE + "/")
    longest = parse((folder / "rfc9309-example-longest-match-robots.txt").read_bytes(), "foobot")
    assert longest.allows("https://www.example.com/example/page/")
    assert not longest.allows("https://www.example.com/example/page/disallowed.gif")
    for name in ("robots-with-utf8-bom", "robots-with-utf16le-bom", "robots-with-utf16be-bom"):
        rules = parse((folder / f"{name}.txt").read_bytes())
        assert not rules.allows("http://www.newsweek.com/profile/x"), name


@pytest.mark.more
def test_4231_real_files_are_read_in_bounded_time_and_nearly_all_as_by_protego() -> None:
    """They are `tests/test_data` in the source distribution of protego, see the README of the shared data."""
    folder = Path(os.environ.get(REAL_FILES_VARIABLE, SHARED / "suites/robots-real"))
    if not folder.is_dir():
        pytest.skip(f"no folder of real robots.txt files: {REAL_FILES_VARIABLE} names none")
    files = sorted(folder.iterdir())
    assert len(files) == 4_231
    paths = ("/", "/search?q=x", "/wp-admin/x", "/a/b.html")
    slowest_s, others = 0.0, set()
    for path in files:
        body = path.read_bytes()
        started = time.process_time()
        rules = parse(body)
        answers = [rules.allows(SITE + each) for each in paths]
        sitemaps_named(f"{SITE}/robots.txt", body)
        slowest_s = max(slowest_s, time.process_time() - started)
        read = Protego.parse(body.decode("utf-8", "ignore"))
        if answers != [read.can_fetch(SITE + each, "tianmesh") for each in paths]:
            others.add(path.name)
        assert rules.crawl_delay_s == read.crawl_delay("tianmesh"), path.name
    assert slowest_s < 0.5
    # 25 have a Crawl-delay and no rule before the next line of agents: that ends no group by RFC 9309, 2.2.4,
    # as google/robotstxt has it. Three begin with a byte order mark, which protego takes for a name.
    assert len(others) == 28


def deciding_line(text: str, path: str) -> RobotsLine | None:
    deciding = parse(text.encode()).deciding(SITE + path)
    return None if deciding is None else robots.line_of(text.encode(), "tianmesh", deciding)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_that_decides_is_that_of_our_own_group_with_its_number(end: str) -> None:
    lines = [
        "User-agent: other",
        "Disallow: /private",
        "",
        "User-agent: Tianmesh/1.0",
        "Disallow:",
        "Dissallow /private  # not yet",
        "Allow: /private/%e4%b8%ad*$",
        "User-agent: *",
        "Disallow: /private",
    ]
    text = end.join(lines)
    assert deciding_line(text, "/private/x") == (6, "Dissallow /private  # not yet")
    assert deciding_line(text, "/private/%E4%B8%AD/x") == (7, lines[6])
    assert deciding_line(text, "/") is None


def test_rule_that_no_line_is_spelt_as_has_no_line() -> None:
    text = "User-agent: *\nDisallow: /\nAllow: /index.html\n"
    assert parse(text.encode()).allows(SITE + "/")
    assert deciding_line(text, "/") is None


@given(
    st.lists(
        st.sampled_from(
            [
                "User-agent: *",
                "User-agent: tianmesh",
                "User-agent: x",
                "",
                "Crawl-delay: 1",
                "Disallow: /a",
                "Allow: /a",
                "Disallow: /a*b",
                "Disallow:",
            ]
        ),
        max_size=9,
    )
)
def test_line_that_decides_is_needed_for_it(lines: list[str]) -> None:
    """Whatever groups there are: without all lines like it, what it says is not said."""
    found = deciding_line("\n".join(lines), "/a/b")
    if found is None:
        return
    assert lines[found.number - 1] == found.text
    emptied = [f"{line.partition(':')[0]}:" if line == found.text else line for line in lines]
    again = deciding_line("\n".join(emptied), "/a/b")
    assert again is None or again.text != found.text


def test_a_file_of_more_fields_than_anybody_has_forbids_everything() -> None:
    body = b"user-agent: *\n" + b"allow: /\n" * FIELDS_MAX
    assert not parse(body).allows(SITE + "/")
    assert parse(body[: -len(b"allow: /\n")]).allows(SITE + "/")
    assert line_of(body, "tianmesh", (False, "/")) is None


def test_stars_beyond_the_limit_forbid_no_less_and_are_not_searched_for() -> None:
    """2,000 patterns of 120 stars cost .027 s for each URL."""
    body = b"user-agent: *\n" + b"".join(b"disallow: /%d%b$\n" % (n, b"*a" * 120) for n in range(2_000))
    rules = parse(body)
    assert not rules.allows(f"{SITE}/1999/x")  # by what stands before its first star
    assert not rules.allows(f"{SITE}/0{'a' * 120}")
    assert rules.allows(f"{SITE}/0{'a' * 119}b")
    searched = sum(len(each.pieces) for each in rules.paths.wildcards)
    assert 0 < searched <= STARS_MAX + WILDCARDS_MAX  # and what stands behind the last one


def test_of_paths_with_too_many_odd_bytes_what_is_forbidden_stays_so() -> None:
    odd = b"\xe4" * 100
    many = b"".join(b"disallow: /%d%b\n" % (n, odd) for n in range(ODD_BYTES_MAX // 100))
    body = b"user-agent: *\n" + many + b"disallow: /last\xe4/\nallow: /last\xe4/open\n"
    rules = robots.parse(body, "tianmesh")
    assert rules.allows("http://a.test/0")
    assert not rules.allows("http://a.test/0" + "%E4" * 100)
    assert not rules.allows("http://a.test/last%E4/")
    assert not rules.allows("http://a.test/last%E4/open")
    assert rules.allows("http://a.test/other")
