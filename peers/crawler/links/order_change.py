"""Moving the queued URLs to the places that another order gives them, bit by bit.

A URL has its place from when it was found. Where the order changes, all that waits gets a new one by what is
known of it: its URL, its depth, the texts of the links to it and how many hosts do. Which page they stand on
is not known any more, so that it counts for nothing, unless one of them is found again.

What has been done is noted in a table, so that a peer that was stopped goes on; and so is by which order, so
that nothing is done where nothing has changed, and never where pages have always been visited breadth-first.
"""

from __future__ import annotations

from math import inf
from typing import Final

import msgspec
from msgspec.structs import replace

from mesh.slot_limits import SLOTS_MAX
from mesh.tables.table import Table
from mesh.urls import host_of
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.keys import URL, kind_in, name_in, slot_in, slot_key
from peers.crawler.model.url_rows import UrlRow, is_new_row, row_in
from peers.crawler.model.wire_messages import FoundLink
from peers.engine.pages.linkers import is_linker, is_text
from peers.policy.crawl_order import PLAIN

ROWS_AT_ONCE: Final = 500  # some 4 ms
PAUSE_S: Final = 0.05  # so that ten million rows take a quarter of an hour
_ORDERING: Final = b"ordering"
_NEXT: Final = b"next"


class OrderChange:
    """One pass over the rows of URLs for each change of the order."""

    def __init__(self, table: Table, frontier: Frontier) -> None:
        """Go on with the reordering that an earlier run has begun."""
        self._table = table
        self._frontier = frontier
        self.at_s = inf  # when to call `do_some`
        self.look()

    def look(self) -> None:
        """Begin anew if the order differs from the one that the queue has, or was about to get."""
        wanted = msgspec.msgpack.encode(self._frontier.order.ordering)
        if (self._table.get(_ORDERING) or _PLAIN) != wanted:
            self._table.put(_ORDERING, wanted)
            self._table.put(_NEXT, b"")
        self.at_s = inf if self._table.get(_NEXT) is None else -inf

    def do_some(self, now: float) -> None:
        """Look at the next rows."""
        start = self._table.get(_NEXT) or b""
        rows = list(self._frontier.rows_from(start, ROWS_AT_ONCE))
        for key, data in rows:
            if kind_in(key) == URL and is_new_row(data):
                self._place(slot_in(key), name_in(key), row_in(data))
        after = self._after(rows[-1][0]) if rows else None
        if after is None:
            self._table.delete(_NEXT)
            self.at_s = inf
        else:
            self._table.put(_NEXT, after)
            self.at_s = now + PAUSE_S

    @staticmethod
    def _after(key: bytes) -> bytes | None:
        """Return the key to go on from, None at the end: rows before the URLs of a slot are passed over."""
        slot, kind = slot_in(key), kind_in(key)
        if kind < URL:
            return slot_key(slot) + URL
        if kind == URL:
            return key + b"\0"
        return slot_key(slot + 1) if slot + 1 < SLOTS_MAX else None

    def _place(self, slot: int, mark: bytes, row: UrlRow) -> None:
        frontier, order = self._frontier, self._frontier.order
        url = frontier.url_in_queue(slot, mark, row)
        entries = frontier.texts.of(url, slot)
        link = FoundLink(
            url,
            next(filter(is_text, entries), ""),
            row.depth,
            linker=host_of(url)[:16] if any(map(is_linker, entries)) else "",
        )
        if row.course is not None:
            course = row.course
            link = replace(link, levels=course.levels, steps=course.steps, is_ahead=course.is_ahead)
        frontier.change_course(slot, mark, url, order.course_of(link, entries))


_PLAIN: Final = msgspec.msgpack.encode(PLAIN)
