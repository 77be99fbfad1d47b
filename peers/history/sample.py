"""The counts and gauges of a peer in a span of time. Values, pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import zip_longest
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

# 2^53: what JSON numbers hold exactly, and the sum over a mesh still fits 64 bits.
COUNT_MAX: Final = 1 << 53
SEARCH_CLASSES_MAX: Final = 32

# Upper limits keep infinities out, lower ones what is no number: another peer may say anything.
Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]
Amount = Annotated[float, Meta(ge=0, le=1e15)]
Time = Annotated[float, Meta(ge=0, le=1e12)]  # seconds since the epoch
Span = Annotated[float, Meta(gt=0, le=1e9)]  # seconds


class Counters(msgspec.Struct, frozen=True, array_like=True):
    """Numbers that only grow: since the start of a peer, or within a sample."""

    pages: Count = 0  # fetched
    fetched_bytes: Count = 0
    messages: Count = 0  # to other peers
    message_bytes: Count = 0
    moved_bytes: Count = 0  # got from other peers, of slots
    cpu_s: Amount = 0.0
    # Searches by how long they took, in the classes of the gateway's histogram.
    search_classes: Annotated[tuple[Count, ...], Meta(max_length=SEARCH_CLASSES_MAX)] = ()


class Gauges(msgspec.Struct, frozen=True, array_like=True):
    """Numbers that go up and down, at the end of a sample."""

    queued: Count = 0  # URLs
    documents: Count = 0  # in the index, copies included
    disk_bytes: Count = 0  # archive and index
    private_bytes: Count = 0  # of memory
    slots_owned: Count = 0
    slots_wanted: Count = 0  # to be brought here, as `HandoverStatistics.wanted`


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """A span of time in the life of a peer."""

    start_s: Time  # mesh clock; a whole multiple of the span
    span_s: Span
    seconds: Amount  # of the span, in which it ran and was measured
    counters: Counters
    gauges: Gauges


def added(one: Counters, other: Counters) -> Counters:
    """Add up the counts of two spans."""
    return _combined(one, other, lambda here, there: here + there)


def grown(now: Counters, before: Counters) -> Counters:
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


def _combined(one: Counters, other: Counters, combine: Callable[[float, float], float]) -> Counters:
    """Combine field by field, and class by class."""
    fields: dict[str, Any] = {
        name: combine(getattr(one, name), getattr(other, name))
        for name in Counters.__struct_fields__
        if name != "search_classes"
    }
    classes = zip_longest(one.search_classes, other.search_classes, fillvalue=0)
    return Counters(**fields, search_classes=tuple(int(combine(*each)) for each in classes))
