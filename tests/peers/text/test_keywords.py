from __future__ import annotations

from math import isclose, sqrt

import pytest

from peers.text.keywords import KEYWORDS_MAX, keywords_of

RIVERS = "A river is water that flows, and the river flows to the sea. " * 5
OTHERS = "bridges mills boats fish salmon towns valleys stones sand rain snow spring summer north south"


def test_a_page_is_about_its_title_and_what_it_says_often_and_not_about_what_holds_sentences_together() -> (
    None
):
    words = [word for word, _ in keywords_of("Rivers", "Water", RIVERS + OTHERS)]
    assert words[0] == "river"  # rivers and river are one, in the form that is most frequent
    assert {"flows", "water"} <= set(words)
    assert not {"the", "to", "is", "a", "and", "rivers", "snow"} & set(words)


def test_words_of_chinese_are_those_of_its_dictionary() -> None:
    text = "搜索引擎收集网页，用户查询网页。" * 5 + "春天夏天秋天冬天，河流山脉森林草原，城市村庄道路桥梁。"
    words = [word for word, _ in keywords_of("搜索引擎", "", text)]
    assert {"搜索", "引擎", "网页"} <= set(words)
    assert "的" not in words


def test_book_7_1_weights_of_all_words_have_the_length_of_one() -> None:
    weights = dict(keywords_of("", "", "alpha " * 25 + "beta " + "gamma"))
    assert list(weights) == ["alpha"]  # the others weigh less than one and a half times the mean
    assert isclose(weights["alpha"], 5 / sqrt(25 + 1 + 1))


@pytest.mark.parametrize("text", ["", "the of and", "1 2 3", "x y z"])
def test_what_says_nothing_has_no_keywords(text: str) -> None:
    assert keywords_of("", "", text) == ()


def test_there_are_ten_at_most() -> None:
    many = " ".join(f"{word} {word} {word} {word}" for word in map("word{}".format, range(20)))
    others = " ".join(map("other{}".format, range(400)))
    assert len(keywords_of("", "", f"{many} {others}")) == KEYWORDS_MAX
