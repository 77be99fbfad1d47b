"""The budgets of registrable domains at this peer, over all of its lives, and those of hosts for sitemaps.

A row has how often hosts of the domain were asked, and until when it waits since a page ended its process; or
how many sitemaps of a host were read.

A peer's own: what other peers have asked of other hosts of the domain they count themselves, and a slot that
changes hands brings no count along. So a domain with hosts in slots of n peers can be asked n times as often
as one peer may. The limit bounds what a trap under a wildcard costs each peer; it is no promise to the
domain. What is promised to a site holds by host: the delay, the pages, the one connection.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from mesh.tables.table import Table

DOMAINS_REMEMBERED: Final = 1 << 16  # with more, all are forgotten after a commit
_COUNT_BYTES: Final = 8
_LISTS_OF: Final = "lists "  # before the name of a host; no domain has a space
_EXHAUSTED: Final = Struct(">dB")  # behind the count, if there is anything to say


class Exhausted(NamedTuple):
    """How a domain waits since its pages have ended processes that took them apart."""

    until_s: float  # mesh clock
    waits: int  # one soon after the other


NEVER_EXHAUSTED: Final = Exhausted(0.0, 0)


class DomainBudgets:
    """Rows by name of the domain, in a table; those that have changed are in memory until `save`."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._rows: dict[str, bytes] = {}  # those that were asked for of late
        self.changed: set[str] = set()  # domains whose rows `save` writes

    def save(self) -> None:
        """Write the rows that have changed; to be called before every commit."""
        for domain in sorted(self.changed):
            self._table.put(domain.encode(), self._rows[domain])
        self.changed.clear()
        if len(self._rows) > DOMAINS_REMEMBERED:
            self._rows.clear()

    def asked_count(self, domain: str) -> int:
        """Return how many questions were asked, for pages and for robots.txts."""
        return int.from_bytes(self._row(domain)[:_COUNT_BYTES], "big")

    def count_questions(self, domain: str, count: int) -> None:
        row = self._row(domain)
        asked = int.from_bytes(row[:_COUNT_BYTES], "big") + count
        self._change(domain, asked.to_bytes(_COUNT_BYTES, "big") + row[_COUNT_BYTES:])

    def lists_read(self, host: str) -> int:
        """Return how many sitemaps of a host were read, and indexes of them."""
        return self.asked_count(f"{_LISTS_OF}{host}")

    def count_list(self, host: str) -> None:
        self.count_questions(f"{_LISTS_OF}{host}", 1)

    def exhausted(self, domain: str) -> Exhausted:
        rest = self._row(domain)[_COUNT_BYTES:]
        return Exhausted(*_EXHAUSTED.unpack(rest)) if rest else NEVER_EXHAUSTED

    def note_exhausted(self, domain: str, exhausted: Exhausted) -> None:
        asked = self.asked_count(domain).to_bytes(_COUNT_BYTES, "big")
        self._change(domain, asked + _EXHAUSTED.pack(*exhausted))

    def _change(self, domain: str, row: bytes) -> None:
        self._rows[domain] = row
        self.changed.add(domain)

    def _row(self, domain: str) -> bytes:
        row = self._rows.get(domain)
        if row is None:
            row = self._rows[domain] = self._table.get(domain.encode()) or b""
        return row
