"""Sitemaps and feeds: what they list, in whatever state they are, and what they cannot do to us."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Final

import pytest

from peers.crawler.model.messages import PageParsed, ParseFailed
from peers.crawler.model.robots import SITEMAPS_MAX, sitemaps_named
from peers.crawler.model.web_request import FailureReason
from peers.crawler.model.wire_messages import FoundLink
from peers.crawler.parsing.extraction import extract
from peers.crawler.parsing.link_lists import (
    LIST_BYTES_MAX,
    LISTED_MAX,
    begins_like_list,
    has_list_name,
    pages_listed,
)
from peers.crawler.parsing.xml_lists import ELEMENTS_MAX
from tests.helpers import fetched
from tests.shared_data import shared

URL: Final = "http://a.test/sitemap.xml"
XML: Final = "http://www.example.com"
ONE: Final = b"<urlset><url><loc>http://a.test/1</loc></url></urlset>"


def listed_urls(url: str, body: bytes, codings: str = "") -> tuple[str, ...] | None:
    """What a list lists, without dates."""
    listed = pages_listed(url, body, codings)
    return None if listed is None else tuple(page.url for page in listed)


# How many of each, and the first of them.
SUITE: Final = {
    "crawler-commons/rss/feed.rss": (4, "https://www.example.com/blog/post/1"),
    "crawler-commons/rss/xmlRss_pubDate.xml": (7, f"{XML}/article_1"),
    "crawler-commons/sitemaps/atom.xml": (2, "http://example.org/2003/12/13/atom03"),
    "crawler-commons/sitemaps/do-not-visit.txt": (1, f"{XML}/do-not-visit-here"),
    "crawler-commons/sitemaps/extension/hebdenbridgetimes-articles-sitemap.xml": (
        74,
        "http://www.hebdenbridgetimes.co.uk/news/local/video-tour-de-yorkshire-in-calderdale-1-7242580",
    ),
    "crawler-commons/sitemaps/extension/pagemaps-sitemap.xml": (2, f"{XML}/foo"),
    "crawler-commons/sitemaps/extension/shinpaideshou-news-sitemap.xml": (
        3,
        "https://shinpaideshou.wordpress.com/2017/04/25/job-opening-reischauer-policy-research-fellow/",
    ),
    "crawler-commons/sitemaps/extension/sitemap-images.xml": (
        1,
        f"{XML}/images/some_image_landing_page.html",
    ),
    "crawler-commons/sitemaps/extension/sitemap-links.xml": (3, f"{XML}/english/"),
    "crawler-commons/sitemaps/extension/sitemap-mobile.xml": (3, f"{XML}/mobile-friendly-1/"),
    "crawler-commons/sitemaps/extension/sitemap-news.xml": (
        2,
        "http://www.example.org/business/article55.html",
    ),
    "crawler-commons/sitemaps/extension/sitemap-videos-tvshow.xml": (
        1,
        "https://example.org/my-tv-show/23/13/",
    ),
    "crawler-commons/sitemaps/extension/sitemap-videos.xml": (
        3,
        f"{XML}/videos/some_video_landing_page.html",
    ),
    "crawler-commons/sitemaps/sitemap-with-bom.txt": (2, "http://www.domain.com/page1.html"),
    "crawler-commons/sitemaps/sitemap.badns.xml": (2, f"{XML}/1"),
    "crawler-commons/sitemaps/sitemap.index.xml": (
        15,
        "https://example.com/sitemap.jss?portalCode=10260&lang=en",
    ),
    "crawler-commons/sitemaps/sitemap.ns.xml": (2, f"{XML}/1"),
    "crawler-commons/sitemaps/sitemap.txt": (2, "http://www.domain.com/page1.html"),
    "crawler-commons/sitemaps/sitemap.txt.gz": (5, f"{XML}/"),
    "crawler-commons/sitemaps/xmlSitemap.gz": (5, f"{XML}/"),
    "trafilatura/feed1.atom": (1, "http://example.org/2003/12/13/atom03"),
    "trafilatura/feed2.rss": (1, f"{XML}/blog/post/1"),
    "trafilatura/sitemap-hreflang.xml": (6, f"{XML}/english/page.html"),
    "trafilatura/sitemap.xml": (84, "https://www.sitemaps.org/"),
    "trafilatura/sitemap.xml.gz": (84, "https://www.sitemaps.org/"),
    "trafilatura/sitemap2.xml": (2, f"{XML}/sitemap1.xml.gz"),
    "usp/atom0.3.xml": (2, "https://example.org/page1"),
    "usp/atom1.0.xml": (2, "https://example.org/page1"),
    "usp/google-image.xml": (2, "https://example.org/news/one"),
    "usp/google-news.xml": (2, "https://example.org/page1"),
    "usp/hreflang.xml": (2, "https://example.org/en/page"),
    "usp/plaintext.txt": (2, "https://example.org/page1"),
    "usp/rss2.0.xml": (2, "https://example.org/page1"),
    "usp/simple-index.xml": (2, "https://example.org/sitemap1.xml"),
    "usp/simple-urlset.xml": (2, "https://example.org/page1"),
}
NO_LISTS: Final = {
    "trafilatura/feed.json",  # JSON Feed is not read
    "usp/robots.txt",
}


@pytest.mark.more
@pytest.mark.parametrize("name", SUITE)
def test_the_lists_of_others_are_read(name: str) -> None:
    path = shared(f"suites/sitemap/{name}")
    listed = listed_urls(f"http://a.test/sitemap/{path.name}", path.read_bytes())
    assert listed is not None
    assert (len(listed), listed[0]) == SUITE[name]


@pytest.mark.more
def test_no_file_of_the_suite_is_passed_over() -> None:
    folder = shared("suites/sitemap")
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == SUITE.keys() | NO_LISTS
    for name in NO_LISTS:
        assert listed_urls(f"http://a.test/sitemap/{name}", (folder / name).read_bytes()) is None


def test_a_link_of_a_feed_to_itself_is_not_listed() -> None:
    feed = b'<feed><entry><link rel="self" href="/feed"/><link href="/page"/></entry></feed>'
    assert listed_urls("http://a.test/feed", feed) == ("http://a.test/page",)


def test_what_is_listed_twice_or_is_no_url_of_the_web_comes_once_or_never() -> None:
    locs = b"".join(
        b"<url><loc>%s</loc></url>" % loc for loc in (b" /x ", b"/x#y", b"ftp://a.test/", b"", b"//")
    )
    assert listed_urls(URL, b"<urlset>" + locs + b"</urlset>") == ("http://a.test/x",)


def test_a_list_ends_with_so_many_urls() -> None:
    urls = b"".join(b"<url><loc>/%d</loc></url>" % n for n in range(LISTED_MAX + 1))
    listed = listed_urls(URL, b"<urlset>" + urls + b"</urlset>")
    assert listed is not None
    assert (len(listed), listed[-1]) == (LISTED_MAX, f"http://a.test/{LISTED_MAX - 1}")
    lines = b"".join(b"http://a.test/%d\n" % n for n in range(LISTED_MAX + 1))
    listed = listed_urls("http://a.test/sitemap.txt", lines)
    assert listed is not None
    assert len(listed) == LISTED_MAX


def test_what_came_of_a_list_that_was_cut_is_read() -> None:
    packed = gzip.compress(ONE + b"<!-- " + bytes(range(256)) * 50)
    for body in (ONE[:-3], ONE + b"<url><loc>http://a.te", packed[:-100]):
        assert listed_urls(URL, body) == ("http://a.test/1",)


@pytest.mark.parametrize(("codings", "file"), [("gzip", bytes), ("", gzip.compress), ("gzip", gzip.compress)])
def test_of_a_list_that_is_packed_50_mib_are_read(codings: str, file: Callable[[bytes], bytes]) -> None:
    markup = ONE.removesuffix(b"</urlset>") + b" " * LIST_BYTES_MAX + b"<url><loc>/2</loc></url></urlset>"
    body = file(markup)
    body = gzip.compress(body) if codings else body
    assert len(body) < 100_000
    assert listed_urls(URL, body, codings) == ("http://a.test/1",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_list_with_entities_of_its_own_expands_nothing(encoding: str) -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "x" * 10}">' for n in range(12))
    opened = '<!ENTITY file SYSTEM "file:///etc/hostname">'
    markup = (
        f"<!DOCTYPE urlset [{entities}{opened}]><urlset>"
        "<url><loc>http://a.test/&e11;</loc></url><url><loc>http://a.test/&file;</loc></url></urlset>"
    )
    listed = listed_urls(URL, markup.encode(encoding)) or ()
    assert all(len(url) < 30 for url in listed)


def test_a_list_of_elements_without_end_is_not_read_to_the_end() -> None:
    markup = b"<urlset>" + b"<a/>" * (ELEMENTS_MAX + 1) + ONE.removeprefix(b"<urlset>")
    assert listed_urls(URL, markup) == ()
    assert listed_urls(URL, b"<urlset>" + b"<a>" * 1_000 + ONE.removeprefix(b"<urlset>")) == ()


def test_other_documents_are_no_lists() -> None:
    for body in (
        b"<html><urlset>",
        b"<?xml version='1.0'?><svg/>",
        b"",
        b"{}",
        b"\x1f\x8b broken",
        b"<feedback/>",
    ):
        assert listed_urls(URL, body) is None
        assert not begins_like_list(body)


def test_a_text_is_a_list_by_its_name_and_if_most_lines_are_urls() -> None:
    lines = b"http://a.test/1\nhttp://a.test/2\n\nwords\n"
    assert listed_urls("http://a.test/sitemap.txt", lines) == ("http://a.test/1", "http://a.test/2")
    assert listed_urls("http://a.test/notes.txt", lines) is None
    assert listed_urls("http://a.test/sitemap.txt", lines + b"more\nwords\n") is None


def test_names_of_lists() -> None:
    for path in (
        "sitemap.xml",
        "sitemap_index.xml.gz",
        "a/Site-Map/1",
        "feed.atom",
        "x.rss?y",
        "sitemap.php?n=1",
    ):
        assert has_list_name(f"http://a.test/{path}")
    for path in ("", "a.html", "?sitemap", "data.tar.gz", "notes.txt"):
        assert not has_list_name(f"http://sitemap.test/{path}".replace("sitemap.test", "a.test"))


# --- from what a server says ---


@pytest.mark.parametrize(
    ("url", "media_type", "body"),
    [
        (URL, "application/xml", ONE),
        (URL, "text/html", ONE),
        ("http://a.test/list", "text/html; charset=utf-8", b"\n<?xml version='1.0'?>\n" + ONE),
        (f"{URL}.gz", "application/x-gzip", gzip.compress(ONE, mtime=0)),
        (f"{URL}.gz", "application/octet-stream", gzip.compress(ONE, mtime=0)),
        ("http://a.test/sitemap.txt", "text/plain", b"http://a.test/1\n"),
    ],
)
def test_a_list_is_known_whatever_its_server_calls_it(url: str, media_type: str, body: bytes) -> None:
    page = fetched(url, body=body, headers=(("Content-Type", media_type),))
    parsed = extract(page, 1)
    assert isinstance(parsed, PageParsed)
    assert parsed.is_list
    assert parsed.links == (FoundLink("http://a.test/1", is_listed=True),)
    assert (parsed.records, parsed.document) == (b"", None)


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("application/octet-stream", b"text"),
        ("application/gzip", gzip.compress(b"<svg/>", mtime=0)),
    ],
)
def test_what_comes_as_a_list_and_is_none_is_no_page_either(media_type: str, body: bytes) -> None:
    parsed = extract(fetched(URL, body=body, headers=(("Content-Type", media_type),)), 1)
    assert parsed == ParseFailed(URL, FailureReason.NOT_HTML)


def test_a_page_with_the_name_of_a_list_is_a_page() -> None:
    parsed = extract(fetched("http://a.test/sitemap.html", body=b"<html><title>Our pages</title>"), 1)
    assert isinstance(parsed, PageParsed)
    assert not parsed.is_list
    assert parsed.document is not None


# --- by robots.txt ---


@pytest.mark.more
def test_a_robots_txt_names_sitemaps_between_its_groups() -> None:
    robots = shared("suites/sitemap/usp/robots.txt").read_bytes()
    names = ("sitemap", "weirdly-named-sitemap", "another-sitemap", "and-another-sitemap")
    assert sitemaps_named("https://example.org/robots.txt", robots) == tuple(
        f"https://example.org/{name}.xml" for name in names
    )


def test_sitemaps_are_named_with_blanks_without_a_newline_and_in_other_encodings() -> None:
    assert sitemaps_named(URL, b"User-agent: *\nSitemap : /x # our pages\rsitemap:\n") == ("http://a.test/x",)
    assert sitemaps_named(URL, "Sitemap: /y\n".encode("utf-16")) == ("http://a.test/y",)


def test_so_many_sitemaps_of_a_robots_txt_are_read() -> None:
    robots = b"".join(b"Sitemap: /%d\n" % n for n in range(SITEMAPS_MAX + 1))
    assert len(sitemaps_named(URL, robots)) == SITEMAPS_MAX


def test_a_list_tells_when_its_pages_have_changed() -> None:
    sitemap = (
        b"<urlset><url><loc>/1</loc><lastmod>2020-01-02</lastmod></url>"
        b"<url><lastmod>2020-01-02T00:00:05+00:00</lastmod><loc>/2</loc></url>"
        b"<url><loc>/3</loc><lastmod>yesterday</lastmod></url><url><loc>/4</loc></url></urlset>"
    )
    listed = pages_listed(URL, sitemap)
    assert listed is not None
    assert [page.changed_s for page in listed] == [1_577_923_200, 1_577_923_205, 0, 0]
    rss = b"<rss><item><link>/1</link><pubDate>Thu, 02 Jan 2020 00:00:00 GMT</pubDate></item></rss>"
    atom = b'<feed><entry><link href="/1"/><updated>2020-01-02T01:00:00+01:00</updated></entry></feed>'
    for feed in (rss, atom):
        (page,) = pages_listed("http://a.test/feed", feed) or ()
        assert page == ("http://a.test/1", 1_577_923_200)
