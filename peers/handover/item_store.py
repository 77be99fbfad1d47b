"""A store of plain values under names, by slot, in a table: for actors that need no store of their own.

The owner of a store says how two values of one name join. The join must be idempotent, commutative and
associative (a maximum, a union), then so is all that happens to the store, and copies that have told each
other everything are equal.

    slot(2) name -> value
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from math import inf
from typing import Annotated, Final, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta
from xxhash import xxh3_64_digest

from mesh.actors.actor import Send
from mesh.errors import RemoteProtocolError
from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import SlotMask
from mesh.tables.table import Table
from peers.handover.slot_digests import NOTHING, SlotDigest, SlotDigests
from peers.handover.store import Part, Shipment
from peers.handover.wire_messages import CHANGES_MAX

PART_BYTES: Final = 128 << 10  # of items in a part or a shipment, but for the last one
# With slot and section a name must fit a key of the table, of 511 bytes at most.
NAME_BYTES_MAX: Final = 400
VALUE_BYTES_MAX: Final = 1 << 20

Join: TypeAlias = Callable[[bytes, bytes], bytes]
# Takes slot, name, value before (None for none) and value.
Changed: TypeAlias = Callable[[int, bytes, bytes | None, bytes], None]
# Takes slot, name and value: is it one that the store may have, if another peer says so?
Accepts: TypeAlias = Callable[[int, bytes, bytes], bool]


class Item(msgspec.Struct, frozen=True, array_like=True):
    """One value."""

    slot: Annotated[int, Meta(ge=0, lt=SLOTS_MAX)]
    name: Annotated[bytes, Meta(min_length=1, max_length=NAME_BYTES_MAX)]
    value: Annotated[bytes, Meta(max_length=VALUE_BYTES_MAX)]


class ItemStore:
    """A `store.MirroredStore` of values."""

    def __init__(
        self,
        table: Table,
        join: Join,
        *,
        part_bytes: int = PART_BYTES,
        items_max: int = CHANGES_MAX,
        changed: Changed = lambda *_: None,
        accepts: Accepts | None = None,
    ) -> None:
        """Find out which slots have anything.

        Args:
          join: makes one value of two, either of which may come from another peer. Raises ValueError for
            what is no value.
          part_bytes: of items, after which the next part or shipment begins.
          items_max: in a part or a shipment, ours or another peer's, where items take long to check.
          changed: told of every value that changes, whoever changed it.
          accepts: of values from other peers, those that are taken; None for all that can be joined.
        """
        self._table = table
        self._join = join
        self._bounds = part_bytes, items_max
        self._changed = changed
        self._accepts = accepts
        self._filled = np.zeros(SLOTS_MAX, np.bool_)
        self._forgetting: list[int] = []
        self._changes: dict[bytes, None] | None = None  # keys, in the order of changing
        self._digests = SlotDigests(0, self.item_ids, self._id_at)
        self.newly_filled: list[int] = []
        self.items_refused = 0  # see `store.Store`
        self._find_filled()

    # --- For the owner

    def get(self, slot: int, name: bytes) -> bytes | None:
        return self._table.get(key_at(slot, name))

    def put(self, slot: int, name: bytes, value: bytes, *, is_news: bool = True) -> bool:
        """Join a value with the one that is there; return whether that changed it.

        Args:
          is_news: False where all of the team come to it by themselves: it is not shipped to them.
        """
        return self.put_upon(self.get(slot, name), slot, name, value, is_news=is_news)

    def put_upon(
        self, before: bytes | None, slot: int, name: bytes, value: bytes, *, is_news: bool = True
    ) -> bool:
        """Do as `put` does, upon the value that the caller has just read there; None for none."""
        key = key_at(slot, name)
        joined = self._join(before, value) if before is not None else value
        if joined == before:
            return False
        self._digests.note((key,))
        self._table.put(key, joined)
        if self._changes is not None and is_news:
            self._changes[key] = None
        if not self._filled[slot]:
            self._filled[slot] = True
            self.newly_filled.append(slot)
        if slot in self._forgetting:
            self._forgetting.remove(slot)
        self._changed(slot, name, before, joined)
        return True

    def drop(self, slot: int, name: bytes) -> None:
        """Delete a value that no peer keeps: one that has it still may send it again, see `accepts`."""
        key = key_at(slot, name)
        self._digests.note((key,))
        self._table.delete(key)
        if next(self._table.scan_prefix(key_of_slot(slot), limit=1), None) is None:
            self._filled[slot] = False

    def items_after(self, after: bytes, limit: int, bytes_max: float = inf) -> list[Item]:
        """Return values in the order of their slots and names, from the one after `after`, see `key_of`.

        None is behind the one with which they have so many bytes.
        """
        return _items_of(self._table.scan(after + b"\0" if after else b"", limit=limit), bytes_max)

    def items_below(self, slot: int, prefix: bytes, limit: int, bytes_max: float = inf) -> list[Item]:
        """Return the first values of a slot whose names begin so, as `items_after` does."""
        return _items_of(self._table.scan_prefix(key_at(slot, prefix), limit=limit), bytes_max)

    def items(self, slot: int) -> Iterator[Item]:
        """Yield all values of a slot, by name."""
        if self._filled[slot]:
            for key, value in self._table.scan_prefix(key_of_slot(slot)):
                yield Item(slot, key[2:], value)

    def items_of_slot_after(self, after: bytes) -> Iterator[Item]:
        """Yield the values of a slot behind one of them, by name. Args: after: see `key_of`."""
        slot = slot_in(after)
        stop = key_of_slot(slot + 1) if slot + 1 < SLOTS_MAX else None
        for key, value in self._table.scan(after + b"\0", stop):
            yield Item(slot, key[2:], value)

    # --- `store.Store`

    def filled_mask(self, slot_count: int) -> SlotMask:
        """See `Store`."""
        return self._filled[:slot_count]

    def item_ids(self, slot: int) -> Iterator[bytes]:
        """See `Store`."""
        return map(_id_of, self.items(slot))

    def digest_of(self, slot: int) -> SlotDigest:
        """See `Store`."""
        return self._digests.of(slot) if self._filled[slot] else NOTHING

    def parts(self, ticket: int, slots: SlotMask, have: Collection[bytes]) -> Iterator[Part | Send]:
        """See `Store`."""
        items = (item for slot in np.flatnonzero(slots).tolist() for item in self.items(slot))
        for some in _in_messages((item for item in items if _id_of(item) not in have), self._bounds):
            yield Part(_encode(some))

    def merge(
        self, ticket: int, peer: str, slots: SlotMask, part: Part, clock_offset_s: float
    ) -> Send | None:
        """See `Store`. Times in values, if there are any, are taken as they are."""
        self._join_all(part.items, lambda slot: slot < len(slots) and bool(slots[slot]))
        return None

    @property
    def is_forgetting(self) -> bool:
        return bool(self._forgetting)

    def forget_later(self, slots: SlotMask) -> None:
        """See `Store`."""
        gone = np.flatnonzero(slots & self._filled[: len(slots)]).tolist()
        self._filled[gone] = False
        self._forgetting += gone

    def forget_some(self, entries_max: int) -> None:
        """See `Store`."""
        room = entries_max
        while self._forgetting and room > 0:
            rows = list(self._table.scan_prefix(key_of_slot(self._forgetting[0]), limit=room))
            for key, _ in rows:
                self._digests.note((key,))
                self._table.delete(key)
            room -= len(rows)
            if room > 0:
                self._forgetting.pop(0)

    # --- `store.MirroredStore`

    @property
    def has_changes(self) -> bool:
        return bool(self._changes)

    def note_changes(self, *, is_wanted: bool) -> None:
        """See `MirroredStore`."""
        if is_wanted != (self._changes is not None):
            self._changes = {} if is_wanted else None

    def take_changes(self) -> Collection[bytes]:
        """See `MirroredStore`."""
        changes = self._changes
        if changes is None:
            return ()
        self._changes = {}
        return changes

    def shipments(self, keys: Iterable[bytes]) -> Iterator[Shipment]:
        """See `MirroredStore`."""
        rows = ((key, self._table.get(key)) for key in keys)
        items = (Item(slot_in(key), key[2:], value) for key, value in rows if value is not None)
        for some in _in_messages(items, self._bounds):
            yield Shipment(_encode(some), len(some), frozenset(item.slot for item in some))

    def only(self, shipment: Shipment, slots: frozenset[int]) -> Shipment:
        """See `MirroredStore`."""
        items = [item for item in _decode(shipment.items) if item.slot in slots]
        return Shipment(_encode(items), len(items), slots)

    def merge_changes(
        self, peer: str, items: bytes, is_taken: Callable[[int], bool], clock_offset_s: float
    ) -> int:
        """See `MirroredStore`."""
        return self._join_all(items, is_taken)

    # --- Details

    def _join_all(self, encoded: bytes, is_taken: Callable[[int], bool]) -> int:
        try:
            items = _decode(encoded)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise RemoteProtocolError(f"items that are none: {error}") from error
        if len(items) > self._bounds[1]:
            raise RemoteProtocolError(f"{len(items)} items at a time, which take too long")
        if not all(map(is_taken, {item.slot for item in items})):
            raise RemoteProtocolError("items of slots that are not to come from there")
        good = [item for item in items if self._is_good(item)]
        self.items_refused += len(items) - len(good)
        for item in good:
            self.put(item.slot, item.name, item.value)
        return len(good)

    def _is_good(self, item: Item) -> bool:
        if self._accepts is not None:
            return self._accepts(item.slot, item.name, item.value)
        try:
            self._join(item.value, item.value)
        except ValueError:
            return False
        return True

    def _id_at(self, key: bytes) -> bytes | None:
        value = self._table.get(key)
        return None if value is None else _id_of(Item(slot_in(key), key[2:], value))

    def _find_filled(self) -> None:
        """See in which slots anything is, by one step of a scan for each."""
        start = key_of_slot(0)
        while (first := next(self._table.scan(start, limit=1), None)) is not None:
            slot = slot_in(first[0])
            self._filled[slot] = True
            self.newly_filled.append(slot)
            if slot + 1 == SLOTS_MAX:
                return
            start = key_of_slot(slot + 1)


def key_of_slot(slot: int) -> bytes:
    return slot.to_bytes(2, "big")


def _items_of(rows: Iterable[tuple[bytes, bytes]], bytes_max: float) -> list[Item]:
    items: list[Item] = []
    for key, value in rows:
        items.append(Item(slot_in(key), key[2:], value))
        bytes_max -= len(value)
        if bytes_max <= 0:
            break
    return items


def key_of(item: Item) -> bytes:
    return key_at(item.slot, item.name)


def key_at(slot: int, name: bytes) -> bytes:
    assert 0 < len(name) <= NAME_BYTES_MAX, name
    return key_of_slot(slot) + name


def slot_in(key: bytes) -> int:
    return int.from_bytes(key[:2], "big")


def _id_of(item: Item) -> bytes:
    """XXH3-64 over slot (ids of several are put together), length of the name, name and value."""
    head = key_of_slot(item.slot) + len(item.name).to_bytes(2, "big")
    digest: bytes = xxh3_64_digest(head + item.name + item.value)
    return digest


def _in_messages(items: Iterable[Item], bounds: tuple[int, int]) -> Iterator[list[Item]]:
    """Gather items until a message is full. Args: bounds: bytes in one and items."""
    bytes_max, items_max = bounds
    some: list[Item] = []
    n_bytes = 0
    for item in items:
        some.append(item)
        n_bytes += 16 + len(item.name) + len(item.value)
        if n_bytes >= bytes_max or len(some) == items_max:
            yield some
            some, n_bytes = [], 0
    if some:
        yield some


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Annotated[list[Item], Meta(max_length=CHANGES_MAX)]).decode
