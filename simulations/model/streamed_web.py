"""Webs that do not fit into memory as URLs: hosts are drawn in parts, and peers fetch some at a time.

Of a host 14 bytes are kept: its peer, its pages, their seconds and size. What `flow` needs besides is needed
for the hosts of some peers only, since peers do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from mesh.config import WEIGHT_DEFAULT
from mesh.slots import SlotTable
from peers.crawler.model.settings import CrawlSettings
from simulations.model.flow import Flow, flow
from simulations.model.hosts import Hosts, drawn_hosts
from simulations.model.pauses import turns
from simulations.traces.columns import Floats, Ints

HOSTS_DRAWN: Final = 500_000  # at a time: 20 MB
HOSTS_FETCHED: Final = 500_000  # at a time: 100 MB with all that is computed


@dataclass(frozen=True, slots=True)
class Crawl:
    """Of a whole web."""

    flow: Flow
    hosts: int
    pages_owned: Ints  # of each peer, of the whole web
    hosts_owned: Ints
    bound: float  # pages a second that all hosts can give


def owners(n_peers: int, slot_count: int, name: str = "p") -> npt.NDArray[np.int16]:
    """The owner of each slot, by the ownership function of the mesh, of peers of one weight.

    Args:
      name: that names of peers begin with; they decide who owns what.
    """
    weights = {f"{name}{number}": WEIGHT_DEFAULT for number in range(n_peers)}
    owner: npt.NDArray[np.int16] = SlotTable(weights, slot_count, 1).ranking[0]
    return owner


def crawl(
    n_pages: int,
    owner: npt.NDArray[np.int16],
    n_peers: int,
    *,
    settings: CrawlSettings,
    interval_s: float,
    intervals: int,
    speed: Floats | None = None,
    pages_per_host: float = 50.0,
    exponent: float = 0.9,
    seconds_median: float = 0.25,
    seed: int = 7,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Crawl:
    """Let peers fetch a drawn web.

    Args:
      owner: of each slot.
      settings: as in `flow.flow`, with `speed`.
      progress: told how many peers of how many are done.
    """
    parts = list(_parts(n_pages, len(owner), pages_per_host, exponent, seconds_median, seed))
    peer = np.concatenate([owner[part.slots] for part in parts])
    pages = np.concatenate([part.pages.astype(np.int32) for part in parts])
    seconds = np.concatenate([part.seconds.astype(np.float32) for part in parts])
    n_bytes = np.concatenate([part.n_bytes.astype(np.float32) for part in parts])
    del parts
    bound = float((1.0 / turns(seconds.astype(np.float64), settings)[1]).sum())
    order = np.argsort(peer, kind="stable").astype(np.uint32)
    ends = np.cumsum(np.bincount(peer, minlength=n_peers))
    shape = intervals, n_peers
    whole = Flow(np.zeros(shape), np.zeros(shape), np.zeros(shape))
    for first, last in _peers_at_once(ends):
        some = order[ends[first - 1] if first else 0 : ends[last - 1]]
        part = flow(
            Hosts(np.zeros(0, np.int64), pages[some].astype(np.int64), *_wide(seconds[some], n_bytes[some])),
            peer[some].astype(np.int64) - first,
            last - first,
            settings=settings,
            interval_s=interval_s,
            intervals=intervals,
            speed=None if speed is None else speed[first:last],
        )
        whole.pages[:, first:last], whole.busy_s[:, first:last] = part.pages, part.busy_s
        whole.n_bytes[:, first:last] = part.n_bytes
        progress(last, n_peers)
    owned = np.bincount(peer, pages, n_peers).astype(np.int64)
    return Crawl(whole, len(peer), owned, np.bincount(peer, minlength=n_peers), bound)


def _peers_at_once(ends: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of peers with some hosts together; of one that has more, it alone."""
    first = 0
    while first < len(ends):
        begin = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, begin + HOSTS_FETCHED, "right")))
        yield first, last
        first = last


def _wide(*arrays: npt.NDArray[np.float32]) -> Iterator[npt.NDArray[np.float64]]:
    return (each.astype(np.float64) for each in arrays)


def _parts(
    n_pages: int, slot_count: int, pages_per_host: float, exponent: float, seconds_median: float, seed: int
) -> Iterator[Hosts]:
    """Draw the hosts in parts, each of which has the whole range of sizes."""
    pages_at_once = round(HOSTS_DRAWN * pages_per_host)
    for number, begin in enumerate(range(0, n_pages, pages_at_once)):
        yield drawn_hosts(
            min(pages_at_once, n_pages - begin),
            slot_count,
            pages_per_host=pages_per_host,
            exponent=exponent,
            seconds_median=seconds_median,
            seed=seed + 1_000_003 * number,
        )
