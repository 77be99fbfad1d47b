"""A site with several names is crawled once; hosts that only look like other names lose nothing."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from mesh.table import TableSection
from mesh.urls import host_of
from peers.actors import CONTROLLER_SECTION
from peers.crawler.controller import FRONTIER_SECTION
from peers.crawler.host_samples import HostSamples
from peers.crawler.settings import CrawlSettings
from simulations.aliased_web import HOSTS, LOOK_ALIKES, NAMES, SITE, AliasedWeb, MarkingParser
from simulations.checks import duplicates, impolite
from simulations.crawl import SimulatedCrawl

SETTINGS = CrawlSettings(delay_s=1.0)
N_OTHERS = 40


def pages_of(run: SimulatedCrawl) -> Counter[str]:
    """How many pages were asked for under each name, each counted once."""
    return Counter(host_of(url) for url in {request.url for request in run.log if request.status == 200})


def paths_of_site(run: SimulatedCrawl) -> set[str]:
    asked = [request.url for request in run.log if request.status == 200 and host_of(request.url) in NAMES]
    return {url[url.index("/", 8) :] for url in asked}


@pytest.mark.parametrize("peers", [1, 3])
def test_a_site_with_three_names_is_crawled_once_and_look_alikes_wholly(peers: int) -> None:
    web = AliasedWeb(300, N_OTHERS)
    run = SimulatedCrawl(
        web, peers=peers, seed=1, settings=SETTINGS, parser=MarkingParser, has_documents=False
    )
    run.run()
    pages = pages_of(run)
    assert {host: pages[host] for host in LOOK_ALIKES} == dict.fromkeys(LOOK_ALIKES, N_OTHERS)
    assert pages[SITE] == 300
    assert sum(pages[name] for name in NAMES) < 1.5 * 300, "until it is known, and a few ever after"
    assert sum(each.aliases for each in run.crawl_statistics().values()) == len(NAMES) - 1
    assert impolite(run.log, lambda _: SETTINGS.delay_s) == duplicates(run.log) == []


def test_nothing_of_a_site_is_lost_and_all_agree_though_peers_are_killed() -> None:
    web, peers = AliasedWeb(120, 20), ("p0", "p1", "p2")
    run = SimulatedCrawl(
        web,
        peers=3,
        seed=1,
        settings=SETTINGS,
        parser=MarkingParser,
        crashing=peers,
        has_documents=False,
    )
    for number in range(9):
        run.plan_crash(f"p{number % 3}", 15.0 + 11.0 * number, 4.0)
    run.run()
    pages = pages_of(run)
    assert {host: pages[host] for host in LOOK_ALIKES} == dict.fromkeys(LOOK_ALIKES, 20)
    assert len(paths_of_site(run)) == 120
    assert sum(pages[name] for name in NAMES) < 2.5 * 120
    for host in HOSTS:
        told = {representative_of(run, peer, host) for peer in run.table.team_of(run._slot_of(host))}
        assert len(told) == 1, "the team of a host has one judgement"
        assert told == {""} or host in NAMES[1:]


def representative_of(run: SimulatedCrawl, peer: str, host: str) -> str:
    section = TableSection(TableSection(run._tables[peer], CONTROLLER_SECTION), FRONTIER_SECTION)
    return HostSamples(section).representative_of(host, run._slot_of(host))


def test_a_name_that_becomes_a_site_of_its_own_is_crawled_as_one() -> None:
    """What was stored of it is visited again, and is another; what was left to the first name comes back."""
    name = "www.one.test"
    web = AliasedWeb(60, hosts=(SITE, name))
    settings = msgspec.structs.replace(SETTINGS, revisit_after_s=20_000.0)
    run = SimulatedCrawl(web, peers=1, seed=1, settings=settings, parser=MarkingParser, has_documents=False)
    run.run_for(900.0)
    assert pages_of(run)[name] < 60
    assert sum(each.aliases for each in run.crawl_statistics().values()) == 1
    web.split = frozenset((name,))
    run.world.run(until=run.world.now + 110_000.0)
    assert sum(each.aliases for each in run.crawl_statistics().values()) == 0
    assert pages_of(run)[name] == 60
