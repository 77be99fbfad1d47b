"""The strength of a topic over time: eight series, with values put in for lost slices.

Per slice and for all of them together, pages and contents, as numbers and as shares of all there were. A
slice in which far fewer pages were visited than in others is *lost*: it says more of the crawl than of the
topic. Its values are put in from its neighbours, and marked.

Source: Li, Yan, Wang 2004, section 13.2: total, mean and deviation (macro) and each slice (change), absolute
and relative, all and independent pages; bad slices by cubic Lagrange interpolation from four neighbours.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import median
from typing import Final, NamedTuple

from peers.topics.wire_messages import ContentCounts, SliceCounts

LOST_SHARE: Final = 0.5  # of the median of the pages of a slice: one with fewer is lost
NEIGHBOURS: Final = 4


class SliceValue(NamedTuple):
    """The value of one series in one slice."""

    value: float | None  # None for a lost slice that has not neighbours on both sides
    is_mended: bool


class ValueSeries(NamedTuple):
    """The values of all slices in order, and their sums."""

    values: tuple[SliceValue, ...]
    total: float
    mean: float
    deviation: float


class Strength(NamedTuple):
    """Pages of one kind, or their contents: numbers, and shares of all pages or contents."""

    absolute: ValueSeries
    share: ValueSeries


class TopicSeries(NamedTuple):
    """Everything that is said of a topic."""

    first: int  # number of the first slice; the others follow without a gap
    counts: tuple[SliceCounts, ...]  # as they were counted, of every slice
    lost: tuple[bool, ...]
    topic: Strength  # pages with a string of the topic
    topic_contents: Strength
    related: Strength  # pages with a related string, those of the topic included
    related_contents: Strength


def topic_series(slices: Sequence[SliceCounts], together: ContentCounts) -> TopicSeries | None:
    """Return the series from the counts of slices; None where nothing is counted.

    Args:
      slices: in order, those without any page may be missing.
      together: contents of all slices, each once.
    """
    if not slices:
        return None
    first, last = slices[0].slice, slices[-1].slice
    by_number = {each.slice: each for each in slices}
    counts = tuple(by_number.get(n, SliceCounts(n)) for n in range(first, last + 1))
    lost = lost_among([each.pages for each in counts])
    pages, contents = [each.pages for each in counts], [each.contents for each in counts]

    def strength(values: Sequence[int], of_all: Sequence[int], total: int, total_of_all: int) -> Strength:
        shares = [value / most if most else 0.0 for value, most in zip(values, of_all, strict=True)]
        absolute = _series(values, lost, most=None, total=total)
        return Strength(absolute, _series(shares, lost, most=1.0, total=_ratio(total, total_of_all)))

    topic, related = [each.topic for each in counts], [each.related for each in counts]
    return TopicSeries(
        first,
        counts,
        lost,
        strength(topic, pages, sum(topic), sum(pages)),
        strength([each.topic_contents for each in counts], contents, together.topic, together.contents),
        strength(related, pages, sum(related), sum(pages)),
        strength([each.related_contents for each in counts], contents, together.related, together.contents),
    )


def lost_among(pages: Sequence[int]) -> tuple[bool, ...]:
    """Tell which slices are lost, from the pages that were visited in each."""
    least = LOST_SHARE * median(pages)
    return tuple(n < least or not n for n in pages)


def mended(good: Mapping[int, float], place: int) -> float | None:
    """Return the value of a lost slice: y(t) = sum_i y_i prod_{j != i} (t - t_j) / (t_i - t_j).

    Of four neighbours, two before and two behind it; three of one side where the other has only one. None
    where one side has none: beyond its points a cubic runs away.
    """
    places = sorted(good)
    at = bisect(places, place)
    n_before = min(at, max(NEIGHBOURS // 2, NEIGHBOURS - (len(places) - at)))
    chosen = places[at - n_before : at] + places[at : at + NEIGHBOURS - n_before]
    if len(chosen) < NEIGHBOURS or not 0 < at < len(places):
        return None
    value = 0.0
    for t_i in chosen:
        weight = 1.0
        for t_j in chosen:
            if t_j != t_i:
                weight *= (place - t_j) / (t_i - t_j)
        value += good[t_i] * weight
    return value


def _series(
    values: Sequence[float], lost: Sequence[bool], *, most: float | None, total: float
) -> ValueSeries:
    good = {n: float(value) for n, value in enumerate(values) if not lost[n]}
    told: list[SliceValue] = []
    for n, is_lost in enumerate(lost):
        value = mended(good, n) if is_lost else good[n]
        if value is not None:
            value = max(0.0, value if most is None else min(value, most))
        told.append(SliceValue(value, is_lost and value is not None))
    known = [each.value for each in told if each.value is not None]
    mean = _ratio(sum(known), len(known))
    deviation = sqrt(_ratio(sum((value - mean) ** 2 for value in known), len(known)))
    return ValueSeries(tuple(told), total, mean, deviation)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
