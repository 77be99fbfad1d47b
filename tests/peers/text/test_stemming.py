from __future__ import annotations

import pytest

from peers.text.stemming import FORMLESS, form_of


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("searching", "\x03search"),
        ("searches", "\x03search"),
        ("indices", "\x03indic"),
        ("sky", "\x03sky"),
        ("c", "\x03c"),
        ("2004", "\x032004"),
        ("123", ""),
        ("x86", ""),
        ("the", ""),
        ("поиск", ""),
        ("天网", ""),
    ],
)
def test_words_have_forms(word: str, form: str) -> None:
    assert form_of(word) == form


def test_function_words_have_no_form() -> None:
    assert not any(form_of(word) for word in FORMLESS)
