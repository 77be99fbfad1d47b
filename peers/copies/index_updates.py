"""Tells the index of this peer about copies, an order at a time, and then answers the peers that wait for it.

After a restart all pages are marked again that by their rows are copies, or stand for some. A row does not
show that a mark was to be taken back: such a page has a row here, too, until the index has taken it back.

    slot(2) page(16) -> nothing
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Final, NamedTuple

from mesh.actors.actor import Address, Send
from mesh.tables.table import Table
from peers.copies.wire_messages import RolesNoted
from peers.engine.merging.copies import CopyMark
from peers.index.messages import MarkCopies

MARKS_MAX: Final = 4_096  # in one order
PAUSE_S: Final = 1.0  # from the first mark, for company


class _Answer(NamedTuple):
    """An answer to a peer that has named some pages."""

    send: Send
    keys: frozenset[bytes]  # of these pages


class IndexUpdates:
    """Marks by URL, and answers to the peers that named pages."""

    def __init__(self, me: str, table: Table) -> None:
        self._indexer = Address(me, "indexer")
        self._table = table
        self._taken_back = {key for key, _ in table.scan(b"")}  # those in the table
        self._updates: dict[str, tuple[CopyMark, bytes]] = {}  # each with the key of its page
        self._answers: list[_Answer] = []  # to be given when all these marks are in the index
        self._ordered: list[_Answer] = []  # when those of the order are
        self._ticket = 0
        self._under_way: dict[str, bytes] = {}  # keys of the pages of the order, by URL
        self._order_at_s = inf

    def to_be_taken_back(self) -> list[bytes]:
        """Return the keys of pages with marks that an earlier life was to take back."""
        return sorted(self._taken_back)

    def forget(self, key: bytes) -> None:
        """Note that no mark is to be taken back from a page, or not any more."""
        if key in self._taken_back:
            self._taken_back.remove(key)
            self._table.delete(key)

    def add(self, url: str, key: bytes, mark: CopyMark, now: float) -> None:
        """Have the index told soon.

        Args:
          key: slot and fingerprint of the page.
        """
        self._updates.pop(url, None)
        self._updates[url] = mark, key
        if not mark.n_copies and key not in self._taken_back:
            self._taken_back.add(key)
            self._table.put(key, b"")
        self._order_at_s = min(self._order_at_s, now + PAUSE_S)

    def answer(self, to: Address, answer: RolesNoted, keys: Iterable[bytes], now: float) -> None:
        """Answer when all marks added so far are in the index.

        Args:
          keys: of the pages that it is about.
        """
        self._answers.append(_Answer(Send(to, answer), frozenset(keys)))
        self._order_at_s = min(self._order_at_s, now + PAUSE_S)

    def withdraw(self, key: bytes) -> None:
        """Give no answer about a page that has another content by now: it is asked again."""
        for answers in (self._answers, self._ordered):
            answers[:] = [each for each in answers if key not in each.keys]

    def note_marked(self, ticket: int) -> list[Send]:
        """Return the answers that may be given."""
        if not self._under_way or ticket != self._ticket:
            return []
        for url, key in self._under_way.items():
            if url not in self._updates:
                self.forget(key)
        self._under_way = {}
        return self._take_ordered()

    def _take_ordered(self) -> list[Send]:
        answers, self._ordered = self._ordered, []
        return [each.send for each in answers]

    def wake(self, now: float) -> list[Send]:
        """Send the index the marks that have gathered, in one order."""
        if self._under_way or now < self._order_at_s:
            return []
        urls = list(self._updates)[:MARKS_MAX]
        taken = [(url, *self._updates.pop(url)) for url in urls]
        pages = tuple((url, mark) for url, mark, _ in taken)
        self._order_at_s = now if self._updates else inf
        if not self._updates:
            self._ordered, self._answers = self._answers, []
        if not pages:
            return self._take_ordered()
        self._ticket += 1
        self._under_way = {url: key for url, _, key in taken}
        return [Send(self._indexer, MarkCopies(self._ticket, pages))]

    def wake_at(self) -> float:
        return inf if self._under_way else self._order_at_s

    @property
    def is_full(self) -> bool:
        """Is enough for some orders waiting?"""
        return len(self._updates) > 4 * MARKS_MAX

    @property
    def waiting_count(self) -> int:
        """Marks that the index does not go by yet."""
        return len(self._updates) + len(self._under_way)
