"""The counters of a cell, kept for ever."""

from __future__ import annotations

import msgspec


class CellTotals(msgspec.Struct, array_like=True):
    """Counters that survive a restart because they are written with the changes they count."""

    pages: int = 0  # distinct URLs
    stored: int = 0  # versions kept as owner, ever
    replicated: int = 0  # versions kept as team member, ever
    brought: int = 0  # versions brought from another cell, ever
    pages_marked: int = 0
    texts_marked: int = 0
    adopted: int = 0  # entries
    damaged: int = 0  # entries
    repaired: int = 0  # versions that were damaged and came back, ever
    archive_bytes: int = 0  # of all versions
    garbage_bytes: int = 0  # in the archive, that nothing refers to
    last_segment: int = 0  # where the archive was known to be sound when this was written
    last_end: int = 0
    gone: int = 0  # pages whose newest version has no document
    hidden: int = 0  # entries
    expired: int = 0  # versions that were more, or older, than are kept, ever
