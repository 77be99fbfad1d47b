"""The digest of a slot's items, kept up to date row by row, so that comparing a slot walks over it once.

The ids of a slot's items are combined by XOR: neither their order matters nor how the slot came to have them,
and what has changed is taken out and put in again. So of a slot whose digest is known only those rows are
looked at that have changed since it was asked for last. What an item's id is says the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np

from mesh.tables.table import Table
from peers.handover.wire_messages import DIGEST_BYTES, ITEM_ID_BYTES, ROOT_BYTES

assert DIGEST_BYTES == ITEM_ID_BYTES

EMPTY: Final = bytes(DIGEST_BYTES)  # digest of a slot without items
CHANGED_MAX: Final = 1 << 16  # rows remembered as changed, of all slots: some 10 MB


class SlotDigest(NamedTuple):
    """The digest and the number of the items found in a slot."""

    digest: bytes
    n_items: int


NOTHING: Final = SlotDigest(EMPTY, 0)


def root_of(digests: bytes | bytearray) -> bytes:
    """Return ROOT_BYTES that are equal where the digests of many slots are: BLAKE2b."""
    return blake2b(digests, digest_size=ROOT_BYTES).digest()


class WatchedTable:
    """A `Table` like the one beneath, that tells the keys of items before these change."""

    def __init__(self, table: Table, kind_at: int, kinds: bytes) -> None:
        """Begin to tell nobody.

        Args:
          kind_at: where in a key its kind is; every key is longer.
          kinds: of the keys that are told.
        """
        self.before_change: Callable[[Sequence[bytes]], None] | None = None
        self._table = table
        self._kind_at = kind_at
        self._kinds = frozenset(kinds)
        self.get = table.get
        self.get_many = table.get_many
        self.scan = table.scan
        self.scan_prefix = table.scan_prefix

    def put(self, key: bytes, value: bytes) -> None:
        if self.before_change is not None and key[self._kind_at] in self._kinds:
            self.before_change((key,))
        self._table.put(key, value)

    def put_many(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        if self.before_change is not None:
            self.before_change([key for key, _ in rows if key[self._kind_at] in self._kinds])
        self._table.put_many(rows)

    def delete(self, key: bytes) -> None:
        if self.before_change is not None and key[self._kind_at] in self._kinds:
            self.before_change((key,))
        self._table.delete(key)


@dataclass(slots=True)
class _Known:
    number: int  # the digest
    n_items: int
    changed: dict[bytes, bytes | None] = field(default_factory=dict)  # row to the id it had; None without


class SlotDigests:
    """Digests of those slots that were asked for."""

    def __init__(
        self,
        slot_at: int,
        ids_in: Callable[[int], Iterable[bytes]],
        id_of: Callable[[bytes], bytes | None],
        changed_max: int = CHANGED_MAX,
    ) -> None:
        """Begin with none.

        Args:
          slot_at: where in a key the slot is, two bytes big-endian.
          ids_in: returns the ids of all items of a slot.
          id_of: returns the id of the item in the row with this key; None when there is no such row.
        """
        self._slot_at = slot_at
        self._ids_in = ids_in
        self._id_of = id_of
        self._changed_max = changed_max
        self._known: dict[int, _Known] = {}
        self._n_changed = 0

    def note(self, keys: Sequence[bytes]) -> None:
        """Remember the ids of rows; to be called before these, or the parts that others see, change."""
        for key in keys:
            slot = key[self._slot_at] << 8 | key[self._slot_at + 1]
            known = self._known.get(slot)
            if known is None or key in known.changed:
                continue
            known.changed[key] = self._id_of(key)
            self._n_changed += 1
            if self._n_changed > self._changed_max:
                # Nobody asks for some slots any more; this one is walked over.
                self._n_changed -= len(known.changed)
                del self._known[slot]

    def of(self, slot: int) -> SlotDigest:
        """Return the digest of a slot."""
        known = self._known.get(slot)
        if known is None:
            known = self._known[slot] = _combined(self._ids_in(slot))
        elif known.changed:
            self._n_changed -= len(known.changed)
            self._bring_up_to_date(known)
        return SlotDigest(known.number.to_bytes(DIGEST_BYTES, "little"), known.n_items)

    def _bring_up_to_date(self, known: _Known) -> None:
        for key, before in known.changed.items():
            for item_id, change in ((before, -1), (self._id_of(key), +1)):
                if item_id is not None:
                    known.number ^= int.from_bytes(item_id, "little")
                    known.n_items += change
        known.changed.clear()


def _combined(ids: Iterable[bytes]) -> _Known:
    joined = b"".join(ids)
    if not joined:
        return _Known(0, 0)  # most slots of a small crawl
    words = np.frombuffer(joined, "<u8")
    return _Known(int(np.bitwise_xor.reduce(words)), len(words))
