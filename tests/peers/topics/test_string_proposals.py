"""Strings that are proposed for a topic: frequent, whole, and none that only holds sentences together."""

from __future__ import annotations

from peers.topics.string_proposals import proposed_strings

CHINESE = [
    "中国共产党第十六次全国代表大会今天开幕。大会的主题是建设小康社会。",
    "代表们热烈讨论小康社会。第十六次全国代表大会受到关注，代表大会的意义很大。",
    "记者在大会堂报道：全国代表大会今天闭幕，小康社会是目标。",
]
ENGLISH = [
    "The climate change conference opened. Climate change is the subject of the conference.",
    "Delegates of the climate change conference spoke about sea level rise.",
    "Sea level rise is a consequence of climate change, the delegates say.",
]


def test_strings_are_counted_with_the_texts_that_have_them() -> None:
    proposed = {each.text: (each.occurrences, each.texts) for each in proposed_strings(CHINESE)}
    assert proposed["小康社会"] == (3, 3)
    assert proposed["全国代表大会"] == (3, 3)
    assert proposed["第十六次全国代表大会"] == (2, 2)
    assert proposed["代表大会"] == (4, 3)


def test_a_string_inside_a_longer_one_of_nearly_its_frequency_is_left_out() -> None:
    proposed = {each.text for each in proposed_strings(CHINESE)}
    assert not proposed & {"小康", "康社会", "小康社", "全国代表", "国代表大会", "第十六次"}


def test_words_go_together_and_function_words_are_at_no_end() -> None:
    proposed = {each.text: each.texts for each in proposed_strings(ENGLISH)}
    assert proposed["climate change"] == 3
    assert proposed["sea level rise"] == 2
    assert proposed["climate change conference"] == 2
    ends = {word for text in proposed for word in (text.split()[0], text.split()[-1])}
    assert not ends & {"the", "of", "is", "a", "about"}


def test_a_string_of_one_text_alone_is_none_unless_asked_for_and_no_longer_than_fifteen_characters() -> None:
    text = "一二三四五六七八九十甲乙丙丁戊己庚辛"
    assert proposed_strings([text, "不相干"]) == []
    assert max(len(each.text) for each in proposed_strings([text, text])) == 15
    assert "不相干" not in {each.text for each in proposed_strings([text, "不相干"], texts_min=1)}
    assert len(proposed_strings([*CHINESE, *ENGLISH], texts_min=1, most=5)) == 5
