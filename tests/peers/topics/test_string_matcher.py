"""Strings of topics in a page: each topic has its level, in any form of the characters."""

from __future__ import annotations

import pytest

from peers.topics.string_matcher import StringMatcher
from peers.topics.topic_list import FORMAT, RELATED_LEVEL, TOPIC_LEVEL, CountedTopic, TopicList, TopicMarks

WATER = CountedTopic("water", "Water", ("洪水", "high water"), ("rain", "台湾"))
TAIWAN = CountedTopic("taiwan", "Taiwan", ("臺灣",), ())
BOTH = TopicList(FORMAT, (WATER, TAIWAN))
WATER_KEY, TAIWAN_KEY = (BOTH.key_of(topic) for topic in BOTH.topics)
MATCHER = StringMatcher(b"digest", BOTH)


@pytest.mark.parametrize(
    ("title", "text", "levels"),
    [
        ("", "今年的洪水很大", {WATER_KEY: TOPIC_LEVEL}),
        ("HIGH Water", "nothing", {WATER_KEY: TOPIC_LEVEL}),
        ("", "some rain", {WATER_KEY: RELATED_LEVEL}),
        ("", "rain, and a flood of 洪水", {WATER_KEY: TOPIC_LEVEL}),
        ("", "在臺灣", {WATER_KEY: RELATED_LEVEL, TAIWAN_KEY: TOPIC_LEVEL}),
        ("", "rainy highwater", {}),
        ("high", "water", {}),
    ],
)
def test_a_page_has_the_greatest_level_of_each_topic(title: str, text: str, levels: dict[bytes, int]) -> None:
    assert MATCHER.marks(title, text) == TopicMarks(b"digest", tuple(sorted(levels.items())))
