"""Whole peers in virtual time take in pages of files: every copy is made, and nobody fetches them again."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec
import pytest

from mesh.actors.actor import Address
from mesh.urls import host_of
from peers.crawler.model.wire_messages import FoundLink, LinkUse
from peers.importing.importer import ImporterStatistics
from peers.importing.messages import KNOWN, LATE, STORED, ImportedPage, ImportPages, PagesImported
from peers.importing.page import page_gone
from simulations.webs.web import SyntheticWeb
from simulations.world.crawl import SimulatedCrawl
from simulations.world.network import Network
from simulations.world.ports import Listener, document_of, records_of
from tests.helpers import seen

PAGES = 200


class Import:
    """A command that gives pages to one peer, and again what was late or not answered."""

    def __init__(self, run: SimulatedCrawl, pages: Sequence[ImportedPage], peer: str = "p0") -> None:
        self.outcomes: dict[str, str] = {}
        self._run = run
        self._pages = {page.url: page for page in pages}
        self._peer = peer
        self._ticket = 0

    def go_on(self, seconds: float) -> None:
        """Give all that is left, and wait."""
        left = [page for url, page in self._pages.items() if url not in self.outcomes]
        world = self._run.world
        http = world._peers[self._peer].ports["http"]
        assert isinstance(http, Listener)
        self._ticket += 1
        source = Address(self._peer, "http")
        world.deliver(source, Address(self._peer, "importer"), ImportPages(self._ticket, tuple(left)))
        world.run(until=world.now + seconds)
        for answer in http.heard:
            if isinstance(answer, PagesImported) and answer.ticket == self._ticket:
                told = zip(left, answer.outcomes, strict=True)
                self.outcomes |= {page.url: outcome for page, outcome in told if outcome != LATE}

    def finish(self) -> None:
        for _ in range(40):
            self.go_on(15.0)
            if len(self.outcomes) == len(self._pages):
                return
        raise AssertionError(f"{len(self._pages) - len(self.outcomes)} pages are late for ever")


def pages_of(web: SyntheticWeb, use: LinkUse = LinkUse.TEXT) -> list[ImportedPage]:
    """Half of the pages of a web as files have them, with their links."""
    reached, queue = dict.fromkeys(web.seeds), list(web.seeds)
    while queue:
        url = queue.pop()
        if web.serve(url).status == 200:
            new = [link.url for link in web.links(url) if link.url not in reached]
            reached |= dict.fromkeys(new)
            queue += new
    urls = [url for url in reached if web.serve(url).status == 200 and not web.is_forbidden(url)]
    return [
        ImportedPage(
            url,
            1.0,
            200,
            records_of(url),
            document_of(url, seen(1.0)),
            tuple(FoundLink(link.url, link.anchor, use=use) for link in web.links(url)),
        )
        for url in urls[1::2]
    ]


def copies_missing(run: SimulatedCrawl, pages: Sequence[ImportedPage]) -> list[tuple[str, str]]:
    return [
        (page.url, peer)
        for page in pages
        for peer in run.table.team_of(run._slot_of(host_of(page.url)))
        if page.url not in run.archives[peer].pages or page.url not in run.indexes[peer].urls
    ]


@pytest.mark.parametrize("peers", [1, 3])
def test_pages_of_files_are_on_their_teams_and_are_not_fetched(peers: int) -> None:
    web = SyntheticWeb(21, PAGES)
    run = SimulatedCrawl(web, peers=peers, seed=21)
    pages = pages_of(web)
    importing = Import(run, pages)
    importing.finish()
    assert set(importing.outcomes.values()) == {STORED}
    run.world.run(until=run.world.now + 10.0)
    assert copies_missing(run, pages) == []
    assert not run.log  # their links were only counted
    run.run()  # now the web is crawled from its seeds
    fetched = {request.url for request in run.log}
    assert fetched
    assert fetched.isdisjoint(page.url for page in pages)
    again = Import(run, pages, run.peers[-1])
    again.finish()
    assert set(again.outcomes.values()) == {KNOWN}


def test_a_page_whose_file_is_gone_leaves_the_index_of_every_peer_until_it_is_back() -> None:
    run = SimulatedCrawl(SyntheticWeb(21, PAGES), peers=3, seed=21)
    page, other = pages_of(SyntheticWeb(21, PAGES))[:2]
    Import(run, [page, other]).finish()
    assert copies_missing(run, [page, other]) == []
    gone = Import(run, [page_gone(page.url, 2.0)], run.peers[-1])
    gone.finish()
    assert gone.outcomes == {page.url: STORED}
    run.world.run(until=run.world.now + 10.0)
    assert not any(page.url in index.urls for index in run.indexes.values())
    assert copies_missing(run, [other]) == []
    back = msgspec.structs.replace(page, fetched_at=3.0, document=document_of(page.url, seen(3.0)))
    Import(run, [back], run.peers[1]).finish()
    run.world.run(until=run.world.now + 10.0)
    assert copies_missing(run, [page]) == []


def test_links_to_follow_are_fetched_and_the_pages_themselves_are_not() -> None:
    web = SyntheticWeb(22, PAGES)
    run = SimulatedCrawl(web, peers=2, seed=22)
    pages = pages_of(web, LinkUse.FETCH)
    Import(run, pages).finish()
    run.world.run(until=run.world.now + 3_600.0)
    linked = {link.url for page in pages for link in page.links if web.serve(link.url).status == 200}
    here = {page.url for page in pages}
    fetched = {request.url for request in run.log}
    assert fetched.isdisjoint(here)
    wanted = {url for url in linked - here if not web.is_forbidden(url)}
    assert wanted <= fetched


@pytest.mark.parametrize("seed", range(6))
def test_what_was_said_to_be_stored_survives_loss_and_kills(seed: int) -> None:
    web = SyntheticWeb(seed, PAGES // 2)
    network = Network(Random(seed), loss=0.1)
    run = SimulatedCrawl(web, peers=3, seed=seed, network=network, crashing=["p1", "p2"])
    pages = pages_of(web)
    importing = Import(run, pages)
    random = Random(seed)
    run.plan_crash("p1", 0.02 + random.random(), down_s=7.0)
    run.plan_crash("p2", 9.0 + random.random(), down_s=7.0)
    importing.finish()
    run.world.run(until=run.world.now + 600.0)
    assert copies_missing(run, pages) == []
    statistics = [run.observe(peer)["importer"] for peer in run.peers]
    assert all(isinstance(each, ImporterStatistics) and each.pages_taken == 0 for each in statistics)
    run.run()
    assert {request.url for request in run.log}.isdisjoint(page.url for page in pages)
