"""A host that dies for long, and comes back, in a whole crawl."""

from __future__ import annotations

from mesh.urls import host_of
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.web_request import FailureReason
from simulations.webs.web import Served, SyntheticWeb, WebShape
from simulations.world.crawl import SimulatedCrawl

SETTINGS = CrawlSettings(
    delay_s=1.0,
    revisit_after_s=300.0,
    robots_ttl_s=100.0,
    give_up_s=100.0,
    backoff_s=10.0,
    lost_after_s=2_000.0,
)


class MortalWeb(SyntheticWeb):
    """A web of which one host has no address for a while."""

    dead = ""

    def serve(self, url: str) -> Served:
        return (
            Served(0, 0.1, 0, failure=FailureReason.DNS) if host_of(url) == self.dead else super().serve(url)
        )


def test_the_pages_of_a_dead_host_leave_every_index_after_the_grace_and_come_back_with_it() -> None:
    web = MortalWeb(21, 90, WebShape(pages_per_host=30.0))
    run = SimulatedCrawl(web, peers=3, seed=21, settings=SETTINGS)
    run.run_for(900.0)

    def found() -> set[str]:
        """Pages that are in the index of their owner, and of the standby."""
        lists = [
            [url for url in index.urls if peer in run._team_of(url)] for peer, index in run.indexes.items()
        ]
        assert sorted(url for each in lists for url in each) == sorted(2 * [*set().union(*lists)])
        return set().union(*lists)

    all_pages = found()
    assert len(all_pages) == 90
    web.dead = host_of(web.seeds[0])
    theirs = {url for url in all_pages if host_of(url) == web.dead}
    assert len(theirs) > 20
    run.world.run(until=run.world.now + 1_900.0)
    assert found() == all_pages, "not before the grace has passed"
    run.world.run(until=run.world.now + 1_000.0)
    assert found() == all_pages - theirs
    web.dead = ""
    run.world.run(until=run.world.now + 400.0)
    assert found() == all_pages
