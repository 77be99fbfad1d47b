"""The giving of one store's items to other peers: comparisons with their slots, and transfers.

Theory of operation
===================
Who asks which slots differ (`CompareSlots`) is told at once. Who asks for items (`SendItems`) gets them in
parts, which are made lazily, a few of them under way at a time; each `ItemsTaken` is leave to send one more,
and a promise, so what was taken survives a crash. The receiver sets the pace by holding that back. Nothing is
remembered between lives, and a transfer that nobody takes is forgotten: who was interrupted compares again
and asks for what is still lacking.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from mesh.actors.actor import Address, Send
from mesh.actors.ownership import Ownership
from mesh.errors import RemoteProtocolError
from mesh.slot_set import NO_SLOTS, SlotMask, decode_slots, encode_slot_list, encode_slots
from peers.handover.equal_slots import Digests, EqualSlots
from peers.handover.messages import SlotsDiffer
from peers.handover.part_checksum import checksum_of
from peers.handover.settings import ExchangeSettings
from peers.handover.slot_digests import EMPTY, root_of
from peers.handover.store import PAUSE, Part, Store
from peers.handover.wire_messages import (
    DIGEST_BYTES,
    ITEM_ID_BYTES,
    ROOT_BYTES,
    CompareSlots,
    ItemsSent,
    SendItems,
    SlotsCompared,
)


@dataclass(slots=True)
class _Transfer:
    """A transfer on its way to one peer."""

    ticket: int
    peer: str
    request: int
    parts: Iterator[Part | Send]
    next_part: int = 0
    in_flight: int = 0
    is_waiting: bool = False  # for a port
    is_paused: bool = False  # until the next turn
    is_ended: bool = False
    forget_at: float = inf


class OutgoingTransfers:
    """Comparisons for others, and transfers to them; nobody is answered before `change_ownership`."""

    def __init__(
        self,
        me: str,
        actor: str,
        store: Store,
        settings: ExchangeSettings,
        numbers: Iterator[int],
        equal: EqualSlots,
    ) -> None:
        """Begin with nothing under way.

        Args:
          actor: that holds the store at other peers.
          numbers: of tickets; no other life of this peer has them.
          equal: where slots are noted that were found equal.
        """
        self.parts_sent = 0
        self.bytes_sent = 0  # of items and what they describe
        self.slots_compared = 0
        self.slots_differing = 0  # of those compared
        self._actor = actor
        self._store = store
        self._settings = settings
        self._numbers = numbers
        self._equal = equal
        self._handover = Address(me, "handover")
        self._ownership: Ownership | None = None
        self._complete: SlotMask | None = None
        self._transfers: dict[tuple[str, int], _Transfer] = {}
        self._by_ticket: dict[int, _Transfer] = {}

    def change_ownership(self, ownership: Ownership) -> None:
        """End the transfers to peers that are gone."""
        self._ownership = ownership
        for key in [key for key in self._transfers if key[0] not in ownership.alive]:
            self._end_transfer(self._transfers[key])

    def note_complete(self, slots: SlotMask) -> None:
        """Of our own slots only these are fit for others to be compared with."""
        self._complete = slots

    def compare(self, source: Address, question: CompareSlots) -> list[Send]:
        """Tell a peer which slots differ between it and this peer, and tell the handover if any do.

        Raises:
          RemoteProtocolError: it is not one digest a slot, or these are no slots.
        """
        slots = self._decode(question.slots)
        numbers = np.flatnonzero(slots)
        expected = ROOT_BYTES if question.is_root else DIGEST_BYTES * len(numbers)
        if len(question.digests) != expected:
            raise RemoteProtocolError(f"{len(question.digests)} bytes of digests for {len(numbers)} slots")
        unready = slots & self._unready()
        is_newest = self._equal.is_newest(source.peer, question.request)
        if question.is_root:
            ours = None if unready.any() else self._digests_of_root(slots, question.digests)
            is_same = ours is not None
            if ours is not None:
                self.slots_compared += len(numbers)
                if is_newest:
                    self._equal.note(source.peer, numbers, ours)
            all_ready = NO_SLOTS if is_same else encode_slots(slots & ~unready)
            return [Send(source, SlotsCompared(question.request, all_ready, encode_slots(unready)))]
        theirs = np.frombuffer(question.digests, "<u8")
        is_filled = self._store.filled_mask(len(slots))[numbers]
        looked_at = np.flatnonzero((is_filled | (theirs != 0)) & ~unready[numbers])
        told = zip(numbers[looked_at].tolist(), theirs[looked_at], strict=True)
        differing = [slot for slot, digest in told if not self._has_digest(slot, digest.tobytes())]
        is_equal = slots & ~unready
        is_equal[differing] = False
        if is_newest:
            self._equal.note(source.peer, np.flatnonzero(is_equal), theirs[is_equal[numbers]])
        self.slots_compared += len(numbers)
        self.slots_differing += len(differing)
        encoded = encode_slot_list(differing, len(slots))
        sends = [Send(source, SlotsCompared(question.request, encoded, encode_slots(unready)))]
        if differing:
            sends.append(Send(self._handover, SlotsDiffer(source.peer, encoded)))
        return sends

    def send_items(self, peer: str, question: SendItems, now: float) -> list[Send]:
        """Begin a transfer of all that a peer does not have, if there is room for one.

        Raises:
          RemoteProtocolError: these are no slots, or no ids.
        """
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

    def note_taken(self, peer: str, request: int, part: int, now: float) -> list[Send]:
        """Send more parts, now that a peer has taken all up to this part."""
        transfer = self._transfers.get((peer, request))
        if transfer is None or part >= transfer.next_part:
            return []
        transfer.in_flight = min(transfer.in_flight, transfer.next_part - part - 1)
        if transfer.is_ended and transfer.in_flight <= 0:
            self._end_transfer(transfer)
            return []
        return self._pump(transfer, now)

    def give_part(self, ticket: int, part: Part, now: float) -> list[Send]:
        """Send a part that an order of `Store.parts` was for."""
        transfer = self._by_ticket.get(ticket)
        if transfer is None or not transfer.is_waiting:
            return []
        transfer.is_waiting = False
        return [self._part_to(transfer, part, now), *self._pump(transfer, now)]

    def wake(self, now: float) -> list[Send]:
        """Go on with paused transfers, and forget transfers that nobody takes."""
        sends: list[Send] = []
        for transfer in list(self._transfers.values()):
            if transfer.is_paused:
                transfer.is_paused = False
                sends += self._pump(transfer, now)
            elif transfer.forget_at <= now:
                self._end_transfer(transfer)
        return sends

    def wake_at(self) -> float:
        times = (-inf if each.is_paused else each.forget_at for each in self._transfers.values())
        return min(times, default=inf)

    @property
    def n_transfers(self) -> int:
        """How many are on their way."""
        return len(self._transfers)

    # --- Comparing

    def _digests_of_root(self, slots: SlotMask, root: bytes) -> Digests | None:
        """Return the digests that all of these slots have here if this is their root; None if it is not.

        A newcomer's root is not worth walking over all we have.
        """
        numbers = np.flatnonzero(slots)
        is_filled = self._store.filled_mask(len(slots))[numbers]
        digests = bytearray(DIGEST_BYTES * len(numbers))
        if root == root_of(digests):
            is_same = all(self._has_digest(slot, EMPTY) for slot in numbers[is_filled].tolist())
            return np.frombuffer(digests, "<u8") if is_same else None
        for place in np.flatnonzero(is_filled).tolist():
            digest = self._store.digest_of(int(numbers[place])).digest
            digests[place * DIGEST_BYTES : (place + 1) * DIGEST_BYTES] = digest
        return np.frombuffer(digests, "<u8") if root_of(digests) == root else None

    def _has_digest(self, slot: int, digest: bytes) -> bool:
        if digest == EMPTY:  # a newcomer asks so of many slots: not worth walking over all we have
            return next(iter(self._store.item_ids(slot)), None) is None
        return self._store.digest_of(slot).digest == digest

    def _unready(self) -> SlotMask:
        """Slots that this peer owns and is itself only getting."""
        assert self._ownership is not None
        owned = self._ownership.owned
        return owned if self._complete is None else owned & ~self._complete

    def _decode(self, slots: bytes) -> SlotMask:
        assert self._ownership is not None
        return decode_slots(slots, self._ownership.table.slot_count)

    # --- Sending

    def _pump(self, transfer: _Transfer, now: float) -> list[Send]:
        """Send parts while there is leave to."""
        sends: list[Send] = []
        transfer.forget_at = now + self._settings.idle_s
        while transfer.in_flight < self._settings.parts_in_flight_max and not (
            transfer.is_waiting or transfer.is_paused or transfer.is_ended
        ):
            item = next(transfer.parts, None)
            if item is None:
                transfer.is_ended = True
                sends.append(self._part_to(transfer, Part(b""), now))
            elif item is PAUSE:
                transfer.is_paused = True
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
        self.parts_sent += 1
        self.bytes_sent += len(part.items) + len(part.bulk)
        message = ItemsSent(
            request=transfer.request,
            part=number,
            sent_at=now,
            items=part.items,
            bulk=part.bulk,
            checksum=checksum_of(part.items, part.bulk),
            is_last=transfer.is_ended,
        )
        return Send(Address(transfer.peer, self._actor), message)

    def _end_transfer(self, transfer: _Transfer) -> None:
        del self._transfers[transfer.peer, transfer.request]
        del self._by_ticket[transfer.ticket]


FEW: Final = 16_384  # ids that may take 100 bytes each, for they are found ten times as fast


def item_ids_in(have: bytes) -> Collection[bytes]:
    """Return the ids of items in a list of `SendItems`, which rise: a set of eight bytes an id.

    Raises:
      RemoteProtocolError: it is no such list.
    """
    if len(have) % ITEM_ID_BYTES:
        raise RemoteProtocolError(f"{len(have)} bytes that are no ids")
    numbers = np.frombuffer(have, f">u{ITEM_ID_BYTES}")
    if (numbers[1:] < numbers[:-1]).any():
        raise RemoteProtocolError("ids that do not rise")
    if len(numbers) > FEW:
        return _SortedIds(have)
    return frozenset(have[at : at + ITEM_ID_BYTES] for at in range(0, len(have), ITEM_ID_BYTES))


class _SortedIds(Collection[bytes]):
    def __init__(self, have: bytes) -> None:
        native = np.frombuffer(have, f">u{ITEM_ID_BYTES}").astype(f"=u{ITEM_ID_BYTES}")
        self._numbers: memoryview[int] = native.data

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[bytes]:
        return (number.to_bytes(ITEM_ID_BYTES, "big") for number in self._numbers)

    def __contains__(self, item_id: object) -> bool:
        assert isinstance(item_id, bytes)
        number = int.from_bytes(item_id, "big")
        at = bisect_left(self._numbers, number)
        return at < len(self._numbers) and self._numbers[at] == number
