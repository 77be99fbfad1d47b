from __future__ import annotations

import pytest

from peers.gateway.pages import Reader, marked


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


def test_links_keep_a_language_that_was_chosen() -> None:
    assert Reader("zh", True).link("/search", q="天 &") == "/search?q=%E5%A4%A9+%26&lang=zh"
    assert Reader("zh", False).link("/") == "/"
