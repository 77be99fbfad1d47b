"""The counts and gauges of a peer in a span of time. Values, pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import zip_longest
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

# 2^53: what JSON numbers hold exactly, and the sum over a mesh still fits 64 bits.
COUNT_MAX: Final = 1 << 53
SEARCH_CLASSES_MAX: Final = 32
VALUES_MAX: Final = 64
NAME_CHARS_MAX: Final = 64

# Upper limits keep infinities out, lower ones what is no number: another peer may say anything.
Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]
Amount = Annotated[float, Meta(ge=0, le=1e15)]
Time = Annotated[float, Meta(ge=0, le=1e12)]  # seconds since the epoch
Span = Annotated[float, Meta(gt=0, le=1e9)]  # seconds


# Quantities by name; the gateway's table of quantities has their meanings. A name that one of two samples
# lacks, as after an upgrade, is 0 there.
Values = Annotated[
    dict[Annotated[str, Meta(max_length=NAME_CHARS_MAX)], Count | Amount], Meta(max_length=VALUES_MAX)
]


class Counts(msgspec.Struct, frozen=True, array_like=True):
    """Numbers that only grow: since the start of a peer, or within a sample."""

    values: Values = {}
    # Searches by how long they took, in the classes of the gateway's histogram.
    search_classes: Annotated[tuple[Count, ...], Meta(max_length=SEARCH_CLASSES_MAX)] = ()


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """A span of time in the life of a peer."""

    start_s: Time  # mesh clock; a whole multiple of the span
    span_s: Span
    seconds: Amount  # of the span, in which it ran and was measured
    counters: Counts
    gauges: Values  # numbers that go up and down, at its end


def added(one: Counts, other: Counts) -> Counts:
    """Add up the counts of two spans."""
    return _combined(one, other, lambda here, there: here + there)


def grown(now: Counts, before: Counts) -> Counts:
    """Return the counts between two looks; a number that has become less was counted anew from 0."""
    has_begun_anew = any(map(int.__lt__, now.search_classes, before.search_classes))
    known = replace(before, search_classes=()) if has_begun_anew else before
    return _combined(now, known, lambda here, there: here - there if here >= there else here)


def merged(one: Sample, later: Sample) -> Sample:
    """Put a later sample to one; the span stays that of the first."""
    return Sample(
        one.start_s,
        one.span_s,
        one.seconds + later.seconds,
        added(one.counters, later.counters),
        later.gauges,
    )


def coarsened(samples: Iterable[Sample], span_s: float) -> list[Sample]:
    """Put those together that begin within the same span, in order; longer ones stay as long as they are."""
    spans: list[Sample] = []
    for sample in samples:
        start_s = sample.start_s // span_s * span_s
        if spans and spans[-1].start_s == start_s:
            spans[-1] = merged(spans[-1], sample)
        else:
            spans.append(replace(sample, start_s=start_s, span_s=max(span_s, sample.span_s)))
    return spans


def _combined(one: Counts, other: Counts, combine: Callable[[float, float], float]) -> Counts:
    """Combine name by name, and class by class."""
    values = {
        name: combine(one.values.get(name, 0), other.values.get(name, 0))
        for name in dict.fromkeys((*one.values, *other.values))
    }
    classes = zip_longest(one.search_classes, other.search_classes, fillvalue=0)
    return Counts(values, tuple(int(combine(*each)) for each in classes))
