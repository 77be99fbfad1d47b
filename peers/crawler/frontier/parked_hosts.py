"""Hosts that have something to come and no place in memory: where they are, and when they are due.

A domain remembers slots, not hosts: names under a wildcard are more than memory has room for, slots are not.
A slot is looked through host by host for those that are due soon. Once nothing of it is, it is known when
its first host will be, and until then it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import inf
from typing import Final, NamedTuple

import msgspec

from mesh.domains import registrable_domain
from mesh.tables.table import Table
from peers.crawler.frontier.host_state import DomainState
from peers.crawler.frontier.keys import (
    HOST,
    QUEUE_END,
    due_s_in,
    host_in,
    is_new,
    queue_of,
    slot_key,
)
from peers.crawler.model.politeness import HostRecord

SOON_S: Final = 60.0  # a host that has its next turn later gives its place to others of its domain
_STALE_MIN: Final = 64  # entries of the heap before it is worth while to look which of them hold


class ParkedHost(NamedTuple):
    """A host that is due, or soon will be."""

    slot: int
    hash: bytes
    record: HostRecord


class ParkedHosts:
    """Parked hosts over the table of the frontier; the data of a domain is in its `DomainState`."""

    def __init__(
        self, table: Table, is_held: Callable[[int], bool], is_here: Callable[[int, bytes], bool]
    ) -> None:
        """Begin with none.

        Args:
          is_held: tells whether a slot is; others are forgotten when their turn comes.
          is_here: tells of slot and hash whether a host is in memory.
        """
        # When a host may be asked by the policy, by its name; the time given if at once.
        self.opens_at: Callable[[str, float], float] = lambda host, now: now
        self._table = table
        self._is_held = is_held
        self._is_here = is_here
        self._waking: list[tuple[float, int, int, DomainState]] = []  # heap: when, ticket, slot
        self._tickets = 0
        self._later_count = 0  # slots of all domains that wait for their time

    def park(self, domain: DomainState, slot: int, due_s: float) -> None:
        """Have a slot looked through for a host: at once if it is due at -inf, else when it is due."""
        if due_s == -inf:
            domain.parked.setdefault(slot, b"")
        elif slot not in domain.parked and due_s < domain.later.get(slot, inf):
            self._wait(domain, slot, due_s)

    def next_time(self) -> float:
        """When hosts of a slot are due that is not looked through before, mesh clock; inf for never."""
        return self._waking[0][0] if self._waking else inf

    def wake(self, now: float) -> list[DomainState]:
        """Have the slots looked through of which hosts are due; return their domains."""
        domains = []
        while self._waking and self._waking[0][0] <= now:
            due_s, _, slot, domain = heappop(self._waking)
            if domain.later.get(slot) == due_s:
                self._forget(domain, slot)
                domain.parked.setdefault(slot, b"")
                domains.append(domain)
        return domains

    def look_again(self) -> list[DomainState]:
        """Have all slots looked through, even those that wait for a later time; return their domains."""
        waking, self._waking = self._waking, []
        domains: dict[DomainState, None] = {}
        for due_s, _, slot, domain in waking:
            if domain.later.get(slot) == due_s:
                self._forget(domain, slot)
                domain.parked.setdefault(slot, b"")
                domains[domain] = None
        return list(domains)

    def next_of(self, domain: DomainState, now: float) -> ParkedHost | None:
        """Take a host of the next slot that is due soon; None if that has none from where it was left."""
        slot = next(iter(domain.parked))
        after = domain.parked.pop(slot)
        if not self._is_held(slot):
            self._forget(domain, slot)
            return None
        hosts = slot_key(slot) + HOST
        first_s = inf
        for key, row in self._table.scan(hosts + after, slot_key(slot) + _AFTER_HOSTS):
            digest = host_in(key)
            if digest == after or self._is_here(slot, digest):
                continue
            record = record_in(row)
            if registrable_domain(record.host) != domain.name:
                continue
            due_s = self._due_s(slot, digest, record)
            if due_s <= now + SOON_S:
                due_s = max(due_s, self.opens_at(record.host, now))
            if due_s <= now + SOON_S:
                domain.parked[slot] = digest  # behind the other slots
                return ParkedHost(slot, digest, record)
            first_s = min(first_s, due_s)
        self._forget(domain, slot)
        if after:  # what is before it has not been looked at
            domain.parked[slot] = b""
        elif first_s < inf:
            self._wait(domain, slot, first_s)
        return None

    def _due_s(self, slot: int, digest: bytes, record: HostRecord) -> float:
        """Return when a host is to be asked, by the rows in the table; inf for never."""
        queue = queue_of(slot, digest)
        first = next(self._table.scan(queue, queue + QUEUE_END, limit=1), None)
        if first is None:
            return inf
        return record.next_fetch_s if is_new(first[0]) else max(record.next_fetch_s, due_s_in(first[0]))

    def _wait(self, domain: DomainState, slot: int, due_s: float) -> None:
        self._later_count += slot not in domain.later
        domain.later[slot] = due_s
        self._tickets += 1
        heappush(self._waking, (due_s, self._tickets, slot, domain))
        if len(self._waking) > _STALE_MIN + 2 * self._later_count:
            self._waking = [entry for entry in self._waking if entry[3].later.get(entry[2]) == entry[0]]
            heapify(self._waking)

    def _forget(self, domain: DomainState, slot: int) -> None:
        """Have a slot wait no more."""
        self._later_count -= domain.later.pop(slot, None) is not None


_AFTER_HOSTS: Final = bytes((HOST[0] + 1,))
record_in: Callable[[bytes], HostRecord] = msgspec.msgpack.Decoder(HostRecord).decode
