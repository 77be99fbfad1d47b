from __future__ import annotations

import msgspec
import pytest

from peers.gateway.messages import Coverage, FoundPage, PagesFound
from peers.gateway.pages import Reader, Wish, marked, result_page


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
        result_page(Reader("en", False), wish, msgspec.structs.replace(found, ticket=ticket), took_s)
        for ticket, took_s in ((1, 0.123), (2, 0.456))
    ]
    assert pages[0] != pages[1] == pages[0].replace("123", "456")
    assert "<took>" not in pages[0]
    assert pages[0].count("&lt;took&gt;") == pages[1].count("&lt;took&gt;") > 2


def test_links_keep_a_language_that_was_chosen() -> None:
    assert Reader("zh", True).link("/search", q="天 &") == "/search?q=%E5%A4%A9+%26&lang=zh"
    assert Reader("zh", False).link("/") == "/"
