"""Members that live, answer whatever they are asked, and accept no links: what the others do meanwhile."""

from __future__ import annotations

from typing import Any, Final

import pytest

from mesh.actors.actor import Address, Message, Send
from peers.crawler.controller import Controller
from peers.crawler.links.outbox import BATCHES_UNDER_WAY
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.wire_messages import LinksFound
from peers.gateway.model.messages import AddSeeds
from simulations.webs.web import SyntheticWeb, WebShape
from simulations.world.crawl import SimulatedCrawl

IN_PROGRESS_MAX: Final = 10
LIMITS: Final[tuple[dict[str, int], ...]] = ({"pages_held_back_max": 20}, {"outbox_links_max": 20}, {})


class DeafCrawl(SimulatedCrawl):
    """A crawl by three peers of hosts that all link to each other; some of them hear no links at first."""

    def __init__(self, *deaf: str, replicas: int = 2, **limits: Any) -> None:
        settings = CrawlSettings(pages_in_progress_max=IN_PROGRESS_MAX, delay_s=0.5, **limits)
        web = SyntheticWeb(31, 400, WebShape(pages_per_host=20.0, outside_share=0.5))
        super().__init__(web, peers=3, seed=31, replicas=replicas, settings=settings)
        self.deaf = set(deaf)
        self.others = [peer for peer in self.peers if peer not in deaf]
        for peer in deaf:
            self._make_deaf(peer)

    def _make_deaf(self, peer: str) -> None:
        hear = self.controller(peer).receive

        def hear_no_links(source: Address, message: Message, now: float) -> list[Send]:
            is_lost = peer in self.deaf and isinstance(message, LinksFound) and source.peer != peer
            return [] if is_lost and source.actor == "controller" else hear(source, message, now)

        self.controller(peer).receive = hear_no_links  # type: ignore[method-assign]

    def pages_of_others(self) -> int:
        """How many pages those that hear have stored."""
        return sum(self.crawl_statistics()[peer].pages_stored for peer in self.others)

    def controller(self, peer: str) -> Controller:
        controller = self.world.node(peer)._actors["controller"]
        assert isinstance(controller, Controller)
        return controller

    def begin(self) -> None:
        order = AddSeeds(ticket=1, urls=self.web.seeds)
        self.world.deliver(Address("p0", "http"), Address("p0", "searcher"), order)

    def run_for(self, seconds: float) -> None:
        """Go on, and see every second that what is in memory stays under the bounds."""
        for _ in range(round(seconds)):
            self.world.run(until=self.world.now + 1.0)
            for peer in self.others:
                self._check_memory(self.controller(peer))

    def _check_memory(self, controller: Controller) -> None:
        held_back = controller._settings.pages_held_back_max + 2 * IN_PROGRESS_MAX
        mirror, outbox = controller._mirror, controller._links._outbox
        assert outbox.batches_in_memory <= 2 * BATCHES_UNDER_WAY
        assert len(controller._store.held_back) <= held_back
        pledges = {id(pledge) for waiting in mirror._by_batch.values() for pledge in waiting}
        assert len(pledges) <= held_back
        assert len(mirror._by_batch) <= held_back * len(self.peers)
        assert not outbox._delivery._fresh, "the links of a batch stay in the table"


def test_others_crawl_on_with_little_in_memory_and_who_keeps_the_slots_gets_the_links() -> None:
    crawl = DeafCrawl("p2")
    crawl.begin()
    crawl.run_for(50.0)
    for peer in crawl.others:
        statistics = crawl.crawl_statistics()[peer]
        assert statistics.outbox > 0
        assert statistics.held_back > 0
        assert statistics.deaf == 0, "it may yet answer"
        assert not statistics.is_held_up
    crawl.run_for(60.0)
    for peer in crawl.others:
        statistics = crawl.crawl_statistics()[peer]
        assert statistics.deaf == 1
        assert statistics.outbox == 0
        assert statistics.held_back < 5, "those of the last seconds, whose links wait for company"
    crawl.run()
    assert crawl.judge().total == 0, crawl.judge()


@pytest.mark.parametrize("limits", LIMITS)
def test_others_crawl_as_fast_beside_a_deaf_member_as_beside_one_that_hears(limits: dict[str, int]) -> None:
    seconds = 150.0
    healthy, crawl = DeafCrawl(**limits), DeafCrawl("p2", **limits)
    healthy.others = crawl.others
    for each in (healthy, crawl):
        each.begin()
        each.run_for(seconds)
    assert crawl.pages_of_others() >= 0.9 * healthy.pages_of_others()
    assert not any(crawl.crawl_statistics()[peer].is_held_up for peer in crawl.others)
    crawl.run()
    assert crawl.judge().total == 0, crawl.judge()


def test_who_hears_again_is_sent_its_links_again() -> None:
    crawl = DeafCrawl("p2")
    crawl.begin()
    crawl.run_for(100.0)
    assert all(crawl.crawl_statistics()[peer].deaf == 1 for peer in crawl.others)
    crawl.deaf.clear()
    crawl.run_for(150.0)
    assert all(crawl.crawl_statistics()[peer].deaf == 0 for peer in crawl.others)
    crawl.run()
    assert crawl.judge().total == 0, crawl.judge()


@pytest.mark.parametrize("limits", LIMITS[:2])
def test_with_most_members_deaf_one_stops_fetching_and_goes_on_where_it_was(limits: dict[str, int]) -> None:
    crawl = DeafCrawl("p1", "p2", **limits)
    crawl.begin()
    crawl.run_for(60.0)
    before = crawl.crawl_statistics()["p0"]
    crawl.run_for(60.0)
    statistics = crawl.crawl_statistics()["p0"]
    assert statistics.is_held_up
    assert statistics.due > 0
    assert statistics.pages_stored == before.pages_stored
    links_of_a_page = 100
    assert statistics.outbox <= limits.get("outbox_links_max", 10_000) + IN_PROGRESS_MAX * links_of_a_page
    crawl.deaf.clear()
    crawl.run()
    assert crawl.judge().total == 0, crawl.judge()


def test_without_copies_what_is_for_a_deaf_member_waits_in_frontiers_and_is_offered() -> None:
    crawl = DeafCrawl("p2", replicas=1)
    crawl.begin()
    crawl.run_for(110.0)
    assert all(crawl.crawl_statistics()[peer].outbox == 0 for peer in crawl.others)
    crawl.run()
    assert crawl.judge().total == 0, crawl.judge()
