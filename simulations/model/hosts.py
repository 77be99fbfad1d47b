"""The hosts of a web in numbers: how many pages each has, how long one takes, how large it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from mesh.slots import slot_of
from simulations.traces.columns import Floats, Ints, TraceColumns

BYTES_MEAN: Final = 13_000  # of a page: book, chapter 3 section 3
SECONDS_SIGMA: Final = 0.8  # of the logarithm of the seconds of hosts


@dataclass(frozen=True, slots=True)
class Hosts:
    """Some hosts; arrays of one length."""

    slots: npt.NDArray[np.int64]  # of a mesh of some number of slots
    pages: Ints
    seconds: Floats  # that a page takes, mean
    n_bytes: Floats  # of a page, mean

    @property
    def page_count(self) -> int:
        return int(self.pages.sum())


def slots_of_names(names: Sequence[str], slot_count: int) -> Ints:
    """Map host names to slots, as every peer does."""
    return np.fromiter((slot_of(name, slot_count) for name in names), np.int64, len(names))


def hosts_of(columns: TraceColumns, slot_count: int) -> Hosts:
    """The hosts of a trace that have pages."""
    sizes = columns.host_sizes
    seconds = np.bincount(columns.page_host, columns.seconds) / sizes
    n_bytes = np.bincount(columns.page_host, columns.n_bytes) / sizes
    return Hosts(slots_of_names(columns.hosts[: len(sizes)], slot_count), sizes, seconds, n_bytes)


def drawn_hosts(
    n_pages: int,
    slot_count: int,
    *,
    pages_per_host: float = 50.0,
    exponent: float = 0.9,
    seconds_median: float = 0.25,
    seed: int = 7,
) -> Hosts:
    """Draw hosts of a web that does not exist.

    Args:
      n_pages: of the web; each host has at least one.
      pages_per_host: mean.
      exponent: the k-th largest host has 1/k^exponent of the pages of the largest.
      seconds_median: of a page, over hosts; log-normal.
    """
    random = np.random.default_rng(seed)
    count = max(1, round(n_pages / pages_per_host))
    names = (f"h{number}.s{seed}.test" for number in range(count))
    slots = np.fromiter((slot_of(name, slot_count) for name in names), np.int64, count)
    seconds = seconds_median * np.exp(random.normal(0.0, SECONDS_SIGMA, count))
    n_bytes = BYTES_MEAN * np.exp(random.normal(-0.125, 0.5, count))
    return Hosts(slots, power_law(n_pages, count, exponent), seconds, n_bytes)


def power_law(total: int, count: int, exponent: float) -> Ints:
    """Distribute pages over hosts, at least one each, `total` in all."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    spare = total - count
    ends = np.round(np.cumsum(weights) * (spare / weights.sum())).astype(np.int64)
    ends[-1] = spare
    sizes: Ints = np.diff(ends, prepend=0) + 1
    return sizes


def capped_power_law(total: float, count: int, most: float, exponent: float = 0.9) -> Floats:
    """Distribute pages likewise, no more than `most` a host: the others have those that are beyond.

    Args:
      total: between `count` and `count * most`.
    """
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    spare, room = total - count, most - 1.0
    full = 0  # hosts that have as many as may be
    while full < count:
        each = (spare - full * room) / float(weights[full:].sum())
        fuller = full + int(np.searchsorted(-weights[full:], -room / each)) if each > 0 else full
        if fuller == full:
            break
        full = fuller
    sizes = weights * (each if full < count else 0.0) + 1.0
    sizes[:full] = most
    return sizes
