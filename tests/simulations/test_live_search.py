"""Live searches on a mesh of three: pages that answer are fetched first, and nobody is asked early."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Message
from mesh.urls import host_of
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.wire_messages import FoundLink
from peers.gateway.handling.backend import Answer
from peers.gateway.live.live_json import LiveJson
from peers.gateway.live.live_search import LiveEnd, LiveRequest
from peers.gateway.live_rounds import live_rounds
from peers.gateway.model.messages import AddSeeds
from peers.gateway.site.stored_page import DisplayKind, PageSnapshot
from peers.policy.rules import EVERYTHING, policy_bytes
from simulations.faults.machine import Machine
from simulations.webs.web import Served, SyntheticWeb, WebShape
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.world import World
from tests.simulations.machines import PlayedMesh

PEERS, PAGES, HOSTS = 3, 600, 6
CRAWLED_S = 30.0  # about a fifth of the web
DELAY_S = 1.0


class GlacierWeb(SyntheticWeb):
    """A web of which every fourth page is about glaciers, as links to it say."""

    def is_relevant(self, url: str) -> bool:
        return self._draw(url, "relevant") < 0.25

    def links(self, url: str) -> tuple[FoundLink, ...]:
        return tuple(
            replace(link, anchor="the glacier") if self.is_relevant(link.url) else link
            for link in super().links(url)
        )


class LiveMesh(PlayedMesh):
    """Machines that have crawled a part of a web; also the services behind the gateway of the first."""

    def __init__(self, seed: int) -> None:
        self.world = World(Network(random_of(seed, "network")), start_s=1_000.0)
        self.members = Members(seed, PEERS, replicas=2, slot_count=64)
        self.web = GlacierWeb(seed, PAGES, WebShape(pages_per_host=PAGES / HOSTS))
        self.fetched: list[tuple[float, str, float]] = []  # when each question began and was answered
        self._answers: dict[int, Message] = {}
        self._ticket = 0
        settings = CrawlSettings(delay_s=DELAY_S, audit_rate=0.0)
        self.begin(PEERS, self.web, settings, fetched=self._note, told=self._hear)
        self.pass_time(10.0)
        self.machines[0].publish(self.members.policy(1, policy_bytes(EVERYTHING)))
        self.pass_time(2.0)
        self.machines[0].order(AddSeeds(1, self.web.seeds))
        self.pass_time(CRAWLED_S)

    def pages_since(self, since_s: float) -> list[str]:
        urls = [url for at, url, _ in self.fetched if at >= since_s]
        return [url for url in urls if not url.endswith("/robots.txt")]

    def shortest_pause(self) -> float:
        """Of all hosts, from an answer to the next question, as a part of the pause that is kept."""
        by_host: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        for at, url, until in self.fetched:
            by_host[host_of(url)].append((at, until))
        return min(
            (later[0] - earlier[1]) / DELAY_S
            for times in by_host.values()
            for earlier, later in pairwise(times)
        )

    def _note(self, machine: Machine, url: str, served: Served) -> None:
        self.fetched.append((self.world.now, url, self.world.now + served.seconds))

    def _hear(self, machine: Machine, answer: Message) -> None:
        self._answers[getattr(answer, "ticket", 0)] = answer

    # --- The services behind a gateway ---

    async def ask(
        self, order: Callable[[int], Message], answer: type[Answer], actor: str = "searcher"
    ) -> Answer:
        self._ticket += 1
        ticket = 1_000 + self._ticket
        self.machines[0].order(order(ticket))
        while ticket not in self._answers:
            self.pass_time(0.05)
        found = self._answers.pop(ticket)
        assert isinstance(found, answer)
        return found

    async def render(self, page: Callable[[], Any]) -> Any:
        return page()

    async def read_stored(self, url: str, records: bytes, *, wants_text: bool = True) -> PageSnapshot:
        text = " ".join(f'<a href="{target}">x</a>' for target in self.web.targets(url))
        return PageSnapshot(DisplayKind.HTML, "text/html", text, is_cut=False)

    async def sleep(self, seconds: float) -> None:
        self.pass_time(seconds)

    def now(self) -> float:
        return self.world.now

    def search_live(self, **wishes: Any) -> AsyncGenerator[LiveJson]:
        wish = LiveRequest(**{"q": "glacier", "enough": 100, "k": 100, **wishes})
        backend: Any = self  # as much of one as a live search needs
        return live_rounds(backend, wish, sleep=self.sleep)


async def last_of(rounds: AsyncGenerator[LiveJson]) -> LiveJson:
    return [told async for told in rounds][-1]


async def test_pages_that_answer_are_found_before_others_and_nobody_is_asked_early() -> None:
    plain, live = LiveMesh(7), LiveMesh(7)
    since_s = live.now()
    assert plain.pages_since(0.0) == live.pages_since(0.0)
    told = await last_of(live.search_live(pages=100, seconds=20.0))
    plain.pass_time(live.now() - since_s)
    harvests = [
        sum(map(mesh.web.is_relevant, mesh.pages_since(since_s))) / len(mesh.pages_since(since_s))
        for mesh in (plain, live)
    ]
    assert harvests[1] > 2 * harvests[0], harvests
    assert len(live.pages_since(since_s)) <= len(plain.pages_since(since_s)) + HOSTS, "as fast as ever"
    assert live.shortest_pause() > 0.999
    assert (told.is_over, told.why_over) == (True, LiveEnd.TIME)
    assert {page.url for page in told.wanted}.intersection(told.new)
    assert len(told.wanted) <= 100


async def test_it_ends_with_enough_new_pages() -> None:
    mesh = LiveMesh(7)
    told = await last_of(mesh.search_live(enough=3, k=50, seconds=60.0))
    assert told.why_over is LiveEnd.ENOUGH
    assert len(told.new) >= 3
    assert told.seconds < 60.0


async def test_it_ends_when_nothing_is_left_to_look_for() -> None:
    mesh = LiveMesh(7)
    told = await last_of(mesh.search_live(q="nowhereatall", seconds=60.0))
    assert (told.why_over, told.wanted) == (LiveEnd.NOTHING_LEFT, [])


async def test_fish_swims_on_from_pages_that_do_not_fit() -> None:
    mesh = LiveMesh(7)
    told = await last_of(mesh.search_live(fish=True, seconds=20.0))
    assert told.new
    assert mesh.shortest_pause() > 0.999


@pytest.mark.parametrize("seed", range(3))
async def test_crash_of_a_member_makes_nobody_be_asked_early(seed: int) -> None:
    mesh = LiveMesh(seed)
    rounds = mesh.search_live(seconds=30.0, pages=200)
    told = await anext(rounds)
    mesh.machines[1 + seed % 2].crash()
    told = await anext(rounds)
    mesh.machines[1 + seed % 2].start()
    told = await last_of(rounds)
    assert told.is_over
    assert told.new
    assert mesh.shortest_pause() > 0.999
    assert len(told.wanted) <= 200
