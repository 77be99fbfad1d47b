from __future__ import annotations

import csv
import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.urls import (
    RAW_URL_CHARS_MAX,
    URL_CHARS_MAX,
    canonical,
    canonical_links,
    canonical_with_ftp,
    fingerprint,
    has_host,
    has_login,
    host_of,
    hostname_of,
    is_canonical,
    looks_like_trap,
    origin_of,
)
from tests.shared_data import shared

BASE = "http://a.com/x/y?z=/1"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://EXAMPLE.com", "http://example.com/"),
        ("http://a.com:80/", "http://a.com/"),
        ("https://a.com:443/", "https://a.com/"),
        ("https://a.com:80/", "https://a.com:80/"),
        ("http://a.com/p#fragment?no-query", "http://a.com/p"),
        ("http://a.com/p?", "http://a.com/p"),
        ("http://a.com/p??", "http://a.com/p??"),  # the query is a question mark
        ("http://a.com/p???#", "http://a.com/p???"),
        ("http://a.com/p?a?", "http://a.com/p?a?"),
        ("http://a.com??", "http://a.com/??"),
        ("http://user:secret@a.com/@b", "http://a.com/@b"),
        ("http://user@example@a.com/", "http://a.com/"),
        ("http://a.com/%7euser/%41%2f%e4", "http://a.com/~user/A%2F%E4"),
        ("http://a.com/?q=%7e%2b", "http://a.com/?q=~%2B"),
        ("http://a.com/100%", "http://a.com/100%25"),
        ("http://a.com/%%32e", "http://a.com/%252e"),
        ("http://a.com/%2e%2E/b/%2e/c", "http://a.com/b/c"),
        ("http://a.com/中文?查=询", "http://a.com/%E4%B8%AD%E6%96%87?%E6%9F%A5=%E8%AF%A2"),
        ("http://例子.中国/", "http://xn--fsqu00a.xn--fiqs8s/"),
        ("http://faß.de/", "http://xn--fa-hia.de/"),
        ("https:\\\\x.cn\\a", "https://x.cn/a"),
        (" http://a.com/\n", "http://a.com/"),
        ("http://a.com/a\tb\nc", "http://a.com/abc"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
    ],
)
def test_a_url_has_one_spelling(url: str, expected: str) -> None:
    assert canonical(url) == expected
    assert canonical(expected) == expected


@pytest.mark.parametrize(
    "spelling",
    ["127.1", "0x7f.1", "0177.0.0.1", "2130706433", "①②⑦.0.0.1", "127。0。0。1", "127.0.0.1", "0x7F000001"],
)
def test_every_spelling_of_an_ipv4_address_becomes_the_address(spelling: str) -> None:
    assert canonical(f"http://{spelling}/") == "http://127.0.0.1/"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a.com/x",
        "ftp://a.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,x",
        "mailto:a@b.c",
        "gopher://a.com/",
        "http://",
        "http://a b/",
        "http://a.com:99999/",
        "http://256.256.256.256/",
        "http://a.com/\ud800",
        "http://[::1/",
    ],
)
def test_what_cannot_be_fetched_is_refused(url: str) -> None:
    assert canonical(url) is None


def test_length_is_limited_after_canonicalisation() -> None:
    stem = "http://a.com/"
    longest = stem + "a" * (URL_CHARS_MAX - len(stem))
    assert canonical(longest) == longest
    assert canonical(longest + "a") is None
    assert canonical(stem + "中" * 300) is None  # nine characters each
    assert canonical(longest + "#" + "f" * 1000) == longest
    assert canonical(longest + "#" + "f" * RAW_URL_CHARS_MAX) is None


HOSTS = [
    "a.com",
    "1.2.com",
    "1.2.3.4",
    "a.0x1",
    "xn--a.com",
    "b.xn--a.com",
    "A.com",
    "a..com",
    "-a.com",
    "com",
]


@given(
    st.sampled_from([*HOSTS, "a.com:80", "a.com.", "u@a.com", "l" * 64 + ".com"]),
    st.text("/.ab~_-%2Eé?#", max_size=9),
)
def test_what_looks_canonical_is(host: str, rest: str) -> None:
    for url in (f"http://{host}{rest}", f"https://{host}/{rest}", f"ftp://{host}/{rest}"):
        assert is_canonical(url) == (canonical_with_ftp(url) == url)


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("FTP://Ftp.A.org", "ftp://ftp.a.org/"),
        ("ftp://a.org:21/pub", "ftp://a.org/"),
        ("ftp://a.org:2121/pub/x.iso;type=a?b#c", "ftp://a.org:2121/pub/"),
        ("ftp://me:secret@a.org/pub/../%7ea/", "ftp://a.org/~a/"),
        ("ftp://a.org/%b0%a1%zz/", "ftp://a.org/%B0%A1%25zz/"),
        ("ftp://[2001:db8::1]/", "ftp://[2001:db8::1]/"),
        ("ftp://a.org/a%0d%0aDELE%20b/", None),
        ("ftp://a.org/a%00/", None),
        ("ftp://a/", None),
        ("ftp:///a/", None),
        ("ftps://a.org/", None),
        ("ftp://" + "a" * 64 + ".org/", None),
        ("ftp://a.org/" + "b" * URL_CHARS_MAX + "/", None),
    ],
)
def test_a_url_of_an_ftp_server_is_that_of_a_directory(url: str, form: str | None) -> None:
    assert canonical_with_ftp(url) == form
    assert canonical(url) is None
    if form is not None:
        assert is_canonical(form)
        assert has_host(form)
        assert form.startswith(origin_of(form) + "/")


@given(st.text("/.ab~_-%2Eé?#@:;[]", max_size=30))
def test_the_form_of_an_ftp_url_is_stable(rest: str) -> None:
    url = canonical_with_ftp(f"ftp://{rest}")
    if url is not None:
        assert url.isascii()
        assert url.endswith("/")
        assert is_canonical(url)
        assert has_host(url)
        assert host_of(url) == host_of(origin_of(url)) in url


def test_links_of_pages_are_of_the_web_unless_others_are_wanted() -> None:
    hrefs = ["/a", "ftp://a.org/pub/file", "mailto:a@b.org"]
    assert canonical_links(BASE, hrefs)[1:] == [None, None]
    assert canonical_links(BASE, hrefs, with_ftp=True)[1:] == ["ftp://a.org/pub/", None]


@given(st.text(max_size=60), st.sampled_from(["", "http://a.com/", "https://a.com/?", "http://", "//b/"]))
def test_the_form_is_stable_and_ascii(text: str, prefix: str) -> None:
    url = canonical(prefix + text, BASE)
    if url is not None:
        assert url.isascii()
        assert url.startswith(("http://", "https://"))
        assert canonical(url) == url
        assert url.startswith(origin_of(url) + "/")
        assert host_of(url) == host_of(origin_of(url)) in url
        assert len(url) <= URL_CHARS_MAX


PIECES = (
    *(
        "a",
        "B",
        "/",
        "//",
        "?",
        "??",
        "#",
        "%",
        "%4",
        "%41",
        "%2e",
        "%2E",
        "%2f",
        "%25",
        "%7e",
        "%zz",
        "%C3%A9",
    ),
    *(
        ".",
        "..",
        "./",
        "../",
        ":",
        ":80",
        ":443",
        ":8080",
        "@",
        "u:p@",
        "[::1]",
        "1.2.3",
        "0x7f.1",
        "&",
        "=",
        "+",
    ),
    *(
        "example.org",
        "EXAMPLE.org.",
        "xn--bcher-kva",
        "bücher",
        "中文",
        "。",
        "ß",
        "İ",
        "é",
        "\u0301",
        "\u200d",
    ),
    *(" ", "\t", "\n", "\\", "|", "'", '"', "<", ">", "^", "`", "{", "}", "~", ";", "\x00", "\x7f", "😀"),
    *("http://", "https://", "HTTP:", "http:/", "ftp://", "%00", "%20"),
)
HEADS = (
    "http://a.org/",
    "https://b.test/x/y",
    "http://",
    "http://u@h.org:80/",
    "https://中文.org/?",
    "http://h/p?q",
)


def test_forms_of_fuzzed_urls_are_stable_and_so_are_their_hosts_and_origins() -> None:
    random = Random(10)
    for _ in range(50_000):
        url = canonical(random.choice(HEADS) + "".join(random.choices(PIECES, k=random.randrange(9))))
        if url is not None:
            assert canonical(url) == url
            site = f"http://{host_of(url)}/"  # as the items of hosts and robots.txts are checked
            assert (canonical(site), host_of(site)) == (site, host_of(url))
            assert canonical(f"{origin_of(url)}/") == f"{origin_of(url)}/"


@given(st.text(alphabet="%0123456789abcdefABCDEF./?", max_size=40))
def test_any_mix_of_escapes_is_stable(text: str) -> None:
    url = canonical("http://a.com/" + text)
    assert url is not None
    assert canonical(url) == url


HREFS = [
    "", "#a", "?b", "c#d", " //h/p", "javascript:x", "/r", "http:foo", "..", "HTTPS://b.c/", "\x01http://a/",
    "a\nb",
    "ht\ntp:?",
    "http:?q",
    "http:\\\\h", "\x00?q", "./", "c:d", "mailto:x@y", "http:", "\ud800", "//user:pw@h:80/%7e", ": #", "a\t#",
    "a" * (RAW_URL_CHARS_MAX + 1), "?" + "a" * 3000, "#" + "a" * RAW_URL_CHARS_MAX,
]  # fmt: skip


@pytest.mark.parametrize("base", ["http://a.com/", BASE, "http://a.com/d/e/", "https://a.com:8/d?/"])
def test_links_in_bulk_equal_links_one_by_one(base: str) -> None:
    assert canonical_links(base, HREFS) == [canonical(href, base) for href in HREFS]


@given(st.lists(st.text(alphabet="ab:/?#%.@\\ \t\n\x00中", max_size=12), max_size=5))
def test_any_links_in_bulk_equal_links_one_by_one(hrefs: list[str]) -> None:
    assert canonical_links(BASE, hrefs) == [canonical(href, BASE) for href in hrefs]


@pytest.mark.parametrize(
    ("url", "host", "hostname", "origin"),
    [
        ("https://a.com:8443/x/y?z=http://b:1/", "a.com", "a.com", "https://a.com:8443"),
        ("http://a.com/", "a.com", "a.com", "http://a.com"),
        ("http://a.com.:81/", "a.com", "a.com", "http://a.com.:81"),
        ("http://10.0.0.1:80/", "10.0.0.1", "10.0.0.1", "http://10.0.0.1:80"),
        ("http://[2001:db8::1]:81/", "[2001:db8::1]", "2001:db8::1", "http://[2001:db8::1]:81"),
        ("http://[::1]/:9", "[::1]", "::1", "http://[::1]"),
    ],
)
def test_book_6_2_a_host_is_a_name_without_scheme_and_port(
    url: str, host: str, hostname: str, origin: str
) -> None:
    assert (host_of(url), hostname_of(url), origin_of(url)) == (host, hostname, origin)
    assert host_of(origin) == host


@pytest.mark.parametrize(
    "authority", [".", "..", "a..", ".a.org", "a..org", "a.org..", "u:p@a..org:8080", "%2E", "a。。org"]
)
def test_rfc1035_2_3_4_only_the_root_has_no_name(authority: str) -> None:
    assert canonical(f"http://{authority}/") is None
    assert canonical(f"//{authority}/x", BASE) is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ftp://user:secret@a.test/pub/", True),
        ("HTTP://user@a.test", True),
        ("http://@a.test/", True),
        ("http://a.test/@user", False),
        ("http://a.test?to=me@a.test", False),
        ("http://a.test\\\\@user", False),
        ("ftp://a.test/pub/", False),
        ("me@a.test", False),
    ],
)
def test_a_login_in_a_url_is_seen(url: str, expected: bool) -> None:
    assert has_login(url) is expected


@pytest.mark.parametrize("is_rooted", [False, True])
def test_rfc1035_2_3_4_names_that_dns_cannot_hold_are_refused(is_rooted: bool) -> None:
    dot = "." if is_rooted else ""
    longest = ".".join(["a" * 63] * 3 + ["b" * 61])
    assert len(longest) == 253
    for name in (longest, "c" * 63 + ".test"):
        assert canonical(f"http://{name}{dot}:8080/x") == f"http://{name}{dot}:8080/x"
    for name in (f"a{longest}", f"d.{longest}", "c" * 64 + ".test", f"test.{'c' * 64}"):
        assert canonical(f"http://{name}{dot}/x") is None


def test_fingerprint_is_the_same_in_every_process() -> None:
    assert fingerprint("http://example.com/").hex() == "42663426682770e605cd77c9b152d153"
    assert len(fingerprint("http://a/")) == 16


@pytest.mark.parametrize(
    "path",
    ["a/a/a/", "x/a/a/a", "x/a/b/a/b/a/b/y", "a//a//a//", "///", "/".join(map(str, range(21)))],
)
def test_heritrix_endless_paths_are_traps(path: str) -> None:
    assert looks_like_trap(f"http://h/{path}")


@pytest.mark.parametrize(
    "path", ["", "a/a/", "a/b/a/b/a", "a/a/b/a/a", "/".join(map(str, range(20))), "?q=a/a/a/a/a"]
)
def test_ordinary_paths_are_no_traps(path: str) -> None:
    assert not looks_like_trap(f"http://h/{path}")


def expected_of(case: dict[str, Any]) -> str | None:
    if case.get("failure") or case["protocol"] not in ("http:", "https:"):
        return None
    return f"{case['protocol']}//{case['host']}{case['pathname']}{case['search']}"


# Our form goes beyond the standard in percent-encoding only; the standard keeps these as they came.
WPT_PERCENT = {
    "/a%2fc": "http://example.org/a%2Fc",
    "/a/%2f/c": "http://example.org/a/%2F/c",
    "http://example.com/foo/%2e%2": "http://example.com/foo/.%252",
    "http://example.com/foo/%2e./%2e%2e/.%2e/%2e.bar": "http://example.com/..bar",
    "http://example.com/foo%": "http://example.com/foo%25",
    "http://example.com/foo%2": "http://example.com/foo%252",
    "http://example.com/foo%2zbar": "http://example.com/foo%252zbar",
    "http://example.com/foo%2Â©zbar": "http://example.com/foo%252%C3%82%C2%A9zbar",
    "http://example.com/foo%41%7a": "http://example.com/fooAz",
    "http://example.com/foo%00%51": "http://example.com/foo%00Q",
    "http://example.com/%3A%3a%3C%3c": "http://example.com/%3A%3A%3C%3C",
    "http://www/foo%2Ehtml": "http://www/foo.html",
    "http://example.org/test?%GH": "http://example.org/test?%25GH",
}


# Names with labels that are empty: the standard allows them, DNS does not.
WPT_NAMELESS = {"http://./", "http://../", "http://foo.09.."}


@pytest.mark.more
def test_whatwg_url_test_data() -> None:
    loaded = json.loads(shared("suites/url/wpt/urltestdata.json").read_text(encoding="utf-8"))
    cases = [case for case in loaded if isinstance(case, dict)]
    assert len(cases) > 800
    wrong = [
        (case["input"], case.get("base"), url)
        for case in cases
        if case["input"] not in WPT_NAMELESS
        and (url := canonical(case["input"], case.get("base")))
        != WPT_PERCENT.get(case["input"], expected_of(case))
    ]
    assert wrong == []


# crawler-commons edits more than spelling: it sorts and drops parameters, squeezes slashes, drops dots after
# host names, and escapes []^|` in queries, which the standard leaves alone.
CRAWLER_COMMONS_BEYOND_SPELLING = (
    "//",
    "?b=1",
    "&b=",
    "?b=2",
    "a=1&b",
    "?&",
    "?b&",
    "?=",
    "org./",
    "[y]",
    "bar^",
    "bar|",
    "?b=&",
    "bar`",
)


@pytest.mark.more
def test_crawler_commons_weird_urls() -> None:
    path = shared("suites/url/crawler-commons/weirdToNormalizedUrls.csv")
    wrong = []
    with path.open(encoding="utf-8", newline="") as rows:
        for row in csv.reader((row for row in rows if not row.startswith("#")), skipinitialspace=True):
            if len(row) != 2 or not row[0].lower().startswith(("http://", "https://")):
                continue
            rest = row[0][8:]
            if any(mark in rest for mark in CRAWLER_COMMONS_BEYOND_SPELLING) or row[0].startswith("http:///"):
                continue
            if canonical(row[0]) != row[1].strip():
                wrong.append((row, canonical(row[0])))
    assert wrong == []


@pytest.mark.more
def test_crawler_commons_invalid_urls_are_refused() -> None:
    path = shared("suites/url/crawler-commons/invalidUrls.csv")
    urls = [row for row in path.read_text(encoding="utf-8").splitlines() if row and not row.startswith("#")]
    assert [canonical(url) for url in urls] == [None] * len(urls)


plain_pieces = st.sampled_from(["a", "b.html", ".", "..", "", "~u", "x y", "%2e", "1", "-", "http:", "_"])
plain_paths = st.sampled_from(["", "/", "c/", "c//", "c/d/e.html"])


@given(st.lists(plain_pieces, max_size=6).map("/".join), plain_paths)
def test_references_are_resolved_by_cutting_as_by_the_standard(reference: str, path: str) -> None:
    base = f"http://a.test/{path}"
    assert canonical_links(base, [reference]) == [canonical(reference, base)]


def test_a_plain_reference_is_as_long_as_a_url_may_be() -> None:
    base = "http://a.com/"
    longest = "x" * (URL_CHARS_MAX - len(base))
    assert canonical_links(base, [longest, longest + "x"]) == [base + longest, None]


def test_references_of_a_directory_of_an_ftp_server_are_no_urls_of_the_web() -> None:
    base, hrefs = "ftp://a.org/pub/", ["file", "/", "../other/"]
    assert canonical_links(base, hrefs) == [canonical(href, base) for href in hrefs] == [None] * 3
