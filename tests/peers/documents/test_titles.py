"""Which titles say something, and where better ones are."""

from __future__ import annotations

import pytest

from peers.documents.content import Content
from peers.documents.titles import is_title, largest, title_of


@pytest.mark.parametrize(
    "title", ["Annual report 2024", "天网搜索引擎", "R", "Notes on C++", "Test results", "Word"]
)
def test_titles(title: str) -> None:
    assert is_title(title) is (title != "R")


@pytest.mark.parametrize(
    "title",
    [
        "",
        " ",
        "untitled",
        "Untitled-2.indd",
        "Microsoft Word - Abschlussbericht.docx",
        "PowerPoint Presentation",
        "Slide 1",
        "Document1",
        "thesis_final.pdf",
        "12345",
        "\ufffd\ufffd\ufffd",
        "file:///C|/temp/a",
        "工作簿1",
    ],
)
def test_what_is_no_title(title: str) -> None:
    assert not is_title(title)


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (Content(title="A title", headings="H", text="line"), "A title"),
        (Content(title="untitled", headings="Heading\nmore", text="line"), "Heading"),
        (Content(title="Document1", text="First line\nsecond"), "First line"),
        (Content(text="x" * 300 + "\nsecond"), ""),
        (Content(), ""),
    ],
)
def test_a_title_that_says_nothing_is_replaced(content: Content, title: str) -> None:
    assert title_of(content) == title


def sized(*runs: tuple[str, float]) -> list[tuple[str, float]]:
    return [(character, size) for text, size in runs for character in text]


@pytest.mark.parametrize(
    ("runs", "line"),
    [
        ((("small ", 8.0), ("Large Title", 20.0), (" text", 10.0)), "Large Title"),
        ((("L", 20.0), ("ARGE ", 18.5), ("T", 20.0), ("ITLE", 18.5), (" text", 10.0)), "LARGE TITLE"),
        ((("T", 60.0), ("he text. ", 10.0), ("The title", 20.0), ("more", 10.0)), "The title"),
        ((("untitled", 20.0), ("text", 10.0)), ""),
        ((), ""),
    ],
)
def test_the_first_line_in_the_largest_letters(runs: tuple[tuple[str, float], ...], line: str) -> None:
    assert largest(sized(*runs)) == line
