"""A controller alone at its desk: what it is told, and what it wants done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from mesh.actors.actor import Address, Message, Send
from mesh.membership.model.messages import QueueMeasured
from mesh.stamp import Stamp
from mesh.tables.memory_table import MemoryTable
from mesh.urls import host_of
from peers.crawler.controller import Controller, CrawlStatistics
from peers.crawler.model.messages import ChangeSettings, ParseRobots
from peers.crawler.model.settings import CrawlSettings, Tuning
from peers.crawler.model.web_request import FailureReason, FetchFailed, FetchPage
from peers.crawler.model.wire_messages import FoundLink, LinksFound
from peers.crawler.parsing.extraction import read_robots
from peers.handover.messages import SlotsFilled
from peers.policy.rules import EVERYTHING
from peers.storage.ledger.stored_versions import StoredVersions
from peers.storage.messages import PageStored, StorePage
from tests.helpers import ME, fetched, hold_slots, owned_by, ownership_changed, parsed

ORIGIN = "http://a.test"
HOME = f"{ORIGIN}/"
ROBOTS = f"{ORIGIN}/robots.txt"
OTHER = "you"  # another peer
SETTINGS = CrawlSettings(delay_s=2.0, backoff_s=30.0)
# The queue is measured at once, so that nothing else wakes a controller than what a test is about.
TUNING = Tuning(measure_s=0.0, policy=EVERYTHING)


def host_of_peer(peer: str, number: int = 0) -> str:
    """The origin of a host that belongs to one of two peers."""
    ownership = owned_by((ME, OTHER))
    origins = (f"http://h{n}.test" for n in range(1_000))
    return [origin for origin in origins if ownership.owner_of(ownership.slot_of(host_of(origin))) == peer][
        number
    ]


MINE, THEIRS = host_of_peer(ME), host_of_peer(OTHER)


class Desk:
    """A controller, its table and the time; it commits whenever it wakes."""

    def __init__(
        self,
        settings: CrawlSettings = SETTINGS,
        table: MemoryTable | None = None,
        peers: Iterable[str] = (ME,),
        now: float = 1_000.0,
        replicas: int = 1,
        tuning: Tuning = TUNING,
        **changes: Any,
    ) -> None:
        self.settings = msgspec.structs.replace(settings, **changes)
        self.table = table or MemoryTable()
        self.cell_table = MemoryTable()
        self.peers = tuple(peers)
        self.now = now
        self.replicas = replicas
        self.tuning = tuning
        self.n_seeds = 0  # batches
        self.life = 0
        self._begin(is_inherited=False)

    def start(self, *, is_inherited: bool = False) -> None:
        """End with a last commit, as a driver does that has time to, and live again."""
        self.controller.before_commit(self.now)
        self._begin(is_inherited=is_inherited)

    def _begin(self, *, is_inherited: bool) -> None:
        self.news: list[Send] = []  # what membership and handover hear of the queue and the slots
        self.life += 1
        stored = StoredVersions(self.cell_table)
        self.controller = Controller(ME, self.table, self.settings, stored, self.life, self.tuning)
        self.started = self.share(self.peers, is_inherited=is_inherited)

    def share(self, peers: Iterable[str], *, is_inherited: bool = False) -> list[Send]:
        """Have the slots belong to some peers, and hold ours at once."""
        changed = ownership_changed(peers, replicas=self.replicas)
        sends = self.tell(changed, "membership")
        held = hold_slots(changed.ownership, is_inherited=is_inherited)
        return sends + self.tell(held, "handover")

    def tell(self, message: Message, actor: str = "fetcher", peer: str = ME) -> list[Send]:
        return self.without_news(self.controller.receive(Address(peer, actor), message, self.now))

    def wake(self, after_s: float = 0.0) -> list[Send]:
        self.now += after_s
        sends = self.controller.wake(self.now)
        return self.without_news(sends + self.controller.before_commit(self.now))

    def without_news(self, sends: list[Send]) -> list[Send]:
        news = [send for send in sends if isinstance(send.message, QueueMeasured | SlotsFilled)]
        self.news += news
        return [send for send in sends if send not in news]

    def seed(self, *urls: str, **changes: Any) -> list[Send]:
        links = tuple(FoundLink(url, **changes) for url in urls)
        self.n_seeds += 1
        return self.tell(LinksFound(self.n_seeds, links), "searcher")

    def change(self, **changes: Any) -> list[Send]:
        """Have other settings hold from now on."""
        self.settings = msgspec.structs.replace(self.settings, **changes)
        return self.tell(ChangeSettings(self.settings), "policy")

    def fail(self, url: str, reason: FailureReason) -> list[Send]:
        return self.tell(FetchFailed(url, reason))

    def allow(self, origin: str = ORIGIN, robots: bytes = b"", status: int = 200) -> list[Send]:
        """Answer the request for robots.txt and let the delay pass."""
        sends = self.tell(fetched(f"{origin}/robots.txt", status, robots))
        for order in of_kind(sends, ParseRobots):
            sends += self.tell(read_robots(order), "parser")
        return sends + self.wake(self.settings.delay_s)

    def with_home_asked(self, *more: str, origin: str = ORIGIN) -> Desk:
        """The desk when the home page of an origin has been asked for; the others follow in order."""
        for depth, url in enumerate((f"{origin}/", *more)):
            self.seed(url, depth=depth)
        assert asked(self.allow(origin)) == [f"{origin}/"]
        return self

    def store(self, url: str, *links: str | FoundLink, at: float = 1_000.0) -> list[Send]:
        """Bring a page that was asked for to where it waits for being settled."""
        sends = self.tell(fetched(url, started_at=at))
        sends += self.tell(parsed(url, *links), "parser")
        stamps = [stored.page.stamp for stored in of_kind(sends, StorePage)]
        return sends + self.tell(PageStored(url, stamps[-1] if stamps else Stamp(1, at)), "cell")

    def state_of(self, url: str) -> str | None:
        slot = owned_by(self.peers).slot_of(host_of(url))
        row = self.controller._frontier.row_of(url, slot)
        return None if row is None else row.outcome

    def anchors_of(self, url: str) -> tuple[str, ...]:
        slot = owned_by(self.peers).slot_of(host_of(url))
        return self.controller._frontier.texts.of(url, slot)

    def observe(self) -> CrawlStatistics:
        return self.controller.observe()


def asked(sends: list[Send]) -> list[str]:
    return [send.message.url for send in sends if isinstance(send.message, FetchPage)]


def of_kind(sends: list[Send], kind: type[Message]) -> list[Any]:
    return [send.message for send in sends if isinstance(send.message, kind)]
