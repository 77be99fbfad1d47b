"""Slots that have lost documents in the index: all their pages are marked again, some at a time."""

from __future__ import annotations

from math import inf

import numpy as np

from mesh.actors.actor import Address, Send
from peers.index.messages import SlotsRepaired
from peers.storage.indexing import Indexing
from peers.storage.ledger.ledger import Ledger
from peers.storage.settings import CellSettings
from peers.storage.slot_news import SlotNews
from peers.storage.teams import Teams


class Reindexing:
    """Marks pages anew, and has the index told when all of them are indexed."""

    def __init__(
        self,
        me: str,
        teams: Teams,
        ledger: Ledger,
        indexing: Indexing,
        news: SlotNews,
        settings: CellSettings,
    ) -> None:
        self._indexer = Address(me, "indexer")
        self._teams = teams
        self._ledger = ledger
        self._indexing = indexing
        self._news = news
        self._settings = settings
        self._slots: list[int] = []  # whose pages are to be marked
        self._lost: list[bytes] = []  # the same as sets, as they were named, until all are marked
        self.wake_at_s = inf  # when to call `wake`

    def mark_anew(self, slots: bytes, now: float) -> None:
        """Have all pages of some slots indexed again, because documents of these were lost."""
        self._lost.append(slots)
        if self._teams.are_known:  # else `take_up` does
            self._add(slots, now)

    def take_up(self, now: float) -> None:
        """Go on with the slots that could not be marked before the number of slots was known."""
        for slots in self._lost:
            self._add(slots, now)

    def wake(self, now: float) -> None:
        """Mark some entries; once all are, have the index told when they are indexed."""
        room = self._settings.entries_per_turn
        while self._slots and room > 0:
            room -= self._ledger.mark_slot(self._slots.pop()) + 1
        self._indexing.plan(now)
        if self._slots:
            self.wake_at_s = now + self._settings.turn_pause_s
            return
        self.wake_at_s = inf
        lost, self._lost = self._lost, []
        for slots in lost:
            self._news.hold(Send(self._indexer, SlotsRepaired(slots)), self._teams.decode(slots), inf)

    def _add(self, slots: bytes, now: float) -> None:
        self._slots += np.flatnonzero(self._teams.decode(slots)).tolist()
        self.wake_at_s = min(self.wake_at_s, now)
