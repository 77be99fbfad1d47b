"""Reads which versions of pages are stored, for others of the same peer."""

from __future__ import annotations

from typing import NamedTuple

from mesh.tables.table import Table
from peers.storage.ledger.ledger_keys import DAMAGE, HIDDEN, PAGE_MARK, PLACE, identity_of, pack_slot
from peers.storage.ledger.place import Place, newest_in, place_in


class KeptVersions(NamedTuple):
    """The versions that a cell has of a page, and their state."""

    places: tuple[Place, ...]  # the newest first
    is_cut: bool  # there are more
    is_marked: bool  # the index has not followed the newest version so far
    is_damaged: bool  # a version could not be read back, and is to come from another peer
    is_hidden: bool  # the index has nothing of it because it is taken down


class StoredVersions:
    """Reads the versions of pages in the table of a cell; never changes it."""

    def __init__(self, table: Table) -> None:
        """Read in the section of the cell."""
        self._table = table

    def newest(self, slot: int, url: str) -> Place | None:
        """Return the newest version of a page that is here; None for none."""
        return newest_in(self._table, identity_of(slot, url))

    def url_of(self, slot: int, page: bytes) -> str | None:
        """Return the URL with a fingerprint, if a version of that page is here."""
        place = newest_in(self._table, pack_slot(slot) + page)
        return None if place is None else place.url

    def kept(self, slot: int, url: str, limit: int) -> KeptVersions:
        """Return the newest versions of a page, and how its index stands."""
        identity = identity_of(slot, url)
        rows = [value for _, value in self._table.scan_prefix(PLACE + identity, limit=limit + 1)]
        return KeptVersions(
            tuple(map(place_in, rows[:limit])),
            len(rows) > limit,
            self._has(PAGE_MARK + identity),
            self._has(DAMAGE + identity),
            self._table.get(HIDDEN + identity) is not None,
        )

    def _has(self, prefix: bytes) -> bool:
        return next(iter(self._table.scan_prefix(prefix, limit=1)), None) is not None
