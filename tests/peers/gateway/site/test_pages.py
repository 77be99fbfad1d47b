from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest
from markupsafe import escape

from peers.engine.pages.kinds import NAMES
from peers.gateway.model.messages import Coverage, FoundPage, PagesFound
from peers.gateway.site.pages import Reader, Wish, marked, result_page, word_of
from peers.gateway.site.sections import section_url
from peers.index.wire_messages import FacetCounts, ListedEntry

TODAY = date(2026, 11, 12)


@pytest.mark.parametrize(
    ("highlights", "expected"),
    [
        ([(0, 3)], "<mark>a&lt;b</mark>&amp;c"),
        ([(4, 5), (0, 1)], "<mark>a</mark>&lt;b&amp;<mark>c</mark>"),
        ([(0, 2), (1, 3)], "<mark>a&lt;</mark>b&amp;c"),
        ([(-2, 1), (3, 3), (2, 1), (0, 6), (9, 12)], "a&lt;b&amp;c"),
        ([], "a&lt;b&amp;c"),
    ],
)
def test_text_is_escaped_around_its_marks(highlights: list[tuple[int, int]], expected: str) -> None:
    assert marked("a<b&c", highlights) == expected


def test_a_page_of_results_shown_again_says_how_long_it_took_now() -> None:
    hits = (FoundPage("http://a.test/", "a <took>", "s", (), (), 1.0, "http://a.test", 0.0, "peer"),)
    found = PagesFound(1, ("x",), 1, 0.5, Coverage(8, 8, 0), hits)
    wish = Wish("<took> x")
    pages = [
        result_page(Reader("en", False), wish, msgspec.structs.replace(found, ticket=ticket), took_s, TODAY)
        for ticket, took_s in ((1, 0.123), (2, 0.456))
    ]
    assert pages[0] != pages[1] == pages[0].replace("123", "456")
    assert "<took>" not in pages[0]
    assert pages[0].count("&lt;took&gt;") == pages[1].count("&lt;took&gt;") > 2


def test_links_keep_a_language_that_was_chosen() -> None:
    assert Reader("zh", True).link("/search", q="天 &") == "/search?q=%E5%A4%A9+%26&lang=zh"
    assert Reader("zh", False).link("/") == "/"


def _page_of(
    hit: FoundPage, query: str = "x", language: str = "en", facets: FacetCounts | None = None
) -> str:
    found = PagesFound(1, ("x",), 1, 0.5, Coverage(8, 8, 0), (hit,), facets=facets)
    return result_page(Reader(language, False), Wish(query), found, 0.01, TODAY)


def _hit(**more: Any) -> FoundPage:
    return msgspec.structs.replace(
        FoundPage("http://www.a.test/b", "t", "s", (), (), 1.0, "http://www.a.test", 0.0, "peer"), **more
    )


def test_a_directory_shows_its_files_with_links_sizes_and_dates() -> None:
    files = (
        ListedEntry("linux-6.1.iso", 5 << 30, True, 1_704_067_200),
        ListedEntry("<script>alert(1)</script>/"),
        ListedEntry("../../login"),
    )
    hit = _hit(url="http://www.a.test/pub/", type="inode/directory", entries=files)
    page = _page_of(hit, "linux")
    shown = page[page.index('<ul class="files">') : page.index("</ul>", page.index('<ul class="files">'))]
    assert '<a href="http://www.a.test/pub/linux-6.1.iso" rel="noreferrer">' in shown
    assert "≈ 5.0 GB" in shown
    assert "2024-01-01" in shown
    assert "<script>" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;/" in shown
    assert "<li><bdi>../../login</bdi></li>" in shown
    assert "Directory" in page
    assert "文件目录" in _page_of(hit, "linux", "zh")
    assert 'class="files"' not in _page_of(_hit())


def test_a_result_tells_of_its_copies_and_leads_to_more_of_its_site() -> None:
    page = _page_of(_hit(copies=1_200, has_more_of_site=True), "a b")
    assert ">1,200 more copies</a>" in page
    assert "copies%3Aall" in page
    assert '<a href="/search?q=a+b+site%3Ahttp%3A%2F%2Fwww.a.test">More from this site</a>' in page
    assert "1 more copy" in _page_of(_hit(copies=1))
    assert ">3 more like this</a>" in _page_of(_hit(near_copies=3))
    assert ">1 more copy · 2 more like this</a>" in _page_of(_hit(copies=1, near_copies=2))
    assert 'class="folded"' not in _page_of(_hit())
    page = _page_of(_hit(copies=1, also_at=("https://b.test/<c>",)))
    assert "more cop" not in page
    assert "1 more copy" in _page_of(_hit(copies=2, also_at=("https://b.test/",)))
    assert 'The same at <a href="https://b.test/&lt;c&gt;" rel="noreferrer">' in page


@pytest.mark.parametrize(
    ("more", "url"),
    [
        ({}, ""),
        ({"section": "A b", "section_id": "a<b"}, "http://www.a.test/b#a%3Cb"),
        ({"section": "A <b>-c, d&e"}, "http://www.a.test/b#:~:text=A%20%3Cb%3E%2Dc%2C%20d%26e"),
        ({"section": "A", "type": "text/html"}, "http://www.a.test/b#:~:text=A"),
        ({"section": "A", "type": "application/pdf"}, ""),
        ({"section": "A", "url": "http://notes-1f2e3d4c.files.localhost/a.html"}, ""),
    ],
)
def test_a_result_leads_to_the_section_that_its_words_are_in(more: dict[str, str], url: str) -> None:
    hit = _hit(**more)
    assert section_url(hit) == url
    page = _page_of(hit)
    assert ('class="section"' in page) == bool(url)
    if url:
        assert (
            f'In section <a class="section" href="{url}" rel="noreferrer"><bdi>{escape(hit.section)}</bdi>'
            in page
        )
        assert "位于章节 <a" in _page_of(hit, language="zh")
        assert f'<h2 dir="auto"><a href="{hit.url}"' in page, "the title leads to the page itself"


def test_a_file_that_nobody_can_ask_for_is_shown_as_it_is_stored() -> None:
    page = _page_of(_hit(url="http://notes-1f2e3d4c.files.localhost/a.txt"))
    assert 'href="http://notes' not in page
    assert page.count('href="/page?url=http%3A%2F%2Fnotes-1f2e3d4c.files.localhost%2Fa.txt') == 2


@pytest.mark.parametrize(
    ("days", "en", "zh"),
    [
        (0, "fetched today", "今天抓取"),
        (1, "fetched yesterday", "昨天抓取"),
        (6, "fetched 6 days ago", "6 天前抓取"),
        (7, "fetched 5 Nov 2026", "抓取于 2026年11月5日"),
        (-3, "fetched 15 Nov 2026", "抓取于 2026年11月15日"),
    ],
)
def test_days_are_told_in_words(days: int, en: str, zh: str) -> None:
    at = datetime(TODAY.year, TODAY.month, TODAY.day, 23, 59, tzinfo=UTC) - timedelta(days=days)
    hit = _hit(fetched_at=at.timestamp())
    assert f'<span class="fetched">{en}</span>' in _page_of(hit)
    assert f'<span class="fetched">{zh}</span>' in _page_of(hit, language="zh")


def test_a_time_that_is_none_is_not_told() -> None:
    assert "fetched" not in _page_of(_hit(fetched_at=float("inf"), date=float("inf"))).partition("<main")[2]


@pytest.mark.parametrize(
    ("query", "filters"),
    [
        ("x", {}),
        ("x site:a.test", {"site:a.test": "/search?q=x"}),
        ("lang:zh x", {"lang:zh": "/search?q=x"}),
        (
            "x after:2024 before:2025 y",
            {"after:2024": "/search?q=x+before%3A2025+y", "before:2025": "/search?q=x+after%3A2024+y"},
        ),
        ('"a site:b" -site:c xsite:d', {}),
    ],
)
def test_what_narrows_a_query_can_be_taken_away(query: str, filters: dict[str, str]) -> None:
    found = re.findall(
        r'<li><a href="([^"]*)" aria-label="Without [^"]*"><bdi>([^<]*)</bdi>', _page_of(_hit(), query)
    )
    assert {text: href for href, text in found} == filters


def test_facets_have_names_the_readers_language_first_and_only_those_that_narrow() -> None:
    counts = FacetCounts(
        (("a.test", 9), ("b.test", 1)),
        (("en", 8), ("zh", 2)),
        (("text/html", 10),),
        (("2023", 2), ("2024", 1)),
    )
    page = _page_of(_hit(), language="zh", facets=counts)
    names = re.findall(r'<li><a href="[^"]*"><bdi>([^<]*)</bdi></a> <span>', page)
    assert names == ["a.test", "b.test", "中文", "English", "2024", "2023"]


def test_types_are_counted_by_kind_and_narrow_to_it() -> None:
    word = NAMES["word"]
    counts = FacetCounts((), (), (("text/html", 6), (word[0], 2), (word[-1], 3), ("image/png", 1)), ())
    page = _page_of(_hit(type=word[0]), facets=counts)
    found = re.findall(r'<li><a href="([^"]*)"><bdi>([^<]*)</bdi></a> <span>(\d+)', page)
    assert [(name, count) for _, name, count in found] == [
        ("Web page", "6"),
        ("Word", "5"),
        ("image/png", "1"),
    ]
    assert "type%3Aword" in found[1][0]
    assert "<span>Word</span>" in page
    assert "no text" in _page_of(_hit(type="application/pdf", snippet=""))


def test_a_site_has_a_letter_and_a_page_in_another_language_says_so() -> None:
    page = _page_of(_hit(language="zh"))
    assert re.search(r'class="letter hue-[0-7]" aria-hidden="true"><img [^>]+>A</span>', page)
    assert '<article lang="zh">' in page
    assert "<span>中文</span>" in page
    assert "<article>" in _page_of(_hit(language="en"))
    assert "<article>" in _page_of(_hit(language='"><script>'))


@pytest.mark.parametrize(
    ("entry", "query", "shown"),
    [
        ("rewite", "mod ReWite", "ReWite"),  # as it was typed, not as it is looked up
        ("抱", "软件抱", "抱"),  # a part of what was typed
        ("\x03gone", "other words", "gone"),
    ],
)
def test_a_word_that_is_on_no_page_is_shown_as_it_was_typed(entry: str, query: str, shown: str) -> None:
    assert word_of(entry, query) == shown


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_corrected_query_is_shown_with_a_way_to_the_typed_one(language: str) -> None:
    found = PagesFound(1, ("x",), 1, 0.5, Coverage(8, 8, 0), (_hit(),), corrected="soft<ware")
    page = result_page(Reader(language, False), Wish("sofware"), found, 0.01, TODAY)
    assert '<a href="/search?q=soft%3Cware"><bdi>soft&lt;ware</bdi></a>' in page
    assert 'href="/search?q=sofware&amp;verbatim=1"' in page
    suggested = msgspec.structs.replace(found, corrected="", suggestion="software")
    page = result_page(Reader(language, False), Wish("sofware"), suggested, 0.01, TODAY)
    assert '<a href="/search?q=software"><bdi>software</bdi></a>' in page
    assert "verbatim" not in page


@pytest.mark.parametrize(("language", "past_year"), [("en", "Past year"), ("zh", "过去一年")])
def test_results_can_be_narrowed_to_dates_without_script(language: str, past_year: str) -> None:
    counts = FacetCounts((), (), (), (("2026", 1),))
    page = _page_of(_hit(), "x after:2025-11-12", language, counts)
    assert f'<b aria-current="true">{past_year}</b>' in page
    assert '<input type="hidden" name="q" value="x">' in page
    assert 'name="from" type="date" value="2025-11-12"' in page
    assert 'name="to" type="date" value=""' in page
    assert 'name="from"' not in _page_of(_hit(), "x", language, FacetCounts((), (), (), ()))


@pytest.mark.parametrize(("language", "heading"), [("en", "How it is written"), ("zh", "写法")])
def test_the_synopsis_of_a_manual_stands_above_the_results(language: str, heading: str) -> None:
    page = _page_of(_hit(synopsis="ls [-a] <file>\nls --help"), "ls", language)
    assert page.index(heading) < page.index('<ol class="results"')
    assert "ls [-a] &lt;file&gt;\nls --help</pre>" in page
    assert 'class="answer"' not in _page_of(_hit(), "ls", language)
