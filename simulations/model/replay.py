"""A trace fetched by some peers, with the discovery of its pages by links.

What is fetched of a host, one after the other: its robots.txt, then its pages and the URLs on it that are
linked to and were not fetched when the trace was recorded, in the order in which they are found. A page is
found when a page that links to it has come. Hosts share the fetches of their peer as in `fluid_share`, new
ones before others (`peers.crawler.frontier.host_turns`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from simulations.model.fluid_share import wait_seconds
from simulations.model.hosts import slots_of_names
from simulations.traces.columns import Floats, Ints, TraceColumns
from simulations.webs.trace import ERROR_SECONDS

SEED: Final = -1
FOUND_AFTER_S: Final = 0.25  # parsing, storing, and the batches in which links travel; fitted to the peers
NEW_ITEMS: Final = 2  # robots.txt and the first page; a host is new until it has given both


@dataclass(frozen=True, slots=True)
class ReplayItems:
    """All that is fetched, by host, and within a host in the order in which it is found."""

    host: Ints
    seconds: Floats
    n_bytes: Ints
    is_page: npt.NDArray[np.bool_]
    starts: Ints  # of hosts
    counts: Ints
    child_starts: Ints  # in `children`, of each item
    children: Ints  # what an item links to, and with the first of a host its robots.txt
    is_seed: npt.NDArray[np.bool_]  # known from the start, as the robots.txt of a seed
    slots: Ints  # of hosts


class WorkCurve(NamedTuple):
    """The work of the peers up to some times, from 0 on; of shape (times, peers)."""

    times: Floats
    pages: Floats
    busy_s: Floats  # seconds of fetches
    n_bytes: Floats


def items_of(columns: TraceColumns, slot_count: int) -> ReplayItems:
    """Lay out a trace."""
    pages, n_hosts = columns.page_count, len(columns.hosts)
    is_known = columns.missing_host < columns.host_count  # of others the name fails, before anything is asked
    missing_host, missing_parent = columns.missing_host[is_known], columns.missing_parent[is_known]
    first = np.full(n_hosts, len(columns.parent))  # what finds the host: with it its robots.txt is known
    np.minimum.at(first, columns.missing_host, columns.missing_parent)
    np.minimum.at(first, columns.page_host, columns.parent)
    host = np.concatenate((columns.page_host, missing_host, np.arange(n_hosts)))
    parent = np.concatenate((columns.parent, missing_parent, first))
    seconds = np.concatenate((columns.seconds, np.full(len(missing_host) + n_hosts, ERROR_SECONDS)))
    is_page = np.arange(len(host)) < pages
    depth = _depths(columns.parent)
    depth = np.where(parent >= 0, depth[np.minimum(parent, pages - 1)] + 1, 0)
    depth[pages + len(missing_host) :] = -1
    order = np.lexsort((parent, depth, host))
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    host, parent = host[order], parent[order]
    counts = np.bincount(host, minlength=n_hosts)
    sources, targets = _finds(columns, position, pages)
    return ReplayItems(
        host=host,
        seconds=np.maximum(seconds[order], 1e-6),
        n_bytes=np.concatenate((columns.n_bytes, np.zeros(len(host) - pages, np.int64)))[order],
        is_page=is_page[order],
        starts=np.cumsum(counts) - counts,
        counts=counts,
        child_starts=np.searchsorted(sources, np.arange(len(host) + 1)),
        children=targets,
        is_seed=parent == SEED,
        slots=slots_of_names(columns.hosts, slot_count),
    )


def replay(
    items: ReplayItems,
    peer: Ints,
    n_peers: int,
    *,
    fetches: int,
    delay_s: float,
    step_s: float,
    until_s: float = inf,
) -> WorkCurve:
    """Fetch all items, or those that can be fetched in some time.

    Args:
      peer: that owns each host.
      step_s: of time.
    """
    periods = items.seconds + delay_s
    work = np.concatenate(([0.0], np.cumsum(periods)))
    before = np.vstack((_sums(items.is_page), _sums(items.seconds), _sums(items.n_bytes)))
    seconds = np.bincount(items.host, items.seconds) / np.maximum(items.counts, 1)
    numbers = np.arange(len(work))
    position = items.starts.astype(np.float64)
    is_found = items.is_seed.copy()
    known = items.starts + np.bincount(items.host[is_found], minlength=len(items.starts)).astype(np.float64)
    done = items.starts.copy()
    lag = round(FOUND_AFTER_S / step_s)
    on_the_way: deque[Ints] = deque()  # hosts of what links that have come lead to
    rows = [np.zeros((3, n_peers))]
    while len(rows) <= until_s / step_s:
        active = np.flatnonzero(position < known)
        if not len(active) and not any(map(len, on_the_way)):
            break
        is_new = position[active] < items.starts[active] + NEW_ITEMS
        waited = _waits(peer[active], seconds[active], delay_s, is_new, fetches, n_peers)
        at = position[active]
        # A host goes through its own items; it is slower than it could be alone by what it waits.
        pace = periods[np.minimum(at.astype(np.int64), len(periods) - 1)]
        own_s = step_s * pace / (waited + pace)
        gone = np.interp(np.interp(at, numbers, work) + own_s, work, numbers)
        position[active] = np.minimum(gone, known[active])
        # What is being fetched has come when only the delay behind it is left.
        has_come = np.ceil(position[active] - 1e-9) - position[active] <= delay_s / (waited + pace)
        whole = position.astype(np.int64)
        whole[active] += has_come & (whole[active] < known[active])
        np.maximum(done, whole, out=whole)
        on_the_way.append(items.host[_found_with(items, done, whole, is_found)])
        if len(on_the_way) > lag:
            known += np.bincount(on_the_way.popleft(), minlength=len(known))
        done = whole
        fetched = before[:, done] - before[:, items.starts]
        # Of what is being fetched a part is done: a host has many turns to come to the end of a page.
        fetched[1] = np.interp(position, numbers, before[1]) - before[1, items.starts]
        rows.append(np.array([np.bincount(peer, each, n_peers) for each in fetched]))
    times: Floats = np.arange(len(rows), dtype=np.float64) * step_s
    return WorkCurve(times, *np.array(rows).transpose(1, 0, 2))


def _sums(values: npt.NDArray[Any]) -> Floats:
    """Return the sum of the values before each item, and of all behind the last."""
    return np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))


def _waits(
    peer: Ints, seconds: Floats, delay_s: float, is_new: npt.NDArray[np.bool_], fetches: int, n_peers: int
) -> Floats:
    """How long each host waits for a fetch; those that have given no page have every second one."""
    waited = np.zeros(len(peer))
    free = np.full(n_peers, float(fetches))
    for chosen, share in ((is_new, 0.5), (~is_new, 1.0)):
        if chosen.any():
            of, busy_s = peer[chosen], seconds[chosen]
            wait = wait_seconds(of, busy_s, busy_s + delay_s, free * share, None, n_peers)
            waited[chosen] = wait[of]
            free -= np.bincount(of, busy_s / (wait[of] + busy_s + delay_s), n_peers)
            np.maximum(free, fetches / 2, out=free)
    return waited


def _found_with(items: ReplayItems, before: Ints, after: Ints, is_found: npt.NDArray[np.bool_]) -> Ints:
    """The items that are found with those that were fetched in a step; they are noted in `is_found`."""
    moved = np.flatnonzero(after > before)
    low, high = items.child_starts[before[moved]], items.child_starts[after[moved]]
    parts = [items.children[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True) if a < b]
    if not parts:
        return np.zeros(0, np.int64)
    linked = np.concatenate(parts)
    found = np.unique(linked[~is_found[linked]])
    is_found[found] = True
    return found


def _finds(columns: TraceColumns, position: Ints, pages: int) -> tuple[Ints, Ints]:
    """Return pairs of linking and found items, by the former; a link to a host also finds its robots.txt."""
    n_hosts = len(columns.hosts)
    robots = position[len(position) - n_hosts :][columns.link_host]
    is_known = columns.missing_host < columns.host_count
    missing = np.full(len(is_known), -1)
    missing[is_known] = position[pages : len(position) - n_hosts]
    to_page = columns.link_target >= 0
    targets = np.empty(len(to_page), np.int64)
    targets[to_page] = position[columns.link_target[to_page]]
    targets[~to_page] = missing[-1 - columns.link_target[~to_page]]
    sources = position[columns.link_page]
    crosses = ~columns.is_inside
    sources, targets = np.concatenate((sources, sources[crosses])), np.concatenate((targets, robots[crosses]))
    is_there = targets >= 0
    order = np.argsort(sources[is_there], kind="stable")
    return sources[is_there][order], targets[is_there][order]


def _depths(parent: Ints) -> Ints:
    """Clicks from a seed; the parent of a page stands before it."""
    depth = [0] * len(parent)
    for number, above in enumerate(parent.tolist()):
        depth[number] = 0 if above == SEED else depth[above] + 1
    return np.array(depth, np.int64)
