"""The figures of a crawl of six pages, each worked out by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from simulations.web_reports.page_columns import PageColumns, levels_of
from simulations.web_reports.page_facts import PageFacts, page_number, word_list_digest
from simulations.web_reports.web_report import WebReport, report_of_web

pytest.importorskip("scipy", reason="the extra `simulations` is not installed")


def page(url: str, first_s: float = 0.0, targets: tuple[str, ...] = (), **more: object) -> PageFacts:
    plain: dict[str, object] = {
        "type": "text/html",
        "language": "en",
        "n_bytes": 400,
        "text_bytes": 100,
        "visible_bytes": 200,
        "n_words": 30,
        "n_distinct": 20,
        "title": "A title",
        "says_nothing": False,
        "content": page_number(url) >> 1,
        "is_html": True,
        "is_noindex": False,
        "names": frozenset(("title", "p")),
        "links": (0, 0, 0),
    }
    facts: Any = plain | more
    return PageFacts(url=url, first_s=first_s, targets=[page_number(each) for each in targets], **facts)


HOME: dict[str, Any] = {"title": "Home", "says_nothing": True}
PAGES = [
    page("http://a.test/", 1.0, ("http://a.test/1", "http://b.test/", "http://a.test/"), links=(1, 0, 1)),
    page("http://a.test/1", 2.0, ("http://a.test/2", "http://nowhere.test/"), links=(1, 0, 1), n_bytes=1_000),
    page(
        "http://a.test/2",
        3.0,
        ("http://a.test/1",),
        links=(1, 0, 0),
        content=7,
        **HOME,
    ),
    page("http://x.b.test/d/e?q=/f/", 4.0, content=7, language="zh", names=frozenset(("p", "b", "h6"))),
    page("http://b.test/", 5.0, content=7, title="", is_noindex=True, names=frozenset(("p", "h1"))),
    page(
        "http://c.test/x.pdf",
        6.0,
        type="application/pdf",
        content=0,
        language="",
        is_html=False,
        n_bytes=9_999,
        names=frozenset(),
        n_distinct=80,
    ),
]


def told(*pages: PageFacts) -> WebReport:
    columns = PageColumns()
    for each in pages:
        columns.add(each)
    return report_of_web(columns, Counter({"404": 1, "200": 6}))


@pytest.fixture(scope="module")
def found() -> WebReport:
    return told(*PAGES)


def test_pages_are_counted_by_host_type_language_and_level(found: WebReport) -> None:
    assert (found.pages, found.hosts, found.domains, found.html_pages) == (6, 4, 3, 5)
    assert (found.host_pages.max, found.largest_host, found.largest_share) == (3, "a.test", 0.5)
    assert found.answers == {"200": 6, "404": 1}
    assert found.types == {"text/html": 5, "application/pdf": 1}
    assert found.languages == {"en": 4, "": 1, "zh": 1}
    assert found.noindex_share == 1 / 6
    # Levels 0 1 1 2 0 1, and labels 2 2 2 3 2 2.
    assert found.pages_by_level == [2, 3, 1]
    assert found.depth.mean == 18 / 6


def test_sizes_are_those_of_pages_of_html(found: WebReport) -> None:
    assert found.page_bytes.mean == (4 * 400 + 1_000) / 5
    assert found.markup_per_text == 2_600 / 500
    assert found.markup_per_visible == 2_600 / 1_000
    assert (found.words.mean, found.distinct_words.mean) == (30, (5 * 20 + 80) / 6)


def test_without_text_there_is_no_ratio() -> None:
    assert told(page("http://a.test/", text_bytes=0, visible_bytes=0)).markup_per_text is None


def test_titles_are_repeated_by_pages_of_one_host(found: WebReport) -> None:
    titles = found.titles
    assert titles.titled_share == 4 / 5
    assert titles.says_nothing_share == 1 / 4
    # `A title` stands twice on a.test, beside `Home`, and once on x.b.test.
    assert titles.repeated_share == 2 / 4
    assert titles.repeating_hosts == 1
    assert titles.chars.mean == (7 + 7 + 4 + 7) / 4


def test_elements_are_shares_of_the_pages_of_html(found: WebReport) -> None:
    assert (found.tags["p"], found.tags["title"], found.tags["h1"], found.tags["iframe"]) == (1, 0.6, 0.2, 0)
    assert found.stressed_share == 2 / 5  # b and h6 are of one page


def test_equal_contents_are_mirrors_and_pages_without_text_are_not(found: WebReport) -> None:
    assert (found.contents, found.replication) == (4, 6 / 4)
    assert (found.mirrored_share, found.mirror_degree_max) == (3 / 6, 3)
    assert found.host_contents == 4 / 4
    bare = told(page("http://a.test/", content=0), page("http://a.test/1", content=0))
    assert (bare.contents, bare.mirrored_share) == (2, 0)


def test_links_between_pages_make_a_graph(found: WebReport) -> None:
    assert found.links is not None
    # The root to /1 and to b.test, /1 to /2 and back; the root to itself, and one to no page, do not count.
    assert (found.links.links, found.links.inlinks) == (4, 4 / 6)
    assert (found.links.inside.mean, found.links.across.mean) == (3 / 6, 2 / 6)
    shape = found.links.shape
    assert shape.strong_components == 5
    assert (shape.bow_tie.core, shape.bow_tie.into) == (2 / 6, 1 / 6)
    assert (shape.depth.max, shape.unreached_share) == (2, 0)  # root, /1, /2; all others are entrances
    assert shape.pages_by_depth == [4, 1, 1]


def test_of_too_many_links_no_graph_is_told() -> None:
    columns = PageColumns(links_max=3)
    for each in PAGES:
        columns.add(each)
    assert report_of_web(columns, {}).links is None
    assert columns.graph().link_count == 0


def test_hosts_are_new_in_the_order_of_fetches(found: WebReport) -> None:
    assert found.new_hosts is not None
    assert found.new_contents is not None
    assert found.new_hosts.new == [1, 0, 0, 1, 1, 1]
    assert found.new_contents.new == [1, 1, 1, 0, 0, 1]
    assert told(*reversed(PAGES)).new_hosts == found.new_hosts
    same_date = [each._replace(first_s=5.0) for each in PAGES]
    assert told(*same_date).new_hosts is None


def test_of_a_url_that_comes_again_the_first_counts() -> None:
    again = PAGES[1]._replace(first_s=9.0, targets=[page_number("http://c.test/x.pdf")], n_bytes=1)
    assert told(*PAGES, again) == told(*PAGES)


def test_a_page_that_was_half_written_does_not_count() -> None:
    columns = PageColumns()
    for each in PAGES:
        columns.add(each)
    before = report_of_web(columns, {})
    columns.hosts["d.test"] = len(columns.hosts)
    columns._columns[0].append(1)  # Ctrl-C came here
    columns._targets.append(page_number("http://a.test/"))
    assert report_of_web(columns, {}) == before


def test_memory_is_99_bytes_a_page_and_8_a_link() -> None:
    columns = PageColumns()
    for number in range(1_000):
        columns.add(page(f"http://a.test/{number}", targets=("http://a.test/",) * 10))
    assert columns.held_bytes == 1_000 * (99 + 8 * 10)


@pytest.mark.parametrize(
    ("url", "levels"),
    [
        ("http://a.test/", 0),
        ("http://a.test/c", 1),
        ("http://a.test/c/?a=/b", 1),
        ("http://a.test//x/y", 2),
    ],
)
def test_levels_are_those_of_the_path(url: str, levels: int) -> None:
    assert levels_of(url) == levels


def test_the_digest_of_the_book_sees_neither_order_nor_rare_words_of_long_texts() -> None:
    long = [f"word{number:04}" for number in range(400)]  # the first 256 fill 2,048 bytes
    digest = word_list_digest([*long, "a", "b"])
    assert digest == word_list_digest(["b", *reversed(long), "a"])
    assert digest == word_list_digest([*long[:-1], "zest", "a", "b"])
    assert digest != word_list_digest([*long, "a", "b", "b"]), "the most frequent word is another"
    assert word_list_digest([]) == 0


def test_repeats_are_told_by_both_digests() -> None:
    texts = {
        "first": ("one two two", 1),
        "copy": ("one two two", 1),
        "other order": ("two two one", 2),
        "menus differ": ("one two two", 3),
        "other text": ("three", 4),
        "no text": ("", 0),
        "no text either": ("", 0),
    }
    pages = [
        page(f"http://a.test/{name}", at, content=content, word_digest=word_list_digest(text.split()))
        for at, (name, (text, content)) in enumerate(texts.items())
    ]
    repeats = told(*pages).repeats
    assert (repeats.ours, repeats.book, repeats.both) == (1, 3, 1)
    assert (repeats.only_ours, repeats.only_book) == (0, 2)
