"""How often this peer has asked the hosts of each registrable domain, in all of its lives.

A peer's own: what other peers have asked of other hosts of the domain they count themselves, and a slot that
changes hands brings no count along. So a domain with hosts in slots of n peers can be asked n times as often
as one peer may. The limit bounds what a trap under a wildcard costs each peer; it is no promise to the
domain. What is promised to a site holds by host: the delay, the pages, the one connection.
"""

from __future__ import annotations

from typing import Final

from mesh.table import Table

_COUNT_BYTES: Final = 8


class DomainBudgets:
    """Counts by name of the domain, in a table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def asked_count(self, domain: str) -> int:
        """Return how many questions were asked, for pages and for robots.txts."""
        return int.from_bytes(self._table.get(domain.encode()) or b"", "big")

    def count_questions(self, domain: str, count: int) -> None:
        self._table.put(domain.encode(), (self.asked_count(domain) + count).to_bytes(_COUNT_BYTES, "big"))
