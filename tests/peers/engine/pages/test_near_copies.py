"""Texts of which nearly everything is common have sketches that tell so, and others do not."""

from __future__ import annotations

import random

import numpy as np
import pytest

from peers.engine.pages.document import Document
from peers.engine.pages.near_copies import SKETCH_BYTES, near_copies, sketch_of, sketches_of
from peers.engine.segments.builder import prepared

RANDOM = random.Random(4)
WORDS = [f"{a}{b}{c}" for a in ("ka", "lo", "mi") for b in "aeiou" for c in ("n", "r", "st", "t", "x")]
TEXT = [RANDOM.choice(WORDS) for _ in range(600)]
HAN = [chr(RANDOM.randrange(0x4E00, 0x9000)) for _ in range(600)]


def page(words: list[str], title: str = "Page", joined_by: str = " ") -> Document:
    return Document("http://a.test/", title=title, text=joined_by.join(words))


def with_others(words: list[str], n_changed: int) -> list[str]:
    """Change words that are far from each other."""
    changed = list(words)
    for place in range(n_changed):
        changed[place * len(words) // n_changed] += "y"
    return changed


def are_near(*pages: Document) -> bool:
    found = near_copies(np.stack([sketch_of(each) for each in pages]))
    assert np.array_equal(found, found.T)
    assert not found.diagonal().any()
    return bool(found[0, 1])


@pytest.mark.parametrize(("words", "joined_by"), [(TEXT, " "), (HAN, "")])
def test_few_changed_words_make_a_near_copy_and_many_do_not(words: list[str], joined_by: str) -> None:
    original = page(words, "Page", joined_by)
    for n_changed, is_near in ((1, True), (6, True), (75, False), (150, False)):
        assert are_near(original, page(with_others(words, n_changed), "Page", joined_by)) == is_near


def test_under_another_title_texts_have_to_be_long_and_nearly_the_same() -> None:
    assert are_near(page(TEXT), page(with_others(TEXT, 1), "Page | Mirror"))
    assert not are_near(page(TEXT), page(with_others(TEXT, 10), "Another"))
    short = TEXT[:70]
    assert are_near(page(short), page([*short, "end"]))
    assert not are_near(page(short), page([*short, "end"], "Another"))


def test_short_texts_have_no_sketch() -> None:
    for words in ([], TEXT[:4], TEXT[:20], ["same"] * 500):
        assert not sketch_of(page(words)).any()
    assert not are_near(page(TEXT[:20]), page(TEXT[:20]))


def test_pages_of_one_layout_with_other_numbers_are_no_near_copies() -> None:
    def listing(year: int) -> Document:
        rows = " ".join(
            f"in month {month} there were {year * month * 37 % 991} visits" for month in range(40)
        )
        return page([rows], "Visits by month")

    assert not are_near(listing(2024), listing(2025))


def test_spaces_and_punctuation_do_not_matter() -> None:
    assert are_near(page(TEXT), page(["(" + ", ".join(TEXT) + ")!\n"]))
    assert np.array_equal(sketch_of(page(HAN, joined_by="")), sketch_of(page(HAN, joined_by="\u3000，")))


def test_a_sketch_never_changes() -> None:
    """It is kept in segments, and compared between peers: another one is another format."""
    words = ["天网", "is", "a", "search", "engine", ",", "Строка", "поиска", "検索エンジン"]
    sketch = sketch_of(page([f"{word}{n}" for n in range(30) for word in words]))
    assert [hex(number) for number in sketch.tolist()] == [
        "0x5f07e330a9c4d02f",
        "0xb0e4f34311835d60",
        "0x802456e91cc661ca",
        "0xb5849bf1f66bf225",
    ]


def test_a_stored_page_has_the_sketch_that_it_had_before() -> None:
    original = page([*TEXT, "\ud800 lone"])
    assert np.array_equal(sketch_of(prepared(1, original).document), sketch_of(original))


def test_what_is_no_sketch_is_like_nothing() -> None:
    sketch = sketch_of(page(TEXT)).tobytes()
    assert len(sketch) == SKETCH_BYTES
    found = near_copies(sketches_of([sketch, b"", sketch[:-1], bytes(SKETCH_BYTES), b"", sketch]))
    assert [tuple(place) for place in np.argwhere(found).tolist()] == [(0, 5), (5, 0)]
    assert near_copies(sketches_of([])).shape == (0, 0)
