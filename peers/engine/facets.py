"""How many of the pages that match have which host, language, type and year.

Counts are exact, over all that match, and add up over segments and peers. The pages of a host are neighbours
in a segment, so its number comes from a running sum; languages and types are entries of the dictionary, of
which there are few.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

import msgspec
import numpy as np

from peers.engine.builder import host_of_url
from peers.engine.marks import LANGUAGE_PREFIX, TYPE_PREFIX
from peers.engine.matching import dates_of, entry_marks
from peers.engine.segment import Segment
from peers.kernel import Bytes, Floats, Ints

# Of a dictionary, the first ones: a hostile page may claim any language, honest ones have a few dozen.
ENTRIES_MAX: Final = 500

Values: TypeAlias = Counter[str]


class Facets(msgspec.Struct, frozen=True):
    """Counts by value."""

    hosts: Values = msgspec.field(default_factory=Counter)
    languages: Values = msgspec.field(default_factory=Counter)
    types: Values = msgspec.field(default_factory=Counter)
    years: Values = msgspec.field(default_factory=Counter)

    def __add__(self, other: Facets) -> Facets:
        return Facets(
            self.hosts + other.hosts,
            self.languages + other.languages,
            self.types + other.types,
            self.years + other.years,
        )


def sum_facets(parts: Iterable[Facets]) -> Facets:
    """Add up the counts of disjoint collections."""
    return sum(parts, Facets())


def facets_of(segment: Segment, marks: Bytes) -> Facets:
    """Count over the documents of a segment that are marked.

    Raises:
      DamagedSegmentError.
    """
    if not marks.any():
        return Facets()
    return Facets(
        hosts=_hosts(segment, marks),
        languages=_entries(segment, LANGUAGE_PREFIX, marks),
        types=_entries(segment, TYPE_PREFIX, marks),
        years=_years(dates_of(segment)[np.flatnonzero(marks)]),
    )


_hosts_of_segments: WeakKeyDictionary[Segment, tuple[list[str], Ints]] = WeakKeyDictionary()


def _hosts(segment: Segment, marks: Bytes) -> Values:
    known = _hosts_of_segments.get(segment)
    if known is None:
        known = _hosts_of_segments[segment] = _host_ranges(segment)
    names, starts = known
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(marks, dtype=np.int64)))
    counts = np.diff(before[starts])
    values: Values = Counter()
    for number in np.flatnonzero(counts).tolist():
        values[names[number]] += int(counts[number])
    return values


def _host_ranges(segment: Segment) -> tuple[list[str], Ints]:
    """Return the host of each range of neighbours, and where the ranges start (n + 1).

    A host has several where it has several schemes or ports.
    """
    names: list[str] = []
    starts: list[int] = []
    document = 0
    while document < segment.document_count:
        origin = _origin(segment.url(document))
        names.append(host_of_url(origin.decode(errors="replace")))
        starts.append(document)
        # Everything that begins with the origin and a slash comes before the origin and a zero.
        after = origin + b"0"
        document = max(
            document + 1,
            bisect_left(range(segment.document_count), after, lo=document, key=segment.url),
        )
    return names, np.array([*starts, segment.document_count], np.int64)


def _origin(url: bytes) -> bytes:
    scheme, separator, rest = url.partition(b"://")
    return scheme + separator + rest.partition(b"/")[0]


def _entries(segment: Segment, prefix: str, marks: Bytes) -> Values:
    """Count the marked documents under each entry with a prefix."""
    values: Values = Counter()
    known = segment.beginning_with(prefix, ENTRIES_MAX)
    for number, entry in enumerate(segment.names(known.numbers)):
        one = known.at(slice(number, number + 1))
        values[entry.removeprefix(prefix)] = int((entry_marks(segment, one) & marks).sum())
    return +values


def _years(seconds: Floats) -> Values:
    """Count by year (UTC), what is before 1970 or after 9999 under none."""
    known = seconds[(seconds > 0) & (seconds < _END_S)].astype(np.int64)
    years, counts = np.unique(known.astype("datetime64[s]").astype("datetime64[Y]"), return_counts=True)
    return Counter({str(year): int(count) for year, count in zip(years, counts, strict=True)})


_END_S: Final = 253_402_300_800.0  # the beginning of the year 10,000
