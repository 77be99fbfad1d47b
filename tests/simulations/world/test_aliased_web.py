"""A site with several names is crawled once; hosts that only look like other names lose nothing."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from mesh.actors.actor import Address, Message
from mesh.tables.table import TableSection
from mesh.urls import host_of
from peers.actors import CONTROLLER_SECTION
from peers.crawler.aliases.aliases import Aliases
from peers.crawler.aliases.host_samples import HostSamples
from peers.crawler.controller import FRONTIER_SECTION
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.wire_messages import HOMES_MAX, HomesTold, MarksTold
from simulations.world.aliased_web import HOSTS, LOOK_ALIKES, NAMES, SITE, AliasedWeb, MarkingParser
from simulations.world.checks import duplicates, impolite
from simulations.world.crawl import SimulatedCrawl

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


class AliasLiar:
    """A member that calls all hosts names of each other, and says of its own what others have."""

    def __init__(self, run: SimulatedCrawl, peer: str, until_s: float) -> None:
        self._run, self._peer, self._until_s = run, peer, until_s
        run.world.distrust(peer)
        run.world.twist(peer, self._twisted)
        self._bring_together()

    def _aliases_of(self, peer: str) -> Aliases:
        actor = self._run.world.node(peer).actor(Aliases.name)
        assert isinstance(actor, Aliases)
        return actor

    def _twisted(self, source: Address, target: Address, message: Message) -> Message:
        """Say of pages at a host of its own what who asks has seen at another."""
        if not isinstance(message, MarksTold) or self._run.world.now >= self._until_s:
            return message
        question = self._aliases_of(target.peer)._asked.get(message.number)
        marks = message.marks if question is None else tuple(page.mark for page in question.pages)
        return MarksTold(message.number, marks)

    def _bring_together(self) -> None:
        world = self._run.world
        if world.now >= self._until_s:
            return
        for peer in set(self._run.peers) - {self._peer}:
            for host, mark in self._aliases_of(peer)._told.items():
                told = HomesTold(host, mark, HOSTS[:HOMES_MAX])
                world.forge(self._peer, Address(peer, Aliases.name), told)
        world.plan(world.now + 5.0, self._bring_together)


def test_a_member_that_calls_hosts_aliases_stops_no_other_domain_and_its_own_for_a_while() -> None:
    """It crawls `two.test`, to which `www.two.test` is left until visits say that these are two sites."""
    web, until_s = AliasedWeb(30, N_OTHERS), 1_000.0
    settings = msgspec.structs.replace(SETTINGS, revisit_after_s=50_000.0)
    run = SimulatedCrawl(web, peers=2, seed=1, settings=settings, parser=MarkingParser, has_documents=False)
    liar = run.table.owner_of(run._slot_of("two.test"))
    assert liar is not None
    AliasLiar(run, liar, until_s)
    run.run_for(until_s)
    others = [host for host in LOOK_ALIKES if not host.endswith("two.test")]
    pages = pages_of(run)
    assert {host: pages[host] for host in others} == dict.fromkeys(others, N_OTHERS)
    assert pages["www.two.test"] + pages["two.test"] < 2 * N_OTHERS, "the lie is believed"
    run.world.run(until=run.world.now + 110_000.0)
    pages = pages_of(run)
    assert {host: pages[host] for host in LOOK_ALIKES} == dict.fromkeys(LOOK_ALIKES, N_OTHERS)
    assert len(paths_of_site(run)) == 30
