"""Three members with a limit of pages for all of them together."""

from __future__ import annotations

from peers.crawler.model.settings import CrawlSettings
from peers.gateway.model.messages import AddSeeds
from peers.policy.rules import EVERYTHING, Policy, policy_bytes
from simulations.webs.web import SyntheticWeb, WebShape
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.world import World
from tests.simulations.machines import PlayedMesh

SEED, PEERS = 11, 3
PAGES_MAX, MORE = 120, 180


class Mesh(PlayedMesh):
    """Machines that crawl one web, and what they have visited."""

    def __init__(self, settings: CrawlSettings | None = None) -> None:
        self.world = World(Network(random_of(SEED, "network")), start_s=1_000.0)
        self.members = Members(SEED, PEERS, replicas=2, slot_count=64)
        self.visited_s: dict[str, list[float]] = {}  # by URL
        self.visits = 0
        self.web = SyntheticWeb(SEED, pages=500, shape=WebShape(pages_per_host=20.0, dead_hosts_share=0.0))
        settings = settings or CrawlSettings(delay_s=0.2)
        self.begin(PEERS, self.web, settings, fetched=lambda _, url, __: self._count(url))
        self.pass_time(10.0)

    def _count(self, url: str) -> None:
        self.visits += not url.endswith("/robots.txt")
        self.visited_s.setdefault(url, []).append(self.world.now)

    def limit(self, pages_max: int, number: int) -> None:
        policy = Policy(rules=EVERYTHING.rules, pages_max=pages_max)
        self.machines[0].publish(self.members.policy(number, policy_bytes(policy)))
        self.pass_time(1.0)

    def is_at_rest(self) -> bool:
        return all(machine.crawl().is_idle for machine in self.machines)


def test_mesh_stops_near_its_limit_loses_nothing_and_goes_on_when_it_is_raised() -> None:
    mesh = Mesh()
    mesh.limit(PAGES_MAX, 1)
    mesh.machines[1].order(AddSeeds(1, mesh.web.seeds))
    mesh.pass_time(40.0)
    assert PAGES_MAX - PEERS < mesh.visits <= PAGES_MAX + PEERS
    assert {machine.crawl().pages_max for machine in mesh.machines} == {PAGES_MAX}
    assert mesh.is_at_rest()
    queued = sum(machine.crawl().queued for machine in mesh.machines)
    assert queued > 0
    mesh.pass_time(20.0)
    assert mesh.visits <= PAGES_MAX + PEERS
    mesh.limit(MORE, 2)
    mesh.pass_time(40.0)
    assert MORE - PEERS < mesh.visits <= MORE + PEERS
