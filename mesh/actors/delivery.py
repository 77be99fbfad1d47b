"""Delivery of messages that must arrive: repeated until answered, a few at a time, handed back if given up.

Theory of operation
===================
An actor owns a `Delivery` for each kind of conversation in which something must arrive. What is sent and
answered as one is a *parcel*. Every receiver has a lane: a window of parcels that are under way, bounded in
number and bytes, and behind it a queue in the order of coming. An answer takes its parcel out and lets the
next one leave; without one the parcel goes out again after a pause, which doubles each time.

*Keys.* An answer names its parcel by a key. Where the key itself says what was kept (a page and its time), an
answer is right whatever life it was meant for. Everywhere else keys are `lives.numbers_of` this life, which
no other life of the peer has: a late answer to an earlier one never passes for one to this, whatever the
clocks do.

*Bounds.* What waits for one receiver is bounded, in number and bytes. Beyond that `add` refuses, and its
owner says what follows: compare slots instead, refuse the sender, keep it in a table
(`mesh.actors.durable_delivery`). So one receiver that never answers costs a bounded amount of memory, and
holds up nobody else.

*Giving up.* What was not answered in time, be it under way or queued, is handed back to the owner, once. Each
parcel ends in exactly one way: answered, given up, or withdrawn by the owner, who has it back then.

Not for questions: who wants an answer by a deadline, or from whoever is first, asks anew and differently
(a search, the comparing of slots). Here the same thing has to get to one place, however late.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import Generic, NamedTuple, TypeVar

import msgspec

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


class DeliverySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience and limits towards one receiver."""

    again_s: float  # first pause before an unanswered parcel goes out again; doubled each time
    again_max_s: float
    give_up_s: float = inf  # after so long here, waiting included
    # While a receiver answers others, a parcel is repeated only when it is as old as this: who is merely slow
    # should not get everything twice.
    slow_s: float = 0.0
    repeats_max: int = 64  # to one receiver at a time; the rest a little later
    window: int = 64  # parcels under way
    window_bytes: float = 8 << 20  # of these together; a single one may have more
    waiting_max: float = inf  # parcels under way and queued
    waiting_bytes_max: float = inf


class DeliveryStatistics(msgspec.Struct, frozen=True):
    """Counts since the start; gauges of now."""

    waiting: int  # gauge: parcels under way and queued
    waiting_bytes: int  # gauge
    under_way: int  # gauge
    sent: int  # without repetitions
    repeated: int
    answered: int
    refused: int  # over the bounds
    given_up: int


class Parcel(NamedTuple, Generic[Key, Item]):
    """An item that is sent to one receiver and answered as one."""

    receiver: str
    key: Key
    item: Item


class Due(NamedTuple, Generic[Key, Item]):
    """The parcels to send, and those that are given up, because time has passed."""

    leaving: list[Parcel[Key, Item]]  # to be sent now, for the first time or again
    given_up: list[Parcel[Key, Item]]  # not answered in time, and forgotten here


@dataclass(slots=True)
class _Waiting(Generic[Item]):
    """A parcel in its lane."""

    item: Item
    n_bytes: int
    since_s: float
    due_s: float  # when it is to be sent, again or (with no pause so far) for the first time
    pause_s: float = 0.0


@dataclass(slots=True)
class _Lane(Generic[Key, Item]):
    """The parcels that wait for one receiver, under way or queued."""

    under_way: dict[Key, _Waiting[Item]] = field(default_factory=dict)
    queue: OrderedDict[Key, _Waiting[Item]] = field(default_factory=OrderedDict)
    n_bytes: int = 0
    bytes_under_way: int = 0
    heard_s: float = -inf  # when the receiver last answered for anything
    look_s: float = inf  # nothing is due before

    def __len__(self) -> int:
        return len(self.under_way) + len(self.queue)

    def has(self, key: Key) -> bool:
        return key in self.under_way or key in self.queue

    def take(self, key: Key) -> _Waiting[Item] | None:
        """Take a parcel out, wherever it is."""
        waiting = self.under_way.pop(key, None)
        if waiting is not None:
            self.bytes_under_way -= waiting.n_bytes
        else:
            waiting = self.queue.pop(key, None)
        if waiting is not None:
            self.n_bytes -= waiting.n_bytes
        return waiting


class Delivery(Generic[Key, Item]):
    """Parcels by receiver and key; see the theory of operation above. Items are never None."""

    def __init__(self, settings: DeliverySettings) -> None:
        self._settings = settings
        self._lanes: dict[str, _Lane[Key, Item]] = {}
        self._open: dict[str, None] = {}  # receivers whose window may have room for what is queued, in order
        self._look_s = inf  # no lane has anything due before; perhaps too early, never too late
        self.wake_at_s = inf  # when to call `wake` next, mesh clock
        self._sent = self._repeated = self._answered = self._refused = self._given_up = 0

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def add(
        self, receiver: str, key: Key, item: Item, n_bytes: int, now: float, *, hold_off_s: float = 0.0
    ) -> bool:
        """Have an item brought to a receiver; `wake`, which is due then, says when it leaves.

        Args:
          key: that nothing else for this receiver has.
          hold_off_s: it does not leave sooner than so long after now.

        Returns:
          False when as much waits for that receiver as may: nothing was added.
        """
        lane = self._lanes.get(receiver)
        if lane is None:
            lane = self._lanes[receiver] = _Lane()
        elif self._is_full(lane, n_bytes):
            self._refused += 1
            return False
        assert not lane.has(key), "a key for two parcels"
        lane.queue[key] = _Waiting(item, n_bytes, now, now + hold_off_s)
        lane.n_bytes += n_bytes
        self._open[receiver] = None
        self.wake_at_s = -inf
        self._look_at(lane, now + self._settings.give_up_s)
        return True

    def note_answer(self, receiver: str, key: Key, now: float) -> Item | None:
        """Forget a parcel that its receiver has; return its item, None when nothing such waits."""
        lane = self._lanes.get(receiver)
        if lane is None:
            return None
        lane.heard_s = now
        item = self._take(receiver, lane, key)
        self._answered += item is not None
        return item

    def withdraw(self, receiver: str, key: Key) -> Item | None:
        """Take a parcel back; None when nothing such waits."""
        lane = self._lanes.get(receiver)
        return None if lane is None else self._take(receiver, lane, key)

    def replace(self, receiver: str, key: Key, item: Item) -> None:
        """Bring something else under the key of a parcel that waits, from the next time on that it leaves."""
        lane = self._lanes[receiver]
        (lane.under_way.get(key) or lane.queue[key]).item = item

    def remove_receiver(self, receiver: str) -> list[Parcel[Key, Item]]:
        """Take back all parcels that wait for a receiver, in the order of coming."""
        parcels = list(self.parcels_for(receiver))
        self._lanes.pop(receiver, None)
        self._open.pop(receiver, None)
        self._set_time()
        return parcels

    def hasten(self, receiver: str, now: float) -> None:
        """Have the parcels that are under way to a receiver sent again now."""
        lane = self._lanes.get(receiver)
        if lane is not None:
            for waiting in lane.under_way.values():
                waiting.due_s = min(waiting.due_s, now)
            self._look_at(lane, now)
            self._set_time()

    def wake(self, now: float) -> Due[Key, Item]:
        """Return the parcels to send now, and those that are given up."""
        due: Due[Key, Item] = Due([], [])
        if self._look_s <= now:
            for receiver in [each for each, lane in self._lanes.items() if lane.look_s <= now]:
                self._look_through(receiver, now, due)
            self._look_s = min((lane.look_s for lane in self._lanes.values()), default=inf)
        for receiver in self._open:
            if receiver in self._lanes:
                self._fill_window(receiver, self._lanes[receiver], now, due.leaving)
        self._open.clear()
        self._set_time()
        return due

    def _set_time(self) -> None:
        self.wake_at_s = -inf if self._open else self._look_s if self._lanes else inf

    def has_room(self, receiver: str, n_bytes: int) -> bool:
        """Would a parcel of so many bytes, added now, leave with the next `wake`?"""
        lane, settings = self._lanes.get(receiver), self._settings
        return lane is None or (
            len(lane) < settings.window and lane.n_bytes + n_bytes <= settings.window_bytes
        )

    def receivers(self) -> list[str]:
        """Return the receivers for which parcels wait."""
        return list(self._lanes)

    def parcels_for(self, receiver: str) -> Iterator[Parcel[Key, Item]]:
        """Yield the parcels that wait for a receiver, in the order of coming."""
        lane = self._lanes.get(receiver)
        if lane is not None:
            for part in (lane.under_way, lane.queue):
                for key, waiting in part.items():
                    yield Parcel(receiver, key, waiting.item)

    def parcels(self) -> list[Parcel[Key, Item]]:
        """Return all parcels that wait."""
        return [parcel for receiver in self._lanes for parcel in self.parcels_for(receiver)]

    def under_way_since(self, receiver: str) -> float:
        """Return when the first parcel under way to a receiver came here; inf when none is under way."""
        lane = self._lanes.get(receiver)
        first = next(iter(lane.under_way.values()), None) if lane is not None else None
        return inf if first is None else first.since_s

    def first_keys(self) -> Iterator[Key]:
        """Yield for each receiver the key of the parcel that has waited longest."""
        for lane in self._lanes.values():
            yield next(iter(lane.under_way or lane.queue))

    def observe(self) -> DeliveryStatistics:
        lanes = self._lanes.values()
        return DeliveryStatistics(
            waiting=len(self),
            waiting_bytes=sum(lane.n_bytes for lane in lanes),
            under_way=sum(len(lane.under_way) for lane in lanes),
            sent=self._sent,
            repeated=self._repeated,
            answered=self._answered,
            refused=self._refused,
            given_up=self._given_up,
        )

    def _is_full(self, lane: _Lane[Key, Item], n_bytes: int) -> bool:
        settings = self._settings
        return len(lane) >= settings.waiting_max or lane.n_bytes + n_bytes > settings.waiting_bytes_max

    def _has_room(self, lane: _Lane[Key, Item], n_bytes: int) -> bool:
        settings = self._settings
        return not lane.under_way or (
            len(lane.under_way) < settings.window and lane.bytes_under_way + n_bytes <= settings.window_bytes
        )

    def _take(self, receiver: str, lane: _Lane[Key, Item], key: Key) -> Item | None:
        waiting = lane.take(key)
        if waiting is None:
            return None
        if lane.queue:
            self._open[receiver] = None
            self.wake_at_s = -inf
        elif not lane.under_way:
            del self._lanes[receiver]
            self._open.pop(receiver, None)
            if lane.look_s <= self._look_s:
                self._look_s = min([each.look_s for each in self._lanes.values()], default=inf)
            self._set_time()
        return waiting.item

    def _fill_window(
        self, receiver: str, lane: _Lane[Key, Item], now: float, leaving: list[Parcel[Key, Item]]
    ) -> None:
        """Move parcels from the queue into the window while it has room."""
        while lane.queue:
            key, waiting = next(iter(lane.queue.items()))
            if not self._has_room(lane, waiting.n_bytes):
                break
            del lane.queue[key]
            lane.under_way[key] = waiting
            lane.bytes_under_way += waiting.n_bytes
            if waiting.due_s <= now:
                leaving.append(self._send(receiver, key, waiting, now))
            self._look_at(lane, waiting.due_s)

    def _send(self, receiver: str, key: Key, waiting: _Waiting[Item], now: float) -> Parcel[Key, Item]:
        settings = self._settings
        if waiting.pause_s:
            self._repeated += 1
            waiting.pause_s = min(2 * waiting.pause_s, settings.again_max_s)
        else:
            self._sent += 1
            waiting.pause_s = settings.again_s
        waiting.due_s = now + waiting.pause_s
        return Parcel(receiver, key, waiting.item)

    def _look_through(self, receiver: str, now: float, due: Due[Key, Item]) -> None:
        """Give up or repeat the parcels of a lane for which it is time, and find out when that is again."""
        lane, give_up_s = self._lanes[receiver], self._settings.give_up_s
        for key, item in self._overdue(lane, now):
            due.given_up.append(Parcel(receiver, key, item))
            self._given_up += 1
            self._take(receiver, lane, key)
        self._repeat(receiver, lane, now, due.leaving)
        times = [min(each.due_s, each.since_s + give_up_s) for each in lane.under_way.values()]
        times += [each.since_s + give_up_s for each in islice(lane.queue.values(), 1)]
        lane.look_s = min(times, default=inf)

    def _overdue(self, lane: _Lane[Key, Item], now: float) -> list[tuple[Key, Item]]:
        """Return the parcels that have been here too long; a queue is in the order of coming."""
        give_up_s = self._settings.give_up_s
        overdue = [
            (key, each.item) for key, each in lane.under_way.items() if each.since_s + give_up_s <= now
        ]
        for key, waiting in lane.queue.items():
            if waiting.since_s + give_up_s > now:
                break
            overdue.append((key, waiting.item))
        return overdue

    def _repeat(
        self, receiver: str, lane: _Lane[Key, Item], now: float, leaving: list[Parcel[Key, Item]]
    ) -> None:
        settings = self._settings
        n_repeated = 0
        for key, waiting in lane.under_way.items():
            if waiting.due_s > now:
                continue
            patient_until_s = min(lane.heard_s + settings.again_s, waiting.since_s + settings.slow_s)
            if waiting.pause_s and patient_until_s > now:
                waiting.due_s = patient_until_s
            elif n_repeated == settings.repeats_max:
                waiting.due_s = now + settings.again_s / 8
            else:
                n_repeated += 1
                leaving.append(self._send(receiver, key, waiting, now))

    def _look_at(self, lane: _Lane[Key, Item], at_s: float) -> None:
        if at_s < lane.look_s:
            lane.look_s = at_s
            self._look_s = min(self._look_s, at_s)


def in_batches(
    items: Sequence[Item], size_of: Callable[[Item], int], *, items_max: int, bytes_max: float = inf
) -> Iterator[Sequence[Item]]:
    """Yield items in runs of at most so many, and so many bytes; one that is larger stands alone."""
    sizes = list(map(size_of, items))
    if 0 < len(items) <= items_max and sum(sizes) <= bytes_max:  # nearly always
        yield items
        return
    batch: list[Item] = []
    n_bytes = 0
    for item, size in zip(items, sizes, strict=True):
        if batch and (len(batch) == items_max or n_bytes + size > bytes_max):
            yield batch
            batch, n_bytes = [], 0
        batch.append(item)
        n_bytes += size
    if batch:
        yield batch
