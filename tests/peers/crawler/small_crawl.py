"""Two controllers crawl a web of a few pages, on a clock and a network that a seed makes hostile.

Fetcher, parser and cell are as small as can be. Frames between the peers come late, twice, in any order or
never; peers crash at any moment and lose what was in no commit of their table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import pairwise
from random import Random

from mesh.actor import Address, Message, Send
from mesh.codec import decode, encode
from mesh.messages import FoundLink, LinksAccepted, LinksFound
from mesh.ownership import OwnershipChanged
from mesh.urls import host_of
from peers.crawler.controller import Controller
from peers.crawler.exchange import FetchRequest
from peers.crawler.messages import ParsePage
from peers.crawler.settings import CrawlSettings
from peers.storage.messages import PageStored, StoreAnchors, StorePage
from simulations.revertible_table import RevertibleTable
from tests.helpers import fetched, owned_by, parsed, redirect

PEERS = ("a", "b")
COMMIT_S = 0.02
SETTINGS = CrawlSettings(delay_s=2.0)


class SmallWeb:
    """A few hosts whose pages link to each other; some redirect, are missing or forbidden."""

    def __init__(self, random: Random, n_hosts: int, n_pages: int) -> None:
        self.hosts = [f"http://h{number}.test" for number in range(n_hosts)]
        self.urls = [f"{host}/{page}" for host in self.hosts for page in range(n_pages)]
        self.links = {url: random.sample(self.urls, min(4, len(self.urls))) for url in self.urls}
        self.moved = {url: random.choice(self.urls) for url in random.sample(self.urls, len(self.urls) // 8)}
        self.missing = set(random.sample(self.urls, len(self.urls) // 8)) - set(self.moved)
        self.forbidden = set(random.sample(self.urls, len(self.urls) // 8))
        self.crawl_delays = {host: random.choice([0.0, 5.0]) for host in self.hosts}

    @property
    def seed(self) -> str:
        return next(url for url in self.urls if self.outcome(url) == "D200")

    def robots(self, host: str) -> bytes:
        lines = [f"Disallow: {url.removeprefix(host)}$" for url in self.forbidden if host_of(url) == host]
        return "\n".join(["User-agent: *", f"Crawl-delay: {self.crawl_delays[host]}", *lines]).encode()

    def outcome(self, url: str) -> str:
        if url in self.forbidden:
            return "Xrobots"
        if url in self.missing:
            return "F404"
        return "D301" if url in self.moved else "D200"

    def reachable(self) -> set[str]:
        found, queue = {self.seed}, [self.seed]
        while queue:
            url = queue.pop()
            targets = {"D200": self.links[url], "D301": [self.moved.get(url, url)]}.get(self.outcome(url), [])
            queue += [target for target in targets if target not in found]
            found.update(targets)
        return found


@dataclass
class Request:
    """A line of the web's log."""

    url: str
    start_s: float
    end_s: float


@dataclass
class Peer:
    """A controller, and what survives a crash of it."""

    name: str
    controller: Controller
    table: RevertibleTable = field(default_factory=RevertibleTable)
    life: int = 0
    has_committed: bool = False
    promises: list[Send] = field(default_factory=list)
    crashes: list[float] = field(default_factory=list)


class SmallCrawl:
    """The peers, the web and the events to come."""

    def __init__(
        self,
        seed: int,
        n_hosts: int = 4,
        n_pages: int = 6,
        loss: float = 0.0,
        owners: tuple[str, ...] = PEERS,
    ) -> None:
        self.random = Random(seed)
        self.owners = owners  # among whom the slots are shared
        self.web = SmallWeb(Random(seed), n_hosts, n_pages)
        self.loss = loss
        self.now = 1_000.0
        self.steps = 0
        self.log: list[Request] = []
        self.anchors: dict[str, tuple[str, ...]] = {}  # the last ones handed to the cell
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._n_events = 0
        self.peers: dict[str, Peer] = {}
        for name in PEERS:
            table = RevertibleTable()
            self.peers[name] = Peer(name, Controller(name, table, SETTINGS), table)
        self._is_seeded = False
        for peer in self.peers.values():
            self._begin(peer)
        owner = self._owner(self.web.seed)
        self._hand(owner, Address(owner.name, "searcher"), LinksFound(1, (FoundLink(self.web.seed),)))
        while not self._is_seeded:
            self.step()

    # --- running ---

    def walk(self, steps: int) -> None:
        """Go on for some steps or until no controller has anything left to do."""
        for _ in range(steps):
            if not self.is_over():
                self.step()

    def is_over(self) -> bool:
        return all(peer.controller.observe().is_idle for peer in self.peers.values())

    def run(self, crash_at_step: int | None = None, victim: str = "a") -> None:
        """Go on until no controller has anything left to do."""
        while not self.is_over():
            assert self.steps < 50_000, "the crawl does not end"
            self.step()
            if self.steps == crash_at_step:
                self.crash(victim)

    def step(self) -> None:
        self.steps += 1
        wakes = [(peer.controller.wake_at(), peer.name) for peer in self.peers.values()]
        wake_at, name = min(wakes)
        if self._events and self._events[0][0] <= wake_at:
            at, _, event = heappop(self._events)
            self.now = max(self.now, at)
            event()
        else:
            self.now = max(self.now, wake_at)
            peer = self.peers[name]
            self._carry_out(peer, peer.controller.wake(self.now))

    def share(self, owners: tuple[str, ...]) -> None:
        """Share the slots among others, of which one peer hears later than the other."""
        self.owners = owners
        first, second = self.random.sample(list(self.peers.values()), 2)
        self._begin(first)
        self._after(0.5, partial(self._begin, second))

    def crash(self, name: str) -> None:
        """Kill a peer and start it again, unless it has not made its first commit.

        Before that it cannot know in its next life that it has asked anybody.
        """
        peer = self.peers[name]
        if not peer.has_committed:
            return
        peer.table.revert()
        peer.life += 1
        peer.promises.clear()
        peer.crashes.append(self.now)
        for request in self.log:
            if self._owner(request.url) is peer:
                request.end_s = min(request.end_s, self.now)
        self.now += self.random.choice([0.0, 1.0, 10.0])
        peer.controller = Controller(name, peer.table, SETTINGS)
        self._begin(peer)

    # --- judging ---

    def check(self) -> None:
        """Hold the crawl to its promises."""
        expected = {url: self.web.outcome(url) for url in self.web.reachable()}
        assert {url: self.state_of(url) for url in self.web.urls if self.state_of(url)} == expected
        self._check_fetches(expected)
        self._check_politeness()
        self._check_anchors(expected)

    def check_that_nothing_is_lost(self) -> None:
        """Has every page that can be reached come to its end at one peer or another?"""
        for url in self.web.reachable():
            states = {self.state_at(peer, url) for peer in self.peers.values()}
            assert self.web.outcome(url) in states, (url, states)

    def state_of(self, url: str) -> str | None:
        return self.state_at(self._owner(url), url)

    def state_at(self, peer: Peer, url: str) -> str | None:
        return peer.controller._frontier.state_of(url, owned_by(PEERS).slot_of(host_of(url)))

    def _check_fetches(self, expected: dict[str, str]) -> None:
        for url, outcome in expected.items():
            times = [request for request in self.log if request.url == url]
            crashes = self._owner(url).crashes
            assert len(times) >= (0 if outcome == "Xrobots" else 1), url
            assert len(times) <= (0 if outcome == "Xrobots" else 1 + len(crashes)), url
            for request in times[:-1]:
                assert any(request.start_s <= at <= request.end_s + 1.0 for at in crashes), "repeated"

    def _check_politeness(self) -> None:
        for host in self.web.hosts:
            requests = [request for request in self.log if host_of(request.url) == host]
            for before, after in pairwise(requests):
                is_known = not before.url.endswith("/robots.txt")
                delay_s = max(SETTINGS.delay_s, self.web.crawl_delays[host] if is_known else 0.0)
                assert after.start_s >= before.end_s + delay_s - 1e-6, (before, after)

    def _check_anchors(self, expected: dict[str, str]) -> None:
        for url in expected:
            if expected[url] == "D200":
                texts = {
                    f"from {page}"
                    for page, links in self.web.links.items()
                    if url in links and expected.get(page) == "D200"
                }
                assert set(self.anchors[url]) == texts

    # --- details ---

    def _owner(self, url: str) -> Peer:
        ownership = owned_by(self.owners)
        owner = ownership.owner_of(ownership.slot_of(host_of(url)))
        assert owner is not None
        return self.peers[owner]

    def _begin(self, peer: Peer) -> None:
        message = OwnershipChanged(owned_by(self.owners, peer.name))
        self._hand(peer, Address(peer.name, "membership"), message)

    def _hand(self, peer: Peer, source: Address, message: Message) -> None:
        self._carry_out(peer, peer.controller.receive(source, message, self.now))

    def _carry_out(self, peer: Peer, sends: list[Send]) -> None:
        for send in sends:
            if send.message.is_promise:
                peer.promises.append(send)
            else:
                self._send(peer, send)
        if peer.table.has_changes or peer.promises:
            self._after(COMMIT_S, partial(self._commit, peer, peer.life))

    def _commit(self, peer: Peer, life: int) -> None:
        if life == peer.life:
            peer.has_committed = peer.has_committed or peer.table.has_changes
            peer.table.commit()
            promises, peer.promises = peer.promises, []
            for send in promises:
                self._send(peer, send)

    def _send(self, peer: Peer, send: Send) -> None:
        target, message = send
        if target.peer != peer.name:
            frame = encode("controller", target.actor, message)
            for _ in range(self.random.choice([1, 1, 1, 2])):
                if self.random.random() >= self.loss:
                    received = decode(frame).message
                    hand = partial(
                        self._hand, self.peers[target.peer], Address(peer.name, "controller"), received
                    )
                    self._after(self.random.choice([0.001, 0.01, 3.0]), hand)
            return
        match message:
            case FetchRequest(url):
                self._fetch(peer, url)
            case ParsePage(page):
                links = [FoundLink(link, f"from {page.url}") for link in self.web.links[page.url]]
                self._answer(peer, 0.01, "parser", parsed(page.url, *links))
            case StorePage(page):
                assert page.document is not None
                self.anchors[page.url] = page.document.anchors
                self._answer(peer, 0.03, "cell", PageStored(page.url, page.fetched_at))
            case LinksAccepted():
                self._is_seeded = True
            case StoreAnchors(url, _, anchors):
                self.anchors[url] = anchors

    def _fetch(self, peer: Peer, url: str) -> None:
        seconds = self.random.choice([0.01, 0.3, 4.0])
        self.log.append(Request(url, self.now, self.now + seconds))
        if url.endswith("/robots.txt"):
            answer = fetched(url, body=self.web.robots(host_of(url)))
        elif url in self.web.moved:
            answer = redirect(url, self.web.moved[url])
        else:
            answer = fetched(url, 404 if url in self.web.missing else 200, started_at=self.now)
        self._answer(peer, seconds, "fetcher", answer)

    def _answer(self, peer: Peer, delay_s: float, port: str, message: Message) -> None:
        life = peer.life

        def arrive() -> None:
            if peer.life == life:
                self._hand(peer, Address(peer.name, port), message)

        self._after(delay_s, arrive)

    def _after(self, delay_s: float, event: Callable[[], None]) -> None:
        self._n_events += 1
        heappush(self._events, (self.now + delay_s, self._n_events, event))
