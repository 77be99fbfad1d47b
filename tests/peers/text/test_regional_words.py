from __future__ import annotations

import pytest

from peers.text.regional_words import RegionalWord, regional_words


def _words(*words: str) -> list[tuple[str, str]]:
    run = "".join(words)
    borders = {len("".join(words[:n])) for n in range(len(words) + 1)}
    return [(run[start:end], others[0]) for start, end, others in regional_words(run, borders)]


@pytest.mark.parametrize(
    ("mainland", "elsewhere"),
    [("软件", "软体"), ("打印机", "印表机"), ("弗吉尼亚", "维珍尼亚")],
)
def test_a_word_has_its_like_elsewhere_and_back(mainland: str, elsewhere: str) -> None:
    there = regional_words(mainland, {0, len(mainland)})
    back = regional_words(elsewhere, {0, len(elsewhere)})
    assert [(each.start, each.end) for each in there] == [(0, len(mainland))]
    assert elsewhere in there[0].others
    assert mainland in back[0].others


def test_the_longest_word_counts_and_none_twice() -> None:
    assert _words("数据", "库", "软件") == [("数据库", "资料库"), ("软件", "软体")]


def test_a_word_that_cuts_another_is_none() -> None:
    assert _words("柔软", "件") == []
    assert regional_words("", {0}) == []
    assert regional_words("天", {0, 1}) == list[RegionalWord]()
