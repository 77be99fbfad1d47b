"""The hosts of the slots that this peer crawls: their records in the table, and what of them is in memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from heapq import nlargest
from math import inf

import msgspec

from mesh.slot_limits import SLOTS_MAX
from mesh.table import Table
from peers.crawler import politeness
from peers.crawler.frontier_items import host_hash
from peers.crawler.frontier_keys import host_key
from peers.crawler.host_state import HostState
from peers.crawler.host_turns import HostTurns
from peers.crawler.politeness import HostRecord
from peers.crawler.settings import CrawlSettings


class HeldHosts:
    """Hosts by name, and by slot and hash, with counts of what is queued on them."""

    def __init__(self, table: Table, turns: HostTurns, settings: CrawlSettings, window_urls: int) -> None:
        """Hold no slot.

        Args:
          window_urls: queue entries of a host held in memory, at most twice as many.
        """
        self.settings = settings  # may be replaced
        self._table = table
        self._turns = turns
        self._window_urls = window_urls
        self._held = bytearray(SLOTS_MAX)
        self._asked_s = array("d", [-inf]) * SLOTS_MAX  # when all hosts of a slot count as asked
        self._hosts: dict[str, HostState] = {}
        self._by_slot: dict[int, dict[bytes, HostState]] = {}  # of slots that have hosts; by hash
        self.queued_count = 0  # new URLs
        self.given_up_count = 0  # of these, on hosts that were given up

    # --- slots ---

    def is_held(self, slot: int) -> bool:
        return bool(self._held[slot])

    def hold(self, slot: int) -> None:
        """Count a slot as held; its hosts are told one by one, see `load`."""
        self._held[slot] = True

    def count_as_asked(self, slot: int, at_s: float) -> None:
        """Let all hosts of a slot, known or not, count as asked at that time or later."""
        self._asked_s[slot] = max(at_s, self._asked_s[slot])
        for state in self.of_slot(slot):
            state.record = self._as_asked(slot, state.record)

    def asked_s(self, slot: int) -> float:
        """When all hosts of the slot count as asked; -inf when each has its own clock."""
        return self._asked_s[slot]

    def drop(self, slot: int) -> None:
        """Let a slot go from memory."""
        self._held[slot] = False
        for state in self._by_slot.pop(slot, {}).values():
            del self._hosts[state.host]
            self._turns.forget(state)
            self.count_queued(state, -state.queued)

    # --- hosts ---

    def __len__(self) -> int:
        return len(self._hosts)

    def __iter__(self) -> Iterator[HostState]:
        return iter(self._hosts.values())

    def find(self, host: str) -> HostState | None:
        """What is known of a host of a held slot; None when it was never heard of."""
        return self._hosts.get(host)

    def at(self, slot: int, digest: bytes) -> HostState | None:
        """The same by slot and hash."""
        return self._by_slot.get(slot, {}).get(digest)

    def of_slot(self, slot: int) -> Iterable[HostState]:
        return self._by_slot.get(slot, {}).values()

    def longest_queues(self, count: int) -> tuple[tuple[str, int], ...]:
        """Hosts with most new URLs, and how many, longest first."""
        longest = nlargest(count, self, key=lambda state: state.queued)
        return tuple((state.host, state.queued) for state in longest if state.queued)

    def know(self, host: str, slot: int) -> tuple[HostState | None, bytes, bool]:
        """The host in memory, if its slot is held, its hash, and whether it has a row only from now on."""
        state = self._hosts.get(host)
        if state is not None:
            return state, state.hash, False
        digest = host_hash(host)
        key = host_key(slot, digest)
        if not self._held[slot] and self._table.get(key) is not None:
            return None, digest, False
        record = HostRecord(host)
        self._table.put(key, _encode(record))
        return (self.load(slot, digest, record) if self._held[slot] else None), digest, True

    def load(self, slot: int, digest: bytes, record: HostRecord) -> HostState:
        """Bring a host into memory, of which nothing is queued as far as is told here."""
        domain = self._turns.domain_of(record.host)
        domain.host_count += 1
        domain.was_asked = domain.was_asked or record.fetched > 0
        state = HostState(slot, self._as_asked(slot, record), digest, domain, self._window_urls)
        self._hosts[record.host] = state
        self._by_slot.setdefault(slot, {})[digest] = state
        return state

    def load_row(self, slot: int, digest: bytes, row: bytes) -> HostState:
        """Do the same with a record as it is kept."""
        return self.load(slot, digest, _record_in(row))

    # --- records ---

    def save(self, state: HostState, record: HostRecord) -> bool:
        """Let another record hold for a host, here and in the table; tell whether it is another."""
        if record == state.record:
            return False
        self._take_over(state, record)
        self._table.put(host_key(state.slot, state.hash), _encode(record))
        return True

    def merge(self, slot: int, told: HostRecord) -> None:
        """Join a host with what is known of it here."""
        digest = host_hash(told.host)
        key = host_key(slot, digest)
        state, stored = self.at(slot, digest), self._table.get(key)
        before = _record_in(stored) if stored else HostRecord(told.host)
        if before.host != told.host:  # two hosts of one hash: the first one stays
            return
        joined = politeness.join(before, told)
        if stored is None or joined != before:
            self._table.put(key, _encode(joined))
        if state is not None:
            self._take_over(state, politeness.join(state.record, joined))
        elif self._held[slot] and stored is None:
            self.load(slot, digest, joined)

    def count_queued(self, state: HostState, change: int) -> None:
        """Count new URLs that came into the queue of a host or left it."""
        state.queued += change
        self.queued_count += change
        if state.record.given_up:
            self.given_up_count += change

    def _take_over(self, state: HostState, record: HostRecord) -> None:
        """Let a record hold for a host in memory."""
        if record.given_up != state.record.given_up:
            self.given_up_count += state.queued if record.given_up else -state.queued
        state.record = record

    def _as_asked(self, slot: int, record: HostRecord) -> HostRecord:
        """The record of a host that counts as asked when its slot does."""
        return politeness.inherited(record, self._asked_s[slot], self.settings.delay_s)


_encode = msgspec.msgpack.Encoder().encode
_record_in = msgspec.msgpack.Decoder(HostRecord).decode
