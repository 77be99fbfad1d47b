"""The queues of hosts in the table: which of their URLs are to be visited, and which of these are out.

The key of a queued URL follows from its row alone, so two peers that queue it have the same: `keys`.
A URL that was taken stays queued until it is settled, so a crash repeats at most what was in flight.

New pages are taken by rank, but for those turns that an order leaves to chance (`orders`): by the number of
pages of the host it is drawn from where on in its queue.

New and known pages share the turns of their host: as long as there are both, each gets its part of them
(`again_share`), so that neither waits for the end of the other. The window of a host is on new pages; what is
due again is read from the table turn by turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop
from math import inf
from typing import NamedTuple

from xxhash import xxh3_128_digest

from mesh.tables.table import Table
from peers.crawler.frontier.held_hosts import HeldHosts
from peers.crawler.frontier.host_state import COMPLETE, HostState
from peers.crawler.frontier.keys import (
    FIRST_AGAIN,
    QUEUE_END,
    attempts_in,
    due_s_in,
    is_new,
    mark_in,
    new_queue_key,
    place_in_queue,
    queue_key,
    queue_of,
    rank_in,
    url_key,
)
from peers.crawler.frontier.order_in_force import OrderInForce
from peers.crawler.frontier.orders import is_random_turn
from peers.crawler.model.course import RANK_MAX, Course
from peers.crawler.model.url_rows import ATTEMPTS_MAX, DUE_S_MAX, UrlRow, new_row_bytes, row_bytes, row_in


class QueuedUrl(NamedTuple):
    """A URL taken from the frontier; `key` is its place in the queue of its host."""

    url: str
    key: bytes
    depth: int
    attempts: int  # made before, for this visit
    hops: int  # redirects followed in a row to get here
    before: UrlRow | None = None  # of a URL that was visited before
    course: Course | None = None

    @property
    def is_stored(self) -> bool:
        """Has the page been there, as far as is known?"""
        return self.before is not None and self.before.is_stored


class LinkTo(NamedTuple):
    """A link to a page, as far as the frontier takes it in."""

    url: str
    host: str
    slot: int
    depth: int = 0
    hops: int = 0  # redirects followed in a row to get here
    course: Course | None = None
    entries: tuple[str, ...] = ()  # what it tells of the page, see `peers.engine.pages.linkers.entries_of`
    is_queued: bool = True  # False: only what it tells of the page is kept
    telling: str = ""  # of the entries, see `anchor_rows`


class Out(NamedTuple):
    """A URL that was taken: its place in the queue and its row, as they are in the table now."""

    key: bytes
    row: bytes


class UrlQueues:
    """Rows and queue entries of URLs, and the entries in the windows of hosts in memory."""

    def __init__(self, table: Table, hosts: HeldHosts, again_share: float, order: OrderInForce) -> None:
        """Begin with nothing out.

        Args:
          again_share: of the turns of a host for what was visited before, while it has new URLs too.
        """
        self._table = table
        self._hosts = hosts
        self._order = order
        self.again_share = again_share  # may be replaced
        self.taken: dict[bytes, Out] = {}  # URLs that are out, by fingerprint

    def take(self, state: HostState, now: float) -> QueuedUrl | None:
        """The next URL of a host; it stays queued in the table."""
        owed = state.again_owed + self.again_share
        turns = (self._take_again, self._take_new) if owed >= 1.0 else (self._take_new, self._take_again)
        taken = turns[0](state, now) or turns[1](state, now)
        if taken is not None:
            if taken.before is not None:
                state.again_owed = max(0.0, owed - 1.0)
            else:  # where nothing is due, no turns are saved up
                state.again_owed = owed if owed < 1.0 else 1.0 - self.again_share
        return taken

    def take_stored(self, state: HostState, count: int) -> list[QueuedUrl]:
        """Take stored pages of a host that is lost, due or not, among so many more of those visited before.

        How far that has come is `state.leaving`.
        """
        queue = queue_of(state.slot, state.hash)
        start = state.leaving + b"\0" if state.leaving else queue + FIRST_AGAIN
        entries = list(self._table.scan(start, queue + QUEUE_END, limit=count))
        state.leaving = entries[-1][0] if len(entries) == count else None
        taken = []
        for key, value in entries:
            row = self._table.get(url_key(state.slot, mark_in(key)))
            assert row is not None, "what is queued has a row"
            if mark_in(key) not in self.taken and row_in(row).is_stored:
                taken.append(self._take(state, key, value[1:].decode(), value[0]))
        return taken

    def is_out(self, mark: bytes) -> bool:
        return mark in self.taken

    def end(self, state: HostState, mark: bytes) -> Out | None:
        """Note that a URL is not out any more; return its place and its row, None if it was not out."""
        out = self.taken.pop(mark, None)
        if out is not None:
            state.out_count -= 1
        return out

    def put_back(self, state: HostState, taken: QueuedUrl) -> None:
        """Undo `take`, and keep a shorter way to the URL that was found meanwhile."""
        out = self.end(state, mark_in(taken.key))
        if out is not None:
            state.push(out.key, taken.url, row_in(out.row).hops)

    def retry(self, state: HostState, taken: QueuedUrl) -> bool:
        """Queue a URL that was taken behind the others of its depth; False if it was not out any more."""
        mark = mark_in(taken.key)
        out = self.end(state, mark)
        if out is None:
            return False
        before = row_in(out.row)
        again = before._replace(attempts=min(before.attempts + 1, ATTEMPTS_MAX))
        self.put(state.slot, mark, taken.url, before, again, was_out=True)
        return True

    def add_new(
        self, link: LinkTo, mark: bytes, digest: bytes, state: HostState | None
    ) -> tuple[bytes, bytes, bytes]:
        """Do the work of `put` for a URL that was not known, as most links need it, but for the writing.

        Args:
          digest: the hash of its host.
          state: of its host, if that is in memory.

        Returns:
          Its row, the key of its queue entry and the entry, to be written by the caller.
        """
        url, hops, course = link.url, link.hops, link.course
        key = new_queue_key(link.slot, mark, digest, link.depth if course is None else course.rank)
        if state is None:
            self._hosts.count_queued(link.slot, digest, +1)
        else:
            self._hosts.count_new(state)
            state.push_new(key, url, hops)
        return new_row_bytes(digest, link.depth, hops, course), key, bytes((hops,)) + url.encode()

    def put(
        self,
        slot: int,
        mark: bytes,
        url: str,
        before: UrlRow | None,
        after: UrlRow,
        *,
        was_out: bool = False,
    ) -> None:
        """Write the row of a URL, and have it stand in its queue where the row says, if anywhere.

        Args:
          was_out: until now.
        """
        old = None if before is None or not before.is_queued else queue_key(slot, mark, before)
        new = queue_key(slot, mark, after) if after.is_queued else None
        row = row_bytes(after)
        self._table.put(url_key(slot, mark), row)
        if old is not None and old != new:
            self._table.delete(old)
        if new is not None:
            self._table.put(new, bytes((after.hops,)) + url.encode())
        state = self._hosts.at(slot, after.host)
        self._hosts.count_queued(slot, after.host, is_new(new) - is_new(old))
        if state is None:
            return
        if mark in self.taken:
            assert before is not None
            if new is not None and after.visit == before.visit:
                self.taken[mark] = Out(new, row)
                return
            self.end(state, mark)
            was_out = True
        if old is not None and not was_out:
            state.pull(old)
        if new is not None:
            state.push(new, url, after.hops)

    def url_of(self, slot: int, mark: bytes, row: UrlRow) -> str:
        """The text of a queued URL."""
        entry = self._table.get(queue_key(slot, mark, row))
        assert entry is not None, "what is queued stands in a queue"
        return entry[1:].decode()

    def _take_new(self, state: HostState, now: float) -> QueuedUrl | None:
        while not state.window and state.bound is not COMPLETE:
            self._refill(state, state.bound)
        if not state.window:
            return None
        if is_random_turn(state.record.fetched, self._order.random_turns):
            found = next(self._from_anywhere(state), None)
            if found is not None:
                state.pull(found[0])
                return self._take(state, found[0], found[1][1:].decode(), found[1][0])
        key, url, hops = heappop(state.window)
        return self._take(state, key, url, hops)

    def _from_anywhere(self, state: HostState) -> Iterator[tuple[bytes, bytes]]:
        """Yield the new URLs of a host that are not out, from a drawn rank on, then from the first."""
        draw = xxh3_128_digest(state.hash + state.record.fetched.to_bytes(8, "big"))
        queue = queue_of(state.slot, state.hash)
        least = rank_in(state.window[0][0])
        span = self._last_rank(state, least) - least + 1
        middle = place_in_queue(queue, least + int.from_bytes(draw[:4], "big") % span, draw)
        for start, end in ((middle, queue + FIRST_AGAIN), (queue, middle)):
            for key, value in self._table.scan(start, end):
                if mark_in(key) not in self.taken:
                    yield key, value

    def _last_rank(self, state: HostState, least: int) -> int:
        """The greatest rank of a host's new URLs, by halving: some sixteen steps."""
        queue, most = queue_of(state.slot, state.hash), RANK_MAX
        while least < most:
            middle = (least + most + 1) // 2
            start = place_in_queue(queue, middle, bytes(16))
            if next(self._table.scan(start, queue + FIRST_AGAIN, limit=1), None) is None:
                most = middle - 1
            else:
                least = middle
        return least

    def _take_again(self, state: HostState, now: float) -> QueuedUrl | None:
        """Take the visited URL that has been due longest, and note when the next one is due."""
        if state.again_s > now:
            return None
        queue = queue_of(state.slot, state.hash)
        later = (int(min(now, DUE_S_MAX)) + 1).to_bytes(4, "big")
        for key, value in self._table.scan(queue + FIRST_AGAIN, queue + later):
            if mark_in(key) not in self.taken:
                state.again_s = due_s_in(key)
                return self._take(state, key, value[1:].decode(), value[0])
        first = next(self._table.scan(queue + later, queue + QUEUE_END, limit=1), None)
        state.again_s = inf if first is None else due_s_in(first[0])
        return None

    def _take(self, state: HostState, key: bytes, url: str, hops: int) -> QueuedUrl:
        stored = self._table.get(url_key(state.slot, mark_in(key)))
        assert stored is not None, "what is queued has a row"
        row = row_in(stored)
        state.out_count += 1
        self.taken[mark_in(key)] = Out(key, stored)
        before = row if row.visit else None
        return QueuedUrl(url, key, row.depth, attempts_in(key), hops, before, row.course)

    def _refill(self, state: HostState, start: bytes) -> None:
        """Read the next keys of new URLs, from the bound on, into an empty window."""
        end = queue_of(state.slot, state.hash) + FIRST_AGAIN
        rows = list(self._table.scan(start, end, limit=state.window_urls + 1))
        state.bound = rows[state.window_urls][0] if len(rows) > state.window_urls else COMPLETE
        for key, value in rows[: state.window_urls]:
            if mark_in(key) not in self.taken:
                state.window.append((key, value[1:].decode(), value[0]))
