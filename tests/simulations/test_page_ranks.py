"""The peers of a mesh rank its pages as power iteration does, under faults."""

from __future__ import annotations

import numpy as np

from mesh.actors.actor import Address
from mesh.urls import fingerprint, host_of
from peers.link_graph.wire_messages import ListRanks, RanksListed
from peers.policy.graph_rules import LinkGraphRules
from simulations.faults.machine import Machine
from simulations.link_graphs.graph import graph_of
from simulations.link_graphs.ranks import distance, exact_ranks, tau_of_top
from tests.simulations.test_link_graph import Mesh

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
