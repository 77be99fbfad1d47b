from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peers.text import characters
from peers.text.characters import (
    ALPHANUMERIC,
    LETTER,
    SPACE,
    WIDE,
    character_classes,
    codes_of,
    fold_apart,
    fold_evenly,
    text_of,
)
from peers.text.folding import AlignedText, fold
from peers.text.runs import RunKind, kind_of
from tests.peers.text.samples import any_text, han_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", LETTER | ALPHANUMERIC),
        ("é", LETTER | ALPHANUMERIC),
        ("7", LETTER | ALPHANUMERIC),
        ("天", WIDE | ALPHANUMERIC),
        ("カ", WIDE | ALPHANUMERIC),
        ("，", WIDE),
        ("_", 0),
        ("\u094d", LETTER | ALPHANUMERIC),
        ("\u0e31", ALPHANUMERIC),
        ("\u200d", ALPHANUMERIC),
        ("\u2003", SPACE),
    ],
)
def test_characters_have_the_classes_of_their_scripts(text: str, expected: int) -> None:
    assert character_classes()[ord(text)] & (WIDE | LETTER | ALPHANUMERIC | SPACE) == expected


@given(st.characters())
def test_space_and_letters_are_those_of_python(character: str) -> None:
    classes = int(character_classes()[ord(character)])
    assert bool(classes & SPACE) == character.isspace()
    is_part_of_run = kind_of(character) is not RunKind.SEPARATOR
    assert bool(classes & ALPHANUMERIC) == (is_part_of_run or character in "\u00ad\u200c\u200d\u2060")
    assert is_part_of_run or not re.match(r"[^\W_]", character)


def test_classes_that_are_looked_for_in_the_basic_plane_have_no_character_beyond() -> None:
    beyond = text_of(np.arange(0x1_0000, sys.maxunicode + 1, dtype=np.uint32))
    found = {bit for bit, pattern in characters._PATTERNS.items() if re.search(pattern, beyond)}
    assert found == {*characters._BEYOND_BMP}


@settings(deadline=None)
@given(any_text | han_text | st.text())
def test_folding_character_by_character_is_folding_the_text(text: str) -> None:
    folded = fold_evenly(codes_of(text))
    assert folded is None or text_of(folded) == fold(text)


@pytest.mark.parametrize("text", ["Café ŁÓDŹ", "ＡＢＣ　全角", "臺灣網頁，天网。", "Ωσς…", "\x00", "שלום"])
def test_most_texts_are_folded_evenly(text: str) -> None:
    folded = fold_evenly(codes_of(text))
    assert folded is not None
    assert text_of(folded) == fold(text)


@pytest.mark.parametrize("text", ["cafe\u0301", "a\u00ad", "↩\ufe0e", "½", "ﬁ", "ｶﾞ", "\u1100\u1161"])
def test_what_joins_or_falls_apart_is_left_to_others(text: str) -> None:
    assert fold_evenly(codes_of(text)) is None


def test_texts_come_back_from_their_code_points() -> None:
    text = "天网 \ud800 \U0001f600"
    assert text_of(codes_of(text)) == text
    assert np.array_equal(codes_of("ab"), [97, 98])


@settings(deadline=None)
@given(any_text | han_text | st.text() | st.text("a\u200b\u00adßŒﬁ½…İé国", max_size=12))
def test_characters_that_fall_apart_are_where_an_aligned_text_has_them(text: str) -> None:
    apart, aligned = fold_apart(codes_of(text)), AlignedText(text)
    if apart is not None:
        folded, starts, ends = apart
        origins = aligned.origins or ([*range(len(text))], [*range(1, len(text) + 1)])
        assert (text_of(folded), starts.tolist(), ends.tolist()) == (aligned.folded, *origins)


@pytest.mark.parametrize(("text", "is_told"), [("a\u200bß…ﬁ", True), ("½ é", True), ("cafe\u0301", False)])
def test_only_what_joins_is_left_to_the_aligned_text(text: str, is_told: bool) -> None:
    assert (fold_apart(codes_of(text)) is not None) == is_told


def test_characters_that_fall_apart_are_folded_with_others_of_their_kind() -> None:
    apart = "".join(filter(lambda character: fold_apart(codes_of(character)), map(chr, range(0xA0, 0xFFFF))))
    assert len(apart) > 10_000
    text = apart + apart[::-3]
    folded, starts, ends = fold_apart(codes_of(text)) or pytest.fail("each of them alone is")
    aligned = AlignedText(text)
    assert (text_of(folded), (starts.tolist(), ends.tolist())) == (aligned.folded, aligned.origins)
