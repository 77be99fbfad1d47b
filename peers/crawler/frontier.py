"""The frontier: every URL of our slots in exactly one state, and which host may be asked next.

Theory of operation
===================
The truth is in the table. Each URL has a row that says how often it was visited, what came of it, and when it
is due (`url_rows`); unless that is never, it also stands in the queue of its host. The shape of the keys
is in `frontier_keys`.

Rows are items that only grow (`frontier_items`): what another peer knows of a slot is merged in any order.
The key of a queued URL follows from its row alone, so two peers that queue it have the same. Only "d" is a
peer's own: it is written, also as a standby, whenever there may be texts that its cell does not know. The
frontier is who keeps link texts because it takes links in: their sender was promised that its team has them.

A host is a name. Its URLs on all schemes and ports share its queue, its clock and its turn; only what a
robots.txt says is kept for each origin.

Any slot may have rows here. In memory are only the slots that are *held*, those that this peer crawls: one
`HostState` per host, with a short window on its queue, and a heap of the hosts by the time they may be asked
again. The counters are over these slots. A URL that was taken stays queued in the table until it is settled,
so a crash repeats at most what was in flight.

Order of what was never visited: breadth-first within a host, a URL that has been tried behind the others of
its depth, else by fingerprint, which is as good as any order that does not depend on the peer. Which host is
next is said by `host_turns`.

What was visited comes again in the order in which it is due, and never before. New and known pages share the
turns of their host: as long as there are both, each gets every second one, so that neither waits for the end
of the other. A host that has nothing but pages to come has its next turn when the first of them is due. The
window is on new pages; what is due again is read from the table turn by turn.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, nlargest
from math import inf
from typing import Final, NamedTuple

import msgspec
import numpy as np

from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import SlotMask
from mesh.table import Table
from mesh.urls import fingerprint, host_of
from peers.crawler import politeness
from peers.crawler.changed_texts import ChangedTexts
from peers.crawler.frontier_items import (
    QueuedItem,
    RobotsRecord,
    host_hash,
    join_anchors,
    join_robots,
    robots_in,
    robots_row,
)
from peers.crawler.frontier_keys import (
    FIRST_AGAIN,
    HOST,
    ITEM_KINDS,
    KIND_AT,
    QUEUE_END,
    URL,
    all_queued,
    all_robots,
    attempts_in,
    depth_in,
    due_s_in,
    host_in,
    host_key,
    is_new,
    is_queued,
    kept_range,
    kind_in,
    mark_in,
    queue_key,
    queue_of,
    robots_key,
    slot_in,
    slot_key,
    texts_key,
    url_key,
)
from peers.crawler.host_state import COMPLETE, HostState, OriginRules
from peers.crawler.host_turns import HostTurns
from peers.crawler.politeness import HostRecord
from peers.crawler.robots import product_token, rules_for_status
from peers.crawler.settings import CrawlSettings
from peers.crawler.url_rows import (
    ATTEMPTS_MAX,
    DUE_S_MAX,
    QUEUED,
    Conclusion,
    UrlRow,
    after_visit,
    join_rows,
    row_bytes,
    row_in,
)
from peers.handover.slot_digests import WatchedTable

# Queue entries of a host held in memory, at most twice as many: one scan per so many fetches.
WINDOW_URLS: Final = 64


class QueuedUrl(NamedTuple):
    """A URL taken from the frontier; `key` is its place in the queue of its host."""

    url: str
    key: bytes
    depth: int
    attempts: int  # made before, for this visit
    hops: int  # redirects followed in a row to get here
    before: UrlRow | None = None  # of a URL that was visited before

    @property
    def is_stored(self) -> bool:
        """Has the page been there, as far as is known?"""
        return self.before is not None and self.before.is_stored


class Frontier:
    """URLs that are known and those that are due, over a table that outlives the process."""

    def __init__(self, table: Table, settings: CrawlSettings, window_urls: int = WINDOW_URLS) -> None:
        """Find out which slots have anything; hold none.

        Args:
          window_urls: smaller in tests.
        """
        self._window_urls = window_urls
        self._table = WatchedTable(table, kind_at=KIND_AT, kinds=ITEM_KINDS)
        self._settings = settings
        self._hosts: dict[str, HostState] = {}
        self._by_slot: dict[int, dict[bytes, HostState]] = {}  # of held slots that have hosts; by hash
        self._held = bytearray(SLOTS_MAX)
        self._filled = bytearray(SLOTS_MAX)
        self._asked_s = array("d", [-inf]) * SLOTS_MAX  # when all hosts of a slot count as asked
        self._url_counts: dict[int, int] = {}
        self.forgetting: deque[int] = deque()  # slots of which the rows are being deleted
        self._turns = HostTurns(settings.fetches_per_domain_max)
        self._taken: dict[bytes, bytes] = {}  # URLs that are out: fingerprint to queue key
        self.url_count = 0
        self.queued_count = 0
        self.given_up_count = 0  # queued URLs of hosts that were given up
        self.changed_texts = ChangedTexts(table)
        # Keys of rows of kind u, a, h and r that were changed here, not by merging; None while nobody cares.
        self.changes: dict[bytes, None] | None = None
        self.filled: list[int] = []  # slots that had nothing, and have; whoever looks empties it
        self._find_filled()

    def change_settings(self, settings: CrawlSettings) -> None:
        """Go by these settings from now on."""
        if settings.user_agent != self._settings.user_agent:
            for state in self._hosts.values():
                state.origins = None  # other groups of their robots.txt may speak to us now
        self._settings = settings
        self._turns.hosts_out_max = settings.fetches_per_domain_max

    # --- adding ---

    def add(self, url: str, host: str, slot: int, depth: int, hops: int, now: float) -> bool:
        """Queue a URL unless it is known; tell whether it was new. A known one may get less depth."""
        self._fill(slot)
        mark = fingerprint(url)
        key = url_key(slot, mark)
        row = self._table.get(key)
        if row is None:
            state, digest = self._host(host, slot)
            self._put(slot, mark, url, None, UrlRow(digest, depth, 0, hops))
            self.note_change(key)
            self._count_url(slot, +1)
            if state is not None:
                self._turns.schedule(state, now)
            return True
        if row[:1] == QUEUED:
            before = row_in(row)
            if depth < before.depth or hops < before.hops:
                better = before._replace(depth=min(depth, before.depth), hops=min(hops, before.hops))
                self._put(slot, mark, url, before, better)
                self.note_change(key)
        return False

    def add_stored(self, url: str, slot: int) -> None:
        """Note that a page is stored that nobody here has fetched; if it was queued, it is so no more."""
        mark = fingerprint(url)
        key = url_key(slot, mark)
        before = self._table.get(key)
        imported = UrlRow(host_hash(host_of(url)), 0, 0, 0, "D200", 1, inf, url=url)
        self.merge_visited(slot, mark, imported, url)
        if self._table.get(key) != before:
            self.note_change(key)

    def add_anchor(self, url: str, slot: int, *entries: str) -> None:
        """Remember what a link tells of a page, known or not; see `peers.engine.linkers.entries_of`."""
        self._fill(slot)
        mark = fingerprint(url)
        key = texts_key(slot, mark)
        stored = self._table.get(key)
        texts = _anchors_decoder.decode(stored) if stored else ()
        if all(entry in texts for entry in entries):
            return
        joined = join_anchors(texts, entries)
        if joined != texts:
            self._table.put(key, _encode(joined))
            self.note_change(key)
            if self._is_stored(slot, mark):
                self.changed_texts.mark(slot, mark, url)

    def anchors_of(self, url: str, slot: int) -> tuple[str, ...]:
        """The distinct texts of the links that are known to point to a page, sorted."""
        stored = self._table.get(texts_key(slot, fingerprint(url)))
        return _anchors_decoder.decode(stored) if stored else ()

    # --- taking ---

    def take_host(self, now: float) -> HostState | None:
        """A host that may be asked now and has something due; it is ours until `release`."""
        return self._turns.take(now)

    def take_url(self, state: HostState, now: float) -> QueuedUrl | None:
        """The next URL of a host; it stays queued in the table until `settle` or `retry`."""
        turns = (self._take_again, self._take_new) if state.is_again else (self._take_new, self._take_again)
        taken = turns[0](state, now) or turns[1](state, now)
        state.is_again = taken is not None and taken.before is None
        return taken

    def _take_new(self, state: HostState, now: float) -> QueuedUrl | None:
        while not state.window and state.bound is not COMPLETE:
            self._refill(state, state.bound)
        if not state.window:
            return None
        key, url, hops = heappop(state.window)
        return self._take(key, url, hops, None)

    def _take_again(self, state: HostState, now: float) -> QueuedUrl | None:
        """Take what has been due longest of that which was visited, and note what is due after that."""
        if state.again_s > now:
            return None
        queue = queue_of(state.slot, state.hash)
        later = (int(min(now, DUE_S_MAX)) + 1).to_bytes(4, "big")
        for key, value in self._table.scan(queue + FIRST_AGAIN, queue + later):
            if mark_in(key) not in self._taken:
                state.again_s = due_s_in(key)
                row = self._table.get(url_key(state.slot, mark_in(key)))
                assert row is not None, "what is queued has a row"
                return self._take(key, value[1:].decode(), value[0], row_in(row))
        state.again_s = self._due_from(state, later)
        return None

    def _take(self, key: bytes, url: str, hops: int, before: UrlRow | None) -> QueuedUrl:
        self._taken[mark_in(key)] = key
        depth = depth_in(key)
        return QueuedUrl(url, key, depth, attempts_in(key), hops, before)

    def release(self, state: HostState, now: float) -> None:
        """Give a host back, to be asked again at its `next_fetch_s` if anything is queued."""
        self._turns.release(state, now)

    def save(self, state: HostState, record: HostRecord) -> None:
        """Let another record hold for a host, here and in the table."""
        if self.save_quietly(state, record):
            self.note_change(host_key(state.slot, state.hash))

    def save_quietly(self, state: HostState, record: HostRecord) -> bool:
        """Do the same, but let others hear of it with its next change; tell whether it is one."""
        if record == state.record:
            return False
        self._take_over(state, record)
        self._table.put(host_key(state.slot, state.hash), _encode(record))
        return True

    def save_robots(self, state: HostState, record: RobotsRecord) -> None:
        """Keep what an origin of a host has answered to the question for its robots.txt."""
        origins = self.origins_of(state)
        key = robots_key(state.slot, state.hash, record.origin)
        self._table.put(key, robots_row(record))
        self.note_change(key)
        origins[record.origin] = self._rules_in(record)

    def origins_of(self, state: HostState) -> dict[str, OriginRules]:
        """The rules of all origins of a host that were asked for their robots.txt, expired ones too."""
        if state.origins is None:
            rows = self._table.scan_prefix(all_robots(state.slot, state.hash))
            records = [robots_in(row) for _, row in rows]
            state.origins = {record.origin: self._rules_in(record) for record in records}
        return state.origins

    def _rules_in(self, record: RobotsRecord) -> OriginRules:
        """Return what a robots.txt allows us; `record.status` decides as well (RFC 9309, 2.3.1)."""
        rules = rules_for_status(record.status, record.body, product_token(self._settings.user_agent))
        return OriginRules(record.status, record.expires_s, rules)

    def has_other_origin(self, state: HostState, origin: str) -> bool:
        """Has another origin of the host answered, or is one of the next URLs of another?"""
        if any(rules.status and other != origin for other, rules in self.origins_of(state).items()):
            return True
        return not all(url.startswith(f"{origin}/") for _, url, _ in state.window)

    def settle(self, state: HostState, taken: QueuedUrl, conclusion: Conclusion) -> None:
        """Bring a visit to its end."""
        self.note_change(self.settle_quietly(state, taken, conclusion))

    def settle_quietly(self, state: HostState, taken: QueuedUrl, conclusion: Conclusion) -> bytes:
        """Do the same, but let nobody hear of it before `note_change` of the key that is returned."""
        mark = mark_in(taken.key)
        key = url_key(state.slot, mark)
        stored = self._table.get(key)
        assert stored is not None, "what was taken has a row"
        before = row_in(stored)
        if self._taken.pop(mark, None) is not None:
            after = after_visit(before, taken.url, conclusion)
            self._put(state.slot, mark, taken.url, before, after, is_out=True)
        else:  # a merge has settled it meanwhile
            visited = taken.before or UrlRow(state.hash, taken.depth, 0, taken.hops)
            after = join_rows(before, after_visit(visited, taken.url, conclusion))
            self._put(state.slot, mark, taken.url, before, after)
        self._turns.schedule(state, conclusion.at_s)
        return key

    def note_change(self, key: bytes) -> None:
        """Have the others hear of a row, if there are any."""
        if self.changes is not None:
            self.changes[key] = None

    def retry(self, state: HostState, taken: QueuedUrl) -> None:
        """Queue a URL that was taken once more, behind the others of its depth."""
        mark = mark_in(taken.key)
        if self._taken.pop(mark, None) is None:
            return
        key = url_key(state.slot, mark)
        row = self._table.get(key)
        assert row is not None, "what is queued has a row"
        before = row_in(row)
        again = before._replace(attempts=min(before.attempts + 1, ATTEMPTS_MAX))
        self._put(state.slot, mark, taken.url, before, again, is_out=True)
        self.note_change(key)

    def put_back(self, state: HostState, taken: QueuedUrl) -> None:
        """Undo `take_url`."""
        queue_key = self._taken.pop(mark_in(taken.key), None)
        if queue_key is not None:
            state.push(queue_key, taken.url, taken.hops)

    # --- slots ---

    def hold(self, slots: Iterable[int], asked_s: float = -inf) -> None:
        """Bring slots into memory, or let hosts of slots that were stopped be taken again.

        Args:
          asked_s: all their hosts, known or not, count as asked at that time or later.
        """
        for slot in slots:
            self._asked_s[slot] = max(asked_s, self._asked_s[slot])
            if not self._held[slot]:
                self._held[slot] = True
                if self._filled[slot]:
                    self._load(slot)
            self._turns.stopped.discard(slot)
            for state in self._by_slot.get(slot, {}).values():
                state.record = self._as_asked(slot, state.record)
                self._turns.schedule(state, -inf)

    def stop(self, slots: Iterable[int]) -> None:
        """Give out no more hosts of held slots."""
        stopped = {slot for slot in slots if self._held[slot]}
        self._turns.stop(stopped)

    def drop(self, slots: Iterable[int]) -> None:
        """Let slots go from memory; nothing of them may be out."""
        gone = {slot for slot in slots if self._held[slot]}
        self._turns.drop(gone)
        for slot in gone:
            self._held[slot] = False
            for state in self._by_slot.pop(slot, {}).values():
                del self._hosts[state.host]
                self._turns.forget(state)
                self._count_queued(state, -state.queued)
            self.url_count -= self._url_counts.pop(slot, 0)

    def forget_later(self, slots: Iterable[int]) -> None:
        """Have the rows of slots that are not held deleted by `forget_some`, unless something new comes."""
        for slot in slots:
            if self._filled[slot] and not self._held[slot]:
                self._filled[slot] = False
                self.changed_texts.drop(slot)
                self.forgetting.append(slot)

    def forget_some(self, limit: int) -> None:
        """Delete up to so many rows, and a URL's queue entry never without the URL."""
        while self.forgetting and limit > 0:
            slot = self.forgetting[0]
            limit -= self._forget(slot, limit)
            if limit > 0:
                self.forgetting.popleft()

    def is_filled(self, slot: int) -> bool:
        """Is anything of the slot here?"""
        return bool(self._filled[slot])

    def filled_mask(self, slot_count: int) -> SlotMask:
        """The slots of which anything is here."""
        return np.frombuffer(self._filled, np.bool_, slot_count)

    def asked_s(self, slot: int) -> float:
        """When all hosts of a slot count as asked; -inf when each has its own clock."""
        return self._asked_s[slot]

    # --- merging ---

    def merge_queued(self, slot: int, host: str, item: QueuedItem) -> None:
        """Join a URL that another peer has not visited with what is known of it here."""
        row = UrlRow(host_hash(host), item.depth, item.attempts, item.hops)
        self._merge_row(slot, fingerprint(item.url), row, item.url)

    def merge_visited(self, slot: int, mark: bytes, row: UrlRow, url: str) -> None:
        """Join what another peer knows of a URL that was visited with what is known of it here.

        Args:
          url: its text; "" when that is not known, and the row neither queued nor stored.
        """
        joined = self._merge_row(slot, mark, row, url)
        if joined is not None and joined.is_stored and self._table.get(texts_key(slot, mark)) is not None:
            self.changed_texts.mark(slot, mark, joined.url)

    def _merge_row(self, slot: int, mark: bytes, row: UrlRow, url: str) -> UrlRow | None:
        """Return what comes of it; None when it is what was here before."""
        self._fill(slot)
        stored = self._table.get(url_key(slot, mark))
        before = None if stored is None else row_in(stored)
        joined = row if before is None else join_rows(before, row)
        if joined == before:
            return None
        if joined.is_queued:
            if not url:  # theirs has only added to ours
                assert before is not None
                url = self.url_in_queue(slot, mark, before)
            self._host(host_of(url), slot, is_merge=True)
        self._put(slot, mark, url, before, joined)
        if before is None:
            self._count_url(slot, +1)
        state = self._by_slot.get(slot, {}).get(joined.host)
        if state is not None:
            self._turns.schedule(state, -inf)
        return joined

    def merge_anchors(self, slot: int, mark: bytes, texts: tuple[str, ...]) -> None:
        """Join link texts with those known here."""
        self._fill(slot)
        key = texts_key(slot, mark)
        stored = self._table.get(key)
        before = _anchors_decoder.decode(stored) if stored else ()
        joined = join_anchors(before, texts)
        if joined == before:
            return
        self._table.put(key, _encode(joined))
        row = self._table.get(url_key(slot, mark))
        if row is not None and (url := row_in(row).url):
            self.changed_texts.mark(slot, mark, url)

    def merge_host(self, slot: int, record: HostRecord) -> None:
        """Join a host with what is known of it here."""
        self._fill(slot)
        digest = host_hash(record.host)
        key = host_key(slot, digest)
        state, stored = self._by_slot.get(slot, {}).get(digest), self._table.get(key)
        before = _record_decoder.decode(stored) if stored else HostRecord(record.host)
        if before.host != record.host:  # two hosts of one hash: the first one stays
            return
        joined = politeness.join(before, record)
        if stored is None or joined != before:
            self._table.put(key, _encode(joined))
        if state is not None:
            self._take_over(state, politeness.join(state.record, joined))
        elif self._held[slot] and stored is None:
            self._new_state(slot, digest, joined)

    def merge_robots(self, slot: int, record: RobotsRecord) -> None:
        """Join the robots.txt of an origin with what is known of it here."""
        self._fill(slot)
        state, digest = self._host(host_of(record.origin), slot, is_merge=True)
        key = robots_key(slot, digest, record.origin)
        stored = self._table.get(key)
        if stored is not None:
            before = robots_in(stored)
            # Of two origins of one hash the first one stays.
            if before.origin != record.origin or join_robots(before, record) == before:
                return
        self._table.put(key, robots_row(record))
        if state is not None:
            state.origins = None

    # --- reading items ---

    def rows(self, slot: int, kind: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys and values of the rows of one kind, in order."""
        return self._table.scan_prefix(slot_key(slot) + kind)

    def row(self, key: bytes) -> bytes | None:
        return self._table.get(key)

    def tell_changes(self, before_change: Callable[[bytes], None]) -> None:
        """From now on tell the key of every row of kind a, h, r and u before it changes."""
        self._table.before_change = before_change

    def key_of(self, state: HostState, taken: QueuedUrl) -> bytes:
        """The key of the row of a URL that was taken."""
        return url_key(state.slot, mark_in(taken.key))

    def is_out(self, taken: QueuedUrl) -> bool:
        """Is the visit for which a URL was taken still to be made, as far as is known here?"""
        return mark_in(taken.key) in self._taken

    def url_in_queue(self, slot: int, mark: bytes, row: UrlRow) -> str:
        """The text of a queued URL."""
        entry = self._table.get(queue_key(slot, mark, row))
        assert entry is not None, "what is queued stands in a queue"
        return entry[1:].decode()

    # --- looking ---

    def find(self, host: str) -> HostState | None:
        """What is known of a host of a held slot; None when it was never heard of."""
        return self._hosts.get(host)

    def next_time(self) -> float:
        """When a host may be asked next, mesh clock; -inf when one may now, inf when none ever."""
        return self._turns.next_time()

    def state_of(self, url: str, slot: int) -> str | None:
        """What came of the last visit: Q, D200, Ftimeout, Xrobots; None for a URL never heard of."""
        row = self.row_of(url, slot)
        return None if row is None else row.outcome

    def row_of(self, url: str, slot: int) -> UrlRow | None:
        """All that is known of a URL."""
        row = self._table.get(url_key(slot, fingerprint(url)))
        return None if row is None else row_in(row)

    def longest_queues(self, count: int) -> tuple[tuple[str, int], ...]:
        """Hosts of held slots with most new URLs, and how many, longest first."""
        longest = nlargest(count, self._hosts.values(), key=lambda state: state.queued)
        return tuple((state.host, state.queued) for state in longest if state.queued)

    @property
    def due_count(self) -> int:
        """URLs queued on hosts that were not given up."""
        return self.queued_count - self.given_up_count

    @property
    def host_count(self) -> int:
        return len(self._hosts)

    # --- details: hosts ---

    def _host(self, host: str, slot: int, *, is_merge: bool = False) -> tuple[HostState | None, bytes]:
        """The host in memory, if its slot is held, and its hash; it has a row from now on."""
        state = self._hosts.get(host)
        if state is not None:
            return state, state.hash
        digest = host_hash(host)
        key = host_key(slot, digest)
        is_held = self._held[slot]
        if is_held or self._table.get(key) is None:
            record = HostRecord(host)
            self._table.put(key, _encode(record))
            if not is_merge:
                self.note_change(key)
            if is_held:
                state = self._new_state(slot, digest, record)
        return state, digest

    def _new_state(self, slot: int, digest: bytes, record: HostRecord) -> HostState:
        domain = self._turns.domain_of(record.host)
        domain.host_count += 1
        domain.was_asked = domain.was_asked or record.fetched > 0
        state = HostState(slot, self._as_asked(slot, record), digest, domain, self._window_urls)
        self._hosts[record.host] = state
        self._by_slot.setdefault(slot, {})[digest] = state
        return state

    def _as_asked(self, slot: int, record: HostRecord) -> HostRecord:
        """The record of a host that counts as asked when its slot does."""
        return politeness.inherited(record, self._asked_s[slot], self._settings.delay_s)

    def _take_over(self, state: HostState, record: HostRecord) -> None:
        """Let a record hold for a host in memory."""
        if record.given_up != state.record.given_up:
            self.given_up_count += state.queued if record.given_up else -state.queued
        state.record = record

    # --- details: queues ---

    def _put(
        self,
        slot: int,
        mark: bytes,
        url: str,
        before: UrlRow | None,
        after: UrlRow,
        *,
        is_out: bool = False,
    ) -> None:
        """Write the row of a URL, and have it stand in its queue where the row says, if anywhere.

        Args:
          is_out: it was taken until now.
        """
        old = None if before is None or not before.is_queued else queue_key(slot, mark, before)
        new = queue_key(slot, mark, after) if after.is_queued else None
        self._table.put(url_key(slot, mark), row_bytes(after))
        if old is not None and old != new:
            self._table.delete(old)
        if new is not None:
            self._table.put(new, bytes((after.hops,)) + url.encode())
        state = self._by_slot.get(slot, {}).get(after.host)
        if state is None:
            return
        self._count_queued(state, is_new(new) - is_new(old))
        if mark in self._taken:
            assert before is not None
            if new is not None and after.visit == before.visit:
                self._taken[mark] = new
                return
            del self._taken[mark]
            is_out = True
        if old is not None and not is_out:
            state.pull(old)
        if new is not None:
            state.push(new, url, after.hops)

    def _count_queued(self, state: HostState, change: int) -> None:
        state.queued += change
        self.queued_count += change
        if state.record.given_up:
            self.given_up_count += change

    def _due_from(self, state: HostState, due: bytes) -> float:
        """When the first URL of a host is due that is so then or later, inf if none is."""
        queue = queue_of(state.slot, state.hash)
        first = next(self._table.scan(queue + due, queue + QUEUE_END, limit=1), None)
        return inf if first is None else due_s_in(first[0])

    def _refill(self, state: HostState, start: bytes) -> None:
        """Read the next keys of new URLs, from the bound on, into an empty window."""
        end = queue_of(state.slot, state.hash) + FIRST_AGAIN
        rows = list(self._table.scan(start, end, limit=self._window_urls + 1))
        state.bound = rows[self._window_urls][0] if len(rows) > self._window_urls else COMPLETE
        for key, value in rows[: self._window_urls]:
            if mark_in(key) not in self._taken:
                state.window.append((key, value[1:].decode(), value[0]))

    # --- details: slots ---

    def _load(self, slot: int) -> None:
        """Rebuild what is in memory of a slot from the table, in one pass over its keys."""
        states: dict[bytes, HostState] = {}
        n_urls = 0
        for key, value in self._table.scan(*kept_range(slot)):
            kind = kind_in(key)
            if kind == URL:
                n_urls += 1
            elif is_queued(key):  # "h" sorts before it
                state = states[host_in(key)]
                if is_new(key):
                    state.bound = state.bound or key
                    self._count_queued(state, +1)
                else:
                    state.again_s = min(state.again_s, due_s_in(key))
            elif kind == HOST:
                states[host_in(key)] = self._new_state(slot, host_in(key), _record_decoder.decode(value))
        self._count_url(slot, n_urls)

    def _find_filled(self) -> None:
        """See in which slots anything is, by one step of a scan for each."""
        start: bytes | None = b""
        while start is not None:
            first = next(self._table.scan(start, limit=1), None)
            if first is None:
                return
            slot = slot_in(first[0])
            self._fill(slot)
            self.changed_texts.find(slot)
            start = slot_key(slot + 1) if slot + 1 < SLOTS_MAX else None

    def _fill(self, slot: int) -> None:
        """Note that something of a slot is here; it must not be deleted any more."""
        if not self._filled[slot]:
            self._filled[slot] = True
            self.filled.append(slot)
            if slot in self.forgetting:
                self.forgetting.remove(slot)
                self.changed_texts.find(slot)  # what is left of it stays

    def _forget(self, slot: int, limit: int) -> int:
        """Delete rows of a slot, the queued URLs first; return how many."""
        n_deleted = 0
        for key, _ in list(self._table.scan_prefix(all_queued(slot), limit=limit)):
            self._table.delete(key)
            self._table.delete(url_key(slot, mark_in(key)))
            n_deleted += 1
        rest = limit - n_deleted
        for key, _ in list(self._table.scan_prefix(slot_key(slot), limit=rest)):
            self._table.delete(key)
            n_deleted += 1
        return n_deleted

    # --- details: bookkeeping ---

    def _count_url(self, slot: int, change: int) -> None:
        if self._held[slot]:
            self._url_counts[slot] = self._url_counts.get(slot, 0) + change
            self.url_count += change

    def _is_stored(self, slot: int, mark: bytes) -> bool:
        row = self._table.get(url_key(slot, mark))
        return row is not None and row_in(row).is_stored


_encode = msgspec.msgpack.Encoder().encode
_record_decoder = msgspec.msgpack.Decoder(HostRecord)
_anchors_decoder = msgspec.msgpack.Decoder(tuple[str, ...])
