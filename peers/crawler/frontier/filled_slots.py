"""In which slots a frontier has anything, and the deletion of all that it has of others, bit by bit."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import SlotMask
from mesh.tables.table import Table
from peers.crawler.frontier.changed_texts import ChangedTexts
from peers.crawler.frontier.keys import all_queued, mark_in, slot_in, slot_key, url_key


class FilledSlots:
    """Slots with rows that stay, and slots of which the rows are being deleted."""

    def __init__(self, table: Table, changed_texts: ChangedTexts) -> None:
        """See in which slots anything is, by one step of a scan for each."""
        self._table = table
        self._changed_texts = changed_texts
        self._filled = bytearray(SLOTS_MAX)
        self.forgetting: deque[int] = deque()
        self.newly_filled: list[int] = []  # had nothing, and have; whoever looks empties it
        start: bytes | None = b""
        while start is not None:
            first = next(table.scan(start, limit=1), None)
            if first is None:
                return
            slot = slot_in(first[0])
            self.fill(slot)
            changed_texts.find(slot)
            start = slot_key(slot + 1) if slot + 1 < SLOTS_MAX else None

    def __contains__(self, slot: int) -> bool:
        return bool(self._filled[slot])

    def filled_among(self, slots: Iterable[int]) -> list[int]:
        """Return those of them in which anything is."""
        filled = self._filled
        return [slot for slot in slots if filled[slot]]

    def mask(self, slot_count: int) -> SlotMask:
        return np.frombuffer(self._filled, np.bool_, slot_count)

    def fill(self, slot: int) -> None:
        """Note that something of a slot is here; it must not be deleted any more."""
        if not self._filled[slot]:
            self._filled[slot] = True
            self.newly_filled.append(slot)
            if slot in self.forgetting:
                self.forgetting.remove(slot)
                self._changed_texts.find(slot)  # what is left of it stays

    def forget_later(self, slot: int) -> None:
        """Have the rows of a slot deleted by `forget_some`, unless something new comes."""
        if self._filled[slot]:
            self._filled[slot] = False
            self._changed_texts.drop(slot)
            self.forgetting.append(slot)

    def forget_some(self, limit: int) -> None:
        """Delete up to so many rows, and a URL's queue entry never without the URL."""
        while self.forgetting and limit > 0:
            slot = self.forgetting[0]
            limit -= self._forget(slot, limit)
            if limit > 0:
                self.forgetting.popleft()

    def _forget(self, slot: int, limit: int) -> int:
        """Delete rows of a slot, the queued URLs first; return how many."""
        n_deleted = 0
        for key, _ in list(self._table.scan_prefix(all_queued(slot), limit=limit)):
            self._table.delete(key)
            self._table.delete(url_key(slot, mark_in(key)))
            n_deleted += 1
        rest = limit - n_deleted
        for key, _ in list(self._table.scan_prefix(slot_key(slot), limit=rest)):
            self._table.delete(key)
            n_deleted += 1
        return n_deleted
