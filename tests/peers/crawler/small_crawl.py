"""Two controllers crawl a web of a few pages, on a clock and a network that a seed makes hostile.

Beside each is a handover, which says what it may crawl. Fetcher, parser and cell are as small as can be.
Frames between the peers come late, twice, in any order or never; peers crash at any moment and lose what was
in no commit of their table.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import pairwise
from random import Random

from mesh.actors.actor import EVERYBODY, Actor, Address, Message, Send
from mesh.actors.codec import encode
from mesh.actors.ownership import OwnershipChanged
from mesh.slot_set import NO_SLOTS
from mesh.tables.table import TableSection
from mesh.urls import host_of, origin_of
from peers.crawler.controller import FRONTIER_SECTION, Controller
from peers.crawler.frontier.text_rows import KeptTexts
from peers.crawler.model.messages import ParsePage, ParseRobots
from peers.crawler.model.robots import AT_ONCE_BYTES_MAX
from peers.crawler.model.settings import CrawlSettings, Tuning
from peers.crawler.model.web_request import FetchPage
from peers.crawler.model.wire_messages import FoundLink, LinksAccepted, LinksFound
from peers.crawler.parsing.extraction import read_robots
from peers.handover.handover import Handover
from peers.handover.messages import SlotsFilled, SlotsSynchronised, SynchroniseSlots
from peers.policy.rules import EVERYTHING
from peers.storage.ledger.ledger_keys import identity_of
from peers.storage.messages import LinkTextsChanged, PageStored, StorePage
from simulations.world.revertible_table import RevertibleTable
from tests.frames import decode
from tests.helpers import NOTHING_STORED, SLOT_COUNT, STORES, fetched, owned_by, parsed, redirect

PEERS = ("a", "b")
COMMIT_S = 0.02
SETTINGS = CrawlSettings(delay_s=2.0)
TUNING = Tuning(policy=EVERYTHING)


class SmallWeb:
    """A few hosts whose pages link to each other; some redirect, are missing or forbidden."""

    def __init__(self, random: Random, n_hosts: int, n_pages: int, n_links: int) -> None:
        self.origins = [f"http://h{number}.test" for number in range(n_hosts)]
        self.urls = [f"{origin}/{page}" for origin in self.origins for page in range(n_pages)]
        self.links = {url: random.sample(self.urls, min(n_links, len(self.urls))) for url in self.urls}
        self.moved = {url: random.choice(self.urls) for url in random.sample(self.urls, len(self.urls) // 8)}
        self.missing = set(random.sample(self.urls, len(self.urls) // 8)) - set(self.moved)
        self.forbidden = set(random.sample(self.urls, len(self.urls) // 8))
        self.crawl_delays = {origin: random.choice([0.0, 5.0]) for origin in self.origins}

    @property
    def seed(self) -> str:
        return next(url for url in self.urls if self.outcome(url) == "D200")

    def robots(self, origin: str) -> bytes:
        lines = [
            f"Disallow: {url.removeprefix(origin)}$" for url in self.forbidden if origin_of(url) == origin
        ]
        if self.crawl_delays[origin]:  # of those the parser reads them
            lines.append("#" * AT_ONCE_BYTES_MAX)
        return "\n".join(["User-agent: *", f"Crawl-delay: {self.crawl_delays[origin]}", *lines]).encode()

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

    peer: str
    url: str
    start_s: float
    end_s: float


@dataclass
class Peer:
    """A controller and its handover, and what survives a crash of them."""

    name: str
    controller: Controller
    handover: Handover
    table: RevertibleTable = field(default_factory=RevertibleTable)
    life: int = 1
    promises: list[tuple[str, Send]] = field(default_factory=list)  # with the actor that made them
    crashes: list[float] = field(default_factory=list)

    @property
    def actors(self) -> dict[str, Actor]:
        return {"controller": self.controller, "handover": self.handover}


class SmallCrawl:
    """The peers, the web and the events to come."""

    def __init__(
        self,
        seed: int,
        n_hosts: int = 4,
        n_pages: int = 6,
        n_links: int = 4,
        loss: float = 0.0,
        owners: tuple[str, ...] = PEERS,
        replicas: int = 1,
    ) -> None:
        self.random = Random(seed)
        self.owners = owners  # among whom the slots are shared
        self.replicas = replicas
        self.web = SmallWeb(Random(seed), n_hosts, n_pages, n_links)
        self.loss = loss
        self.now = 1_000.0
        self.steps = 0
        self.log: list[Request] = []
        self.anchors: dict[tuple[str, str], tuple[str, ...]] = {}  # by peer and URL: what its cell has read
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._n_events = 0
        self.peers: dict[str, Peer] = {}
        for name in PEERS:
            table = RevertibleTable()
            self.peers[name] = Peer(
                name,
                Controller(name, table, SETTINGS, NOTHING_STORED, tuning=TUNING),
                Handover(name, STORES),
                table,
            )
        self._is_seeded = False
        self._unheard = 0  # peers that are still to hear of the last change of owners
        self._waiting: deque[tuple[Peer, Address, str, Message]] = deque()
        self._is_delivering = False
        for peer in self.peers.values():
            self._begin(peer)
        owner = self._owner(self.web.seed)
        seeds = LinksFound(1, (FoundLink(self.web.seed),))
        self._hand(owner, Address(owner.name, "searcher"), "controller", seeds)
        while not self._is_seeded:
            self.step()

    # --- running ---

    def walk(self, steps: int) -> None:
        """Go on for some steps or until no controller has anything left to do."""
        for _ in range(steps):
            if not self.is_over():
                self.step()

    def is_over(self) -> bool:
        return not self._unheard and all(
            peer.controller.observe().is_idle and _is_at_rest(peer.handover) for peer in self.peers.values()
        )

    def run(
        self, crash_at_step: int | None = None, kill_at_step: int | None = None, victim: str = "a"
    ) -> None:
        """Go on until no controller has anything left to do."""
        while not self.is_over():
            assert self.steps < 50_000, "the crawl does not end"
            self.step()
            if self.steps == crash_at_step:
                self.crash(victim)
            if self.steps == kill_at_step:
                self.kill(victim)

    def let_pass(self, seconds: float) -> None:
        """Go on for some time, whatever there is to do."""
        end_s = self.now + seconds
        self._after(seconds, lambda: None)
        while self.now < end_s:
            self.step()

    def step(self) -> None:
        self.steps += 1
        wakes = [
            (actor.wake_at(), peer.name, name)
            for peer in self.peers.values()
            for name, actor in peer.actors.items()
        ]
        wake_at, name, actor = min(wakes)
        if self._events and self._events[0][0] <= wake_at:
            at, _, event = heappop(self._events)
            self.now = max(self.now, at)
            event()
        else:
            self.now = max(self.now, wake_at)
            peer = self.peers[name]
            self._carry_out(peer, actor, peer.actors[actor].wake(self.now))

    def share(self, owners: tuple[str, ...]) -> None:
        """Share the slots among others, of which one peer hears later than the other."""
        self.owners = owners
        first, second = self.random.sample(list(self.peers.values()), 2)
        self._begin(first)
        self._unheard += 1
        self._after(0.5, partial(self._hear, second))

    def crash(self, name: str) -> None:
        """Kill a peer and start it again before anybody holds it for dead."""
        peer = self.peers[name]
        peer.table.revert()
        peer.life += 1
        peer.promises.clear()
        peer.crashes.append(self.now)
        for request in self.log:
            if request.peer == name:
                request.end_s = min(request.end_s, self.now)
        self.now += self.random.choice([0.0, 1.0, 10.0])
        peer.controller = Controller(name, peer.table, SETTINGS, NOTHING_STORED, peer.life, TUNING)
        peer.handover = Handover(name, STORES, peer.life)
        self._begin(peer)

    def kill(self, name: str) -> None:
        """Kill a peer for good, with all that it has; the others take over."""
        dead = self.peers.pop(name)
        dead.life += 1
        for request in self.log:
            if request.peer == name:
                request.end_s = min(request.end_s, self.now)
        self.owners = tuple(self.peers)
        self._unheard += len(self.peers)
        for peer in self.peers.values():
            self._after(1.0, partial(self._hear, peer))

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

    def check_that_all_have_the_same(self) -> None:
        """Has every slot the same items at both peers?"""
        for slot in range(SLOT_COUNT):
            kept = [sorted(peer.controller._store.item_ids(slot)) for peer in self.peers.values()]
            assert all(ids == kept[0] for ids in kept), slot

    def check_that_the_living_have_everything(self) -> None:
        """Is every page that can be reached done, and do the cells know all link texts?"""
        expected = {url: self.web.outcome(url) for url in self.web.reachable()}
        assert {url: self.state_of(url) for url in expected} == expected
        self._check_anchors(expected)

    def state_of(self, url: str) -> str | None:
        return self.state_at(self._owner(url), url)

    def state_at(self, peer: Peer, url: str) -> str | None:
        row = peer.controller._frontier.row_of(url, owned_by(PEERS).slot_of(host_of(url)))
        return None if row is None else row.outcome

    def _check_fetches(self, expected: dict[str, str]) -> None:
        for url, outcome in expected.items():
            times = [request for request in self.log if request.url == url]
            crashes = self._owner(url).crashes
            assert len(times) >= (0 if outcome == "Xrobots" else 1), url
            assert len(times) <= (0 if outcome == "Xrobots" else 1 + len(crashes)), url
            for request in times[:-1]:
                assert any(request.start_s <= at <= request.end_s + 1.0 for at in crashes), "repeated"

    def _check_politeness(self) -> None:
        for origin in self.web.origins:
            requests = [request for request in self.log if origin_of(request.url) == origin]
            for before, after in pairwise(requests):
                is_known = not before.url.endswith("/robots.txt")
                delay_s = max(SETTINGS.delay_s, self.web.crawl_delays[origin] if is_known else 0.0)
                assert after.start_s >= before.end_s + delay_s - 1e-6, (before, after)

    def _check_anchors(self, expected: dict[str, str]) -> None:
        for url in expected:
            if expected[url] == "D200":
                texts = {
                    f"from {page}"
                    for page, links in self.web.links.items()
                    if url in links and expected.get(page) == "D200"
                }
                assert set(self.anchors.get((self._owner(url).name, url), ())) == texts

    # --- details ---

    def _owner(self, url: str) -> Peer:
        ownership = owned_by(self.owners)
        owner = ownership.owner_of(ownership.slot_of(host_of(url)))
        assert owner is not None
        return self.peers[owner]

    def _hear(self, peer: Peer) -> None:
        self._unheard -= 1
        if peer.name in self.peers:
            self._begin(peer)

    def _begin(self, peer: Peer) -> None:
        ownership = owned_by(self.owners, peer.name, tuple(self.peers), self.replicas)
        source = Address(peer.name, "membership")
        for actor in peer.actors:
            self._waiting.append((peer, source, actor, OwnershipChanged(ownership)))
        self._work_off()
        self._order(peer, "cell", OwnershipChanged(ownership))

    def _hand(self, peer: Peer, source: Address, actor: str, message: Message) -> None:
        self._waiting.append((peer, source, actor, message))
        self._work_off()

    def _work_off(self) -> None:
        """Deliver first in first out, as `mesh.actors.node.Node` does."""
        if self._is_delivering:
            return
        self._is_delivering = True
        while self._waiting:
            peer, source, actor, message = self._waiting.popleft()
            if peer.name in self.peers:
                self._carry_out(peer, actor, peer.actors[actor].receive(source, message, self.now))
        self._is_delivering = False

    def _carry_out(self, peer: Peer, actor: str, sends: list[Send]) -> None:
        for send in sends:
            if send.message.is_promise:
                peer.promises.append((actor, send))
            else:
                self._send(peer, actor, send)
        if peer.table.has_changes or peer.promises or any(each.has_news for each in peer.actors.values()):
            self._after(COMMIT_S, partial(self._commit, peer, peer.life))

    def _commit(self, peer: Peer, life: int) -> None:
        if life == peer.life:
            for name, each in peer.actors.items():
                self._carry_out(peer, name, each.before_commit(self.now))
            peer.table.commit()
            promises, peer.promises = peer.promises, []
            for actor, send in promises:
                self._send(peer, actor, send)

    def _send(self, peer: Peer, actor: str, send: Send) -> None:
        target, message = send
        if target.peer != peer.name:
            others = [name for name in self.peers if name != peer.name]
            for name in others if target.peer == EVERYBODY else [target.peer]:
                if name in self.peers:
                    self._transmit(Address(peer.name, actor), self.peers[name], target.actor, message)
        elif target.actor in peer.actors:
            self._hand(peer, Address(peer.name, actor), target.actor, message)
        else:
            self._order(peer, target.actor, message)

    def _transmit(self, source: Address, receiver: Peer, actor: str, message: Message) -> None:
        frame = encode(source.actor, actor, message)
        for _ in range(self.random.choice([1, 1, 1, 2])):
            if self.random.random() >= self.loss:
                received = decode(frame).message
                hand = partial(self._hand, receiver, source, actor, received)
                self._after(self.random.choice([0.001, 0.01, 3.0]), hand)

    def _order(self, peer: Peer, port: str, message: Message) -> None:
        match message:
            case FetchPage(url):
                self._fetch(peer, url)
            case ParsePage(page):
                links = [FoundLink(link, f"from {page.url}") for link in self.web.links[page.url]]
                self._answer(peer, 0.01, "parser", parsed(page.url, *links))
            case ParseRobots():
                self._answer(peer, 0.01, "parser", read_robots(message))
            case StorePage(page):
                assert page.document is not None
                assert page.document.anchors == ()
                self._read_anchors(peer, page.url, page.slot)
                self._answer(peer, 0.03, "cell", PageStored(page.url, page.stamp))
            case LinksAccepted():
                self._is_seeded = True
            case LinkTextsChanged(url, slot):
                self._read_anchors(peer, url, slot)
            case OwnershipChanged() if port == "cell":
                self._answer(peer, 0.0, "cell", SlotsFilled(NO_SLOTS), "handover")
            case SynchroniseSlots(task, _, slots) if port == "cell":
                self._answer(peer, 0.01, "cell", SlotsSynchronised(task, slots), "handover")

    def _read_anchors(self, peer: Peer, url: str, slot: int) -> None:
        texts = KeptTexts(TableSection(peer.table, FRONTIER_SECTION))
        self.anchors[peer.name, url] = texts.of(identity_of(slot, url))

    def _fetch(self, peer: Peer, url: str) -> None:
        seconds = self.random.choice([0.01, 0.3, 4.0])
        self.log.append(Request(peer.name, url, self.now, self.now + seconds))
        if url.endswith("/robots.txt"):
            answer = fetched(url, body=self.web.robots(origin_of(url)))
        elif url in self.web.moved:
            answer = redirect(url, self.web.moved[url])
        else:
            answer = fetched(url, 404 if url in self.web.missing else 200, started_at=self.now)
        self._answer(peer, seconds, "fetcher", answer)

    def _answer(
        self, peer: Peer, delay_s: float, port: str, message: Message, actor: str = "controller"
    ) -> None:
        life = peer.life

        def arrive() -> None:
            if peer.life == life:
                self._hand(peer, Address(peer.name, port), actor, message)

        self._after(delay_s, arrive)

    def _after(self, delay_s: float, event: Callable[[], None]) -> None:
        self._n_events += 1
        heappush(self._events, (self.now + delay_s, self._n_events, event))


def _is_at_rest(handover: Handover) -> bool:
    observed = handover.observe()
    return observed.is_quiet and not observed.differing
