from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.robots import (
    CRAWL_DELAY_S_MAX,
    ROBOTS_BYTES_MAX,
    RULES_MAX,
    RobotsRules,
    parse,
    rules_for_status,
)
from tests.shared_data import shared

SITE = "http://a.test"


def allowed(robots: str, path: str, agent: str = "tianmesh") -> bool:
    return parse(robots.encode(), agent).allows(SITE + path)


# Google keeps the bytes of URL and rule as they are in these; ours are both canonical: escapes of unreserved
# characters undone, others written out, so that both spellings are one.
KNOWN_DIFFERENCES = [
    ("Allow: /foo/bar/ツ", "http://foo.bar/foo/bar/ツ"),
    ("Allow: /foo/bar/%E3%83%84", "http://foo.bar/foo/bar/ツ"),
    ("Allow: /foo/bar/%62%61%7A", "http://foo.bar/foo/bar/baz"),
]


def test_google_cases() -> None:
    cases = json.loads(shared("suites/robots-google/rep_cases.json").read_text(encoding="utf-8"))["cases"]
    assert len(cases) == 140
    wrong = [
        (case["robots"].splitlines()[-1], case["url"])
        for case in cases
        if parse(case["robots"].encode(), case["agent"]).allows(case["url"]) != case["allowed"]
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
    for robots in ("/中/", "/%e4%b8%ad/", "/%E4%B8%AD/"):
        assert not allowed(f"User-agent: *\nDisallow: {robots}\n", "/%E4%B8%AD/x")


def test_paths_in_another_encoding_match_their_own_escapes() -> None:
    assert not parse("User-agent: *\nDisallow: /中".encode("gbk")).allows(SITE + "/%D6%D0")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 301, 308])
def test_rfc9309_2_3_1_3_unavailable_allows_all(status: int) -> None:
    rules = rules_for_status(status, b"User-agent: *\nDisallow: /")
    assert rules.allows(SITE + "/")
    assert not rules.is_provisional


@pytest.mark.parametrize("status", [500, 502, 503, 504, 599, 429, 0, -1])
def test_rfc9309_2_3_1_4_unreachable_disallows_all_for_now(status: int) -> None:
    rules = rules_for_status(status, b"")
    assert not rules.allows(SITE + "/")
    assert rules.is_provisional


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
    ("value", "delay_s"), [("2", 2.0), ("0.5", 0.5), ("3600", CRAWL_DELAY_S_MAX), ("0", 0.0)]
)
def test_crawl_delay_is_kept_up_to_its_limit(value: str, delay_s: float) -> None:
    assert parse(f"User-agent: *\nCrawl-delay: {value}\n".encode()).crawl_delay_s == delay_s


@pytest.mark.parametrize("value", ["", "soon", "-1", "nan", "inf", "1e999"])
def test_a_meaningless_crawl_delay_is_none(value: str) -> None:
    assert parse(f"User-agent: *\nCrawl-delay: {value}\n".encode()).crawl_delay_s is None


def test_crawl_delay_of_another_agent_is_not_ours() -> None:
    assert parse(b"User-agent: other\nCrawl-delay: 9\n").crawl_delay_s is None


def test_sitemaps_are_absolute_distinct_and_limited() -> None:
    lines = [
        "Sitemap: http://A.test/s.xml",
        "sitemap: http://a.test/s.xml",
        "Sitemap: /relative",
        "Sitemap: ftp://x/",
    ]
    lines += [f"Sitemap: http://a.test/{number}" for number in range(200)]
    sitemaps = parse("\n".join(lines).encode()).sitemaps
    assert sitemaps[:2] == ("http://a.test/s.xml", "http://a.test/0")
    assert len(sitemaps) < 100


def test_too_many_rules_allow_nothing() -> None:
    robots = "User-agent: *\n" + "".join(f"Disallow: /{number}\n" for number in range(RULES_MAX + 1))
    assert not allowed(robots, "/x")
    assert allowed(robots.replace("User-agent: *", "User-agent: other"), "/x")


@pytest.mark.parametrize(
    "body",
    [
        b"user-agent: *\n" * 18_000 + b"allow: /a\n" * 30_000,
        b"".join(b"user-agent: a%d\n" % number for number in range(16_000)) * 2,
        b"user-agent: *\ndisallow: /" + b"*a" * 200_000 + b"$",
        b"user-agent: *\n" + b"disallow: /*a*b*c*d$\n" * RULES_MAX,
    ],
)
def test_hostile_files_cost_little(body: bytes) -> None:
    started = time.process_time()
    parse(body).allows(SITE + "/" + "abcd" * 500)
    assert time.process_time() - started < 1.0


@given(st.binary(max_size=300))
def test_any_bytes_are_read(body: bytes) -> None:
    rules = parse(b"User-agent: *\nDisallow: /x\n" + body)
    assert isinstance(rules, RobotsRules)
    rules.allows(SITE + "/%FF?x")


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
        assert rules.sitemaps == ("http://www.newsweek.com/sitemap_index.xml",)
