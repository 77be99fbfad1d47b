"""The yield of a crawl in new hosts, in the order in which its pages were fetched: when to stop.

A crawl first finds many hosts, then ever fewer, and goes on on a few large ones (Li, Yan, Wang 2004, section
6.2): when to end is a question of marginal yield. H(n) is the number of hosts on the first n of N pages.
From n on the curve is flat when what is left brings at most a tenth of the mean:

    ((H(N) - H(n)) / (N - n)) / (H(N) / N) <= 1/10

for the least n, in windows, behind which a tenth of the pages are left, so that few pages prove nothing.
"""

from __future__ import annotations

from math import ceil
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from simulations.traces.link_structure import Flags

WINDOW: Final = 1_000  # pages
WINDOWS_MIN, WINDOWS_MAX = 10, 100
FLAT_SHARE: Final = 0.1
LEFT_SHARE_MIN: Final = 0.1


class Growth(msgspec.Struct, frozen=True):
    """New hosts, or new contents, by the pages that brought them."""

    window: int  # pages
    new: list[int]  # in each window; the last one may be shorter
    per_1000: float  # pages, in the mean
    flat_from: int | None  # pages; None where the curve is never flat
    per_1000_behind: float  # pages behind that; of a curve that is never flat, those of the last tenth


def growth_of(is_new: Flags) -> Growth:
    """Find where a curve becomes flat.

    Args:
      is_new: of each page, at least one, in the order of their fetches.
    """
    n = len(is_new)
    window = max(1, min(WINDOW, n // WINDOWS_MIN), ceil(n / WINDOWS_MAX))
    found = np.concatenate(([0], np.cumsum(is_new)))
    edges = np.append(np.arange(0, n, window), n)
    mean = found[n] / n
    inner = edges[1:-1][n - edges[1:-1] >= LEFT_SHARE_MIN * n]
    left = (found[n] - found[inner]) / (n - inner)
    flat = inner[left <= FLAT_SHARE * mean]
    begin = int(flat[0]) if len(flat) else n - ceil(LEFT_SHARE_MIN * n)
    return Growth(
        window=window,
        new=np.diff(found[edges]).tolist(),
        per_1000=1_000 * float(mean),
        flat_from=begin if len(flat) else None,
        per_1000_behind=1_000 * float((found[n] - found[begin]) / (n - begin)),
    )


def first_seen(values: npt.NDArray[np.int64]) -> Flags:
    """Tell of each value whether it is there for the first time."""
    is_first = np.zeros(len(values), np.bool_)
    is_first[np.unique(values, return_index=True)[1]] = True
    return is_first
