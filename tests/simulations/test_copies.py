"""Copies all over a mesh under faults: at the end each content is found once, and before it is always found.

The judge asks the mesh: how many pages it finds, by which the folding of the gateway is not fooled, and what.
"""

from __future__ import annotations

from collections import defaultdict
from random import Random

import pytest

from mesh.actors.actor import Address, Message
from mesh.stamp import Stamp
from mesh.urls import host_of
from peers.copies.copies import CopiesStatistics
from peers.engine.pages.document import Document
from peers.gateway.model.messages import PagesFound, SearchPages
from peers.storage.messages import StorePage
from peers.storage.wire_messages import StoredPage
from simulations.faults.machine import Machine
from simulations.webs.web import SyntheticWeb
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.words import WordyParser, records_of
from simulations.world.world import World
from tests.simulations.machines import PlayedMesh

SLOTS = 32
HOSTS = 12
CONTENTS = 10


class CopyingParser(WordyParser):
    """Pages say what their bodies are, and nothing of where they are."""

    def document(self, url: str, stamp: Stamp, body: bytes) -> Document | None:
        return document_of(url, stamp, body.decode())


def document_of(url: str, stamp: Stamp, text: str) -> Document:
    return Document(url, "A page", text=text, fetched_at=stamp.fetched_at, visit=stamp.visit)


def text_of(content: int) -> str:
    return f"mesh content{content}"


class Mesh(PlayedMesh):
    """Machines with two copies of everything, and pages that say the same as others."""

    def __init__(self, seed: int, started: int, machines: int = 4) -> None:
        self.random = Random(seed)
        self.network = Network(random_of(seed, "network"))
        self.world = World(self.network, start_s=1_000.0)
        self.members = Members(seed, machines, replicas=2, slot_count=SLOTS)
        self.answers: list[PagesFound] = []
        self.texts: dict[str, str] = {}  # by URL, of the newest version
        self.visit = 0
        web = SyntheticWeb(seed, pages=1)
        self.begin(
            machines, web, started=started, told=lambda _, answer: self._hear(answer), parser=CopyingParser
        )
        self.pass_time(20.0)

    def _hear(self, answer: Message) -> None:
        if isinstance(answer, PagesFound):
            self.answers.append(answer)

    def store(self, url: str, text: str | None) -> None:
        """Have a version stored by the owner of its slot, if it runs; None for a page that is gone."""
        ownership = next(machine.ownership for machine in self.running if machine.ownership is not None)
        slot = ownership.slot_of(host_of(url))
        owner = ownership.owner_of(slot)
        if owner not in {machine.peer for machine in self.running if machine.ownership is not None}:
            return
        self.visit += 1
        stamp = Stamp(self.visit, 1_000.0 + self.visit)
        if text is None:
            self.texts.pop(url, None)
            page = StoredPage(
                url, slot, stamp.fetched_at, 404, records_of(url, stamp, b""), None, stamp.visit
            )
        else:
            self.texts[url] = text
            records, document = records_of(url, stamp, text.encode()), document_of(url, stamp, text)
            page = StoredPage(url, slot, stamp.fetched_at, 200, records, document, stamp.visit)
        self.world.deliver(Address(owner, "importer"), Address(owner, "cell"), StorePage(page))

    def store_all(self) -> None:
        for content in range(CONTENTS):
            for host in range(content % 5 + 1):
                self.store(f"http://host{(content + 3 * host) % HOSTS}.site.test/{content}", text_of(content))

    def search(self, machine: Machine, text: str = "mesh") -> PagesFound | None:
        """Ask a machine; None when it does not answer."""
        self.answers.clear()
        machine.order(SearchPages(1, text, k=100, wants_facets=True))
        self.pass_time(5.0)
        return self.answers[0] if self.answers else None

    def contents_found(self, found: PagesFound) -> list[str]:
        return sorted(self.texts[hit.url] for hit in found.hits)

    def is_told(self, machine: Machine) -> bool:
        counts = copies_of(machine)
        return not any((counts.untold, counts.waiting, counts.unmarked, counts.store.unkept))

    def judge(self) -> None:
        """Each content is found once, whoever is asked, and `copies:all` finds all pages."""
        self.rest()
        contents = sorted(set(self.texts.values()))
        for machine in self.running:
            found = self.search(machine)
            assert found is not None
            assert found.coverage.missing == 0
            assert self.contents_found(found) == contents
            assert (found.total, found.is_exact) == (len(contents), True)
            assert found.facets is not None
            assert sum(n for _, n in found.facets.hosts) == len(contents)
            pages: dict[str, int] = defaultdict(int)
            for text in self.texts.values():
                pages[text] += 1
            assert {self.texts[hit.url]: hit.copies + 1 for hit in found.hits} == pages
            everything = self.search(machine, "mesh copies:all")
            assert everything is not None
            assert sorted(hit.url for hit in everything.hits) == sorted(self.texts)
            assert everything.total == len(self.texts)


def copies_of(machine: Machine) -> CopiesStatistics:
    return machine._statistics("copies", CopiesStatistics)


def test_of_pages_with_the_same_content_one_is_found_whatever_peers_they_are_on() -> None:
    mesh = Mesh(1, started=3)
    mesh.store_all()
    mesh.judge()
    # A page that says something else is found for it, and who stood for others leaves them to another.
    found = mesh.search(mesh.machines[0])
    assert found is not None
    for hit in found.hits[:4]:
        mesh.store(hit.url, "mesh something new")
    mesh.judge()
    for hit in found.hits[4:7]:
        mesh.store(hit.url, None)
    mesh.judge()


def test_copies_follow_slots_to_who_joins_and_from_who_leaves() -> None:
    mesh = Mesh(2, started=2)
    mesh.store_all()
    mesh.judge()
    mesh.machines[2].start()
    mesh.machines[3].start()
    mesh.pass_time(10.0)
    mesh.judge()
    mesh.machines[0].drain(is_draining=True)
    mesh.pass_time(10.0)
    mesh.judge()


@pytest.mark.parametrize("seed", range(2))
def test_under_faults_no_content_is_lost_and_in_the_end_each_is_found_once(seed: int) -> None:
    mesh = Mesh(100 + seed, started=4)
    mesh.store_all()
    mesh.judge()
    stable = {text_of(content) for content in range(CONTENTS // 2)}  # these pages stay as they are
    changing = sorted(url for url, text in mesh.texts.items() if text not in stable)
    mesh.network.set_loss(0.1)
    mesh.network.set_repetition(0.1)
    random, n_seen = mesh.random, 0
    for _ in range(12):
        victim = random.choice(mesh.machines)
        if not victim.is_up and random.random() < 0.8:
            victim.start()
        elif victim.is_running and len(mesh.running) > 3:
            victim.crash(is_power_loss=random.random() < 0.5)
        for url in random.sample(changing, 4):
            text = random.choice([text_of(random.randrange(CONTENTS // 2, CONTENTS + 3)), None])
            mesh.store(url, text)
        mesh.pass_time(random.choice([0.3, 2.0, 10.0]))
        found = mesh.search(random.choice(mesh.running))
        if found is not None and found.coverage.missing == 0 and found.coverage.slots == SLOTS:
            n_seen += 1
            assert stable <= {mesh.texts.get(hit.url, "") for hit in found.hits}
    assert n_seen > 3
    mesh.network.set_loss(0.0)
    mesh.network.set_repetition(0.0)
    for machine in mesh.machines:
        if not machine.is_up:
            machine.start()
    mesh.pass_time(30.0)
    # What a crash has swallowed before it was acknowledged is not what is judged here.
    for url, text in list(mesh.texts.items()):
        mesh.store(url, text)
    for url in set(changing) - set(mesh.texts):
        mesh.store(url, None)
    mesh.judge()
