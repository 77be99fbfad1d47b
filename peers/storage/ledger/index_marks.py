"""The versions and link texts of a cell's pages that the index has, and those it is still to have.

A version is marked from when it rules until the index has it in a durable commit; of one without a document
that is when the index has taken out what it had. Link texts have marks of their own. What came with another
peer's index is noted, and needs no mark. So is what the index lacks because it is taken down.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from mesh.slot_limits import SLOTS_MAX
from mesh.stamp import Stamp
from mesh.tables.table import Table, prefix_end
from peers.storage.ledger.ledger_keys import (
    ADOPTED,
    HIDDEN,
    IDENTITY_BYTES,
    PAGE_MARK,
    STAMP_BYTES,
    TEXTS,
    TEXTS_MARK,
    newest_first,
    pack_slot,
    slot_in,
    stamp_in,
)
from peers.storage.ledger.totals import CellTotals

UNKNOWN_TEXTS: Final = b"?"  # for `note_texts_given`: the digest of no texts


class IndexMarks:
    """The entries "u", "x", "i", "d" and "t" of a cell's table; in memory is how many marks slots have."""

    def __init__(self, table: Table, totals: CellTotals) -> None:
        """Count the marks that the table has.

        Args:
          totals: of the ledger, which writes them.
        """
        self._table = table
        self._totals = totals
        self.by_slot: npt.NDArray[np.int32] = np.zeros(SLOTS_MAX, np.int32)
        for kind in (PAGE_MARK, TEXTS_MARK):
            for key, _ in table.scan_prefix(kind):
                self.by_slot[slot_in(key[1:])] += 1
        self.since: list[set[bytes]] = []  # each gets the identities of pages that are marked

    def count_forgotten(self, kind: bytes, slot: int) -> None:
        """Count an entry that was deleted with its slot."""
        totals = self._totals
        if kind == PAGE_MARK:
            totals.pages_marked -= 1
        elif kind == TEXTS_MARK:
            totals.texts_marked -= 1
        elif kind == ADOPTED:
            totals.adopted -= 1
        elif kind == HIDDEN:
            totals.hidden -= 1
        if kind in (PAGE_MARK, TEXTS_MARK):
            self.by_slot[slot] -= 1

    # --- Link texts

    def texts_given(self, identity: bytes) -> bytes:
        """Return the digest (`texts_digest`) of the texts that the index has with a page, as far as known."""
        return self._table.get(TEXTS + identity) or b""

    def note_texts_given(self, identity: bytes, digest: bytes) -> None:
        if digest:
            self._table.put(TEXTS + identity, digest)
        elif self.texts_given(identity):
            self._table.delete(TEXTS + identity)

    # --- What is not yet indexed

    def mark_page(self, identity: bytes, stamp: Stamp, *, is_new: bool = False) -> None:
        """Note that the index is to have this version, with the link texts that are known when it gets it.

        Of one without a document it is to have nothing. A mark of link texts stays until it is given with
        those: it may be with the indexer already, with older ones, and is not given again then.

        Args:
          is_new: the version was not here until now, so it has no mark: that goes before the version does.
        """
        key = PAGE_MARK + identity + newest_first(stamp)
        if is_new or self._table.get(key) is None:
            self._table.put(key, b"")
            self._totals.pages_marked += 1
            self.by_slot[slot_in(identity)] += 1
        if self._totals.adopted:
            self.drop_adopted(identity)
        self._tell_marked(identity)

    def unmark_page(self, identity: bytes, stamp: Stamp) -> None:
        """Take back a mark; none is no error."""
        key = PAGE_MARK + identity + newest_first(stamp)
        if self._table.get(key) is not None:
            self._table.delete(key)
            self._totals.pages_marked -= 1
            self.by_slot[slot_in(identity)] -= 1

    def has_page_mark(self, identity: bytes) -> bool:
        """Is any version of this page still to be indexed?"""
        if not self.by_slot[slot_in(identity)]:
            return False
        return next(self._table.scan_prefix(PAGE_MARK + identity, limit=1), None) is not None

    def marked_pages(self, after: bytes, limit: int) -> list[tuple[bytes, Stamp]]:
        """Return (identity, stamp) of marks in order, from the one after `after`.

        `after` is b"" or `mark_key` of the last one seen.
        """
        start = PAGE_MARK + after + b"\0" if after else PAGE_MARK
        rows = self._table.scan(start, prefix_end(PAGE_MARK), limit=limit)
        return [(key[1 : 1 + IDENTITY_BYTES], stamp_in(key[1 + IDENTITY_BYTES :])) for key, _ in rows]

    def mark_texts(self, identity: bytes) -> None:
        """Note that the link texts known are to be indexed."""
        key = TEXTS_MARK + identity
        if self._table.get(key) is None:
            self._table.put(key, b"")
            self._totals.texts_marked += 1
            self.by_slot[slot_in(identity)] += 1
        self._tell_marked(identity)

    def _tell_marked(self, identity: bytes) -> None:
        for marked in self.since:
            marked.add(identity)

    def unmark_texts(self, identity: bytes) -> None:
        """Take back a mark; none is no error."""
        if self.has_texts_mark(identity):
            self._table.delete(TEXTS_MARK + identity)
            self._totals.texts_marked -= 1
            self.by_slot[slot_in(identity)] -= 1

    def has_texts_mark(self, identity: bytes) -> bool:
        return self._totals.texts_marked > 0 and self._table.get(TEXTS_MARK + identity) is not None

    def marked_of(self, slots: Iterable[int]) -> set[bytes]:
        """Return the identities of these slots with any marks."""
        return {
            key[1 : 1 + IDENTITY_BYTES]
            for slot in slots
            if self.by_slot[slot]
            for kind in (PAGE_MARK, TEXTS_MARK)
            for key, _ in self._table.scan_prefix(kind + pack_slot(slot))
        }

    def marked_texts(self, after: bytes, limit: int) -> list[bytes]:
        """Return the identities with marks in order, from the one after `after`."""
        start = TEXTS_MARK + after + b"\0" if after else TEXTS_MARK
        return [key[1:] for key, _ in self._table.scan(start, prefix_end(TEXTS_MARK), limit=limit)]

    # --- What is taken down

    def is_hidden(self, identity: bytes) -> bool:
        """Was the index last given that it is to have nothing of this page, as it is taken down?"""
        return self._totals.hidden > 0 and self._table.get(HIDDEN + identity) is not None

    def note_hidden(self, identity: bytes) -> None:
        if not self.is_hidden(identity):
            self._table.put(HIDDEN + identity, b"")
            self._totals.hidden += 1

    def note_shown(self, identity: bytes) -> None:
        if self.is_hidden(identity):
            self._table.delete(HIDDEN + identity)
            self._totals.hidden -= 1

    # --- What came with another peer's index

    def adopt(self, identity: bytes, stamp: Stamp, export: bytes) -> None:
        """Note which version the index has got; not while it may get another one from the indexer.

        Args:
          export: 8 bytes for the peer and its export.
        """
        if self.has_page_mark(identity):
            return
        key = ADOPTED + identity
        if self._table.get(key) is None:
            self._totals.adopted += 1
        self._table.put(key, newest_first(stamp) + export)

    def take_adopted(self, identity: bytes, stamp: Stamp) -> bytes | None:
        """Return in which export the index has got this version, the newest one, None if it has not.

        What was noted is dropped.
        """
        value = self.drop_adopted(identity)
        is_it = value is not None and value[:STAMP_BYTES] == newest_first(stamp)
        return value[STAMP_BYTES:] if value is not None and is_it else None

    def drop_adopted(self, identity: bytes) -> bytes | None:
        """Forget the version noted as got with another peer's index, and return it; None for nothing."""
        if not self._totals.adopted:
            return None
        value = self._table.get(ADOPTED + identity)
        if value is not None:
            self._table.delete(ADOPTED + identity)
            self._totals.adopted -= 1
        return value


def mark_key(identity: bytes, stamp: Stamp) -> bytes:
    """Return the key that `IndexMarks.marked_pages` continues after."""
    return identity + newest_first(stamp)
