"""How many bytes of each segment of the archive are referred to, and how many are not."""

from __future__ import annotations

from typing import Final

import msgspec

from mesh.tables.table import Table
from peers.storage.ledger.extent import Extent
from peers.storage.ledger.ledger_keys import SEGMENT, segment_key
from peers.storage.ledger.totals import CellTotals


def live_segments(table: Table) -> list[int]:
    """Return the segments that a cell's section of a table refers to."""
    rows = table.scan_prefix(SEGMENT)
    return [int.from_bytes(key[1:], "big") for key, value in rows if _decode_counts(value)[0]]


DEAD_SHARE: Final = 0.5  # of a segment that is worth emptying: with less, more is written than is won


class SegmentCounts:
    """The entries "s" of a cell's table, of which memory has a copy."""

    def __init__(self, table: Table, totals: CellTotals) -> None:
        """Take up the counts in the table.

        Args:
          totals: of the ledger, which writes them.
        """
        self._table = table
        self._totals = totals
        self._segments = {
            int.from_bytes(key[1:], "big"): list(_decode_counts(value))
            for key, value in table.scan_prefix(SEGMENT)
        }
        self.changed: set[int] = set()  # segments that `save` writes
        self.has_dead = True  # there may be some: `dead` tells
        self.has_waste = bool(self.wasteful())  # the same of `wasteful`

    def save(self) -> None:
        """Write the counts that have changed."""
        for number in self.changed:
            self._table.put(segment_key(number), _encode(self._segments[number]))
        self.changed.clear()

    def count_garbage(self, extent: Extent) -> None:
        """Count bytes that were appended and are not referred to."""
        self._counts_of(extent)[1] += extent.length
        self._totals.garbage_bytes += extent.length

    def dead(self) -> list[int]:
        """Return the segments that nothing refers to, without the last one known."""
        last = max(self._segments, default=0)
        return [number for number, (live, _) in self._segments.items() if not live and number != last]

    def wasteful(self) -> list[int]:
        """Return the segments that are worth emptying: enough of them is dead, and something is not."""
        return [number for number in self._segments if self._is_wasteful(number)]

    def _is_wasteful(self, number: int) -> bool:
        live, dead = self._segments[number]
        return bool(live) and dead >= DEAD_SHARE * (live + dead) and number != max(self._segments)

    def drop(self, number: int) -> None:
        """Forget a segment that was removed."""
        live, dead = self._segments.pop(number, (0, 0))
        assert not live, f"segment {number} was removed with {live} bytes in use"
        self._totals.garbage_bytes -= dead
        self.changed.discard(number)
        self._table.delete(segment_key(number))

    def count(self, extent: Extent, sign: int) -> None:
        """Count an extent as in use from now on, or (-1) as garbage."""
        counts = self._counts_of(extent)
        counts[0] += sign * extent.length
        assert counts[0] >= 0, extent
        self._totals.archive_bytes += sign * extent.length
        if sign < 0:
            self.count_garbage(extent)
            self.has_dead |= not counts[0]
            self.has_waste |= self._is_wasteful(extent.segment)

    def _counts_of(self, extent: Extent) -> list[int]:
        self.changed.add(extent.segment)
        totals = self._totals
        if (extent.segment, extent.end) > (totals.last_segment, totals.last_end):
            totals.last_segment, totals.last_end = extent.segment, extent.end
        return self._segments.setdefault(extent.segment, [0, 0])


_encode = msgspec.msgpack.Encoder().encode
_decode_counts = msgspec.msgpack.Decoder(tuple[int, int]).decode
