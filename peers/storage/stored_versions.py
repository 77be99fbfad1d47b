"""Reads which versions of pages are stored, for others of the same peer."""

from __future__ import annotations

from mesh.table import Table
from peers.storage.ledger_keys import identity_of
from peers.storage.place import Place, newest_in


class StoredVersions:
    """What the table of a cell says of pages; never changes it."""

    def __init__(self, table: Table) -> None:
        """Read in the section of the cell."""
        self._table = table

    def newest(self, slot: int, url: str) -> Place | None:
        """Return the newest version of a page that is here; None for none."""
        return newest_in(self._table, identity_of(slot, url))
