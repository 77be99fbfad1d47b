"""Asking hosts that were given up before their time, bit by bit, once it has changed what may be asked.

So it is when the policy allows other private addresses than before, and when a peer that starts reaches the
web in another way than in its last life. What has been done is noted in a table, so that a peer that was
stopped goes on.
"""

from __future__ import annotations

from math import inf
from typing import Final

from mesh.slot_limits import SLOTS_MAX
from mesh.table import Table
from peers.crawler.frontier import Frontier
from peers.crawler.frontier_keys import HOST, kind_in, slot_in, slot_key
from peers.crawler.host_clocks import HostClocks
from peers.crawler.parked_hosts import record_in

ROWS_AT_ONCE: Final = 64  # what follows the hosts of a slot is read in vain
SLOTS_AT_ONCE: Final = 16  # 2 ms at most
PAUSE_S: Final = 0.02
_NEXT: Final = b"next"


class Recalling:
    """One pass over the rows of hosts for each change."""

    def __init__(self, table: Table, frontier: Frontier, clocks: HostClocks) -> None:
        """Go on with what an earlier life has begun."""
        self._table = table
        self._frontier = frontier
        self._clocks = clocks
        self.at_s = inf if table.get(_NEXT) is None else -inf  # when to call `do_some`

    def note(self, what: bytes, value: bytes) -> None:
        """Begin anew if something has another value than when it was noted last; b"" before that."""
        assert what != _NEXT
        if (self._table.get(what) or b"") != value:
            self._table.put(what, value)
            self._table.put(_NEXT, b"")
            self.at_s = -inf

    def do_some(self, now: float) -> None:
        """Look at the next rows."""
        key: bytes | None = self._table.get(_NEXT) or b""
        for _ in range(SLOTS_AT_ONCE):
            if key is not None:
                key = self._from(key, now)
        if key is None:
            self._table.delete(_NEXT)
            self.at_s = inf
        else:
            self._table.put(_NEXT, key)
            self.at_s = now + PAUSE_S

    def _from(self, start: bytes, now: float) -> bytes | None:
        """Recall the hosts of one slot from a key on; return where to go on, None at the end."""
        rows = list(self._frontier.rows_from(start, ROWS_AT_ONCE))
        for key, row in rows:
            if kind_in(key) > HOST:
                return slot_key(slot_in(key) + 1) if slot_in(key) + 1 < SLOTS_MAX else None
            if kind_in(key) == HOST:
                self._clocks.recall(slot_in(key), record_in(row), now)
        return rows[-1][0] + b"\0" if len(rows) == ROWS_AT_ONCE else None
