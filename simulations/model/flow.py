"""Pages of each peer over time when all hosts are known from the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from peers.crawler.model.settings import CrawlSettings
from simulations.model.fluid_share import wait_seconds
from simulations.model.hosts import Hosts
from simulations.model.pauses import late_s, turns
from simulations.traces.columns import Floats, Ints

STEPS: Final = 8  # in an interval; twice as many change the figures by less than one percent


@dataclass(frozen=True, slots=True)
class Flow:
    """The work of the peers up to the end of each interval; arrays of shape (intervals, peers)."""

    pages: Floats
    busy_s: Floats  # seconds of fetches
    n_bytes: Floats


def flow(
    hosts: Hosts,
    peer: Ints,
    n_peers: int,
    *,
    settings: CrawlSettings,
    interval_s: float,
    intervals: int,
    speed: Floats | None = None,
) -> Flow:
    """Let peers fetch.

    Args:
      peer: that owns each host.
      settings: of each peer; of them the fetches in flight and the pauses count.
      speed: of each peer, see `pauses.late_s`; all run all the time if there is none.
    """
    shape = intervals, n_peers
    result = Flow(np.zeros(shape), np.zeros(shape), np.zeros(shape))
    left = hosts.pages.astype(np.float64)
    seconds, n_bytes = np.maximum(hosts.seconds, 1e-6), hosts.n_bytes
    held, period = turns(seconds, settings, None if speed is None else late_s(speed)[peer])
    step_s = interval_s / STEPS
    wait: Floats | None = None
    for interval in range(intervals):
        done = [np.zeros(n_peers) for _ in range(3)]
        for _ in range(STEPS):
            wait = wait_seconds(peer, held, period, settings.fetches_in_flight_max, wait, n_peers)
            given = np.minimum(left, step_s / (wait[peer] + period))
            done[0] += np.bincount(peer, given, n_peers)
            done[1] += np.bincount(peer, given * seconds, n_peers)
            done[2] += np.bincount(peer, given * n_bytes, n_peers)
            left = left - given
            is_left = left > 1e-9
            held = np.where(is_left, held, 0.0)  # who has nothing more keeps no fetch busy
            if np.count_nonzero(is_left) < 0.8 * len(left):
                peer = peer[is_left]
                held, period, left = held[is_left], period[is_left], left[is_left]
                seconds, n_bytes = seconds[is_left], n_bytes[is_left]
        result.pages[interval], result.busy_s[interval], result.n_bytes[interval] = done
    for each in (result.pages, result.busy_s, result.n_bytes):
        np.cumsum(each, axis=0, out=each)
    return result


def host_bound(hosts: Hosts, settings: CrawlSettings) -> float:
    """Return the pages a second that all hosts together can give to any askers: the bound of politeness."""
    return float((1.0 / turns(hosts.seconds, settings)[1]).sum())
