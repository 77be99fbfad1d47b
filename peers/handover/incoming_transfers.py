"""Transfers into one store from the same store of other peers: tasks of the handover, group by group.

Theory of operation
===================
Who lacks something asks. A task goes over its slots group by group: it sends the digests of its own items
(`CompareSlots`), hears which slots differ, and asks for all items of those whose ids it does not have
(`SendItems`). Where nothing differed last time, or nothing is here, it sends one root of all digests first,
and these only if that is another: what is equal costs a few bytes, and what is not eight a slot. A group is
done when its last part is merged; the end of the task is told as a promise.

A routine comparison leaves out what has not changed since it was equal (`equal_slots`). It brings nothing, as
most of a difference is on its way; the handover has what differs brought a little later.

Each part is answered by `ItemsTaken` when it is merged and the pace of the task allows one more.

What is asked and not answered, or answered with a part that is damaged or not the next one, is asked again; a
task that gets nowhere ends with what it has, and the handover begins another one. So it does at once with a
part that is no part: asking for it again would bring it again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import islice
from math import inf, isfinite
from typing import Final

import numpy as np
import numpy.typing as npt

from mesh.actors.actor import Address, Send
from mesh.actors.conduct import CONDUCT, Misbehaved, Offence
from mesh.errors import RemoteProtocolError
from mesh.slot_set import NO_SLOTS, SlotMask, decode_slots, encode_slots
from peers.handover.equal_slots import Digests, EqualSlots
from peers.handover.messages import SlotsDiffer, SlotsSynchronised, SynchroniseSlots
from peers.handover.part_checksum import checksum_of
from peers.handover.settings import ExchangeSettings
from peers.handover.slot_digests import root_of
from peers.handover.store import Part, Store
from peers.handover.wire_messages import (
    ITEM_ID_BYTES,
    ITEM_IDS_MAX,
    ROOT_BYTES,
    CompareSlots,
    ItemsSent,
    ItemsTaken,
    SendItems,
    SlotsCompared,
)

GROUP_ITEMS: Final = 20_000  # a group of slots ends when it has so many: some 20 ms to walk over
IDS_PER_TURN: Final = 10_000  # of items that are here, which take some 10 ms to look up
PARTS_WAITING_MAX: Final = 8  # received and not merged: a sender that has no leave for more is refused


class _State(Enum):
    COMPARING = auto()  # the group: waits for `SlotsCompared`
    LISTING = auto()  # what is here of the part of the group that differs: goes on with the next turn
    RECEIVING = auto()  # what of the group differs: waits for `ItemsSent`
    PACING = auto()  # the group has been received; waits until the pace allows the next one


@dataclass(slots=True)
class _Task:
    """A task that brings slots here from one peer."""

    number: int
    peer: str
    bytes_per_s: float
    todo: SlotMask  # not yet compared
    done: SlotMask
    group: SlotMask  # compared or transferred now
    is_routine: bool
    digests: bytes = b""  # of the group, as it is compared
    state: _State = _State.COMPARING
    request: int = 0
    listing: Iterator[bytes] | None = None  # the ids of what is here, still to come
    listed: bytearray = field(default_factory=bytearray)
    next_part: int = 0
    merging: int | None = None  # ticket of the part that is being merged
    parts: deque[ItemsSent] = field(default_factory=deque)  # received, not yet merged, in order
    taken: deque[tuple[float, ItemsTaken]] = field(default_factory=deque)  # to be sent, and when
    free_at: float = 0.0  # when the pace allows the next part
    again_at: float = inf
    tries: int = 0
    is_root: bool = False  # the group is compared by one root of all digests


class IncomingTransfers:
    """The tasks of one store, each of which brings slots from one peer."""

    def __init__(
        self,
        me: str,
        actor: str,
        store: Store,
        settings: ExchangeSettings,
        numbers: Iterator[int],
        equal: EqualSlots,
    ) -> None:
        """Begin with nothing to do.

        Args:
          actor: that holds the store at other peers.
          numbers: of questions and tickets; no other life of this peer has them.
          equal: where slots are noted that were found equal.
        """
        self.parts_received = 0
        self.bytes_received = 0  # of items and what they describe
        self.refused_count = 0  # parts that were damaged, too many or made no sense
        self._actor = actor
        self._store = store
        self._settings = settings
        self._numbers = numbers
        self._equal = equal
        self._handover = Address(me, "handover")
        self._conduct = Address(me, CONDUCT)
        self._tasks: dict[int, _Task] = {}
        self._by_request: dict[int, _Task] = {}
        self._by_merge: dict[int, _Task] = {}
        self._equal_peers: set[str] = set()  # with whom nothing differed when slots were compared last

    def begin(self, order: SynchroniseSlots, todo: SlotMask, now: float) -> list[Send]:
        """Begin a task of the handover with the first of its slots, `todo`."""
        assert order.bytes_per_s > 0
        self.drop(order.task)
        nothing = np.zeros_like(todo)
        task = _Task(
            order.task, order.peer, order.bytes_per_s, todo, nothing, nothing.copy(), order.is_routine
        )
        self._tasks[task.number] = task
        return self._next_group(task, now)

    def drop(self, number: int) -> None:
        """Forget a task, if there is one of that number."""
        task = self._tasks.pop(number, None)
        if task is not None:
            self._by_request.pop(task.request, None)
            if task.merging is not None:
                self._by_merge.pop(task.merging, None)

    def note_compared(self, peer: str, answer: SlotsCompared, now: float) -> list[Send]:
        """Ask for the items of the slots that differ, or go on to the next slots."""
        task = self._by_request.get(answer.request)
        if task is None or task.peer != peer or task.state != _State.COMPARING:
            return []
        task.tries = 0
        self._equal.end_question(peer, np.flatnonzero(task.group))
        if answer.differing == answer.unready == NO_SLOTS:  # as nearly always
            self._equal_peers.add(peer)
            task.is_root = False
            self._end_equal(task, task.group)
            return self._next_group(task, now)
        self._equal_peers.discard(peer)
        if task.is_root:
            task.todo |= task.group
            return self._next_group(task, now)
        differing = decode_slots(answer.differing, len(task.group)) & task.group
        unready = decode_slots(answer.unready, len(task.group)) & task.group
        self._end_equal(task, task.group & ~differing & ~unready)
        task.group = differing & ~unready
        if not task.group.any():
            return self._next_group(task, now)
        if task.is_routine:  # most of it is on its way
            task.done |= task.group
            differ = SlotsDiffer(peer, encode_slots(task.group))
            return [Send(self._handover, differ), *self._next_group(task, now)]
        return self._begin_listing(task, now)

    def take_part(self, peer: str, part: ItemsSent, now: float) -> list[Send]:
        """Have a part merged when it is the next one and as it was sent."""
        task = self._by_request.get(part.request)
        if task is None or task.peer != peer or task.state != _State.RECEIVING:
            return []
        if part.part < task.next_part:
            return []
        is_sound = part.checksum == checksum_of(part.items, part.bulk) and isfinite(part.sent_at)
        is_full = len(task.parts) + len(task.taken) >= PARTS_WAITING_MAX
        if not is_sound or is_full:
            self.refused_count += 1
        if part.part > task.next_part or not is_sound or is_full:
            task.again_at = now  # once those before it are merged, ask for what is still lacking
            return [] if is_sound else [self._damaged_by(peer)]
        task.next_part += 1
        task.tries = 0
        task.again_at = now + self._settings.again_s
        self.parts_received += 1
        self.bytes_received += len(part.items) + len(part.bulk)
        task.parts.append(part)
        return self._merge(task, now) if len(task.parts) == 1 else []

    def end_merge(self, ticket: int, now: float) -> list[Send]:
        """Go on after an order of `Store.merge` has been carried out."""
        task = self._by_merge.pop(ticket, None)
        if task is None:
            return []
        task.merging = None
        return self._merged(task, task.parts.popleft(), now)

    def wake(self, now: float) -> list[Send]:
        sends: list[Send] = []
        for task in list(self._tasks.values()):
            sends += self._give_leave(task, now)
            if task.state == _State.LISTING:
                sends += self._list_some(task, now)
            elif task.state == _State.PACING and not task.taken:
                sends += self._next_group(task, now)
            elif task.again_at <= now:
                sends += self._try_again(task, now)
        return sends

    def wake_at(self) -> float:
        times = (min(task.again_at, task.taken[0][0] if task.taken else inf) for task in self._tasks.values())
        return min(times, default=inf)

    @property
    def n_tasks(self) -> int:
        """How many are under way."""
        return len(self._tasks)

    # --- Asking

    def _next_group(self, task: _Task, now: float) -> list[Send]:
        """Compare the next slots, or end the task after the last ones."""
        while task.todo.any():
            slots = np.flatnonzero(task.todo)[: self._settings.group_slots_max]
            digests = self._digests_of(slots, self._store.filled_mask(len(task.todo))[slots])
            slots = slots[: len(digests)]
            task.todo[slots] = False
            if task.is_routine:
                has_moved = self._equal.have_moved(task.peer, slots, digests)
                task.done[slots[~has_moved]] = True
                slots, digests = slots[has_moved], digests[has_moved]
            if len(slots):
                task.group = np.zeros_like(task.todo)
                task.group[slots] = True
                is_expected = task.peer in self._equal_peers or not digests.any()
                by_root = is_expected and not task.tries and not task.is_root
                return self._compare(task, digests.tobytes(), by_root=by_root, now=now)
        self.drop(task.number)
        return [Send(self._handover, SlotsSynchronised(task.number, encode_slots(task.done)))]

    def _end_equal(self, task: _Task, slots: SlotMask) -> None:
        """Be done with slots of the group that are the same at the peer as they were when it was asked."""
        task.done |= slots
        numbers = np.flatnonzero(slots)
        digests = np.frombuffer(task.digests, "<u8")[slots[task.group]]
        self._equal.note(task.peer, numbers, digests)

    def _digests_of(self, slots: npt.NDArray[np.intp], is_filled: SlotMask) -> Digests:
        """Those of the first slots, as many as have no more than `GROUP_ITEMS`."""
        digests = np.zeros(len(slots), "<u8")
        n_items = 0
        for number in np.flatnonzero(is_filled).tolist():
            known = self._store.digest_of(int(slots[number]))
            digests[number] = int.from_bytes(known.digest, "little")
            n_items += known.n_items
            if n_items >= GROUP_ITEMS:
                return digests[: number + 1]
        return digests

    def _compare(self, task: _Task, digests: bytes, *, by_root: bool, now: float) -> list[Send]:
        """Ask which slots of the group differ.

        Args:
          digests: of its slots.
          by_root: whether one root of these is enough to begin with.
        """
        task.is_root = by_root and len(digests) > ROOT_BYTES
        task.state, task.digests = _State.COMPARING, digests
        content = root_of(digests) if task.is_root else digests
        self._equal.ask(task.peer, np.flatnonzero(task.group))
        message = CompareSlots(self._ask(task, now), encode_slots(task.group), content, is_root=task.is_root)
        return [Send(self._at(task.peer), message)]

    def _ask(self, task: _Task, now: float) -> int:
        """Return the number of a new question of a task; answers to the one before are ignored."""
        self._by_request.pop(task.request, None)
        task.request = next(self._numbers)
        self._by_request[task.request] = task
        task.again_at = now + self._settings.again_s * 2.0**task.tries
        return task.request

    def _begin_listing(self, task: _Task, now: float) -> list[Send]:
        slots = np.flatnonzero(task.group).tolist()
        task.listing = (each for slot in slots for each in self._store.item_ids(slot))
        task.listed.clear()
        task.state = _State.LISTING
        return self._list_some(task, now)

    def _list_some(self, task: _Task, now: float) -> list[Send]:
        """List more items of a group that are here; ask for the rest when all of them are listed."""
        assert task.listing is not None, "a list was begun"
        some = b"".join(islice(task.listing, IDS_PER_TURN))
        task.listed += some
        if len(some) < IDS_PER_TURN * ITEM_ID_BYTES:
            task.state = _State.RECEIVING
            return self._ask_for_items(task, now)
        task.again_at = -inf
        return []

    def _ask_for_items(self, task: _Task, now: float) -> list[Send]:
        ids = np.frombuffer(task.listed, ">u8").astype(np.uint64)
        ids.sort()
        task.next_part = 0
        have = ids[:ITEM_IDS_MAX].astype(">u8").tobytes()  # some of the rest comes again
        message = SendItems(self._ask(task, now), encode_slots(task.group), have)
        return [Send(self._at(task.peer), message)]

    def _try_again(self, task: _Task, now: float) -> list[Send]:
        """Ask the last question anew, or give up."""
        if task.parts or task.taken:
            task.again_at = now + self._settings.again_s  # we are the slow ones
            return []
        task.tries += 1
        if task.tries >= self._settings.tries_max:
            return self._give_up(task, now)
        if task.state == _State.RECEIVING:
            return self._begin_listing(task, now)
        task.todo |= task.group
        return self._next_group(task, now)

    def _give_up(self, task: _Task, now: float) -> list[Send]:
        """End a task with the slots that are done."""
        task.todo[:] = False
        return self._next_group(task, now)

    # --- Merging

    def _merge(self, task: _Task, now: float) -> list[Send]:
        part = task.parts[0]
        if not part.items:
            return self._merged(task, task.parts.popleft(), now)
        ticket = next(self._numbers)
        try:
            order = self._store.merge(
                ticket, task.peer, task.group, Part(part.items, part.bulk), clock_offset_s=now - part.sent_at
            )
        except RemoteProtocolError:
            self.refused_count += 1
            task.parts.clear()
            return [self._damaged_by(task.peer), *self._give_up(task, now)]
        if order is None:
            return self._merged(task, task.parts.popleft(), now)
        task.merging = ticket
        self._by_merge[ticket] = task
        return [order]

    def _merged(self, task: _Task, part: ItemsSent, now: float) -> list[Send]:
        """Give leave for one more part, as soon as the pace allows."""
        n_bytes = len(part.items) + len(part.bulk)
        task.free_at = max(task.free_at, now) + n_bytes / task.bytes_per_s
        task.taken.append((task.free_at, ItemsTaken(part.request, part.part)))
        task.again_at = now + self._settings.again_s
        sends = self._give_leave(task, now)
        if part.is_last:
            task.done |= task.group
            task.parts.clear()
            task.state = _State.PACING
            task.again_at = inf
            return sends if task.taken else sends + self._next_group(task, now)
        return sends + (self._merge(task, now) if task.parts else [])

    def _give_leave(self, task: _Task, now: float) -> list[Send]:
        sends = []
        while task.taken and task.taken[0][0] <= now:
            sends.append(Send(self._at(task.peer), task.taken.popleft()[1]))
        if sends and task.state == _State.RECEIVING:
            task.again_at = now + self._settings.again_s
        return sends

    def _damaged_by(self, peer: str) -> Send:
        return Send(self._conduct, Misbehaved(peer, Offence.DAMAGED_PARTS))

    def _at(self, peer: str) -> Address:
        return Address(peer, self._actor)
