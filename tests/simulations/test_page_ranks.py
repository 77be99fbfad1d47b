"""The peers of a mesh rank its pages as power iteration does, under faults."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import inf

import numpy as np
import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address
from mesh.stamp import Stamp
from mesh.urls import fingerprint, host_of
from peers.crawler.model.messages import PageLinked, PagesLinked
from peers.crawler.model.wire_messages import FoundLink
from peers.link_graph.link_graph import LinkGraphStatistics
from peers.link_graph.rank_work import GIVEN_MAX, PAGES_MIN
from peers.link_graph.slot_ranks import DAMPING
from peers.link_graph.wire_messages import (
    STATEMENT_NUMBER_MAX,
    ListRanks,
    RanksListed,
    RanksTold,
    SumsPart,
)
from peers.policy.graph_rules import LinkGraphRules
from simulations.faults.machine import Machine
from simulations.link_graphs.drawn_graph import DrawnGraph, drawn_graph
from simulations.link_graphs.graph import graph_of
from simulations.link_graphs.ranks import distance, exact_ranks, tau_of_top
from simulations.traces.columns import Floats
from tests.simulations.test_link_graph import SETTINGS, SLOTS, Mesh

RANKED = LinkGraphRules(ranks=True)
REST_S = 600.0


class RankingMesh(Mesh):
    """Machines that rank the pages of a web that they crawl, or of a graph that they are told."""

    def rank(self, url: str) -> float | None:
        """Return the rank of a page at the owner of its slot."""
        for machine in self.running:
            view = machine.ownership
            assert view is not None
            slot = view.slot_of(host_of(url))
            if view.owner_of(slot) == machine.peer:
                ranks = self.graph(machine)._ranks
                return None if ranks is None else ranks.rank_of(slot, fingerprint(url))
        return None

    def is_at_rest(self) -> bool:
        ranks = [self.graph(machine)._ranks for machine in self.running]
        return all(each is not None and each.is_settled for each in ranks)

    def rest(self) -> None:
        """Wait until no peer has anything to work out or to tell."""
        until = self.world.now + REST_S
        while not self.is_at_rest():
            self.pass_time(5.0)
            assert self.world.now < until, [self.graph(machine).observe() for machine in self.running]

    def ranked(self, machine: Machine, most: int = 1_000) -> RanksListed:
        asker = Address(machine.peer, "searcher")
        [send] = self.graph(machine).receive(asker, ListRanks(1, most), self.world.now)
        assert isinstance(send.message, RanksListed)
        return send.message


def test_a_web_that_is_crawled_is_ranked_as_power_iteration_does() -> None:
    mesh = RankingMesh(3, rules=RANKED)
    mesh.pass_time(60.0)
    mesh.settle()
    mesh.rest()
    urls = sorted({*mesh.web.served, *mesh.web.expected()})
    number = {url: at for at, url in enumerate(urls)}
    links = [
        (number[source], number[target])
        for target, sources in mesh.web.expected().items()
        for source in sources
    ]
    source, target = np.array(sorted(links)).T
    exact = exact_ranks(graph_of(len(urls), source, target))
    found = np.array([mesh.rank(url) or 0.0 for url in urls])
    assert distance(found, exact) < 1e-3
    assert tau_of_top(found, exact) > 0.99


class ToldMesh(RankingMesh):
    """Machines that are told of the pages of a graph, as if they had visited them."""

    def __init__(
        self,
        machines: int,
        seed: int,
        started: int = 9,
        page_count: int = 1_200,
        graph: DrawnGraph | None = None,
        rules: LinkGraphRules = RANKED,
        slot_count: int = SLOTS,
    ) -> None:
        """Begin; without a graph one of so many pages is drawn."""
        once = replace(SETTINGS, revisit_after_s=inf)
        super().__init__(machines, seed, started, rules, once, slot_count)
        self.told, host = graph or drawn_graph(page_count, 40, seed)
        self.urls = [f"http://h{number}.example/{page}" for page, number in enumerate(host.tolist())]
        self.visits = [1] * len(self.urls)
        self.tell(range(len(self.urls)))

    def tell(self, pages: Iterable[int]) -> None:
        """Tell the owners of these pages of their links, as far as they run."""
        by_owner: dict[str, list[PageLinked]] = defaultdict(list)
        view = self.running[0].ownership
        assert view is not None
        starts = self.told.starts
        for page in pages:
            url, targets = self.urls[page], self.told.target[starts[page] : starts[page + 1]].tolist()
            links = tuple(FoundLink(self.urls[target], "") for target in targets)
            slot = view.slot_of(host_of(url))
            stamp = Stamp(self.visits[page], 1_000.0 + self.visits[page])
            by_owner[view.owner_of(slot) or ""].append(PageLinked(url, slot, stamp, "", links))
        for machine in self.running:
            for at in range(0, len(by_owner[machine.peer]), 100):
                some = tuple(by_owner[machine.peer][at : at + 100])
                source, target = (Address(machine.peer, name) for name in ("controller", "link_graph"))
                self.world.deliver(source, target, PagesLinked(some))

    def change_links(self, share: float) -> list[int]:
        """Have this share of the links lead elsewhere, half of them to nowhere; return their pages."""
        random = np.random.default_rng(self.random.getrandbits(32))
        graph = self.told
        changed = random.random(graph.link_count) < share
        target = np.where(changed, random.permutation(graph.target), graph.target)
        stays = ~(changed & (random.random(graph.link_count) < 0.5))
        self.told = graph_of(graph.page_count, graph.source[stays], target[stays])
        pages = sorted(set(graph.source[changed].tolist()))
        for page in pages:
            self.visits[page] += 1
        self.tell(pages)
        return pages

    def found_ranks(self) -> Floats:
        return np.array([self.rank(url) or 0.15 for url in self.urls])

    def check(self) -> None:
        """Wait for rest, and compare with power iteration."""
        self.rest()
        found, exact = self.found_ranks(), exact_ranks(self.told)
        assert distance(found, exact) < 1e-3
        assert tau_of_top(found, exact) > 0.99


@pytest.mark.parametrize("machines", [1, 3, 8])
def test_ranks_are_exact_after_crashes_hand_overs_losses_and_changed_links(machines: int) -> None:
    mesh = ToldMesh(machines, seed=machines, started=max(1, machines - 1))
    mesh.check()
    mesh.network.set_loss(0.1)
    mesh.network.set_repetition(0.2)
    mesh.change_links(0.05)
    mesh.pass_time(3.0)
    if not mesh.machines[-1].is_up:
        mesh.machines[-1].start()  # slots are handed over to it
    mesh.pass_time(20.0)
    for victim in mesh.machines[: 1 + machines // 3]:
        mesh.pass_time(mesh.random.choice([0.5, 5.0, 20.0]))
        victim.crash(is_power_loss=True)
        mesh.pass_time(mesh.random.choice([0.5, 30.0]))
        victim.start()
        mesh.pass_time(20.0)
    mesh.change_links(0.05)
    mesh.pass_time(60.0)
    mesh.network.set_loss(0.0)
    mesh.network.set_repetition(0.0)
    mesh.pass_time(120.0)
    mesh.tell(range(len(mesh.urls)))  # what an owner had not stored when it died is visited again
    mesh.pass_time(5.0)
    mesh.check()


def test_a_member_that_invents_rank_is_bounded_and_leaves_no_trace() -> None:
    mesh = ToldMesh(4, seed=2, page_count=600)
    mesh.check()
    liar, victim = mesh.machines[1], mesh.machines[2]
    view = mesh.machines[0].ownership
    assert view is not None
    slots = [slot for slot in range(view.table.slot_count) if view.owner_of(slot) == liar.peer]
    wanted = next(url for url in mesh.urls if view.owner_of(view.slot_of(host_of(url))) == victim.peer)
    name = fingerprint(wanted)[:8]
    lie = np.array([1e15], ">f4").tobytes()
    parts = tuple(
        SumsPart(slot, view.slot_of(host_of(wanted)), STATEMENT_NUMBER_MAX, names=name, values=lie)
        for slot in slots
    )
    mesh.world.distrust(liar.peer)
    mesh.world.forge(liar.peer, Address(victim.peer, "link_graph"), RanksTold(parts))
    mesh.pass_time(60.0)
    n_pages = 600 * view.table.slots_of(victim.peer).mean()
    most = GIVEN_MAX * DAMPING * (PAGES_MIN + 2 * n_pages) * len(slots) / view.table.slot_count
    lied = mesh.rank(wanted)
    assert lied is not None
    assert lied > 100.0
    assert mesh.found_ranks().sum() < exact_ranks(mesh.told).sum() + most / (1 - DAMPING)
    seen = mesh.graph(victim).observe()
    assert isinstance(seen, LinkGraphStatistics)
    assert seen.clipped == 1
    liar.crash()
    liar.wipe()
    mesh.pass_time(120.0)
    mesh.tell(range(600))
    mesh.check()
