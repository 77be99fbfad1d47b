"""Reads from the frontier the samples of pages by which two hosts are compared; changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final

from mesh.tables.table import Table
from mesh.urls import fingerprint, host_of, origin_of
from peers.crawler.frontier.items import host_hash
from peers.crawler.frontier.keys import host_key, kept_range, url_key
from peers.crawler.frontier.parked_hosts import record_in
from peers.crawler.model.alias_evidence import NO_PAGE, UNKNOWN, Sampled, mark_in, sample_of
from peers.crawler.model.url_rows import is_of_host, row_in

ROWS_MAX: Final = 4_000  # that are looked through, twice: some milliseconds, in a slot with large hosts
PAGES_MAX: Final = 128  # of the host, among which is chosen


class HostSamples:
    """The facts about hosts and their pages, read from the table of a frontier."""

    def __init__(self, table: Table) -> None:
        """Read in the section of the frontier."""
        self._table = table

    def representative_of(self, host: str, slot: int) -> str:
        """Return the host of which it is an alias; "" when it is none."""
        record = self._table.get(host_key(slot, host_hash(host)))
        return "" if record is None else record_in(record).alias_of

    def mark_to_tell(self, url: str, slot: int) -> int:
        """Return the mark of a page for a peer that has the page under another name.

        Of a host that does not answer any more there is none: its other names are to be crawled meanwhile.
        """
        record = self._table.get(host_key(slot, host_hash(host_of(url))))
        is_given_up = record is not None and record_in(record).given_up
        return NO_PAGE if is_given_up else self.mark_of(url, slot)

    def mark_of(self, url: str, slot: int) -> int:
        """Return the mark of a page, see `alias_judging.mark_in`."""
        row = self._table.get(url_key(slot, fingerprint(url)))
        return mark_in(None if row is None else row_in(row))

    def sample_of(self, host: str, slot: int, *, is_alias: bool) -> list[Sampled]:
        """Choose a sample of pages that shows the content of a host.

        Rows are sorted by fingerprints, so any that follow each other are as good as drawn.

        Args:
          is_alias: the latest visits, which show what has changed; else half of them the pages nearest to
            home, which were visited first at another host that has them, too.
        """
        pages = list(islice(self._pages_of(host, slot), PAGES_MAX))
        if is_alias:
            return sample_of(sorted(pages, key=lambda page: -page.visited_s))
        nearest = sorted(pages, key=lambda page: page.depth)
        return sample_of(chain.from_iterable(zip(nearest, pages, strict=True)))

    def homes_of(self, sample: Iterable[Sampled], slot: int) -> list[int]:
        """Return the marks of the home pages of the origins in a sample, of those that have one."""
        origins = dict.fromkeys(origin_of(page.url) for page in sample)
        marks = (self.mark_of(f"{origin}/", slot) for origin in origins)
        return [mark for mark in marks if mark not in (UNKNOWN, NO_PAGE)]

    def _pages_of(self, host: str, slot: int) -> Iterator[Sampled]:
        """Yield stored pages of a host, from anywhere in its slot on."""
        digest, start = host_hash(host), url_key(slot, fingerprint(host))
        first, end = url_key(slot, b""), kept_range(slot)[1]
        ahead = self._table.scan(start, end, limit=ROWS_MAX)
        around = chain(ahead, self._table.scan(first, start, limit=ROWS_MAX))
        for row in (row_in(data) for _, data in around if is_of_host(data, digest)):
            if row.is_stored and row.memory.text and host_of(row.url) == host:
                yield Sampled(row.url, row.memory.text, row.depth, row.visited_s)
