"""The layout of the rows in a peer's table, as a number: no version misreads the rows of another one."""

from __future__ import annotations

from typing import Final

from mesh.errors import StorageError
from mesh.tables.table import Table

# Raised whenever what stands under any key, or where a key stands, has another meaning than before:
# slots and fingerprints of URLs, rows of the frontier, the ledger and the history, the membership's memory.
LAYOUT: Final = 9
_LAYOUT_KEY: Final = b"\x00layout"


def check_layout(table: Table) -> None:
    """Refuse a table that is laid out otherwise; an empty one is not.

    Args:
      table: of the whole peer.

    Raises:
      StorageError: another version of this program wrote it.
    """
    stored = table.get(_LAYOUT_KEY)
    is_empty = stored is None and next(iter(table.scan(b"", limit=1)), None) is None
    if not is_empty and stored != _encoded(LAYOUT):
        raise StorageError(
            "another version of tianmesh wrote the data folder of this peer: export its pages with that"
            " version, start with an empty data folder and import them; what other peers have they bring back"
        )


def note_layout(table: Table) -> None:
    """Note in a table that was checked how it is laid out; the caller commits."""
    table.put(_LAYOUT_KEY, _encoded(LAYOUT))


def _encoded(layout: int) -> bytes:
    return layout.to_bytes(2, "big")
