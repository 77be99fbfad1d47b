"""Locality of a sequence of reads: how soon things are read again, and how often in the same order.

Source: Li, Yan, Wang 2004, chapter 8, section 5: slopes of the distribution of intervals, 1.039 for reads and
.764 for pages, and numbers of distinct strings.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import Final

import numpy as np

from simulations.model.caches import PAGE_BYTES, ListAccess
from simulations.traces.columns import Ints

GROUP: Final = 2_000  # intervals that count as one, the book's
REFERENCES: Final = 100_000  # among which strings are counted, the book's
SEQUENCE_MAX: Final = 2_000_000  # of which intervals are measured
LENGTHS: Final = range(1, 10)
NO_SLOPE: Final = -1.0
_GROUPS_MIN: Final = 3  # fewer have no slope


def reads_of(accesses: Iterable[ListAccess]) -> Ints:
    """Return the things that are read, by number, as a sequence."""
    return _sequence(access.word for access in accesses)


def pages_of(accesses: Iterable[ListAccess]) -> Ints:
    """Return the pages of PAGE_BYTES that are read, by number, as a sequence."""
    return _sequence(
        chain.from_iterable(
            range(start // PAGE_BYTES, (start + n_bytes - 1) // PAGE_BYTES + 1)
            for _, start, n_bytes in accesses
        )
    )


def _sequence(things: Iterable[int]) -> Ints:
    found = np.fromiter(islice(things, SEQUENCE_MAX), np.int64)
    numbers: Ints = np.unique(found, return_inverse=True)[1].astype(np.int64)
    return numbers


def interval_slope(things: Ints, group: int = GROUP) -> float:
    """Return how fast the share of longer intervals falls; NO_SLOPE for a sequence that is too short.

    An interval is the number of references from one of a thing to the next of it. They are counted in groups,
    1 to `group`, and so on; the logarithm of the count is a line of that of the interval, and this is its
    slope by least squares over groups that have any, times -1.
    """
    order = np.argsort(things, kind="stable")
    is_again = np.diff(things[order]) == 0
    intervals = np.diff(order)[is_again]
    counts = np.bincount((intervals - 1) // group)
    there = np.flatnonzero(counts)
    if len(there) < _GROUPS_MIN:
        return NO_SLOPE
    middles = (there + 0.5) * group
    return -float(np.polyfit(np.log(middles), np.log(counts[there]), 1)[0])


def distinct_strings(things: Ints, lengths: Iterable[int] = LENGTHS) -> list[int]:
    """Count the distinct strings of each length among the first REFERENCES; lengths rise from 1."""
    letters = things[:REFERENCES]
    strings, found = letters, []
    for length in lengths:
        if length > 1:
            follow = letters[length - 1 :]
            joined = strings[: len(follow)] * (int(letters.max(initial=0)) + 1) + follow
            strings = np.unique(joined, return_inverse=True)[1].astype(np.int64)
        found.append(len(np.unique(strings)))
    return found
