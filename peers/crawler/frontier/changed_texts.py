"""Stored pages with link texts that the cell of this peer has not heard of."""

from __future__ import annotations

from typing import Final

from mesh.tables.table import Table
from peers.crawler.frontier.keys import all_changed, changed_key

REMEMBERED_MAX: Final = 1 << 14  # rows, some 2 MB: a page that many link to is marked again and again


class ChangedTexts:
    """The rows "d" of a frontier's table, of all slots; in memory is how many each slot has."""

    def __init__(self, table: Table) -> None:
        """Begin without any: `find` counts those of a slot."""
        self._table = table
        self._by_slot: dict[int, int] = {}  # of slots that have any
        self.count = 0
        self._remembered: set[bytes] = set()  # keys of some of the rows that there are

    def mark(self, slot: int, mark: bytes, url: str) -> None:
        """Note that of the links to a stored page others are known than its cell has heard of.

        Args:
          mark: the fingerprint of the URL.
        """
        key = changed_key(slot, mark)
        if key in self._remembered:
            return
        if len(self._remembered) >= REMEMBERED_MAX:
            self._remembered.clear()
        self._remembered.add(key)
        if self._table.get(key) is None:
            self._table.put(key, url.encode())
            self._count(slot, +1)

    def take(self, limit: int) -> list[tuple[str, int]]:
        """Return and forget up to `limit` pages, each with its slot."""
        taken: list[tuple[str, int]] = []
        for slot in list(self._by_slot):
            rows = list(self._table.scan_prefix(all_changed(slot), limit=limit - len(taken)))
            for key, value in rows:
                self._table.delete(key)
                self._remembered.discard(key)
                taken.append((value.decode(), slot))
            self._count(slot, -len(rows))
            if len(taken) == limit:
                break
        return taken

    def find(self, slot: int) -> None:
        """Count the rows of a slot of which none were counted so far."""
        self._count(slot, sum(1 for _ in self._table.scan_prefix(all_changed(slot))))

    def drop(self, slot: int) -> None:
        """Count the rows of a slot no more: somebody else deletes them."""
        self._remembered.clear()
        self._count(slot, -self._by_slot.get(slot, 0))

    def _count(self, slot: int, change: int) -> None:
        if not change:
            return
        count = self._by_slot.pop(slot, 0) + change
        if count:
            self._by_slot[slot] = count
        self.count += change
