"""A table that counts its changes slot by slot, so that what was computed of a slot can be kept until one."""

from __future__ import annotations

from mesh.slots import SLOTS_MAX
from mesh.table import Table


class CountingTable:
    """A `Table` like the one beneath; all of its keys have the number of a slot at the same place."""

    def __init__(self, table: Table, slot_at: int) -> None:
        """Begin to count.

        Args:
          slot_at: where in a key the slot is, two bytes big-endian; what is shorter is of no slot.
        """
        self.changes = [
            0
        ] * SLOTS_MAX  # by slot: puts and deletes; whoever else changes something counts it, too
        self._table = table
        self._slot_at = slot_at
        self.get = table.get
        self.scan = table.scan
        self.scan_prefix = table.scan_prefix

    def put(self, key: bytes, value: bytes) -> None:
        self._count(key)
        self._table.put(key, value)

    def delete(self, key: bytes) -> None:
        self._count(key)
        self._table.delete(key)

    def _count(self, key: bytes) -> None:
        at = self._slot_at
        if len(key) > at + 1:
            self.changes[key[at] << 8 | key[at + 1]] += 1
