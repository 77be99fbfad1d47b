"""A member that lives, answers whatever it is asked, and accepts no links: what the others do meanwhile."""

from __future__ import annotations

from typing import Any, Final

import pytest

from mesh.actor import Address, Message, Send
from peers.crawler.controller import Controller
from peers.crawler.outbox import BATCHES_UNDER_WAY
from peers.crawler.settings import CrawlSettings
from peers.crawler.wire_messages import LinksFound
from peers.gateway.messages import AddSeeds
from simulations.crawl import SimulatedCrawl
from simulations.web import SyntheticWeb, WebShape

DEAF: Final = "p2"
OTHERS: Final = ("p0", "p1")
IN_PROGRESS_MAX: Final = 10


class DeafCrawl(SimulatedCrawl):
    """A crawl by three peers of hosts that all link to each other; one of them hears no links at first."""

    def __init__(self, **limits: Any) -> None:
        settings = CrawlSettings(pages_in_progress_max=IN_PROGRESS_MAX, delay_s=0.5, **limits)
        web = SyntheticWeb(31, 400, WebShape(pages_per_host=20.0, outside_share=0.5))
        super().__init__(web, peers=3, seed=31, settings=settings)
        self.is_deaf = True
        hear = self.controller(DEAF).receive

        def hear_no_links(source: Address, message: Message, now: float) -> list[Send]:
            is_lost = self.is_deaf and isinstance(message, LinksFound) and source.peer in OTHERS
            return [] if is_lost and source.actor == "controller" else hear(source, message, now)

        self.controller(DEAF).receive = hear_no_links  # type: ignore[method-assign]

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
            for peer in OTHERS:
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


def test_others_crawl_on_with_little_in_memory_and_all_links_arrive_once_they_are_accepted() -> None:
    crawl = DeafCrawl()
    crawl.begin()
    crawl.run_for(120.0)
    seen = {peer: crawl.crawl_statistics()[peer] for peer in OTHERS}
    for statistics in seen.values():
        assert statistics.outbox > 0
        assert statistics.held_back > 0
        assert statistics.due == 0, "all that is known to it has been crawled"
        assert statistics.pages_stored > 50
        assert not statistics.is_held_up
    crawl.is_deaf = False
    crawl.run()
    assert all(statistics.outbox == 0 for statistics in crawl.crawl_statistics().values())
    assert crawl.judge().total == 0, crawl.judge()


@pytest.mark.parametrize("limits", [{"pages_held_back_max": 20}, {"outbox_links_max": 20}])
def test_others_stop_fetching_when_too_much_waits_and_go_on_where_they_were(limits: dict[str, int]) -> None:
    crawl = DeafCrawl(**limits)
    crawl.begin()
    crawl.run_for(60.0)
    before = crawl.crawl_statistics()
    crawl.run_for(60.0)
    for peer in OTHERS:
        statistics = crawl.crawl_statistics()[peer]
        assert statistics.is_held_up
        assert statistics.due > 0
        assert statistics.pages_stored == before[peer].pages_stored
        links_of_a_page = 100
        assert statistics.outbox <= limits.get("outbox_links_max", 10_000) + IN_PROGRESS_MAX * links_of_a_page
    crawl.is_deaf = False
    crawl.run()
    assert crawl.judge().total == 0, crawl.judge()
