"""Words of the policy while a query is typed, and where no page has what sounds like one."""

from __future__ import annotations

import pytest

from peers.engine.mending.completions import Nearness
from peers.engine.mending.listed_words import WORDS_MAX, completed, meant
from peers.gateway.suggesting.merged_suggestions import merged
from peers.index.wire_messages import Completed

WORDS = frozenset(("爱心社", "单片机", "单片机实验"))


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("爱", ["爱心社"]),
        ("北大爱心", ["北大爱心社"]),
        ("单片", ["单片机", "单片机实验"]),
        ("单片机", ["单片机实验"]),
        ("爱心社", []),
        ("python 单", ["python 单片机", "python 单片机实验"]),
        ("aixinshe", ["爱心社"]),
        ("axs", ["爱心社"]),
        ("a", []),
        ("a 单 b", []),
        ("", []),
        ("社", []),
    ],
)
def test_what_begins_a_word_or_is_its_pinyin_goes_on_to_it(typed: str, expected: list[str]) -> None:
    assert completed(WORDS, typed) == expected


def test_listed_words_are_few_and_come_before_other_words() -> None:
    many = frozenset(f"单{chr(0x4E00 + n)}" for n in range(50))
    listed = completed(many, "单")
    assert len(listed) == WORDS_MAX
    pages = ("http://a.test/", "http://b.test/")
    told = [Completed("单车", Nearness.WORD, 9, pages), Completed("单数", Nearness.TEXT, 2, pages)]
    assert merged(told, "单", lambda url: True, ["单片机"]) == ["单数", "单片机", "单车"]
    assert merged(told, "单", lambda url: True) == ["单数", "单车"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("爱心设", "爱心社"),
        ("爱新社 招新", "爱心社 招新"),
        ("爱心社", ""),
        ("Python 丹片机", "Python 单片机"),
        ("你好", ""),
        ("爱心", ""),
    ],
)
def test_a_run_that_sounds_like_a_listed_word_is_taken_for_it(text: str, expected: str) -> None:
    assert meant(WORDS, text) == expected


def test_where_two_words_sound_alike_none_is_chosen() -> None:
    assert meant(frozenset(("事实", "实施")), "时事") == ""
