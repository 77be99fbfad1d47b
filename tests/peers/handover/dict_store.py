"""A `Store` of texts in a dict, with as many parts, and detours over a port, as a test wants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

import msgspec
import numpy as np
from xxhash import xxh3_64_digest

from mesh.actors.actor import Address, Message, Send
from mesh.errors import RemoteProtocolError
from mesh.slot_set import SlotMask
from peers.handover.slot_digests import SlotDigest, SlotDigests
from peers.handover.store import PAUSE, Part

Item = tuple[int, str]  # slot and text

_decoder = msgspec.msgpack.Decoder(list[Item])


class ReadPart(Message, frozen=True):
    """Store to port: give the part back."""

    ticket: int
    part: Part


class MergeDone(Message, frozen=True):
    """Store to port: say when you have done something."""

    ticket: int


def id_of(text: str) -> bytes:
    digest: bytes = xxh3_64_digest(text.encode())
    return digest


class DictStore:
    """Items by slot; merging is a union."""

    def __init__(self, me: str, items_per_part: int = 2, *, has_port: bool = False) -> None:
        self.items: defaultdict[int, dict[bytes, str]] = defaultdict(dict)
        self.newly_filled: list[int] = []
        self.items_refused = 0
        self.clock_offsets: list[float] = []  # of the parts that were merged
        self._port = Address(me, "port")
        self._items_per_part = items_per_part
        self._has_port = has_port
        self._merging: dict[int, list[Item]] = {}

    def put(self, slot: int, text: str) -> None:
        self.items[slot][id_of(text)] = text

    def all(self) -> set[Item]:
        return {(slot, text) for slot, texts in self.items.items() for text in texts.values()}

    def forget(self, slots: SlotMask) -> None:
        for slot in np.flatnonzero(slots).tolist():
            self.items.pop(slot, None)

    is_forgetting = False

    def forget_later(self, slots: SlotMask) -> None:
        self.forget(slots)

    def forget_some(self, entries_max: int) -> None:
        pass

    def finish(self, ticket: int) -> None:
        for item in self._merging.pop(ticket, ()):
            self.put(*item)

    # --- The store

    def filled_mask(self, slot_count: int) -> SlotMask:
        mask = np.zeros(slot_count, np.bool_)
        mask[[slot for slot, items in self.items.items() if items]] = True
        return mask

    def item_ids(self, slot: int) -> Iterable[bytes]:
        return iter(self.items.get(slot, {}))

    def digest_of(self, slot: int) -> SlotDigest:
        return SlotDigests(0, self.item_ids, lambda key: None).of(slot)

    def parts(self, ticket: int, slots: SlotMask, have: Collection[bytes]) -> Iterator[Part | Send]:
        for slot in np.flatnonzero(slots).tolist():
            texts = [text for each, text in list(self.items.get(slot, {}).items()) if each not in have]
            if not texts and self.items.get(slot):
                yield PAUSE
            for at in range(0, len(texts), self._items_per_part):
                items = [(slot, text) for text in texts[at : at + self._items_per_part]]
                part = Part(msgspec.msgpack.encode(items), b"bulk" * len(items))
                yield Send(self._port, ReadPart(ticket, part)) if self._has_port else part

    def merge(
        self, ticket: int, peer: str, slots: SlotMask, part: Part, clock_offset_s: float
    ) -> Send | None:
        try:
            items = _decoder.decode(part.items)
        except msgspec.MsgspecError as error:
            raise RemoteProtocolError("no items") from error
        if not all(0 <= slot < len(slots) and slots[slot] for slot, _ in items):
            raise RemoteProtocolError("items of slots that were not asked for")
        self.clock_offsets.append(clock_offset_s)
        if self._has_port:
            self._merging[ticket] = items
            return Send(self._port, MergeDone(ticket))
        for item in items:
            self.put(*item)
        return None
