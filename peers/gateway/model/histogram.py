"""How long things took, by classes: a few numbers that say much of thousands of durations. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import inf
from typing import Final

# Upper ends of the classes, in seconds. One of them is what an honest search may take at the 99th percentile.
SEARCH_BOUNDS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0)


class Histogram:
    """Counts durations by class; the last class has no upper end."""

    def __init__(self, bounds_s: Sequence[float] = SEARCH_BOUNDS_S) -> None:
        self.sum_s = 0.0
        self._bounds_s = tuple(bounds_s)
        self._counts = [0] * (len(self._bounds_s) + 1)

    def note(self, seconds: float) -> None:
        self.sum_s += seconds
        self._counts[bisect_left(self._bounds_s, seconds)] += 1

    @property
    def counts(self) -> tuple[int, ...]:
        """How many were in each class."""
        return tuple(self._counts)

    def cumulated(self) -> Iterator[tuple[float, int]]:
        """Yield every upper end, infinity last, and how many were not longer."""
        return zip((*self._bounds_s, inf), accumulate(self._counts), strict=True)


def quantile_of(counts: Sequence[int], share: float, bounds_s: Sequence[float]) -> float | None:
    """Estimate a quantile: the duration that `share` of all do not exceed; None where nothing was counted.

    Within a class durations are taken to be spread evenly; in the one without an end they are its beginning.
    """
    wanted, passed = share * sum(counts), 0.0
    if not wanted:
        return None
    for n, count in enumerate(counts):
        if count and passed + count >= wanted:
            start_s = bounds_s[min(n, len(bounds_s)) - 1] if n else 0.0
            end_s = bounds_s[n] if n < len(bounds_s) else start_s
            return start_s + (end_s - start_s) * (wanted - passed) / count
        passed += count
    return bounds_s[-1]
