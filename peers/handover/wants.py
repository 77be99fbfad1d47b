"""What is still to be brought here: of which slots, by which store, from which peer, and from when on.

The policy of the handover's transfers: urgent ones (a slot of ours is not crawled or answered before they
are done) go first, copies and comparisons after them. Says what to begin, sends nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple

import numpy as np

from mesh.slot_set import SlotMask

STORES: Final = ("controller", "cell")  # actors that keep something of slots


class Want(NamedTuple):
    """Slots to be brought from a peer into a store, in one task."""

    store: str
    peer: str
    slots: SlotMask
    is_urgent: bool


@dataclass(slots=True)
class _Source:
    """What is to be brought from one peer into one store."""

    urgent: SlotMask
    copies: SlotMask
    at: float = 0.0  # not before
    copies_at: float = 0.0
    tasks: dict[int, Want] = field(default_factory=dict)  # under way


class Wants:
    """By store and peer; a slot is wanted until a task has brought it."""

    def __init__(self, slot_count: int) -> None:
        self._slot_count = slot_count
        self._sources: dict[tuple[str, str], _Source] = {}
        self._by_task: dict[int, tuple[str, str]] = {}

    def add(self, store: str, peer: str, slots: SlotMask, at: float, *, is_urgent: bool = True) -> None:
        """Want slots from a peer."""
        if not slots.any():
            return
        source = self._source(store, peer)
        if is_urgent:
            source.urgent |= slots
            source.at = min(source.at, at) if source.urgent.any() else at
        else:
            source.copies |= slots
            source.copies_at = at

    def add_copies(self, store: str, peer: str, slots: SlotMask, at: float) -> None:
        """Want slots from a peer when there is time for it."""
        if slots.any():
            source = self._source(store, peer)
            if not source.copies.any() or at < source.copies_at:
                source.copies_at = at
            source.copies |= slots & ~_running(source)

    def drop_copies(self, store: str, peer: str, slots: SlotMask) -> None:
        """Want these no longer, unless they are under way."""
        source = self._sources.get((store, peer))
        if source is not None:
            source.copies &= ~slots

    def forget_peers(self, alive: frozenset[str]) -> list[tuple[str, int]]:
        """Want nothing more from peers that are not alive; return stores and tasks to be stopped."""
        stopped = []
        for store, peer in [key for key in self._sources if key[1] not in alive]:
            for task in self._sources.pop((store, peer)).tasks:
                del self._by_task[task]
                stopped.append((store, task))
        return stopped

    def due(self, store: str, tasks_max: int, slots_max: int, now: float) -> list[Want]:
        """Return what to begin now; urgent first, one task of each kind and peer at a time."""
        mine = sorted((peer, source) for (name, peer), source in self._sources.items() if name == store)
        room = tasks_max - sum(len(source.tasks) for _, source in mine)
        chosen: list[Want] = []
        for is_urgent in (True, False):
            for peer, source in mine:
                slots = source.urgent if is_urgent else source.copies
                at = source.at if is_urgent else source.copies_at
                is_running = any(task.is_urgent == is_urgent for task in source.tasks.values())
                if len(chosen) < room and at <= now and not is_running and slots.any():
                    chosen.append(Want(store, peer, _first(slots, slots_max), is_urgent))
        return chosen

    def start(self, task: int, want: Want) -> None:
        """Note that a task for it has begun."""
        source = self._sources[want.store, want.peer]
        source.tasks[task] = want
        self._by_task[task] = (want.store, want.peer)
        if want.is_urgent:
            source.urgent &= ~want.slots
        else:
            source.copies &= ~want.slots

    def end(self, task: int, done: SlotMask, retry_at: float) -> bool:
        """Note what a task has brought; the rest is wanted again. False when there is no such task."""
        key = self._by_task.pop(task, None)
        if key is None:
            return False
        source = self._sources[key]
        want = source.tasks.pop(task)
        left = want.slots & ~done
        if left.any():
            if want.is_urgent:
                source.urgent |= left
                source.at = retry_at
            else:
                source.copies |= left
                source.copies_at = retry_at
        return True

    def urgent(self, store: str) -> SlotMask:
        """Slots that must not be crawled or answered before something has come."""
        return self._union(store, only_urgent=True)

    def wanted(self, store: str) -> SlotMask:
        """Slots of which something is to come, urgent or not."""
        return self._union(store, only_urgent=False)

    def count(self, store: str) -> int:
        """Slots wanted, a slot counts once for every peer."""
        return sum(
            int((source.urgent | source.copies | _running(source)).sum())
            for (name, _), source in self._sources.items()
            if name == store
        )

    def next_time(self, tasks_max: int) -> float:
        """When `due` will have something, as far as time alone decides."""
        at = inf
        for store in STORES:
            mine = [source for (name, _), source in self._sources.items() if name == store]
            if sum(len(source.tasks) for source in mine) >= tasks_max:
                continue
            for source in mine:
                kinds = {want.is_urgent for want in source.tasks.values()}
                if True not in kinds and source.urgent.any():
                    at = min(at, source.at)
                if False not in kinds and source.copies.any():
                    at = min(at, source.copies_at)
        return at

    def _source(self, store: str, peer: str) -> _Source:
        source = self._sources.get((store, peer))
        if source is None:
            nothing = np.zeros(self._slot_count, np.bool_)
            source = self._sources[store, peer] = _Source(nothing, nothing.copy())
        return source

    def _union(self, store: str, *, only_urgent: bool) -> SlotMask:
        union = np.zeros(self._slot_count, np.bool_)
        for (name, _), source in self._sources.items():
            if name != store:
                continue
            union |= source.urgent if only_urgent else source.urgent | source.copies
            for want in source.tasks.values():
                if want.is_urgent or not only_urgent:
                    union |= want.slots
        return union


def _running(source: _Source) -> SlotMask:
    union = np.zeros_like(source.urgent)
    for want in source.tasks.values():
        union |= want.slots
    return union


def _first(slots: SlotMask, count: int) -> SlotMask:
    """The first slots of a set."""
    chosen = np.zeros_like(slots)
    chosen[np.flatnonzero(slots)[:count]] = True
    return chosen
