"""The list of topics: keys follow from what is counted, and a stranger's list does no harm."""

from __future__ import annotations

from math import inf
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mesh.keys.decree import TOPICS, Decree
from peers.topics.issuer import with_topic, without_topic
from peers.topics.topic_list import (
    FORMAT,
    CountedTopic,
    TopicList,
    TopicsInForce,
    list_body,
    list_in,
    topics_of,
)

WATER = CountedTopic("water", "Water", ("洪水", "flood"), ("rain",), ("news.test",))
TOPIC_LIST = TopicList(FORMAT, (WATER,), 3_600, 600)


def decree(body: bytes, number: int = 3) -> Decree:
    return Decree(TOPICS, "", number, 0.0, inf, body, b"", b"")


def in_force(topics: TopicList) -> TopicsInForce:
    found = topics_of([decree(list_body(topics))], None)
    assert found is not None
    return found


def test_a_round_belongs_to_the_slice_in_which_it_started() -> None:
    night = TopicList(FORMAT, (WATER,), 86_400, 22 * 3_600)
    begun = 10 * 86_400 + 22 * 3_600
    assert night.slice_at(begun) == night.slice_at(begun + 14 * 3_600) == 10
    assert night.slice_at(begun - 1.0) == 9
    assert night.start_of(10) == begun


@pytest.mark.parametrize(
    "change",
    [
        {"topics": (replace(WATER, strings=("flood",)),)},
        {"topics": (replace(WATER, related=()),)},
        {"topics": (replace(WATER, sites=()),)},
        {"slice_s": 7_200},
        {"starts_s": 0},
    ],
)
def test_whatever_counts_depend_on_makes_another_key(change: dict[str, Any]) -> None:
    changed = replace(TOPIC_LIST, **change)
    assert changed.key_of(changed.topics[0]) != TOPIC_LIST.key_of(WATER)


def test_title_retention_and_order_of_strings_make_none() -> None:
    other = replace(WATER, title="High water", kept=5, strings=("flood", "洪水"), since_s=9.0)
    assert TOPIC_LIST.key_of(other) == TOPIC_LIST.key_of(WATER)


def test_a_topic_looks_at_its_sites_and_those_below_them() -> None:
    everywhere = replace(WATER, name="all", sites=())
    topics = in_force(replace(TOPIC_LIST, topics=(WATER, everywhere)))
    of_all = topics.list.key_of(everywhere)
    assert topics.keys_of("a.news.test") == topics.keys_of("news.test") == sorted(topics.by_key)
    assert topics.keys_of("fakenews.test") == [of_all]


def test_counts_are_kept_for_the_slices_that_the_topic_says() -> None:
    topics = in_force(replace(TOPIC_LIST, topics=(replace(WATER, kept=4),)))
    (key,) = topics.by_key
    assert [number for number in range(10, 24) if topics.keeps(key, number, 20)] == [17, 18, 19, 20, 21]
    assert not topics.keeps(b"none", 20, 20)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x91" * 5_000,
        msgspec.msgpack.encode(("another format", ())),
        list_body(replace(TOPIC_LIST, topics=(WATER, WATER))),
        list_body(replace(TOPIC_LIST, starts_s=3_600)),
        list_body(replace(TOPIC_LIST, topics=(replace(WATER, name="../x"),))),
        list_body(replace(TOPIC_LIST, topics=(replace(WATER, strings=()),))),
        list_body(replace(TOPIC_LIST, slice_s=1)),
    ],
)
def test_what_is_no_list_is_refused_and_the_one_before_goes_on(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        list_in(body)
    before = in_force(TOPIC_LIST)
    assert topics_of([decree(body)], before) is before


def test_no_decree_and_no_topic_are_the_end_of_counting() -> None:
    assert topics_of([], in_force(TOPIC_LIST)) is None
    assert topics_of([decree(list_body(TopicList(FORMAT, ())))], in_force(TOPIC_LIST)) is None


def test_pages_are_asked_for_anew_only_where_something_else_is_counted() -> None:
    topics = with_topic(TopicList(FORMAT, ()), WATER, 1_000.0)
    assert topics.topics[0].since_s == 1_060.0
    again = with_topic(topics, replace(WATER, title="Floods"), 2_000.0)
    assert again.topics == (replace(WATER, title="Floods", since_s=1_060.0),)
    changed = with_topic(again, replace(WATER, strings=("flood",)), 3_000.0)
    assert [each.since_s for each in changed.topics] == [3_060.0]
    assert without_topic(changed, "water").topics == ()
