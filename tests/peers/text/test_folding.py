from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peers.text.folding import _SIMPLIFIED_OF, SIMPLIFIED, AlignedText, fold, fold_letters, simplify
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
