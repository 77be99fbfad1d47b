"""Requests of a peer are judged by what it knows when it asks, be that committed or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import cast

from mesh.config import MeshConfig
from mesh.slots import slot_of
from mesh.urls import fingerprint, host_of
from peers.actors import URL_ROWS_SECTION
from peers.crawler.frontier.items import host_hash
from peers.crawler.frontier.keys import url_key
from peers.crawler.model.url_rows import UrlRow, row_bytes
from simulations.faults.disks import Disk
from simulations.faults.machine import Machine
from simulations.faults.watch import Watch
from simulations.webs.web import Served, SyntheticWeb

WEB = SyntheticWeb(1, 1)
(URL,) = WEB.seeds
DELAY_S = 1.0


@dataclass(eq=False)
class FakeMachine:
    """One whose clock is that of the world."""

    number: int = 0
    name: str = "p0"
    is_running: bool = True
    changed_s: float = -inf
    now: float = 100.0
    disk: Disk = field(default_factory=Disk)
    config: MeshConfig = field(
        default_factory=lambda: MeshConfig(name="test", root_key="00" * 32, analysis_version=6)
    )

    def local_time(self) -> float:
        return self.now

    def wall_time(self) -> float:
        return self.now

    is_crawler: bool = False
    lends_to: str = ""
    peer: str = "p0"

    def would_crawl(self, host: str) -> bool:
        return self.is_crawler

    def has_lent(self, host: str, peer: str) -> bool:
        return self.lends_to == peer

    def visit(self, number: int, due_s: float) -> None:
        """Write that a visit has ended now."""
        key = url_key(slot_of(host_of(URL), self.config.slot_count), fingerprint(URL))
        row = UrlRow(host_hash(host_of(URL)), 0, 0, 0, "D200", number, due_s, self.now, url=URL)
        self.disk.table.put(URL_ROWS_SECTION + key, row_bytes(row))


def watched() -> tuple[Watch, FakeMachine]:
    """A watch, and a machine that has asked for a page 50 s ago."""
    machine = FakeMachine(now=50.0)
    watch = Watch(
        WEB,
        lambda origin: DELAY_S,
        DELAY_S,
        lambda: machine.now,
        lambda machine, begin_s, end_s: True,
        lambda line: None,
    )
    watch.add(cast(Machine, machine))
    ask(watch, machine)
    machine.now = 100.0
    return watch, machine


def ask(watch: Watch, machine: FakeMachine) -> None:
    watch.requested(cast(Machine, machine), URL, Served(200, 0.1, 100))


def test_a_page_may_be_asked_again_that_is_due_by_a_row_that_is_not_committed() -> None:
    watch, machine = watched()
    machine.visit(1, due_s=100.0)
    ask(watch, machine)
    assert watch.violations == []


def test_a_page_may_not_be_asked_again_before_it_is_due_by_a_row_that_is_not_committed() -> None:
    watch, machine = watched()
    machine.visit(1, due_s=60.0)
    machine.disk.table.commit()
    machine.visit(2, due_s=160.0)
    ask(watch, machine)
    assert watch.violations == [f"p0 asked {URL} again 60.0 s before it is due in its own table"]


def test_a_page_may_not_be_asked_again_whose_visit_is_forgotten_though_nothing_happened() -> None:
    watch, machine = watched()
    ask(watch, machine)
    assert watch.violations == [f"p0 asked {URL} again, though nothing happened to p0"]


def test_a_page_that_will_be_due_in_a_while_is_to_be_asked() -> None:
    watch, machine = watched()
    machine.visit(1, due_s=130.0)
    machine.disk.table.commit()
    there = cast(Machine, machine)
    assert (watch.is_to_be_asked(there, 29.0), watch.is_to_be_asked(there, 30.0)) == (False, True)
    machine.now = 130.0
    assert not watch.is_to_be_asked(there, 30.0), "it is due, as its peer knows"


def look(watch: Watch, machine: FakeMachine) -> None:
    watch.looked(cast(Machine, machine), URL, Served(200, 0.1, 100))


def test_a_look_takes_a_turn_of_the_peer_that_crawls_the_host_and_is_no_visit() -> None:
    watch, owner = watched()
    owner.is_crawler = True
    auditor = FakeMachine(number=1, name="p1", peer="p1", now=100.0)
    watch.add(cast(Machine, auditor))
    owner.lends_to = "p1"
    look(watch, auditor)
    assert watch.violations == []
    assert watch.last[URL].machine is cast(Machine, owner)
    owner.now += 10.0
    owner.lends_to = "p2"
    look(watch, auditor)
    assert [each.split(" without")[0] for each in watch.violations] == [f"p1 looked at {URL}"]


def test_a_look_is_held_to_the_delay_of_the_host() -> None:
    watch, owner = watched()
    look(watch, owner)
    look(watch, owner)
    assert "too early" in watch.violations[0]
