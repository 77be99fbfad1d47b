from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peers.text.folding import (
    _SIMPLIFIED_OF,
    SIMPLIFIED,
    AlignedText,
    fold,
    fold_letters,
    other_forms,
    simplify,
)
from peers.text.runs import RunKind, kind_of
from tests.peers.text.samples import any_text, han_text
from tests.peers.text.traditional_table import traditional_table


@settings(deadline=None)
@given(any_text)
def test_folding_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@settings(deadline=None)
@given(han_text)
def test_simplifying_changes_characters_and_no_lengths(text: str) -> None:
    simplified = simplify(text)
    assert simplified == "".join(_SIMPLIFIED_OF.get(c, c) for c in text)
    assert simplify(simplified) == simplified
    assert "".join(map(chr, SIMPLIFIED[np.array(list(map(ord, text)), np.int64)])) == simplified


def test_traditional_text_folds_to_simplified_text() -> None:
    assert fold("繁體中文網頁與搜尋引擎，後臺，於是") == "繁体中文网页与搜寻引擎，后台，于是"


def test_what_simplified_text_uses_itself_is_left_alone() -> None:
    text = "乾隆皇帝、著作、瞭望、慰藉、宫商角徵羽、头发出发、皇后、里程"
    assert fold(text) == text


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("baseball", "base\ufeffball"),
        ("Gesamtkonzept", "Ge\u00adsamt\u00adkon\u00adzept"),
        ("wordwrap", "word\u200bwrap\u2060"),
        ("葛城", "葛\U000e0100城"),
        ("辻", "辻\ufe00"),
        ("العربية", "\u200fالعَرَبِيَّة\u200e"),
        ("كتاب", "كتـــاب"),
        ("احمد", "أحمد"),
        ("علي", "على"),
        ("کتابها", "كتاب\u200cها"),
        ("שלום", "שָׁלוֹם"),
        ("οδυσσευσ", "Ὀδυσσεύς"),
        ("ωδη", "ᾨδή"),
        ("ελληνικα", "ΕΛΛΗΝΙΚΆ"),
        ("елка", "ёлка"),
        ("замок", "за\u0301мок"),
        ("जरूर", "ज़रूर"),
        ("हिंदी", "हिन्दी"),
        ("हां", "हाँ"),
        ("ன்றி", "ன்\u200dறி"),
        ("viet nam", "Việt Nam"),
        ("2024", "٢٠٢٤"),
        ("2024", "२०२४"),
        ("2024", "๒๐๒๔"),
        ("青年", "⻘年"),
        ("首页", "首⻚"),
        ("非常", "⾮常"),
        ("龙马", "⻰⻢"),
        ("母", "⺟"),
        ("神", "\ufa19"),
        ("か", "か\u309a"),
    ],
)
def test_spellings_that_readers_take_for_one_are_folded_to_one(typed: str, written: str) -> None:
    assert fold(written) == fold(typed)
    assert fold(typed) == fold(fold(typed))


@pytest.mark.parametrize(
    ("one", "other"), [("мой", "мои"), ("їжак", "іжак"), ("পড়া", "পডা"), ("が", "か"), ("ป่า", "ปา")]
)
def test_letters_that_readers_tell_apart_stay_apart(one: str, other: str) -> None:
    assert fold(one) != fold(other)


def test_every_radical_is_folded_to_a_character() -> None:
    # U+2E80 alone is none; U+2E9A is not assigned.
    radicals = {*map(chr, range(0x2E81, 0x2EF4)), *map(chr, range(0x2F00, 0x2FD6))} - {"\u2e9a"}
    assert all(fold(each) >= "\u3400" for each in radicals)


def test_forms_of_characters_are_told_in_both_directions() -> None:
    assert other_forms("図書") == ["图書"]
    assert other_forms("芸术") == ["艺术"]
    assert other_forms("艺术") == ["芸术"]
    assert other_forms("天地") == []


def test_characters_simplified_are_han_before_and_after() -> None:
    assert all(
        kind_of(traditional) is kind_of(simplified) is RunKind.HAN
        for traditional, simplified in _SIMPLIFIED_OF.items()
    )


def test_the_table_is_what_its_source_says() -> None:
    pytest.importorskip("opencc")
    made = traditional_table()
    same = sum(made.get(traditional) == simplified for traditional, simplified in _SIMPLIFIED_OF.items())
    # Other versions of the source know a few characters more, or less.
    assert same > 0.99 * max(len(made), len(_SIMPLIFIED_OF))


@settings(deadline=None)
@given(any_text | han_text)
def test_a_folded_character_is_placed_where_it_came_from(text: str) -> None:
    aligned = AlignedText(text)
    assert aligned.folded == fold(text)
    starts, ends = aligned.origins or (range(len(text)), range(1, len(text) + 1))
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        assert aligned.folded[place] in fold(text[start:end])
        assert aligned.span(place, place + 1) == (start, end)


@settings(deadline=None)
@given(any_text | st.text())
def test_folding_is_folding_letters_and_simplifying(text: str) -> None:
    assert fold(text) == simplify(fold_letters(text))
