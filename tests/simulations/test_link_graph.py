"""The link graph of a mesh under faults: back-links are those that the pages have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from math import inf
from random import Random

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address
from mesh.urls import host_of
from peers.crawler.model.settings import CrawlSettings, Revisit
from peers.crawler.model.wire_messages import FoundLink
from peers.gateway.model.messages import AddSeeds
from peers.handover.item_store import Item
from peers.link_graph.link_graph import LinkGraphStatistics, MeshGraph
from peers.link_graph.target_row import SOURCES_MAX
from peers.link_graph.wire_messages import BacklinksListed, ListBacklinks
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.rules import OF_SEEDS, Action, Policy, Rule, policy_bytes
from simulations.faults.machine import Machine
from simulations.faults.stores.links import GraphUse
from simulations.faults.stores.store_use import unequal_rows
from simulations.webs.web import Served, SyntheticWeb, WebShape
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.world import World
from tests.simulations.machines import PlayedMesh

SLOTS = 32
REST_S = 400.0
KEPT = LinkGraphRules()
SHAPE = WebShape(
    pages_per_host=12.0,
    size_exponent=0.2,
    dead_hosts_share=0.0,
    slow_hosts_share=0.0,
    missing_share=0.0,
    redirect_share=0.0,
    forbidden_share=0.0,
    crawl_delay_share=0.0,
    has_domains=True,
)
SETTINGS = CrawlSettings(
    delay_s=1.0, revisit=Revisit.FIXED, revisit_after_s=60.0, gone_visits=1, gone_after_s=0.0
)

Links = dict[str, dict[str, str]]  # by target: texts by source


class LinkedWeb(SyntheticWeb):
    """A web with pages that can be changed to link elsewhere, or be taken away."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, 120, SHAPE)
        self.gone: set[str] = set()
        self.turned: dict[str, str] = {}  # pages that link to one page alone
        self.served: set[str] = set()

    def serve(self, url: str) -> Served:
        served = super().serve(url)
        if url in self.gone:
            return served._replace(status=404)
        if served.status == 200 and not url.endswith("/robots.txt"):
            self.served.add(url)
            return served._replace(body=f"version {self.turned.get(url, '')}".encode())
        return served

    def links(self, url: str) -> tuple[FoundLink, ...]:
        if url in self.turned:
            return (FoundLink(self.turned[url], "turned"),)
        return super().links(url)

    def expected(self) -> Links:
        """The links that all pages have by now, by their targets."""
        found: Links = defaultdict(dict)
        for url in self.served - self.gone:
            for link in self.links(url):
                if link.url != url and not found[link.url].get(url):
                    found[link.url][url] = link.anchor
        return {url: sources for url, sources in found.items() if sources}


class Mesh(PlayedMesh):
    """Machines with two copies of everything that crawl a web for ever."""

    def __init__(
        self,
        machines: int = 3,
        seed: int = 5,
        started: int = 9,
        rules: LinkGraphRules | None = KEPT,
        settings: CrawlSettings = SETTINGS,
        slot_count: int = SLOTS,
    ) -> None:
        self.random = Random(seed)
        self.network = Network(random_of(seed, "network"))
        self.world = World(self.network, start_s=1_000.0)
        self.members = Members(seed, machines, replicas=2, slot_count=slot_count)
        self.web = LinkedWeb(seed)
        self.policies = 0
        self.begin(machines, self.web, settings, started=started)
        self.pass_time(20.0)
        self.obey(rules)
        self.running[0].order(AddSeeds(1, self.web.seeds))

    def obey(self, rules: LinkGraphRules | None, *first: Rule) -> None:
        """Publish a policy, and wait until all that are reached have heard of it."""
        self.policies += 1
        policy = Policy(rules=(*first, *OF_SEEDS.rules), link_graph=rules)
        self.running[0].publish(self.members.policy(self.policies, policy_bytes(policy)))
        self.pass_time(10.0)

    def graph(self, machine: Machine) -> MeshGraph:
        graph = self.world.node(machine.peer).actor("link_graph")
        assert isinstance(graph, MeshGraph)
        return graph

    def rows(self, machine: Machine) -> list[Item]:
        graph = self.graph(machine)
        return [] if graph.is_dormant else graph._store.items_after(b"", 1_000_000)

    def listed(self, machine: Machine, url: str) -> BacklinksListed:
        asker = Address(machine.peer, "searcher")
        sends = self.graph(machine).receive(asker, ListBacklinks(1, url), self.world.now)
        [answer] = [send.message for send in sends if isinstance(send.message, BacklinksListed)]
        return answer

    def found(self) -> Links:
        """The back-links of all pages, as the owners of their slots tell them."""
        found: Links = {}
        for url in sorted({*self.web.expected(), *self.web.served, *self.web.gone}):
            for machine in self.running:
                assert machine.ownership is not None
                if machine.ownership.owner_of(machine.ownership.slot_of(host_of(url))) == machine.peer:
                    answer = self.listed(machine, url)
                    assert answer.n_links == answer.n_kept == len(answer.links)
                    if answer.links:
                        found[url] = {link.url: link.text for link in answer.links}
        return found

    def settle(self, expected: Links | None = None) -> None:
        """Wait until the back-links are those that the pages say, and all copies are alike."""
        until = self.world.now + REST_S
        while not (self._is_told() and self.found() == (expected or self.web.expected())):
            self.pass_time(10.0)
            if self.world.now >= until:
                assert self.found() == (expected or self.web.expected())
                assert [self.graph(each).observe() for each in self.running] == []
        # Visits go on, and with each the row of a page is on its way to the others for a moment.
        while odd := list(unequal_rows(self.running, GraphUse.rows)):
            self.pass_time(0.7)
            assert self.world.now < until, odd

    def _is_told(self) -> bool:
        for machine in self.running:
            seen = self.graph(machine).observe()
            if not isinstance(seen, LinkGraphStatistics) or seen.untold or seen.store.unkept:
                return False
        return True


def messages_of_the_graph(mesh: Mesh) -> Iterator[str]:
    return (kind for kind in mesh.world.traffic.sent if kind.startswith("Graph"))


@pytest.mark.parametrize("machines", [1, 3])
def test_back_links_are_what_the_pages_say(machines: int) -> None:
    mesh = Mesh(machines)
    mesh.pass_time(60.0)
    mesh.settle()
    assert len(mesh.web.served) > 60
    assert len(mesh.found()) > 60
    assert max(map(len, mesh.found().values())) < SOURCES_MAX


def test_without_a_graph_in_the_policy_nothing_is_kept_nor_sent() -> None:
    mesh = Mesh(2, rules=None)
    mesh.pass_time(60.0)
    assert len(mesh.web.served) > 20
    assert [mesh.rows(machine) for machine in mesh.running] == [[], []]
    assert all(mesh.graph(machine).is_dormant for machine in mesh.running)
    assert list(messages_of_the_graph(mesh)) == []
    assert "link_graph" not in {name for machine in mesh.running for name in machine.handover().wanted}
    assert not mesh.listed(mesh.running[0], mesh.web.seeds[0]).is_on


def test_links_go_with_the_pages_that_change_vanish_or_are_taken_down() -> None:
    mesh = Mesh(2)
    mesh.pass_time(60.0)
    mesh.settle()
    changed, gone, hidden = sorted(mesh.web.served)[5:20:5]
    target = mesh.web.seeds[1]
    mesh.web.turned[changed] = target
    mesh.web.gone.add(gone)
    mesh.pass_time(90.0)
    mesh.settle()
    assert mesh.found()[target][changed] == "turned"
    mesh.obey(KEPT, Rule(action=Action.TAKE_DOWN, urls=(hidden,)))
    left = {
        url: kept
        for url, sources in mesh.web.expected().items()
        if url != hidden and (kept := {each: text for each, text in sources.items() if each != hidden})
    }
    mesh.settle(left)
    mesh.obey(None)
    mesh.pass_time(10.0)
    assert [mesh.rows(machine) for machine in mesh.running] == [[], []]


@pytest.mark.parametrize("seed", [5, 6])
def test_under_loss_crashes_and_hand_overs_back_links_are_what_the_pages_say(seed: int) -> None:
    mesh = Mesh(5, seed=seed, started=4)
    mesh.network.set_loss(0.1)
    mesh.network.set_repetition(0.2)
    pages = sorted(mesh.web.served)
    for number in range(12):
        victim = mesh.random.choice(mesh.machines[1:])
        if not victim.is_up:
            victim.start()
        elif len(mesh.running) > 3:
            victim.crash(is_power_loss=mesh.random.random() < 0.5)
        pages = sorted(mesh.web.served)
        if pages:
            page = mesh.random.choice(pages)
            if number % 3:
                mesh.web.turned[page] = mesh.random.choice(mesh.web.seeds)
            elif page not in mesh.web.seeds:
                mesh.web.gone.add(page)
        mesh.pass_time(mesh.random.choice([0.3, 5.0, 20.0]))
    mesh.network.set_loss(0.0)
    mesh.network.set_repetition(0.0)
    for machine in mesh.machines:
        if not machine.is_up:
            machine.start()
    mesh.pass_time(120.0)
    mesh.settle()


@pytest.mark.parametrize("seed", [7, 8])
def test_of_pages_that_are_visited_once_no_link_is_lost_when_their_owner_dies(seed: int) -> None:
    once = replace(SETTINGS, revisit_after_s=inf)
    mesh = Mesh(4, seed=seed, settings=once)
    mesh.network.set_loss(0.2)
    for _ in range(8):
        mesh.pass_time(mesh.random.choice([0.5, 1.0, 2.0]))
        victim = mesh.random.choice(mesh.machines[1:])
        victim.crash(is_power_loss=mesh.random.random() < 0.5)
        mesh.pass_time(mesh.random.choice([5.0, 15.0]))
        victim.start()
        mesh.pass_time(mesh.random.choice([5.0, 15.0]))
    mesh.network.set_loss(0.0)
    mesh.pass_time(120.0)
    mesh.settle()
    assert len(mesh.web.served) > 60


def test_rows_follow_their_slots_when_one_is_wiped_and_one_leaves() -> None:
    mesh = Mesh(3)
    mesh.pass_time(60.0)
    mesh.settle()
    mesh.machines[1].crash(is_power_loss=True)
    mesh.machines[1].wipe()
    mesh.pass_time(20.0)
    mesh.machines[1].start()
    mesh.pass_time(30.0)
    mesh.settle()
    mesh.machines[2].leave(lambda: None)
    mesh.pass_time(120.0)
    assert len(mesh.running) == 2
    mesh.settle()


def test_links_to_a_page_that_was_taken_down_come_back_with_it() -> None:
    mesh = Mesh(2)
    mesh.pass_time(60.0)
    mesh.settle()
    hidden = max(mesh.web.expected(), key=lambda url: len(mesh.web.expected()[url]))
    mesh.obey(KEPT, Rule(action=Action.TAKE_DOWN, urls=(hidden,)))
    mesh.pass_time(120.0)
    assert hidden not in mesh.found()
    since = datetime.fromtimestamp(mesh.world.now, UTC)
    mesh.obey(replace(KEPT, since=since))
    mesh.pass_time(120.0)
    mesh.settle()
    assert len(mesh.found()[hidden]) > 3
