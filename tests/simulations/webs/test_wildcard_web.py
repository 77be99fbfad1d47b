"""Names under a wildcard cost nothing: they must not cost others anything either."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import msgspec
import pytest

from mesh.urls import canonical, host_of
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.web_request import FailureReason
from peers.policy.rules import EVERYTHING
from simulations.webs.wildcard_web import WildcardShape, WildcardWeb, is_of_trap
from simulations.world.checks import impolite, reachable
from simulations.world.crawl import SimulatedCrawl

SITES, PAGES, NAMES = 24, 20, 600
# However late an answer comes, the pause after it is the same: these tests count turns.
EVEN = CrawlSettings(delay_s=2.0, delay_factor=0.0)
SETTINGS = msgspec.structs.replace(EVEN, fetches_in_flight_max=20, fetches_per_domain_max=5)
QUIET = WildcardShape(sites=SITES, pages_per_site=PAGES, trap_pages=0)
# The trap answers as late as it may, and from as many names as could keep 20 fetchers busy for hours.
TRAP = WildcardShape(
    sites=SITES, pages_per_site=PAGES, trap_pages=3, names_per_trap_page=NAMES // 3, trap_seconds=29.0
)


def test_every_page_can_be_reached() -> None:
    web = WildcardWeb(TRAP)
    pages = list(reachable(web))
    assert len(pages) == web.pages
    assert len({host_of(url) for url in pages if is_of_trap(url)}) == NAMES + 1
    assert [canonical(url) for url in pages] == pages


@pytest.mark.parametrize("peers", [1, 3])
def test_sites_get_their_pages_crawled_beside_a_wildcard_domain_as_fast_as_without_it(peers: int) -> None:
    """Before turns went by domains each site had given a single page after an hour."""
    quiet = SimulatedCrawl(WildcardWeb(QUIET), peers=peers, seed=1, settings=SETTINGS, policy=EVERYTHING)
    quiet.run()
    seconds = max(request.until_s for request in quiet.log if request.status == 200)
    beside = SimulatedCrawl(WildcardWeb(TRAP), peers=peers, seed=1, settings=SETTINGS, policy=EVERYTHING)
    beside.run_for(1.2 * seconds + 5.0)
    pages = Counter(host_of(request.url) for request in beside.log if request.status == 200)
    assert {host: count for host, count in pages.items() if host.startswith("site")} == {
        f"site{number}.test": PAGES for number in range(SITES)
    }
    trapped = [request for request in beside.log if is_of_trap(request.url)]
    assert len(trapped) > seconds / 29.0, "what sites leave, the domain may have"
    assert impolite(beside.log, lambda _: SETTINGS.delay_s) == []


def test_a_machine_behind_many_names_is_asked_one_thing_at_a_time_after_the_delay() -> None:
    """Of 300 names at one address 200 were asked at once."""
    shape = WildcardShape(
        sites=1, trap_pages=1, names_per_trap_page=300, trap_seconds=0.5, trap_ips=("203.0.113.7",)
    )
    run = SimulatedCrawl(WildcardWeb(shape), peers=1, seed=1, settings=EVEN, policy=EVERYTHING)
    run.run_for(900.0)
    asked = sorted((request.at_s, request.until_s) for request in run.log if is_of_trap(request.url))
    gaps = [after[0] - before[1] for before, after in pairwise(asked)]
    assert min(gaps) >= run.settings.delay_s - 1e-6
    assert len(asked) > 0.8 * 900.0 / (run.settings.delay_s + shape.trap_seconds), "no turn is lost for long"
    (statistics,) = run.crawl_statistics().values()
    assert statistics.fetch_status[FailureReason.ADDRESS_BUSY] < 10 * len(asked)
    assert len({host_of(request.url) for request in run.log if is_of_trap(request.url)}) > 150


def test_peers_together_ask_three_machines_behind_300_names_one_thing_each_as_often_as_the_delay_allows() -> (
    None
):
    """Of 300 names at one address with owners on five peers five were asked in each delay."""
    ips = ("203.0.113.7", "203.0.113.8", "203.0.113.9")
    shape = WildcardShape(sites=1, trap_pages=1, names_per_trap_page=300, trap_seconds=0.5, trap_ips=ips)
    web = WildcardWeb(shape)
    run = SimulatedCrawl(web, peers=5, seed=1, settings=EVEN, policy=EVERYTHING)
    run.run_for(200.0)
    for ip in ips:
        asked = sorted(request for request in run.log if web.serve(request.url).ip == ip)
        assert len({request.peer for request in asked}) == 5
        gaps = [after.at_s - before.until_s for before, after in pairwise(asked)]
        assert min(gaps) >= run.settings.delay_s - 1e-6, "so never two at a time, all peers together"
        turn_s = run.settings.delay_s + shape.trap_seconds
        seconds = asked[-1].at_s - asked[0].at_s
        assert len(asked) > 0.97 * seconds / turn_s, "no turns that nobody has"
