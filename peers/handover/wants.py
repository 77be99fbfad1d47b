"""The slots still to be brought here: by which store, from which peer, and from when on.

The policy of the handover's transfers: urgent ones (a slot of ours is not crawled before they are done) go
first, copies and comparisons after them. Says what to begin, sends nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from math import inf
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from mesh.slot_set import SlotMask


class Want(NamedTuple):
    """Slots to be brought from a peer into a store, in one task."""

    store: str
    peer: str
    slots: SlotMask
    is_urgent: bool
    is_routine: bool = False  # of none of them is anything known to be lacking


@dataclass(slots=True)
class _Waiting:
    """Slots of one kind to be brought from one peer into one store, no task having begun with them."""

    slots: SlotMask
    at: float = inf  # not before; inf without slots
    is_routine: bool = True

    def add(self, slots: SlotMask, at: float, *, is_routine: bool = False) -> None:
        self.is_routine &= is_routine
        self.at = min(self.at, at)
        self.slots = self.slots | slots

    def remove(self, slots: SlotMask) -> None:
        self.slots = self.slots & ~slots
        if not self.slots.any():
            self.at, self.is_routine = inf, True


@dataclass(slots=True)
class _Source:
    """The slots to be brought from one peer into one store."""

    urgent: _Waiting
    copies: _Waiting
    tasks: dict[int, Want] = field(default_factory=dict)  # under way

    def waiting(self, is_urgent: bool) -> _Waiting:
        return self.urgent if is_urgent else self.copies

    def is_running(self, is_urgent: bool) -> bool:
        return any(task.is_urgent == is_urgent for task in self.tasks.values())

    @property
    def is_empty(self) -> bool:
        return not self.tasks and self.urgent.at == self.copies.at == inf


class Wants:
    """By store and peer; a slot is wanted until a task that began after it was wanted has brought it."""

    def __init__(self, slot_count: int, stores: Iterable[str]) -> None:
        """Want nothing.

        Args:
          stores: their names.
        """
        self._slot_count = slot_count
        self._stores = list(stores)
        self._sources: dict[tuple[str, str], _Source] = {}
        self._by_task: dict[int, tuple[str, str]] = {}

    def add_store(self, store: str) -> None:
        """Want slots of one more store."""
        self._stores.append(store)

    def add_urgent(self, store: str, peer: str, slots: SlotMask, at: float) -> None:
        """Want slots from a peer before anything else."""
        if slots.any():
            self._source(store, peer).urgent.add(slots, at)

    def add_copies(
        self, store: str, peer: str, slots: SlotMask, at: float, *, is_routine: bool = False
    ) -> None:
        """Want slots from a peer when there is time for it."""
        if slots.any():
            self._source(store, peer).copies.add(slots, at, is_routine=is_routine)

    def keep_only(self, alive: frozenset[str], urgent: SlotMask, copies: SlotMask) -> list[tuple[str, int]]:
        """Want nothing more from other peers, nor of other slots; return stores and tasks to be stopped."""
        stopped = []
        for (store, peer), source in list(self._sources.items()):
            is_gone = peer not in alive
            for is_urgent, slots in ((True, urgent), (False, copies)):
                source.waiting(is_urgent).remove(np.ones_like(slots) if is_gone else ~slots)
            for task, want in list(source.tasks.items()):
                left = want.slots & (urgent if want.is_urgent else copies)
                if is_gone or not left.any():
                    del source.tasks[task], self._by_task[task]
                    stopped.append((store, task))
                else:
                    source.tasks[task] = want._replace(slots=left)
            self._drop_if_empty(store, peer)
        return stopped

    def due(self, store: str, tasks_max: int, slots_max: int, now: float) -> list[Want]:
        """Return the wants to begin now; urgent first, one task of each kind and peer at a time."""
        mine = [(peer, source) for (name, peer), source in self._sources.items() if name == store]
        if not mine:
            return []
        mine.sort(key=itemgetter(0))
        room = tasks_max
        for _, source in mine:  # no generator: this is looked at for each store at every wake
            room -= len(source.tasks)
        chosen: list[Want] = []
        for is_urgent in (True, False):
            for peer, source in mine:
                waiting = source.urgent if is_urgent else source.copies
                if len(chosen) < room and waiting.at <= now and not source.is_running(is_urgent):
                    slots = _first(waiting.slots, slots_max)
                    chosen.append(Want(store, peer, slots, is_urgent, waiting.is_routine))
        return chosen

    def start(self, task: int, want: Want) -> None:
        """Note that a task for it has begun."""
        source = self._sources[want.store, want.peer]
        source.tasks[task] = want
        self._by_task[task] = (want.store, want.peer)
        source.waiting(want.is_urgent).remove(want.slots)

    def end(self, task: int, done: SlotMask, retry_at: float) -> Want | None:
        """Note the slots a task has brought; the rest is wanted again.

        Returns:
          What it was for; None when there is no such task.
        """
        key = self._by_task.pop(task, None)
        if key is None:
            return None
        source = self._sources[key]
        want = source.tasks.pop(task)
        left = want.slots & ~done
        if left.any():
            waiting = source.waiting(want.is_urgent)
            waiting.add(left, retry_at, is_routine=want.is_routine)
            waiting.at = retry_at  # with all that waits there: the peer does not answer, or is not ready
        self._drop_if_empty(*key)
        return want

    def urgent(self, stores: Collection[str]) -> SlotMask:
        """Slots that must not be crawled, or not be called complete, before something has come into these."""
        union = np.zeros(self._slot_count, np.bool_)
        for (name, _), source in self._sources.items():
            if name in stores:
                if source.urgent.at < inf:
                    union |= source.urgent.slots
                for want in source.tasks.values():
                    if want.is_urgent:
                        union |= want.slots
        return union

    def wanted_from(self, peer: str) -> SlotMask:
        """Slots of which something is to come from a peer, urgent or not, into any store."""
        union = np.zeros(self._slot_count, np.bool_)
        for store in self._stores:
            source = self._sources.get((store, peer))
            if source is not None:
                union |= _all_of(source)
        return union

    def count(self, store: str) -> int:
        """Slots wanted, a slot counts once for every peer."""
        return sum(int(_all_of(source).sum()) for (name, _), source in self._sources.items() if name == store)

    def next_time(self, tasks_max: int) -> float:
        """When `due` will have something, as far as time alone decides."""
        at = inf
        by_store: dict[str, list[_Source]] = {}
        for (store, _), source in self._sources.items():
            by_store.setdefault(store, []).append(source)
        for mine in by_store.values():
            room = tasks_max
            for source in mine:
                room -= len(source.tasks)
            if room <= 0:
                continue
            for source in mine:
                for waiting, is_urgent in ((source.urgent, True), (source.copies, False)):
                    if waiting.at < at and not source.is_running(is_urgent):
                        at = waiting.at
        return at

    def _source(self, store: str, peer: str) -> _Source:
        source = self._sources.get((store, peer))
        if source is None:
            nothing = np.zeros(self._slot_count, np.bool_)
            source = self._sources[store, peer] = _Source(_Waiting(nothing), _Waiting(nothing))
        return source

    def _drop_if_empty(self, store: str, peer: str) -> None:
        if self._sources[store, peer].is_empty:
            del self._sources[store, peer]


def _all_of(source: _Source) -> SlotMask:
    union = source.urgent.slots | source.copies.slots
    for want in source.tasks.values():
        union |= want.slots
    return union


def _first(slots: SlotMask, count: int) -> SlotMask:
    """The first slots of a set."""
    chosen = np.zeros_like(slots)
    chosen[np.flatnonzero(slots)[:count]] = True
    return chosen
