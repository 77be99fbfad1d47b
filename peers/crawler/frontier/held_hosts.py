"""The hosts of the slots that this peer crawls: their records in the table, and their states in memory.

In memory are hosts that have something to come, and the latest of those that have not. Of one registrable
domain only so many have a place: the others are *parked*, which means that they are in the table alone, and
count in what is queued. When one of them is due, a host that has nothing to come, or nothing soon, makes
room for it. So names under a wildcard cost memory up to a limit, and the disk what their rows take.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable
from heapq import nlargest
from math import inf
from typing import Final

import msgspec

from mesh.slot_limits import SLOTS_MAX
from mesh.tables.table import Table
from peers.crawler.frontier.host_state import DomainState, HostState
from peers.crawler.frontier.host_turns import HostTurns
from peers.crawler.frontier.items import host_hash
from peers.crawler.frontier.keys import (
    FIRST_AGAIN,
    QUEUE_END,
    due_s_in,
    host_in,
    host_key,
    is_new,
    queue_of,
)
from peers.crawler.frontier.parked_hosts import SOON_S, ParkedHosts, record_in
from peers.crawler.model import politeness
from peers.crawler.model.politeness import HostRecord
from peers.crawler.model.settings import CrawlSettings

# Queue entries in the windows of all hosts in memory, about: where there are many hosts each has few, which
# costs a scan of the table more often. An entry takes 250 bytes.
WINDOWS_URLS: Final = 1 << 15
WINDOW_URLS_MIN: Final = 4  # of a host all the same


class HeldHosts:
    """Hosts by name, and by slot and hash, with counts of their queued URLs, parked hosts included."""

    def __init__(self, table: Table, turns: HostTurns, settings: CrawlSettings, window_urls: int) -> None:
        """Hold no slot.

        Args:
          window_urls: queue entries of a host held in memory, at most twice as many, while hosts are few.
        """
        self.settings = settings  # may be replaced
        self.slot_of: Callable[[str], int] | None = None  # once that is known
        self._table = table
        self._turns = turns
        self._window_urls = window_urls
        self._held = bytearray(SLOTS_MAX)
        self._asked_s = array("d", [-inf]) * SLOTS_MAX  # when all hosts of a slot count as asked
        self._hosts: dict[str, HostState] = {}
        self.aliases: dict[str, str] = {}  # of these, with their representatives; not to be changed
        self._by_slot: dict[int, dict[bytes, HostState]] = {}  # of slots that have hosts; by hash
        self._idle: dict[str, HostState] = {}  # some have got something to come since
        self._parked = ParkedHosts(table, self.is_held, self._is_here)
        self._counts: dict[int, tuple[int, int, int]] = {}  # by slot: hosts, queued, given up
        self.host_count = 0
        self.queued_count = 0  # new URLs
        self.given_up_count = 0  # of these, on hosts that were given up

    # --- slots ---

    def is_held(self, slot: int) -> bool:
        return bool(self._held[slot])

    def hold(self, slots: Collection[int], asked_s: float) -> list[int]:
        """Count slots as held. Return those that were not; their queued URLs are to be loaded.

        A peer that is alone holds all 50,000 slots at once, so there is no call for each empty one.

        Args:
          asked_s: all their hosts, known or not, count as asked at that time or later.
        """
        held, all_asked_s = self._held, self._asked_s
        new = [slot for slot in slots if not held[slot]]
        for slot in new:
            held[slot] = True
        later = [slot for slot in slots if asked_s > all_asked_s[slot]]
        for slot in later:
            all_asked_s[slot] = asked_s
        for state in self.of_slots(later):
            state.record = self._as_asked(state.slot, state.record)
        return new

    def load_entry(self, slot: int, record: HostRecord, key: bytes) -> None:
        """Take in an entry of the queue of a host, in order."""
        digest = host_in(key)
        state = self.at(slot, digest) or self._bring(slot, digest, record)
        if is_new(key):
            self._count(slot, 0, 1, int(record.given_up))
        if state is not None and is_new(key):
            state.queued += 1
            state.bound = state.bound or key
        elif state is not None:
            state.again_s = min(state.again_s, due_s_in(key))

    def count_hosts(self, slot: int, count: int) -> None:
        self._count(slot, count, 0, 0)

    def asked_s(self, slot: int) -> float:
        """When all hosts of the slot count as asked; -inf when each has its own clock."""
        return self._asked_s[slot]

    def drop(self, slot: int) -> None:
        """Let a slot go from memory; the hosts of it have no turns any more."""
        self._held[slot] = False
        states = self.of_slots((slot,))
        domains = dict.fromkeys(state.domain for state in states)
        for state in states:
            self._let_go(state)
        host_count, queued_count, given_up_count = self._counts.pop(slot, (0, 0, 0))
        self.host_count -= host_count
        self.queued_count -= queued_count
        self.given_up_count -= given_up_count
        for domain in domains:
            self._turns.note_crowded(domain)
            self._turns.tidy(domain)

    # --- hosts ---

    def in_memory(self) -> Iterable[HostState]:
        return self._hosts.values()

    def find(self, host: str) -> HostState | None:
        """Return the state of a host of a held slot; None when it was never heard of."""
        state = self._hosts.get(host)
        if state is None and self.slot_of is not None and self._held[slot := self.slot_of(host)]:
            digest = host_hash(host)
            row = self._table.get(host_key(slot, digest))
            if row is not None:
                state = self._idle[host] = self._read(slot, digest, record_in(row))
                self._turns.schedule(state, -inf)
        return state

    def at(self, slot: int, digest: bytes) -> HostState | None:
        """A host in memory by slot and hash."""
        return self._by_slot.get(slot, {}).get(digest)

    def of_slots(self, slots: Iterable[int]) -> list[HostState]:
        """Those in memory."""
        by_slot = self._by_slot
        return [state for slot in slots if slot in by_slot for state in by_slot[slot].values()]

    def longest_queues(self, count: int) -> tuple[tuple[str, int], ...]:
        """Hosts in memory with most new URLs, and how many, longest first."""
        longest = nlargest(count, self._hosts.values(), key=lambda state: state.queued)
        return tuple((state.host, state.queued) for state in longest if state.queued)

    def is_due_again(self, states: Iterable[HostState], until_s: float) -> bool:
        """Is a page that was visited due by then, at one of these hosts that was not given up?

        Whenever that host may be asked: who waits for its clock is not done with it.
        """
        return any(
            state.again_s <= until_s and not state.record.given_up and self._first_again_s(state) <= until_s
            for state in states
        )

    def know(self, host: str, slot: int) -> tuple[HostState | None, bytes, bool]:
        """The host in memory, if it has a place, its hash, and whether it has a row only from now on."""
        state = self._hosts.get(host)
        if state is not None:
            return state, state.hash, False
        digest = host_hash(host)
        key = host_key(slot, digest)
        row = self._table.get(key)
        if row is None:
            self._table.put(key, _encode(HostRecord(host)))
        if not self._held[slot]:
            return None, digest, row is None
        if row is None:
            self.count_hosts(slot, 1)
            return self._bring(slot, digest, HostRecord(host)), digest, True
        return self._bring(slot, digest, record_in(row), is_in_table=True), digest, False

    def rest(self, state: HostState, now: float) -> None:
        """Let a host with which nobody is concerned make room for others."""
        due_s = state.due_s()
        if not state.is_at_rest or due_s <= now + SOON_S:
            return
        state.domain.let_rest(state)
        if due_s == inf:
            self._idle.pop(state.host, None)
            self._idle[state.host] = state
            if len(self._idle) > self.settings.hosts_idle_max:
                oldest = self._idle.pop(next(iter(self._idle)))
                if oldest.is_at_rest and oldest.due_s() == inf:
                    self._let_go(oldest)
                    self._fill_places(oldest.domain, now)
        self._fill_places(state.domain, now)

    def lift_pauses(self, opens_at: Callable[[str, float], float]) -> None:
        """Let hosts wait for nothing but their clocks until they are looked at; see `Frontier`."""
        self._parked.opens_at = opens_at
        for state in self._hosts.values():
            if state.not_before_s:
                state.not_before_s = 0.0
                self._turns.schedule(state, -inf)
        for domain in self._parked.look_again():
            self._turns.note_crowded(domain)

    # --- records ---

    def save(self, state: HostState, record: HostRecord) -> bool:
        """Let another record hold for a host, here and in the table; tell whether it is another."""
        if record == state.record:
            return False
        self._take_over(state, record)
        self._table.put(host_key(state.slot, state.hash), _encode(record))
        return True

    def merge(self, slot: int, told: HostRecord) -> None:
        """Merge a host's record with the one that is kept here."""
        digest = host_hash(told.host)
        key = host_key(slot, digest)
        state, stored = self.at(slot, digest), self._table.get(key)
        before = record_in(stored) if stored else HostRecord(told.host)
        if before.host != told.host:  # two hosts of one hash: the first one stays
            return
        joined = politeness.join(before, told)
        if stored is None or joined != before:
            self._table.put(key, _encode(joined))
        if stored is None and self._held[slot]:
            self.count_hosts(slot, 1)
        if state is not None:
            self._take_over(state, politeness.join(state.record, joined))
        elif self._held[slot] and joined.given_up != before.given_up:
            queued_count, _ = self._new_entries(slot, digest)
            self._count(slot, 0, 0, queued_count if joined.given_up else -queued_count)

    def recall(self, slot: int, record: HostRecord) -> None:
        """Let a record hold for a host by which it may be asked earlier than it was."""
        self.merge(slot, record)
        state = self.at(slot, host_hash(record.host))
        if state is not None:
            self._turns.schedule(state, -inf)
        elif self._held[slot]:
            domain = self._turns.domain_of(record.host)
            self._parked.park(domain, slot, -inf)
            self._turns.note_crowded(domain)

    def count_new(self, state: HostState) -> None:
        """Count a new URL that came into the queue of a host in memory."""
        state.queued += 1
        n_hosts, n_queued, n_given_up = self._counts[state.slot]  # its slot is held, and has a host
        given_up = int(state.record.given_up)
        self._counts[state.slot] = n_hosts, n_queued + 1, n_given_up + given_up
        self.queued_count += 1
        self.given_up_count += given_up

    def count_queued(self, slot: int, digest: bytes, change: int) -> None:
        """Count new URLs that came into the queue of a host or left it."""
        if not change or not self._held[slot]:
            return
        state = self.at(slot, digest)
        if state is not None:
            state.queued += change
            record = state.record
        else:
            row = self._table.get(host_key(slot, digest))
            assert row is not None, "what has URLs has a row"
            record = record_in(row)
        self._count(slot, 0, change, change if record.given_up else 0)

    def _take_over(self, state: HostState, record: HostRecord) -> None:
        """Let a record hold for a host in memory."""
        if record.given_up != state.record.given_up:
            self._count(state.slot, 0, 0, state.queued if record.given_up else -state.queued)
        state.record = record
        self._note_alias(record)

    def _note_alias(self, record: HostRecord) -> None:
        if record.alias_of:
            self.aliases[record.host] = record.alias_of
        else:
            self.aliases.pop(record.host, None)

    def _as_asked(self, slot: int, record: HostRecord) -> HostRecord:
        """The record of a host that counts as asked when its slot does."""
        return politeness.inherited(record, self._asked_s[slot], self.settings.delay_s)

    def _count(self, slot: int, hosts: int, queued: int, given_up: int) -> None:
        before = self._counts.get(slot, (0, 0, 0))
        self._counts[slot] = before[0] + hosts, before[1] + queued, before[2] + given_up
        self.host_count += hosts
        self.queued_count += queued
        self.given_up_count += given_up

    # --- places in memory ---

    def _bring(
        self, slot: int, digest: bytes, record: HostRecord, *, is_in_table: bool = False
    ) -> HostState | None:
        """Give a host a place, if there is one in its domain; else it is parked.

        Args:
          is_in_table: what it has in its queue is there, and is not going to be told.
        """
        domain = self._turns.domain_of(record.host)
        if domain.host_count >= self.settings.hosts_per_domain_max:
            self._parked.park(domain, slot, -inf)
            if domain.resting:
                self._turns.note_crowded(domain)
            return None
        return self._read(slot, digest, record) if is_in_table else self._place(slot, digest, record)

    def _place(self, slot: int, digest: bytes, record: HostRecord) -> HostState:
        """Bring a host into memory, without the state of its queue."""
        domain = self._turns.domain_of(record.host)
        domain.host_count += 1
        domain.was_asked = domain.was_asked or record.fetched > 0
        window_urls = min(self._window_urls, max(WINDOW_URLS_MIN, WINDOWS_URLS // (len(self._hosts) + 1)))
        state = HostState(slot, self._as_asked(slot, record), digest, domain, window_urls)
        domain.let_rest(state)
        self._hosts[record.host] = state
        self._note_alias(record)
        self._by_slot.setdefault(slot, {})[digest] = state
        return state

    def _read(self, slot: int, digest: bytes, record: HostRecord) -> HostState:
        """Bring a host into memory with the state of its queue."""
        state = self._place(slot, digest, record)
        state.queued, state.bound = self._new_entries(slot, digest)
        state.again_s = self._first_again_s(state)
        return state

    def _first_again_s(self, state: HostState) -> float:
        """When the first of the pages of a host is due that were visited; inf for never."""
        queue = queue_of(state.slot, state.hash)
        again = next(self._table.scan(queue + FIRST_AGAIN, queue + QUEUE_END, limit=1), None)
        return inf if again is None else due_s_in(again[0])

    def _new_entries(self, slot: int, digest: bytes) -> tuple[int, bytes | None]:
        """How many new URLs are in the queue of a host, and the key of the first."""
        queue = queue_of(slot, digest)
        keys = [key for key, _ in self._table.scan(queue, queue + FIRST_AGAIN)]
        return len(keys), keys[0] if keys else None

    def _let_go(self, state: HostState) -> None:
        if (due_s := state.due_s()) < inf and self._held[state.slot]:
            self._parked.park(state.domain, state.slot, due_s)
        del self._hosts[state.host]
        self.aliases.pop(state.host, None)
        of_slot = self._by_slot[state.slot]
        del of_slot[state.hash]
        if not of_slot:
            del self._by_slot[state.slot]
        self._idle.pop(state.host, None)
        self._turns.forget(state)

    def next_time(self) -> float:
        """When to call `fill_places`, mesh clock; inf for never."""
        return -inf if self._turns.crowded else self._parked.next_time()

    def fill_places(self, now: float) -> None:
        """Give places to hosts that are parked and due, where others have come to rest."""
        crowded = {domain.name: domain for domain in self._parked.wake(now)} | self._turns.crowded
        for domain in crowded.values():
            self._fill_places(domain, now)

    def _fill_places(self, domain: DomainState, now: float) -> None:
        """Give the places of a domain that are free, or that nobody needs soon, to hosts that are parked."""
        while domain.parked:
            is_full = domain.host_count >= self.settings.hosts_per_domain_max
            resting = self._longest_resting(domain, now) if is_full else None
            if is_full and resting is None:
                break
            parked = self._parked.next_of(domain, now)
            if parked is None:
                continue
            if resting is not None:
                self._let_go(resting)
            self._turns.schedule(self._read(*parked), now)
        self._turns.crowded.pop(domain.name, None)
        self._turns.tidy(domain)

    def _longest_resting(self, domain: DomainState, now: float) -> HostState | None:
        """The host that has rested longest of those in memory that have nothing soon to come."""
        while domain.resting:
            state = next(iter(domain.resting))
            if state.is_at_rest and state.due_s() > now + SOON_S:
                return state
            del domain.resting[state]  # until it rests again
        return None

    def _is_here(self, slot: int, digest: bytes) -> bool:
        return self.at(slot, digest) is not None


_encode = msgspec.msgpack.Encoder().encode
