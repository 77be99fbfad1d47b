"""How two stores of the same kind find what one of them lacks, and move it.

Theory of operation
===================
*Pulling.* Who lacks something asks. A task goes over its slots group by group: it sends the digests of its
own items (`CompareSlots`), hears which slots differ, and asks for all items of those whose ids it does not
have (`SendItems`). What is equal costs eight bytes a slot. A group is done when its last part is merged; the
end of the task is told as a promise.

*Sending.* The other side makes parts lazily, a few of them under way at a time; each `ItemsTaken` is leave to
send one more, and a promise, so what was taken survives a crash. The receiver sets the pace by holding that
back. Nothing is remembered between lives: who was interrupted compares again and asks for what is still
lacking.

*When things go wrong.* What is asked and not answered, or answered with a part that is damaged or not the
next one, is asked again; a task that gets nowhere ends with what it has, and the handover begins another one.
So it does at once with a part that is no part: asking for it again would bring it again.

So what is repeated is a question, put anew with what is lacking by then, which may end without an answer:
nothing here has to arrive as it was, as what `mesh.delivery` brings has to.

An exchange belongs to a `keeper.Keeper`, which hands it the messages of this conversation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from math import inf, isfinite
from typing import Final

import msgspec
import numpy as np
from xxhash import xxh3_64

from mesh.actor import Address, Message, Send
from mesh.errors import LocalProtocolError, RemoteProtocolError
from mesh.lives import numbers_of
from mesh.ownership import Ownership
from mesh.slot_set import SlotMask, decode_slots, encode_slots
from peers.handover.item_ids import item_ids_in
from peers.handover.messages import SlotsDiffer, SlotsSynchronised, StopSynchronising, SynchroniseSlots
from peers.handover.slot_digests import EMPTY
from peers.handover.store import Part, Store
from peers.handover.wire_messages import (
    COMPARED_SLOTS_MAX,
    DIGEST_BYTES,
    ITEM_IDS_MAX,
    CompareSlots,
    ItemsSent,
    ItemsTaken,
    SendItems,
    SlotsCompared,
)

GROUP_ITEMS: Final = 20_000  # a group of slots ends when it has so many: some 20 ms to walk over
PARTS_WAITING_MAX: Final = 8  # received and not merged: a sender that has no leave for more is refused


class ExchangeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience and limits of an exchange."""

    group_slots_max: int = COMPARED_SLOTS_MAX  # compared at a time; at most COMPARED_SLOTS_MAX
    parts_in_flight_max: int = 4  # of one transfer; each some megabytes in memory; at most PARTS_WAITING_MAX
    again_s: float = 2.0  # without any answer until then it is asked again; doubled each time
    tries_max: int = 4  # then the task ends with what it has
    transfers_max: int = 32  # going out at a time; who asks beyond that asks again
    transfers_per_peer_max: int = 8  # to one peer; with more it has lost the oldest
    idle_s: float = 30.0  # after which a transfer that nobody takes is forgotten


class ExchangeStatistics(msgspec.Struct, frozen=True):
    """Counts since the start; gauges of now."""

    tasks: int  # gauge: being pulled
    transfers: int  # gauge: going out
    parts_received: int
    bytes_received: int  # of items and what they describe
    parts_sent: int
    bytes_sent: int
    slots_compared: int
    slots_differing: int  # of those compared for others
    parts_refused: int  # and other messages that were damaged or made no sense


class _State(Enum):
    COMPARING = auto()  # the group: waits for `SlotsCompared`
    RECEIVING = auto()  # what of the group differs: waits for `ItemsSent`
    PACING = auto()  # the group has been received; waits until the pace allows the next one


@dataclass(slots=True)
class _Task:
    """What is being brought here from one peer."""

    number: int
    peer: str
    bytes_per_s: float
    todo: SlotMask  # not yet compared
    done: SlotMask
    group: SlotMask  # compared or transferred now
    state: _State = _State.COMPARING
    request: int = 0
    next_part: int = 0
    merging: int | None = None  # ticket of the part that is being merged
    parts: deque[ItemsSent] = field(default_factory=deque)  # received, not yet merged, in order
    taken: deque[tuple[float, ItemsTaken]] = field(default_factory=deque)  # to be sent, and when
    free_at: float = 0.0  # when the pace allows the next part
    again_at: float = inf
    tries: int = 0


@dataclass(slots=True)
class _Transfer:
    """What is on its way to one peer."""

    ticket: int
    peer: str
    request: int
    parts: Iterator[Part | Send]
    next_part: int = 0
    in_flight: int = 0
    is_waiting: bool = False  # for a port
    is_ended: bool = False
    forget_at: float = inf


class Exchange:
    """The conversation of one store with those of other peers, in both directions."""

    def __init__(
        self, me: str, actor: str, store: Store, settings: ExchangeSettings | None = None, life: int = 1
    ) -> None:
        """Begin with nothing to do.

        Args:
          actor: name of the actor it belongs to, here and at the other peers.
          life: of this peer, whose numbers no question of an earlier life has.
        """
        self._actor = actor
        self._store = store
        self._settings = settings or ExchangeSettings()
        self._handover = Address(me, "handover")
        self._ownership: Ownership | None = None
        self._complete: SlotMask | None = None
        self._tasks: dict[int, _Task] = {}
        self._by_request: dict[int, _Task] = {}
        self._by_merge: dict[int, _Task] = {}
        self._transfers: dict[tuple[str, int], _Transfer] = {}
        self._by_ticket: dict[int, _Transfer] = {}
        self._numbers = numbers_of(life)
        self._wake_at = inf
        self._counts = dict.fromkeys(
            ("parts_in", "bytes_in", "parts_out", "bytes_out", "compared", "differing", "refused"), 0
        )

    # --- What the actor calls

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        """React to a message of this conversation, of the handover or of the same actor of another peer."""
        if self._ownership is None:
            return []  # nothing is known of slots yet; others repeat it, our own handover does not know more
        match message:
            case SynchroniseSlots():
                sends = self._begin(message, now)
            case StopSynchronising(number):
                self._drop(number)
                sends = []
            case _:
                sends = self._receive_remote(source, message, now)
        self._plan()
        return sends

    def _receive_remote(self, source: Address, message: Message, now: float) -> list[Send]:
        try:
            match message:
                case CompareSlots():
                    return self._compare(source, message)
                case SlotsCompared():
                    return self._note_compared(source.peer, message, now)
                case SendItems():
                    return self._send_items(source.peer, message, now)
                case ItemsSent():
                    return self._take_part(source.peer, message, now)
                case ItemsTaken(request, part):
                    return self._note_taken(source.peer, request, part, now)
                case _:
                    raise LocalProtocolError(f"exchange does not understand {type(message).__name__}")
        except RemoteProtocolError:
            self._counts["refused"] += 1
            return []

    def change_ownership(self, ownership: Ownership) -> None:
        """Go on with what is under way; peers that are gone are the handover's to stop."""
        self._ownership = ownership
        for key in [key for key in self._transfers if key[0] not in ownership.alive]:
            self._end_transfer(self._transfers[key])
        self._plan()

    def note_complete(self, slots: SlotMask) -> None:
        """Of our own slots only these are fit for others to be compared with."""
        self._complete = slots

    def give_part(self, ticket: int, part: Part, now: float) -> list[Send]:
        """Send a part that an order of `Store.parts` was for."""
        transfer = self._by_ticket.get(ticket)
        if transfer is None or not transfer.is_waiting:
            return []
        transfer.is_waiting = False
        sends = [self._part_to(transfer, part, now), *self._pump(transfer, now)]
        self._plan()
        return sends

    def end_merge(self, ticket: int, now: float) -> list[Send]:
        """Go on after an order of `Store.merge` has been carried out."""
        task = self._by_merge.pop(ticket, None)
        if task is None:
            return []
        task.merging = None
        sends = self._merged(task, task.parts.popleft(), now)
        self._plan()
        return sends

    def wake(self, now: float) -> list[Send]:
        sends: list[Send] = []
        for task in list(self._tasks.values()):
            sends += self._give_leave(task, now)
            if task.state == _State.PACING and not task.taken:
                sends += self._next_group(task, now)
            elif task.again_at <= now:
                sends += self._try_again(task, now)
        for transfer in [each for each in self._transfers.values() if each.forget_at <= now]:
            self._end_transfer(transfer)
        self._plan()
        return sends

    def wake_at(self) -> float:
        return self._wake_at

    @property
    def is_pulling(self) -> bool:
        """Is there a task under way?"""
        return bool(self._tasks)

    def observe(self) -> ExchangeStatistics:
        counts = self._counts
        return ExchangeStatistics(
            tasks=len(self._tasks),
            transfers=len(self._transfers),
            parts_received=counts["parts_in"],
            bytes_received=counts["bytes_in"],
            parts_sent=counts["parts_out"],
            bytes_sent=counts["bytes_out"],
            slots_compared=counts["compared"],
            slots_differing=counts["differing"],
            parts_refused=counts["refused"],
        )

    def _plan(self) -> None:
        times = [min(task.again_at, task.taken[0][0] if task.taken else inf) for task in self._tasks.values()]
        times += [transfer.forget_at for transfer in self._transfers.values()]
        self._wake_at = min(times, default=inf)

    # --- Pulling: comparing

    def _begin(self, order: SynchroniseSlots, now: float) -> list[Send]:
        assert order.bytes_per_s > 0
        self._drop(order.task)
        todo = self._decode(order.slots)
        task = _Task(
            order.task, order.peer, order.bytes_per_s, todo, np.zeros_like(todo), np.zeros_like(todo)
        )
        self._tasks[task.number] = task
        return self._next_group(task, now)

    def _next_group(self, task: _Task, now: float) -> list[Send]:
        """Compare the next slots, or end the task after the last ones."""
        slots = np.flatnonzero(task.todo)[: self._settings.group_slots_max]
        if not len(slots):
            self._drop(task.number)
            done = SlotsSynchronised(task.number, encode_slots(task.done))
            return [Send(self._handover, done)]
        digests = bytearray(DIGEST_BYTES * len(slots))
        n_items = 0
        for number in np.flatnonzero(self._store.filled_mask(len(task.todo))[slots]).tolist():
            known = self._store.digest_of(int(slots[number]))
            digests[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES] = known.digest
            n_items += known.n_items
            if n_items >= GROUP_ITEMS:
                slots = slots[: number + 1]
                break
        task.group = np.zeros_like(task.todo)
        task.group[slots] = True
        task.todo &= ~task.group
        task.state = _State.COMPARING
        content = bytes(digests[: DIGEST_BYTES * len(slots)])
        message = CompareSlots(self._ask(task, now), encode_slots(task.group), content)
        return [Send(self._at(task.peer), message)]

    def _ask(self, task: _Task, now: float) -> int:
        """Return the number of a new question of a task; answers to the one before are ignored."""
        self._by_request.pop(task.request, None)
        task.request = next(self._numbers)
        self._by_request[task.request] = task
        task.again_at = now + self._settings.again_s * 2.0**task.tries
        return task.request

    def _note_compared(self, peer: str, answer: SlotsCompared, now: float) -> list[Send]:
        task = self._by_request.get(answer.request)
        if task is None or task.peer != peer or task.state != _State.COMPARING:
            return []
        differing = self._decode(answer.differing) & task.group
        unready = self._decode(answer.unready) & task.group
        task.done |= task.group & ~differing & ~unready
        task.group = differing & ~unready
        task.tries = 0
        if not task.group.any():
            return self._next_group(task, now)
        task.state = _State.RECEIVING
        return self._ask_for_items(task, now)

    def _ask_for_items(self, task: _Task, now: float) -> list[Send]:
        ids = [each for slot in np.flatnonzero(task.group).tolist() for each in self._store.item_ids(slot)]
        ids.sort()
        task.next_part = 0
        have = b"".join(ids[:ITEM_IDS_MAX])  # of what is beyond, some comes that is here already
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
            return self._ask_for_items(task, now)
        task.todo |= task.group
        return self._next_group(task, now)

    def _give_up(self, task: _Task, now: float) -> list[Send]:
        """End with what has been done."""
        task.todo[:] = False
        return self._next_group(task, now)

    def _drop(self, number: int) -> None:
        task = self._tasks.pop(number, None)
        if task is not None:
            self._by_request.pop(task.request, None)
            if task.merging is not None:
                self._by_merge.pop(task.merging, None)

    # --- Pulling: receiving

    def _take_part(self, peer: str, part: ItemsSent, now: float) -> list[Send]:
        task = self._by_request.get(part.request)
        if task is None or task.peer != peer or task.state != _State.RECEIVING:
            return []
        if part.part < task.next_part:
            return []
        is_sound = part.checksum == checksum_of(part.items, part.bulk) and isfinite(part.sent_at)
        is_full = len(task.parts) + len(task.taken) >= PARTS_WAITING_MAX
        if not is_sound or is_full:
            self._counts["refused"] += 1
        if part.part > task.next_part or not is_sound or is_full:
            task.again_at = now  # once those before it are merged, ask for what is still lacking
            return []
        task.next_part += 1
        task.tries = 0
        task.again_at = now + self._settings.again_s
        self._counts["parts_in"] += 1
        self._counts["bytes_in"] += len(part.items) + len(part.bulk)
        task.parts.append(part)
        return self._merge(task, now) if len(task.parts) == 1 else []

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
            self._counts["refused"] += 1
            task.parts.clear()
            return self._give_up(task, now)
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

    # --- Answering

    def _compare(self, source: Address, question: CompareSlots) -> list[Send]:
        slots = self._decode(question.slots)
        if len(question.digests) != DIGEST_BYTES * int(slots.sum()):
            raise RemoteProtocolError(
                f"{len(question.digests)} bytes of digests for {int(slots.sum())} slots"
            )
        unready = slots & self._unready()
        differing = np.zeros_like(slots)
        numbers = np.flatnonzero(slots)
        theirs = np.frombuffer(question.digests, "<u8")
        is_filled = self._store.filled_mask(len(slots))[numbers]
        for number in np.flatnonzero((is_filled | (theirs != 0)) & ~unready[numbers]).tolist():
            slot = int(numbers[number])
            differing[slot] = not self._has_digest(slot, theirs[number].tobytes())
        self._counts["compared"] += int(slots.sum())
        self._counts["differing"] += int(differing.sum())
        encoded = encode_slots(differing)
        sends = [Send(source, SlotsCompared(question.request, encoded, encode_slots(unready)))]
        if differing.any():
            sends.append(Send(self._handover, SlotsDiffer(source.peer, encoded)))
        return sends

    def _has_digest(self, slot: int, digest: bytes) -> bool:
        if digest == EMPTY:  # a newcomer asks so of many slots: not worth walking over all we have
            return next(iter(self._store.item_ids(slot)), None) is None
        return self._store.digest_of(slot).digest == digest

    def _unready(self) -> SlotMask:
        """Slots that this peer owns and is itself only getting."""
        assert self._ownership is not None
        owned = self._ownership.owned
        return owned if self._complete is None else owned & ~self._complete

    def _send_items(self, peer: str, question: SendItems, now: float) -> list[Send]:
        slots, have = self._decode(question.slots), item_ids_in(question.have)
        if (peer, question.request) in self._transfers:
            return []
        to_peer = [transfer for (name, _), transfer in self._transfers.items() if name == peer]
        if len(to_peer) >= self._settings.transfers_per_peer_max:
            self._end_transfer(to_peer[0])  # what the peer does not wait for any more, surely
        if len(self._transfers) >= self._settings.transfers_max:
            return []
        ticket = next(self._numbers)
        transfer = _Transfer(ticket, peer, question.request, self._store.parts(ticket, slots, have))
        self._transfers[peer, question.request] = self._by_ticket[ticket] = transfer
        return self._pump(transfer, now)

    def _pump(self, transfer: _Transfer, now: float) -> list[Send]:
        """Send parts while there is leave to."""
        sends: list[Send] = []
        transfer.forget_at = now + self._settings.idle_s
        while (
            transfer.in_flight < self._settings.parts_in_flight_max
            and not transfer.is_waiting
            and not transfer.is_ended
        ):
            item = next(transfer.parts, None)
            if item is None:
                transfer.is_ended = True
                sends.append(self._part_to(transfer, Part(b""), now))
            elif isinstance(item, Part):
                sends.append(self._part_to(transfer, item, now))
            else:
                transfer.is_waiting = True
                sends.append(item)
        return sends

    def _part_to(self, transfer: _Transfer, part: Part, now: float) -> Send:
        number = transfer.next_part
        transfer.next_part += 1
        transfer.in_flight += 1
        self._counts["parts_out"] += 1
        self._counts["bytes_out"] += len(part.items) + len(part.bulk)
        message = ItemsSent(
            request=transfer.request,
            part=number,
            sent_at=now,
            items=part.items,
            bulk=part.bulk,
            checksum=checksum_of(part.items, part.bulk),
            is_last=transfer.is_ended,
        )
        return Send(self._at(transfer.peer), message)

    def _note_taken(self, peer: str, request: int, part: int, now: float) -> list[Send]:
        transfer = self._transfers.get((peer, request))
        if transfer is None or part >= transfer.next_part:
            return []
        transfer.in_flight = min(transfer.in_flight, transfer.next_part - part - 1)
        if transfer.is_ended and transfer.in_flight <= 0:
            self._end_transfer(transfer)
            return []
        return self._pump(transfer, now)

    def _end_transfer(self, transfer: _Transfer) -> None:
        del self._transfers[transfer.peer, transfer.request]
        del self._by_ticket[transfer.ticket]

    # --- Details

    def _at(self, peer: str) -> Address:
        return Address(peer, self._actor)

    def _decode(self, slots: bytes) -> SlotMask:
        assert self._ownership is not None
        return decode_slots(slots, self._ownership.table.slot_count)


def checksum_of(items: bytes, bulk: bytes) -> int:
    """XXH3-64 of both, one after the other, as the checksum of a part."""
    digest = xxh3_64(items)
    digest.update(bulk)
    return int(digest.intdigest())
