"""Watched words in a mesh under faults: each new text of a page is noticed, and a double is known."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from xxhash import xxh3_64_digest

from mesh.actors.actor import Message
from mesh.tables.memory_table import MemoryTable
from mesh.tables.table import TableSection
from peers.actors import WATCH_SECTION
from peers.crawler.model.settings import CrawlSettings
from peers.gateway.model.messages import AddSeeds, GatherNotices, NoticesGathered
from peers.policy.rules import EVERYTHING, policy_bytes
from peers.storage.ledger.place import place_in
from peers.watch.list_file import entries_of
from peers.watch.notices import Notices
from peers.watch.watch_list import list_body
from peers.watch.wire_messages import Notice
from simulations.faults.machine import Machine
from simulations.faults.stores.versions import ledger_of
from simulations.webs.changing_web import GONE, ChangingWeb, is_shown
from simulations.webs.web import Served, WebShape
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.words import COMMON_WORD, TellingParser, WordyParser, body_of
from simulations.world.world import World
from tests.simulations.machines import PlayedMesh

SLOTS, PAGES, HOSTS = 32, 120, 8
BODY = list_body(entries_of([COMMON_WORD, "nowhere"]), 1.0)
NUMBER = 3
Text = tuple[str, bytes]  # URL, digest of the body


class Mesh(PlayedMesh):
    """Machines with two copies of everything that visit a web which changes."""

    def __init__(self, seed: int, started: int = 3, parser: type[WordyParser] = TellingParser) -> None:
        self.network = Network(random_of(seed, "network"))
        self.world = World(self.network, start_s=1_000.0)
        self.members = Members(seed, 4, replicas=2, slot_count=SLOTS)
        shape = WebShape(pages_per_host=PAGES / HOSTS, dead_hosts_share=0.0, slow_hosts_share=0.0)
        self.web = ChangingWeb(seed, PAGES, shape, lambda: self.world.now)
        self.served: set[Text] = set()
        self.gathered: list[NoticesGathered] = []
        settings = CrawlSettings(delay_s=0.2, revisit_after_s=40.0, audit_rate=0.0)
        self.begin(4, self.web, settings, started=started, fetched=self._note, told=self._hear, parser=parser)
        self.pass_time(20.0)
        self.machines[0].publish(self.members.policy(1, policy_bytes(EVERYTHING)))
        self.machines[0].publish(self.members.watch(NUMBER, BODY))
        self.pass_time(2.0)
        self.machines[0].order(AddSeeds(1, self.web.seeds))

    def notices_of(self, machine: Machine) -> tuple[Notice, ...]:
        table = MemoryTable()
        for key, row in TableSection(machine.disk.table, WATCH_SECTION).scan(b""):
            table.put(key, row)
        return Notices(table).after(1, 100_000)

    def stored(self) -> set[Text]:
        """All texts that are stored anywhere and to be shown."""
        found: set[Text] = set()
        for machine in self.machines:
            ledger = ledger_of(machine)
            for slot in range(SLOTS):
                for item in ledger.versions(slot):
                    place = place_in(item.value)
                    body = body_of(machine.disk.archive.read(place.extent)) if place.length else GONE
                    if body != GONE and is_shown(body):
                        found.add((place.url, xxh3_64_digest(body)))
        return found

    def _note(self, machine: Machine, url: str, served: Served) -> None:
        if served.status == 200:
            self.served.add((url, xxh3_64_digest(served.body)))

    def _hear(self, machine: Machine, answer: Message) -> None:
        if isinstance(answer, NoticesGathered):
            self.gathered.append(answer)


def trouble(mesh: Mesh, random: Random) -> None:
    """Crashes with and without loss of power, a peer that joins, one that stands still, a bad network."""
    mesh.network.set_loss(0.1)
    mesh.network.set_repetition(0.2)
    for turn in range(8):
        mesh.pass_time(random.choice([3.0, 8.0, 15.0]))
        if turn == 2:
            mesh.machines[3].start()
        victim = random.choice([each for each in mesh.machines if each.is_running])
        if random.random() < 0.3:
            victim.pause()
            mesh.pass_time(random.choice([1.0, 20.0]))
            victim.resume()
        else:
            victim.crash(is_power_loss=random.random() < 0.5)
            mesh.pass_time(random.choice([0.5, 5.0, 30.0]))
            victim.start()
    mesh.network.set_loss(0.0)
    mesh.network.set_repetition(0.0)
    mesh.pass_time(120.0)


@pytest.mark.parametrize("seed", range(4))
def test_each_stored_text_is_noticed_and_one_told_twice_is_known_as_the_same(seed: int) -> None:
    mesh = Mesh(seed)
    trouble(mesh, Random(seed))
    noticed = Counter[Text]()
    for machine in mesh.machines:
        notices = mesh.notices_of(machine)
        assert {(each.entry, each.number, each.count) for each in notices} <= {(COMMON_WORD, NUMBER, 1)}
        assert len({each.identity for each in notices}) == len(notices), "a peer says nothing twice"
        noticed.update((each.url, each.mark) for each in notices)
    stored = mesh.stored()
    assert len(stored) > PAGES
    assert not stored - set(noticed), "none is missed"
    assert not set(noticed) - mesh.served, "none is made up"


def test_in_a_quiet_mesh_each_text_is_noticed_once_by_one_peer_and_gateways_are_told() -> None:
    mesh = Mesh(7)
    mesh.pass_time(150.0)
    noticed = Counter[Text]()
    for machine in mesh.machines[:3]:
        noticed.update((each.url, each.mark) for each in mesh.notices_of(machine))
    assert set(noticed.values()) == {1}
    assert mesh.stored() <= set(noticed) <= mesh.served
    mesh.web.cease()
    mesh.pass_time(100.0)
    for machine in mesh.machines[:3]:
        machine.order(GatherNotices(9, most=200, wants_counts=True))
    mesh.pass_time(3.0)
    told = [told for gathered in mesh.gathered for _, told in gathered.told]
    assert len(told) == 3
    assert {count.entry for each in told for count in each.counts} == {COMMON_WORD}
    assert sum(count.notices for each in told for count in each.counts) >= len(noticed)
    assert [each.last for each in told] == [each.notices[-1].place for each in told]


def test_without_a_list_nothing_is_kept_and_the_watcher_sleeps() -> None:
    mesh = Mesh(3, parser=WordyParser)
    mesh.machines[0].publish(mesh.members.watch(NUMBER + 1, list_body((), 1.0)))
    mesh.pass_time(30.0)
    for machine in mesh.machines[:3]:
        assert not list(TableSection(machine.disk.table, WATCH_SECTION).scan(b""))
        assert mesh.world.node(machine.peer).actor("watch").is_dormant
