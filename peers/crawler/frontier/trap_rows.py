"""The budgets of patterns that survive a restart: the exhausted ones, in one row for each host that has any.

Only this peer has it. Who takes a host over counts from the beginning, and what another peer says of a trap
would have to be believed: it could keep a site from being crawled.
"""

from __future__ import annotations

from typing import Final

import msgspec

from mesh.tables.table import Table
from peers.crawler.frontier.host_state import HostState
from peers.crawler.frontier.keys import traps_key
from peers.crawler.frontier.traps import PatternBudgets, PatternCounts

KEPT_MAX: Final = 64  # patterns of a host, the latest
KEPT_CHARS_MAX: Final = 256  # of a pattern; a folder of a trap has some 10


class TrapRows:
    """The budgets of all hosts, over the table of the frontier."""

    def __init__(self, table: Table) -> None:
        """Read nothing."""
        self._table = table

    def of(self, state: HostState) -> PatternBudgets:
        """The budgets of a host in memory."""
        if state.traps is None:
            row = self._table.get(traps_key(state.slot, state.hash))
            state.traps = PatternBudgets(_decoder.decode(row) if row else {})
        return state.traps

    def note(self, state: HostState, url: str, shape: int) -> None:
        """Count a page, see `PatternBudgets.note`."""
        budgets = self.of(state)
        if budgets.note(url, shape):
            kept = [item for item in budgets.exhausted().items() if len(item[0]) <= KEPT_CHARS_MAX]
            self._table.put(traps_key(state.slot, state.hash), _encode(dict(kept[-KEPT_MAX:])))


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(dict[str, PatternCounts])
