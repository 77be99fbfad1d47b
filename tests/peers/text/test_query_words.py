from __future__ import annotations

import pytest

from peers.text.query_words import QueryWord, simple_queries, unknown_words


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("爱心社", ["爱心社"]),
        ("爱心社+北大", ["爱心社", "北大"]),
        ("爱心社 爱心社 -北大", ["爱心社", "北大"]),
        ('"爱心社"|(北大)', ["爱心社", "北大"]),
        ("愛心社", ["爱心社"]),
        ("site:pku.edu.cn 爱心社", ["爱心社"]),
        ("北大ABC", []),  # mixed with Latin
        ("网易163", []),
        ("社", []),
        ("一二三四五六七八", ["一二三四五六七八"]),
        ("一二三四五六七八九", []),
        ("", []),
    ],
)
def test_a_logical_query_is_taken_apart_and_parts_in_other_scripts_are_dropped(
    query: str, parts: list[str]
) -> None:
    assert list(simple_queries(query)) == parts


@pytest.mark.parametrize("word", ["爱心社", "何炅", "哇嘎"])
def test_a_word_that_the_dictionary_lacks_is_found(word: str) -> None:
    assert unknown_words({word: 5}, 5) == [QueryWord(word, 5)]


@pytest.mark.parametrize(
    "part",
    [
        "安阳",  # the dictionary has it
        "计算机网络",
        "地震照片",  # made of words that it has
        "汶川地震原因",
        "什么是爱",  # a sentence
        "北京的天气",
    ],
)
def test_known_words_and_phrases_of_them_are_none(part: str) -> None:
    assert unknown_words({part: 100}, 5) == []


def test_a_phrase_of_a_word_found_and_words_of_the_dictionary_is_none() -> None:
    found = unknown_words({"哇嘎": 5, "哇嘎下载": 50, "下载哇嘎软件": 9, "哇嘎网": 6}, 5)
    assert [each.word for each in found] == ["哇嘎网", "哇嘎"]  # beside a single character it may be a name


def test_a_word_made_of_unknown_words_alone_is_one() -> None:
    found = unknown_words({"何炅": 5, "哇嘎": 5, "何炅哇嘎": 5}, 5)
    assert {each.word for each in found} == {"何炅", "哇嘎", "何炅哇嘎"}


def test_the_most_frequent_is_first_and_what_few_asked_for_is_left_out() -> None:
    found = unknown_words({"爱心社": 5, "何炅": 9, "哇嘎": 4}, 5)
    assert [each.word for each in found] == ["何炅", "爱心社"]
