"""The frontier: every URL of our slots in exactly one state, and which host may be asked next.

Theory of operation
===================
The truth is in the table. Each URL has a row that says how often it was visited, what came of it, and when it
is due (`url_rows`); unless that is never, it also stands in the queue of its host. The shape of the keys
is in `keys`.

Rows are items that only grow (`items`): what another peer knows of a slot is merged in any order.
The key of a queued URL follows from its row alone, so two peers that queue it have the same. Only "d" is a
peer's own: it is written, also as a standby, whenever there may be texts that its cell does not know
(`text_rows`).

A host is a name. Its URLs on all schemes and ports share its queue, its clock and its turn; only what a
robots.txt says is kept for each origin.

Any slot may have rows here. In memory are only the slots that are *held*, those that this peer crawls: one
`HostState` per host, with a short window on its queue (`held_hosts`), and a heap of the hosts by the time
they may be asked again (`host_turns`). The counters are over these slots. A URL that was taken stays queued
in the table until it is settled (`url_queues`), so a crash repeats at most what was in flight.

Order of what was never visited: by rank within a host, which is the depth unless a URL has a course of its
own (`course`, made by `orders`); a URL that has been tried behind the others of its rank, else by
fingerprint, which is as good as any order that does not depend on the peer. Which host is next is said by
`host_turns`.

What was visited comes again in the order in which it is due, and never before. A host that has nothing but
pages to come has its next turn when the first of them is due.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from math import inf
from typing import Final

from mesh.tables.table import Table
from mesh.urls import fingerprint, fingerprints, host_of
from peers.crawler.frontier.changed_texts import ChangedTexts
from peers.crawler.frontier.filled_slots import FilledSlots
from peers.crawler.frontier.held_hosts import HeldHosts
from peers.crawler.frontier.host_state import HostState
from peers.crawler.frontier.host_turns import HostTurns
from peers.crawler.frontier.items import QueuedItem, course_of, host_hash
from peers.crawler.frontier.keys import (
    HOST,
    ITEM_KINDS,
    KIND_AT,
    URL,
    host_in,
    host_key,
    is_queued,
    kept_range,
    kind_in,
    mark_in,
    slot_key,
    texts_key,
    url_and_texts_keys,
    url_key,
)
from peers.crawler.frontier.order_in_force import OrderInForce
from peers.crawler.frontier.origin_rows import OriginRows
from peers.crawler.frontier.parked_hosts import record_in
from peers.crawler.frontier.text_rows import TextRows
from peers.crawler.frontier.trap_rows import TrapRows
from peers.crawler.frontier.url_queues import LinkTo, QueuedUrl, UrlQueues
from peers.crawler.model.course import Course
from peers.crawler.model.politeness import HostRecord, judged
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.url_rows import (
    Conclusion,
    UrlRow,
    after_visit,
    is_new_row,
    join_rows,
    row_bytes,
    row_in,
)
from peers.handover.slot_digests import WatchedTable

# Queue entries of a host held in memory, at most twice as many: one scan per so many fetches. Where there are
# many hosts each has fewer, see `held_hosts`.
WINDOW_URLS: Final = 64


class Frontier:
    """URLs that are known and those that are due, over a table that outlives the process."""

    def __init__(
        self, table: Table, settings: CrawlSettings, window_urls: int = WINDOW_URLS, visitor: int = 0
    ) -> None:
        """Find out which slots have anything; hold none.

        Args:
          window_urls: smaller in tests.
          visitor: `visitor_tag` of this peer, for the rows of its visits.
        """
        self._table = WatchedTable(table, kind_at=KIND_AT, kinds=ITEM_KINDS)
        self.visitor = visitor
        self._url_counts: dict[int, int] = {}  # of held slots
        self.order = OrderInForce(settings.ordering)
        self._turns = HostTurns(settings.fetches_per_domain_max, self.order)
        self._hosts = HeldHosts(self._table, self._turns, settings, window_urls)
        self._queues = UrlQueues(self._table, self._hosts, settings.revisit_share, self.order)
        self.origins = OriginRows(self._table, self._hosts, settings.user_agent, self.note_change)
        self.traps = TrapRows(self._table)
        self.url_count = 0
        self.changed_texts = ChangedTexts(table)
        self.slots = FilledSlots(self._table, self.changed_texts)
        self.texts = TextRows(self._table, self.slots, self.changed_texts)
        # Keys of rows of kind u, a, h and r that were changed here, not by merging; None while nobody cares.
        self.changes: dict[bytes, None] | None = None

    def change_settings(self, settings: CrawlSettings) -> None:
        """Go by these settings from now on."""
        self._hosts.settings = settings
        self.origins.change_agent(settings.user_agent)
        self._turns.hosts_out_max = settings.fetches_per_domain_max
        self._queues.again_share = settings.revisit_share
        self.order.change_own(settings.ordering)

    def lift_pauses(self, opens_at: Callable[[str, float], float]) -> None:
        """Lift the pauses of hosts that another policy wanted.

        Args:
          opens_at: tells of a name when it may be asked by the policy of now, the time given if at once.
        """
        self._hosts.lift_pauses(opens_at)

    # --- adding ---

    def add(self, links: Sequence[LinkTo], now: float) -> None:
        """Keep the facts that links tell of pages, and queue the pages that are not known.

        A page that is known and was never visited may get less depth or rank.
        """
        for slot in dict.fromkeys([link.slot for link in links]):
            self.slots.fill(slot)
        marks = fingerprints([link.url for link in links])
        keys, texts = url_and_texts_keys([link.slot for link in links], marks)
        wanted = keys + [key for link, key in zip(links, texts, strict=True) if link.entries]
        rows = dict(zip(wanted, self._table.get_many(wanted), strict=True))
        changes = {} if self.changes is None else self.changes  # as `note_change`, for many
        unwritten: dict[bytes, bytes] = {}
        grown: dict[HostState, None] = {}
        for link, mark, key, texts_at in zip(links, marks, keys, texts, strict=True):
            slot, row = link.slot, rows[key]
            if link.entries:
                told = self.texts.told_by(link, mark, row, rows[texts_at])
                if told is not None:
                    rows[texts_at] = unwritten[texts_at] = told
                    changes[texts_at] = None
            if not link.is_queued:
                continue
            if row is None:
                state, digest, is_new_host = self._hosts.know(link.host, slot)
                if is_new_host:
                    changes[host_key(slot, digest)] = None
                row, place, entry = self._queues.add_new(link, mark, digest, state)
                rows[key] = unwritten[key] = row
                unwritten[place] = entry
                changes[key] = None
                self._count_url(slot, +1)
                if state is not None:
                    grown[state] = None
            elif is_new_row(row):
                before = row_in(row)
                if link.depth >= before.depth and link.hops >= before.hops and link.course == before.course:
                    continue
                seen = before._replace(depth=link.depth, hops=link.hops, course=link.course)
                better = join_rows(before, seen)
                self._write(unwritten)
                self._change(slot, mark, link.url, before, better)
                rows[key] = row_bytes(better)
        if unwritten:
            self._write(unwritten)
        for state in grown:
            self._turns.schedule(state, now)

    def _write(self, rows: dict[bytes, bytes]) -> None:
        self._table.put_many(list(rows.items()))
        rows.clear()

    def change_course(self, slot: int, mark: bytes, url: str, course: Course | None) -> None:
        """Have a URL that was never visited stand elsewhere in the queue of its host."""
        row = self._table.get(url_key(slot, mark))
        if row is not None and is_new_row(row):
            before = row_in(row)
            self._change(slot, mark, url, before, before._replace(course=course))

    def _change(self, slot: int, mark: bytes, url: str, before: UrlRow, after: UrlRow) -> None:
        if after != before:
            self._queues.put(slot, mark, url, before, after)
            self.note_change(url_key(slot, mark))

    def add_stored(self, url: str, slot: int) -> None:
        """Note that a page is stored that nobody here has fetched; if it was queued, it is so no more."""
        mark = fingerprint(url)
        key = url_key(slot, mark)
        before = self._table.get(key)
        imported = UrlRow(host_hash(host_of(url)), 0, 0, 0, "D200", 1, inf, url=url, visitor=self.visitor)
        self.merge_visited(slot, mark, imported, url)
        if self._table.get(key) != before:
            self.note_change(key)

    # --- taking ---

    def take_host(self, now: float) -> HostState | None:
        """A host that may be asked now and has something due; it is ours until `release`."""
        if self._hosts.next_time() <= now:
            self._hosts.fill_places(now)
        return self._turns.take(now)

    def take_url(self, state: HostState, now: float) -> QueuedUrl | None:
        """The next URL of a host; it stays queued in the table until `settle` or `retry`."""
        return self._queues.take(state, now)

    def take_stored(self, state: HostState, count: int) -> list[QueuedUrl]:
        """Take stored pages of a host that is lost, due or not, among so many more of its queue."""
        return self._queues.take_stored(state, count)

    def release(self, state: HostState, now: float) -> None:
        """Give a host back, to be asked again at its `next_fetch_s` if anything is queued."""
        self._turns.release(state, now)
        self._hosts.rest(state, now)

    def note_parsed(self, state: HostState) -> None:
        """Take in that the parser is done with a page of a host."""
        self._turns.note_parsed(state.domain)

    def save(self, state: HostState, record: HostRecord) -> None:
        """Let another record hold for a host, here and in the table."""
        if self._hosts.save(state, record):
            self.note_change(host_key(state.slot, state.hash))

    def save_quietly(self, state: HostState, record: HostRecord) -> None:
        """Do the same, but let others hear of it with its next change."""
        self._hosts.save(state, record)

    def recall(self, slot: int, record: HostRecord) -> None:
        """Let a record hold for a host by which it may be asked earlier than it was."""
        self._hosts.recall(slot, record)
        self.note_change(host_key(slot, host_hash(record.host)))

    def call_alias(self, host: str, representative: str) -> None:
        """Let a host be another name of this one, "" of none, if it is of a slot held."""
        state = self._hosts.find(host)
        if state is not None and state.record.alias_of != representative:
            self.save(state, judged(state.record, representative))

    def settle(self, state: HostState, taken: QueuedUrl, conclusion: Conclusion) -> None:
        """Bring a visit to its end."""
        self.note_change(self.settle_quietly(state, taken, conclusion))

    def settle_quietly(self, state: HostState, taken: QueuedUrl, conclusion: Conclusion) -> bytes:
        """Do the same, but let nobody hear of it before `note_change` of the key that is returned."""
        mark = mark_in(taken.key)
        key = url_key(state.slot, mark)
        if (out := self._queues.end(state, mark)) is not None:
            before = row_in(out.row)
            after = after_visit(before, taken.url, conclusion, self.visitor)
            self._queues.put(state.slot, mark, taken.url, before, after, was_out=True)
        else:  # a merge has settled it meanwhile
            stored = self._table.get(key)
            assert stored is not None, "what was taken has a row"
            before = row_in(stored)
            visited = taken.before or UrlRow(state.hash, taken.depth, 0, taken.hops, course=taken.course)
            after = join_rows(before, after_visit(visited, taken.url, conclusion, self.visitor))
            self._queues.put(state.slot, mark, taken.url, before, after)
            if after.is_queued:  # and its host may have left memory since
                known, _, _ = self._hosts.know(state.host, state.slot)
                if known is not None:
                    self._turns.schedule(known, conclusion.at_s)
        if self._hosts.at(state.slot, state.hash) is state:  # not if a merge has settled it long ago
            self._turns.schedule(state, conclusion.at_s)
            self._hosts.rest(state, conclusion.at_s)
        return key

    def note_change(self, key: bytes) -> None:
        """Have the others hear of a row, if there are any."""
        if self.changes is not None:
            self.changes[key] = None

    def retry(self, state: HostState, taken: QueuedUrl) -> None:
        """Queue a URL that was taken once more, behind the others of its depth."""
        if self._queues.retry(state, taken):
            self.note_change(self.key_of(state, taken))

    def put_back(self, state: HostState, taken: QueuedUrl) -> None:
        """Undo `take_url`."""
        self._queues.put_back(state, taken)

    # --- slots ---

    def hold(self, slots: Collection[int], asked_s: float = -inf) -> None:
        """Bring slots into memory, or let hosts of slots that were stopped be taken again.

        Args:
          asked_s: all their hosts, known or not, count as asked at that time or later.
        """
        new = self._hosts.hold(slots, asked_s)
        for slot in self.slots.filled_among(new):
            self._load(slot)
        self._turns.stopped.difference_update(slots)
        for state in self._hosts.of_slots(slots):
            self._turns.schedule(state, -inf)

    def stop(self, slots: Iterable[int]) -> None:
        """Give out no more hosts of held slots."""
        self._turns.stop({slot for slot in slots if self._hosts.is_held(slot)})

    def is_stopped(self, slot: int) -> bool:
        """Tell whether no more hosts of a held slot are given out."""
        return slot in self._turns.stopped

    def drop(self, slots: Iterable[int]) -> None:
        """Let slots go from memory; nothing of them may be out."""
        gone = {slot for slot in slots if self._hosts.is_held(slot)}
        self._turns.drop(gone)
        for slot in gone:
            self._hosts.drop(slot)
            self.url_count -= self._url_counts.pop(slot, 0)

    def forget_later(self, slots: Iterable[int]) -> None:
        """Have the rows of slots that are not held deleted bit by bit, unless something new comes."""
        for slot in slots:
            if not self._hosts.is_held(slot):
                self.slots.forget_later(slot)

    def asked_s(self, slot: int) -> float:
        """When all hosts of a slot count as asked; -inf when each has its own clock."""
        return self._hosts.asked_s(slot)

    # --- merging ---

    def merge_queued(self, slot: int, host: str, item: QueuedItem) -> None:
        """Merge a URL that another peer has not visited with the row that is kept here."""
        row = UrlRow(host_hash(host), item.depth, item.attempts, item.hops, course=course_of(item))
        self._merge_row(slot, fingerprint(item.url), row, item.url)

    def merge_visited(self, slot: int, mark: bytes, row: UrlRow, url: str) -> None:
        """Merge another peer's row of a URL that was visited with the row that is kept here.

        Args:
          url: its text; "" when that is not known, and the row neither queued nor stored.
        """
        joined = self._merge_row(slot, mark, row, url)
        if joined is not None and joined.is_stored and self._table.get(texts_key(slot, mark)) is not None:
            self.changed_texts.mark(slot, mark, joined.url)

    def _merge_row(self, slot: int, mark: bytes, row: UrlRow, url: str) -> UrlRow | None:
        """Merge a row with the one kept here and return the result; None when it changes nothing."""
        self.slots.fill(slot)
        stored = self._table.get(url_key(slot, mark))
        before = None if stored is None else row_in(stored)
        joined = row if before is None else join_rows(before, row)
        if joined == before:
            return None
        if joined.is_queued:
            if not url:  # theirs has only added to ours
                assert before is not None
                url = self.url_in_queue(slot, mark, before)
            self._hosts.know(host_of(url), slot)
        self._queues.put(slot, mark, url, before, joined)
        if before is None:
            self._count_url(slot, +1)
        state = self._hosts.at(slot, joined.host)
        if state is not None:
            self._turns.schedule(state, -inf)
        return joined

    def merge_host(self, slot: int, record: HostRecord) -> None:
        """Merge a host's record with the one that is kept here."""
        self.slots.fill(slot)
        self._hosts.merge(slot, record)

    # --- reading items ---

    def rows(self, slot: int, kind: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys and values of the rows of one kind, in order."""
        return self._table.scan_prefix(slot_key(slot) + kind)

    def rows_from(self, key: bytes, limit: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield up to `limit` keys and values from a key on, of all kinds of rows."""
        return self._table.scan(key, limit=limit)

    def row(self, key: bytes) -> bytes | None:
        return self._table.get(key)

    def tell_changes(self, before_change: Callable[[Sequence[bytes]], None]) -> None:
        """From now on tell the keys of all rows of kind a, h, r and u before they change."""
        self._table.before_change = before_change

    def key_of(self, state: HostState, taken: QueuedUrl) -> bytes:
        """The key of the row of a URL that was taken."""
        return url_key(state.slot, mark_in(taken.key))

    def row_out(self, taken: QueuedUrl) -> bytes | None:
        """Return the row of a URL that was taken; None when its visit is not to be made any more."""
        out = self._queues.taken.get(mark_in(taken.key))
        return None if out is None else out.row

    def is_taken(self, mark: bytes) -> bool:
        """Is a URL, by its fingerprint, being visited?"""
        return self._queues.is_out(mark)

    def url_in_queue(self, slot: int, mark: bytes, row: UrlRow) -> str:
        """The text of a queued URL."""
        return self._queues.url_of(slot, mark, row)

    def know_slots(self, slot_of: Callable[[str], int]) -> None:
        """Be told which slot a host belongs to."""
        self._hosts.slot_of = slot_of

    # --- looking ---

    def find(self, host: str) -> HostState | None:
        """Return the state of a host of a held slot; None when it was never heard of."""
        return self._hosts.find(host)

    def next_time(self) -> float:
        """When a host may be asked next, mesh clock; -inf when one may now, inf when none ever."""
        return min(self._turns.next_time(), self._hosts.next_time())

    def is_due_again(self, until_s: float) -> bool:
        """Is a page that was visited due by then, at a host in memory, whenever that may be asked?"""
        hosts = self._hosts
        return until_s >= self.next_time() or hosts.is_due_again(hosts.in_memory(), until_s)

    def row_of(self, url: str, slot: int) -> UrlRow | None:
        """All that is known of a URL; None for one never heard of."""
        row = self._table.get(url_key(slot, fingerprint(url)))
        return None if row is None else row_in(row)

    def row_at(self, slot: int, mark: bytes) -> UrlRow | None:
        """Do the same for a URL of which the fingerprint is known."""
        row = self._table.get(url_key(slot, mark))
        return None if row is None else row_in(row)

    @property
    def hosts(self) -> HeldHosts:
        """To be looked at, not changed."""
        return self._hosts

    @property
    def queued_count(self) -> int:
        return self._hosts.queued_count

    @property
    def given_up_count(self) -> int:
        """Queued URLs of hosts that were given up."""
        return self._hosts.given_up_count

    @property
    def due_count(self) -> int:
        """URLs queued on hosts that were not given up."""
        return self._hosts.queued_count - self._hosts.given_up_count

    @property
    def host_count(self) -> int:
        return self._hosts.host_count

    # --- details: slots ---

    def _load(self, slot: int) -> None:
        """Rebuild a slot's part of the memory from the table, in one pass over its keys."""
        records: dict[bytes, HostRecord] = {}
        n_urls = 0
        for key, value in self._table.scan(*kept_range(slot)):
            kind = kind_in(key)
            if kind == URL:
                n_urls += 1
            elif is_queued(key):  # "h" sorts before it
                self._hosts.load_entry(slot, records[host_in(key)], key)
            elif kind == HOST:
                records[host_in(key)] = record_in(value)
        self._hosts.count_hosts(slot, len(records))
        self._count_url(slot, n_urls)

    # --- details: bookkeeping ---

    def _count_url(self, slot: int, change: int) -> None:
        if self._hosts.is_held(slot):
            self._url_counts[slot] = self._url_counts.get(slot, 0) + change
            self.url_count += change
