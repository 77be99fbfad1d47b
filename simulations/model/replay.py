"""A trace fetched by some peers, with the discovery of its pages by links.

What is fetched of a host, one after the other: its robots.txt, then its pages and the URLs on it that are
linked to and were not fetched when the trace was recorded, by clicks from a seed and then by fingerprint, as
the frontier has them. A page is found when a page that links to it has come. Hosts share the fetches of their
peer as in `fluid_share`, new ones before others (`peers.crawler.frontier.host_turns`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import chain, compress
from math import inf
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mesh.urls import fingerprint
from peers.crawler.model.settings import CrawlSettings
from simulations.model.fluid_share import wait_seconds
from simulations.model.hosts import slots_of_names
from simulations.model.pauses import late_s, pauses_s, turns
from simulations.traces.columns import Floats, Ints, TraceColumns
from simulations.webs.trace import ERROR_SECONDS

SEED: Final = -1
SEEDED: Final = 0  # the peer that is given the seeds
FOUND_AFTER_S: Final = 0.3  # storing, and the batches in which links travel to other peers; measured
FINEST: Final = 32  # steps in one, in the beginning, and then so many
TURN_ROUNDS: Final = 3  # until waits and shares of the two kinds of hosts agree
TURN_STEPS: Final = 8  # in a turn of a host, from which on its phases are told apart
STEPS_OF_TIME: Final = 200  # in the time that has passed, so that what is soon is as exact as what is late
SEEDS_AFTER_S: Final = 0.55  # until a seed is with its owner, which has to claim its slot first; measured
NEW_ITEMS: Final = 2  # robots.txt and the first page; a host is new until it has given both


@dataclass(frozen=True, slots=True)
class ReplayItems:
    """All that is fetched, by host, and within a host in the order of its queue."""

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
    missing_urls = compress(columns.missing_urls, is_known.tolist())
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
    marks = [fingerprint(url)[:8] for url in chain(columns.urls, missing_urls)] + [bytes(8)] * n_hosts
    order = np.lexsort((np.frombuffer(b"".join(marks), ">u8"), depth, host))  # as `frontier.keys.queue_key`
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
    settings: CrawlSettings,
    step_s: float,
    speed: Floats | None = None,
    until_s: float = inf,
) -> WorkCurve:
    """Fetch all items, or those that can be fetched in some time.

    Args:
      peer: that owns each host.
      settings: of every peer; of them the fetches in flight and the pauses count.
      step_s: of time, at most.
      speed: of each peer, see `pauses.late_s`; all run all the time if there is none.
    """
    held, periods = _turns(items, settings, None if speed is None else late_s(speed)[peer[items.host]])
    work = np.concatenate(([0.0], np.cumsum(periods)))
    before = np.vstack((_sums(items.is_page), _sums(items.seconds), _sums(items.n_bytes)))
    numbers = np.arange(len(work))
    position = items.starts.astype(np.float64)
    done = items.starts.copy()
    now = settings.delay_s  # for which a peer that takes a slot over leaves its hosts alone
    found = _Found(items, peer, now)
    rows, times = [np.zeros((3, n_peers))] * 2, [0.0, now]
    while now < until_s:
        active = np.flatnonzero(position < found.known)
        if not len(active) and found.is_all:
            break
        width_s = min(step_s, max(step_s / FINEST, now / STEPS_OF_TIME), until_s - now)
        now += width_s
        at, known = position[active], found.known[active]
        is_new = at < items.starts[active] + NEW_ITEMS
        item = np.minimum(at.astype(np.int64), len(periods) - 1)
        pace, rest = periods[item], periods[item] - held[item]
        # Of a host with turns longer than some steps it is known if it is asked now, or left alone.
        is_seen = pace > TURN_STEPS * width_s
        is_left = is_seen & (np.ceil(at + 1e-9) - at <= rest / pace)
        busy = np.where(is_left, 0.0, held[item])
        turn = np.where(is_seen & ~is_left, held[item], pace)
        waited = _waits(peer[active], busy, turn, is_new, settings.fetches_in_flight_max, n_peers)
        # A host goes through its own items; it is slower than it could be alone by what it waits.
        own_s = width_s * np.where(is_left, 1.0, turn / (waited + turn))
        position[active] = np.minimum(np.interp(np.interp(at, numbers, work) + own_s, work, numbers), known)
        # What is being fetched has come when only the pause behind it is left.
        behind = np.ceil(position[active] - 1e-9) - position[active]
        has_come = behind <= rest / np.where(is_seen, pace, waited + pace)
        whole = position.astype(np.int64)
        whole[active] += has_come & (whole[active] < known)
        np.maximum(done, whole, out=whole)
        found.note(done, whole, now, now + width_s)
        done = whole
        fetched = before[:, done] - before[:, items.starts]
        # Of what is being fetched a part is done: a host has many turns to come to the end of a page.
        fetched[1] = np.interp(position, numbers, before[1]) - before[1, items.starts]
        rows.append(np.array([np.bincount(peer, each, n_peers) for each in fetched]))
        times.append(now)
    return WorkCurve(np.array(times), *np.array(rows).transpose(1, 0, 2))


class _Found:
    """The items that are found so far: those of the peer that has fetched the link at once."""

    def __init__(self, items: ReplayItems, peer: Ints, now: float) -> None:
        """Begin with the seeds, which one peer is given."""
        self._items, self._peer = items, peer
        self._is_found = items.is_seed.copy()
        self.known = items.starts.astype(np.float64)  # the first item of each host that is not
        seeds = items.host[items.is_seed]
        is_own = peer[seeds] == SEEDED
        self._add(seeds[is_own])
        self._on_the_way = deque([(now + SEEDS_AFTER_S, seeds[~is_own])])  # when, and to which hosts

    @property
    def is_all(self) -> bool:
        """Is nothing on its way?"""
        return not any(len(hosts) for _, hosts in self._on_the_way)

    def note(self, before: Ints, after: Ints, now: float, until: float) -> None:
        """Find the targets of items that were fetched in a step, and take in the links that have arrived."""
        items, moved = self._items, np.flatnonzero(after > before)
        low, high = items.child_starts[before[moved]], items.child_starts[after[moved]]
        spans = [np.arange(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        if spans:
            linked = items.children[np.concatenate(spans)]
            is_own = np.repeat(self._peer[moved], high - low) == self._peer[items.host[linked]]
            self._add(self._new_of(linked[is_own]))
            self._on_the_way.append((now + FOUND_AFTER_S, self._new_of(linked[~is_own])))
        while self._on_the_way and self._on_the_way[0][0] <= until:
            self._add(self._on_the_way.popleft()[1])

    def _new_of(self, linked: Ints) -> Ints:
        """Return the hosts, once for each item, of those that are not found yet, and note that they are."""
        found = np.unique(linked[~self._is_found[linked]])
        self._is_found[found] = True
        return self._items.host[found]

    def _add(self, hosts: Ints) -> None:
        self.known += np.bincount(hosts, minlength=len(self.known))


def _turns(items: ReplayItems, settings: CrawlSettings, late: Floats | None) -> tuple[Floats, Floats]:
    """Return `pauses.turns`, where a host is left alone after a question, too.

    That is for the pause which the answer before has made (`HostClocks.note_question`), and ends later than
    the one after the answer where this has come much sooner than the answer before.
    """
    held, periods = turns(items.seconds, settings, late)
    is_next = items.host[1:] == items.host[:-1]
    before = pauses_s(items.seconds[:-1], settings)
    periods[1:] = np.where(is_next, np.maximum(periods[1:], before), periods[1:])
    return held, periods


def _sums(values: npt.NDArray[Any]) -> Floats:
    """Return the sum of the values before each item, and of all behind the last."""
    return np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))


def _waits(
    peer: Ints, seconds: Floats, period: Floats, is_new: npt.NDArray[np.bool_], fetches: int, n_peers: int
) -> Floats:
    """Return how long each host waits for a fetch; those that have given no page have every second turn.

    Turns are counted, not seconds: where both kinds wait, as many questions go to the one as to the other.
    """
    waited = np.zeros(len(peer))
    kinds = [(kind, peer[kind], seconds[kind], period[kind]) for kind in (is_new, ~is_new)]
    wanted = [np.bincount(of, busy_s / period_s, n_peers) for _, of, busy_s, period_s in kinds]
    if (wanted[0] + wanted[1] <= fetches).all():
        return waited
    for _ in range(TURN_ROUNDS):
        each = []  # seconds of a question to hosts of each kind, as often as they are asked
        for kind, of, busy_s, period_s in kinds:
            rate = (busy_s > 0) / (waited[kind] + period_s)
            asked = np.bincount(of, rate, n_peers)
            each.append(np.bincount(of, busy_s * rate, n_peers) / np.maximum(asked, 1e-12))
        share = each[0] / np.maximum(each[0] + each[1], 1e-12)
        free = (
            np.maximum(fetches * share, fetches - wanted[1]),
            np.maximum(fetches * (1 - share), fetches - wanted[0]),
        )
        for (kind, of, busy_s, period_s), of_kind in zip(kinds, free, strict=True):
            if len(of):
                wait = wait_seconds(of, busy_s, period_s, np.maximum(of_kind, 1e-3), None, n_peers)
                waited[kind] = wait[of]
    return waited


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
