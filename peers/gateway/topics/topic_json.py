"""The strength of a topic as the JSON of /api/topics, and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING

import msgspec

from peers.gateway.model.messages import CountsSummed
from peers.gateway.model.time_words import utc
from peers.topics.topic_list import CountedTopic, TopicsInForce

if TYPE_CHECKING:
    from peers.topics.series import Strength, TopicSeries, ValueSeries


class TopicJson(msgspec.Struct, frozen=True):
    """A topic, as it is decreed."""

    name: str
    title: str
    strings: tuple[str, ...]
    related: tuple[str, ...]
    sites: tuple[str, ...]  # empty for all
    slice_s: int
    starts_s: int  # seconds after midnight, UTC, for slices of a day
    kept: int  # slices


class TopicsJson(msgspec.Struct, frozen=True):
    """The topics of the mesh."""

    number: int  # of their decree, 0 for none
    topics: list[TopicJson]


class SeriesJson(msgspec.Struct, frozen=True):
    """A series: the values of its slices, and their sums."""

    total: float  # of what was counted
    mean: float  # of the values, mended ones included
    deviation: float
    values: list[float | None]  # null for a slice that is lost and could not be mended


class StrengthJson(msgspec.Struct, frozen=True):
    """Numbers, and shares of all pages, or contents, of the sites of the topic."""

    absolute: SeriesJson
    share: SeriesJson


class SliceJson(msgspec.Struct, frozen=True):
    """The pages that were visited in a slice, and their contents, of which each counts once."""

    begins_at: float  # seconds since the epoch
    pages: int
    related: int  # with a related string, or one of the topic
    topic: int
    contents: int
    related_contents: int
    topic_contents: int
    is_lost: bool  # so few pages were visited that the values of its series are put in from its neighbours


class TopicStrengthJson(msgspec.Struct, frozen=True):
    """How strongly a topic is written about: slices that are over, and the series over them."""

    topic: TopicJson
    open_until: float  # seconds since the epoch: when the slice of now is over, and counted
    slices: list[SliceJson]
    pages: StrengthJson | None  # on the topic; null while no slice is over
    contents: StrengthJson | None
    related_pages: StrengthJson | None
    related_contents: StrengthJson | None
    left_out: tuple[str, ...] = ()  # peers that lie, without whose counts these are
    silent: tuple[str, ...] = ()  # peers that have not told all of theirs, likewise
    missing_share: float = 0.0  # of all pages and contents, about: the slots of both


def topics_json(topics: TopicsInForce | None) -> TopicsJson:
    if topics is None:
        return TopicsJson(0, [])
    return TopicsJson(topics.number, [_topic(topics, topic) for topic in topics.list.topics])


def strength_json(topics: TopicsInForce, topic: CountedTopic, counted: CountsSummed) -> TopicStrengthJson:
    # Loaded where a topic is asked for.
    from peers.topics.series import topic_series

    series = topic_series(counted.slices, counted.together)
    return TopicStrengthJson(
        topic=_topic(topics, topic),
        open_until=topics.list.start_of(counted.end + 1),
        slices=[] if series is None else list(_slices(topics, series)),
        pages=None if series is None else _strength(series.topic),
        contents=None if series is None else _strength(series.topic_contents),
        related_pages=None if series is None else _strength(series.related),
        related_contents=None if series is None else _strength(series.related_contents),
        left_out=counted.left_out,
        silent=counted.silent,
        missing_share=counted.missing_share,
    )


def strength_csv(told: TopicStrengthJson) -> str:
    """Write a line for each slice: its counts, then the values of the series."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = dict(series_of(told))
    counted = ("pages", "related", "topic", "contents", "related_contents", "topic_contents")
    writer.writerow(("slice", *counted, "is_lost", *columns))
    for n, each in enumerate(told.slices):
        at = utc(each.begins_at)
        counts = (getattr(each, name) for name in counted)
        values = (_cell(column.values[n]) for column in columns.values())
        begins = "" if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}"
        writer.writerow((begins, *counts, int(each.is_lost), *values))
    return text.getvalue()


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def series_of(told: TopicStrengthJson) -> Iterator[tuple[str, SeriesJson]]:
    """Yield the series with their names in CSV and in `TEXTS`."""
    strengths = (
        ("topic_pages_number", "topic_pages_share", told.pages),
        ("topic_contents_number", "topic_contents_share", told.contents),
        ("related_pages_number", "related_pages_share", told.related_pages),
        ("related_contents_number", "related_contents_share", told.related_contents),
    )
    for number, share, strength in strengths:
        if strength is not None:
            yield number, strength.absolute
            yield share, strength.share


def _topic(topics: TopicsInForce, topic: CountedTopic) -> TopicJson:
    of_list = topics.list.slice_s, topics.list.starts_s
    return TopicJson(topic.name, topic.title, topic.strings, topic.related, topic.sites, *of_list, topic.kept)


def _slices(topics: TopicsInForce, series: TopicSeries) -> Iterator[SliceJson]:
    for counts, is_lost in zip(series.counts, series.lost, strict=True):
        yield SliceJson(
            topics.list.start_of(counts.slice),
            counts.pages,
            counts.related,
            counts.topic,
            counts.contents,
            counts.related_contents,
            counts.topic_contents,
            is_lost,
        )


def _strength(strength: Strength) -> StrengthJson:
    return StrengthJson(_series(strength.absolute), _series(strength.share))


def _series(series: ValueSeries) -> SeriesJson:
    return SeriesJson(series.total, series.mean, series.deviation, [each.value for each in series.values])
