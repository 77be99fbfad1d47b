"""What the controller costs per page, and what it costs to keep a standby's frontier up to date.

    pytest tests/benchmarks/bench_controller.py --benchmark-enable -s

Pages of 40 links, 36 of them to the same host, of which about five are new to the frontier or bring a new
text; fetcher, parser and cell answer at once. With two replicas everything that changes goes to a second
controller, encoded, decoded, checked, merged and promised; its CPU time counts too.

Measured (2 shared vCPU AMD EPYC with much other work, CPython 3.11.7): 125 us a page with one replica,
305 with two, 8 items and 1.8 kB of them shipped. So a standby costs 180 us a page, both sides together,
where a page costs 4,460 us as a whole.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from mesh.actors.actor import Address, Message
from mesh.actors.codec import encode
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.slots import SlotTable
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.memory_table import MemoryTable
from mesh.tables.table import Table
from peers.crawler.controller import Controller
from peers.crawler.model.messages import ParsePage
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.web_request import FetchPage
from peers.crawler.model.wire_messages import FoundLink, LinksFound
from peers.handover.wire_messages import ItemsChanged, ItemsKept
from peers.storage.messages import PageStored, StorePage
from tests.frames import decode
from tests.helpers import NOTHING_STORED, fetched, hold_slots, parsed

N_HOSTS, N_PAGES, N_LINKS, SLOT_COUNT = 50, 100, 40, 50_000
SETTINGS = CrawlSettings(delay_s=0.0)


class Crawl:
    """A controller that crawls everything and, if there are two replicas, one that keeps it too."""

    def __init__(self, tables: tuple[Table, Table], replicas: int) -> None:
        random = Random(1)
        self.urls = [
            f"http://site-{h}.test/section/page-{p}.html" for h in range(N_HOSTS) for p in range(N_PAGES)
        ]
        self.answers = {url: self._answers(number, url, random) for number, url in enumerate(self.urls)}
        self.now = 1_000.0
        self.n_pages = 0
        self.n_bytes = 0
        self.actors = {
            name: Controller(name, table, SETTINGS, NOTHING_STORED)
            for name, table in zip(("a", "b"), tables, strict=True)
        }
        self.waiting: deque[tuple[str, Address, Message]] = deque()
        table = SlotTable({"a": 65_536, "b": 0 if replicas == 1 else 1}, SLOT_COUNT, replicas)
        for name in self.actors:
            ownership = Ownership(name, table, ("a", "b"))
            self.hand(name, OwnershipChanged(ownership))
            self.hand(name, hold_slots(ownership))

    def _answers(self, number: int, url: str, random: Random) -> tuple[Message, Message]:
        host = url[: url.index("/", 8)]
        links = [f"{host}/section/page-{random.randrange(N_PAGES)}.html" for _ in range(N_LINKS - 4)]
        links += random.sample(self.urls, 4)
        return fetched(url), parsed(
            url, *(FoundLink(link, f"text {number % 5} of {link[-14:]}") for link in links)
        )

    def run(self) -> None:
        seeds = self.urls[::N_PAGES]
        self.hand("a", LinksFound(1, tuple(map(FoundLink, seeds))))
        while True:
            while self.waiting:
                self.step(*self.waiting.popleft())
                self.wake()
            if self.n_pages and self.actors["a"].observe().is_idle:
                return
            self.now = max(self.now, min(actor.wake_at() for actor in self.actors.values()))
            self.wake()

    def wake(self) -> None:
        for name, actor in self.actors.items():
            if actor.wake_at() <= self.now:
                self.send(name, actor.wake(self.now))

    def step(self, peer: str, target: Address, message: Message) -> None:
        self.now += 0.01  # 25 pages a second: as little company for a change as it has live
        match message:
            case FetchPage(url) if url.endswith("robots.txt"):
                self.hand(peer, fetched(url, 404))
            case FetchPage(url):
                self.hand(peer, self.answers[url][0])
            case ParsePage(page):
                self.hand(peer, self.answers[page.url][1])
            case StorePage(page):
                self.n_pages += 1
                self.hand(peer, PageStored(page.url, page.stamp))
            case ItemsChanged() | ItemsKept():
                frame = encode("controller", "controller", message)
                self.n_bytes += len(frame)
                self.hand(target.peer, decode(frame).message, peer)

    def hand(self, peer: str, message: Message, source: str = "x") -> None:
        self.send(peer, self.actors[peer].receive(Address(source, "controller"), message, self.now))

    def send(self, peer: str, sends: Sequence[tuple[Address, Message]]) -> None:
        self.waiting.extend((peer, target, message) for target, message in sends)


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("is_on_disk", [False, True])
def test_controller(tmp_path: Path, is_on_disk: bool, replicas: int) -> None:
    """Print microseconds per page."""
    tables: tuple[Table, Table] = (MemoryTable(), MemoryTable())
    if is_on_disk:
        tables = (LmdbTable(tmp_path / "a"), LmdbTable(tmp_path / "b"))
    crawl = Crawl(tables, replicas)
    start = time.process_time()
    crawl.run()
    for table in tables:
        if isinstance(table, LmdbTable):
            table.commit()
    micros = (time.process_time() - start) * 1e6 / crawl.n_pages
    shipped = crawl.actors["a"].observe().store.items_shipped / crawl.n_pages
    print(
        f"\n{'LMDB' if is_on_disk else 'memory'} R={replicas}: {micros:.0f} us a page,"
        f" {shipped:.1f} items and {crawl.n_bytes / crawl.n_pages:.0f} bytes shipped"
    )


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-s", "--benchmark-enable"]))
