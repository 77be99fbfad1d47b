"""Slots of a domain are looked through for hosts that are due, and wake when the first of them is."""

from __future__ import annotations

from math import inf

import msgspec

from mesh.tables.memory_table import MemoryTable
from peers.crawler.frontier.host_state import DomainState
from peers.crawler.frontier.items import host_hash
from peers.crawler.frontier.keys import host_key, queue_key
from peers.crawler.frontier.parked_hosts import SOON_S, ParkedHosts
from peers.crawler.model.politeness import HostRecord
from peers.crawler.model.url_rows import UrlRow

SLOT = 5
HOSTS = [f"x{number}.trap.test" for number in range(4)]


def parked(*due_s: float) -> tuple[ParkedHosts, DomainState]:
    """Hosts in one slot, each with a page and a clock, and one of another domain."""
    table = MemoryTable()
    for number, (host, at_s) in enumerate(zip(("other.test", *HOSTS), (0.0, *due_s), strict=False)):
        digest = host_hash(host)
        table.put(host_key(SLOT, digest), msgspec.msgpack.encode(HostRecord(host, next_fetch_s=at_s)))
        table.put(queue_key(SLOT, bytes([number]) * 16, UrlRow(digest, 0, 0, 0)), b"\0http://x/")
    hosts = ParkedHosts(table, lambda slot: slot == SLOT, lambda slot, digest: False)
    domain = DomainState("trap.test")
    hosts.park(domain, SLOT, -inf)
    return hosts, domain


def all_of(hosts: ParkedHosts, domain: DomainState, now: float) -> list[str]:
    found = list[str]()
    while domain.parked and len(found) < 20:
        host = hosts.next_of(domain, now)
        found += [host.record.host] if host else []
        if host and found.count(host.record.host) > 1:  # all were given once: they are parked still
            break
    return found


def test_hosts_that_are_due_or_soon_will_be_are_found_and_the_slot_waits_for_the_others() -> None:
    hosts, domain = parked(500.0, SOON_S, 900.0)
    assert set(all_of(hosts, domain, 0.0)) == {HOSTS[1]}
    hosts, domain = parked(500.0, 900.0)
    assert all_of(hosts, domain, 0.0) == []
    assert (hosts.next_time(), domain.later, domain.parked) == (500.0, {SLOT: 500.0}, {})
    assert hosts.wake(499.0) == []
    assert hosts.wake(500.0) == [domain]
    assert (hosts.next_time(), set(domain.parked)) == (inf, {SLOT})


def test_hosts_that_the_policy_closes_are_not_brought_until_it_opens_them() -> None:
    hosts, domain = parked(0.0, 0.0)
    hosts.opens_at = lambda host, now: now + 3_600.0
    assert all_of(hosts, domain, 0.0) == []
    assert domain.later == {SLOT: 3_600.0}
    hosts.opens_at = lambda host, now: now
    assert hosts.look_again() == [domain]
    assert set(all_of(hosts, domain, 0.0)) == set(HOSTS[:2])


def test_a_time_that_holds_no_more_wakes_nobody() -> None:
    hosts, domain = parked()
    domain.parked.clear()
    hosts.park(domain, SLOT, 900.0)
    hosts.park(domain, SLOT, 500.0)
    hosts.park(domain, SLOT, 700.0)
    assert domain.later == {SLOT: 500.0}
    assert hosts.wake(500.0) == [domain]
    assert all_of(hosts, domain, 500.0) == []
    assert hosts.wake(900.0) == []
    hosts.park(domain, SLOT, 950.0)
    hosts.park(domain, SLOT, 940.0)
    assert hosts.wake(945.0) == [domain]
    assert hosts.look_again() == []


def test_a_slot_that_is_not_held_any_more_is_forgotten() -> None:
    hosts, domain = parked()
    hosts.park(domain, 6, -inf)
    domain.parked.pop(SLOT)
    assert hosts.next_of(domain, 0.0) is None
    assert (domain.parked, domain.later) == ({}, {})


def test_times_that_hold_no_more_do_not_pile_up() -> None:
    hosts, domain = parked()
    domain.parked.clear()
    for earlier in range(10_000):
        hosts.park(domain, SLOT, 1e6 - earlier)
    assert len(hosts._waking) < 100
