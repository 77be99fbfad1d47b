"""The conversations of a mesh as they are kept in tests/transcripts, message by message."""

from __future__ import annotations

import pytest

from mesh.actors.actor import Message
from peers.crawler.model.settings import CrawlSettings
from peers.gateway.model.messages import AddSeeds, PagesFound, SearchPages, SeedsAdded
from simulations.webs.web import SyntheticWeb, WebShape
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.words import COMMON_WORD, rare_word_of
from tests.simulations.machines import PlayedMesh
from tests.simulations.transcript import ListeningWorld, Transcript, check

SEED = 11
SLOTS = 16
SHAPE = WebShape(
    pages_per_host=1,
    missing_share=0.0,
    redirect_share=0.0,
    forbidden_share=0.0,
    dead_hosts_share=0.0,
    slow_hosts_share=0.0,
)
JOIN = (
    "Knock",
    "DoorKnocked",
    "TryAddresses",
    "AddressesTried",
    "AnswerDoor",
    "Knocked",
    "JoinMesh",
    "Welcomed",
    "OwnershipChanged",
)
HANDOVER = ("membership", "handover", "controller", "cell", "indexer")


class Mesh(PlayedMesh):
    """Three machines, of which two or three run, two copies of everything, a web with a page per host."""

    def __init__(self, started: int, pages: int) -> None:
        self.world = ListeningWorld(
            Network(random_of(SEED, "network")), lambda *heard: self.transcript.hear(*heard)
        )
        self.transcript = Transcript(lambda: self.world.now, self._name_of)
        self.members = Members(SEED, 3, replicas=2, slot_count=SLOTS)
        self.web = SyntheticWeb(SEED, pages, SHAPE)
        self.answers: list[Message] = []
        settings = CrawlSettings(delay_s=0.5)
        self.begin(3, self.web, settings, started=started, told=lambda _, answer: self.answers.append(answer))
        self.rest()

    def _name_of(self, peer: str) -> str:
        peers = self.members.peers
        return f"p{peers.index(peer)}" if peer in peers else peer

    def crawl(self) -> None:
        """Have all pages fetched, stored and indexed."""
        self.machines[0].order(AddSeeds(ticket=1, urls=self.web.seeds))
        self.rest()
        assert sum(machine.cell().stored for machine in self.machines if machine.is_running) == self.web.pages

    def rest(self) -> None:
        """Wait until nothing happens any more but gossip."""
        until = self.world.now + 200.0
        quiet = 0
        while quiet < 3:
            self.world.run(until=self.world.now + 2.0)
            quiet = quiet + 1 if self._is_at_rest() else 0
            assert self.world.now < until, [machine.trouble() for machine in self.machines]

    def _is_at_rest(self) -> bool:
        running = [machine for machine in self.machines if machine.is_running]
        peers = {machine.peer for machine in running}
        return all(
            machine.ownership is not None
            and machine.ownership.alive == peers
            and machine.handover().is_quiet
            and machine.has_stored_all()
            and machine.crawl().is_idle
            for machine in running
        )


@pytest.fixture(scope="module")
def joined() -> Transcript:
    """Two peers have crawled everything, a third one joins."""
    mesh = Mesh(started=2, pages=3)
    mesh.crawl()
    mesh.transcript.begin()
    mesh.machines[2].start()
    mesh.rest()
    return mesh.transcript


def test_a_peer_joins(joined: Transcript) -> None:
    title = "p2 joins p0 and p1 through the door of p0: what the memberships say"
    check("join", joined.text(title, (*HANDOVER, "door"), JOIN))


def test_slots_are_handed_over(joined: Transcript) -> None:
    title = "p2 has joined p0 and p1, which have crawled three pages: the slots that are its own now move"
    check("handover", joined.text(title, HANDOVER))


def test_a_peer_crashes_and_others_take_over() -> None:
    mesh = Mesh(started=3, pages=3)
    mesh.crawl()
    mesh.transcript.begin()
    mesh.machines[1].crash()
    mesh.rest()
    title = "p1 is killed: p0 and p2 find it dead, take over its slots and copy them again"
    check("takeover", mesh.transcript.text(title, HANDOVER))


def test_a_page_from_seed_to_answer() -> None:
    mesh = Mesh(started=3, pages=2)
    url = mesh.web.seeds[0]
    mesh.transcript.begin()
    mesh.machines[0].order(AddSeeds(ticket=1, urls=(url,)))
    mesh.world.run(until=mesh.world.now + 2.0)
    assert SeedsAdded(1, 1) in mesh.answers
    mesh.machines[0].order(SearchPages(2, rare_word_of(url)))
    mesh.world.run(until=mesh.world.now + 1.0)
    found = next(answer for answer in mesh.answers if isinstance(answer, PagesFound))
    assert [hit.url for hit in found.hits] == [url]
    actors = ("http", "searcher", "controller", "fetcher", "parser", "cell", "archive", "indexer", "segments")
    title = "a seed is given to p0, its page is fetched, stored twice and indexed, then searched for at p0"
    check("page", mesh.transcript.text(title, actors))


def test_a_query_with_one_late_peer() -> None:
    mesh = Mesh(started=3, pages=6)
    mesh.crawl()
    late, asked = mesh.machines[2], mesh.machines[0]
    mesh.transcript.begin()
    mesh.world.clog(late.peer, asked.peer)
    asked.order(SearchPages(2, COMMON_WORD))
    mesh.world.run(until=mesh.world.now + 1.5)
    mesh.world.unclog(late.peer, asked.peer)
    mesh.world.run(until=mesh.world.now + 1.0)
    found = next(answer for answer in mesh.answers if isinstance(answer, PagesFound))
    assert (len(found.hits), found.coverage.missing) == (6, 0)
    title = "all pages are searched for at p0, which p2 answers late: others answer for it"
    check("late_peer", mesh.transcript.text(title, ("http", "searcher", "indexer")))
