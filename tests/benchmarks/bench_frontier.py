"""The frontier of a peer with many URLs: links a second that it takes in, and the memory that they cost.

    BENCH_FRONTIER_URLS=10000000 python -m tests.benchmarks.bench_frontier

Distinct URLs of 20,000 hosts come in batches of 1,000 links, as other peers send them (`LinksFound`): those
of 25 pages, each with 36 links to one host and 4 to others. They go through a controller into the table on
disk that a live peer has, with a commit every 10,000 links. Private memory is looked at every 50 ms, as the
peer's status tells it: without what is mapped of files, which is the system's to take back. Processor time is
that of the thread, commits included; the links are made beforehand, and that is not counted.

Wanted: 10,000,000 URLs within 300 MB over an empty peer, 50,000 links a second. In turn at a load of 9 to 25,
400,000 links: 34,800 a CPU-second, 49,600 since new URLs are told from others. Measured (2 shared vCPU AMD
EPYC at a load of 5 to 25, CPython 3.11.7): 10,000,000 URLs took 173 MB at most, 17 bytes each, and 236 bytes
of disk; 42,800 links a CPU-second over all, 48,800 in the first million, 38,800 in the last.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from mesh.actors.actor import Address
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.process.allocator import settle_allocator
from mesh.process.collector import relax_collector
from mesh.process.memory import memory_used
from mesh.slots import SlotTable
from mesh.tables.lmdb_table import LmdbTable
from peers.crawler.controller import Controller
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.wire_messages import LINKS_MAX, FoundLink, LinksFound
from tests.helpers import NOTHING_STORED, hold_slots

N_URLS: Final = int(os.environ.get("BENCH_FRONTIER_URLS", "1000000"))
N_HOSTS, N_LINKS, N_OUTSIDE, SLOT_COUNT = 20_000, 40, 4, 50_000
COMMIT_LINKS: Final = (
    10_000  # a fifth of a second; a live peer commits as soon as the commit before has ended
)
LOOK_S: Final = 0.05
OTHER: Final = Address("b", "controller")


class Watch:
    """The most private memory that this process has had."""

    def __init__(self) -> None:
        self.most = memory_used().private_bytes
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            time.sleep(LOOK_S)
            self.most = max(self.most, memory_used().private_bytes)


def batches(n_urls: int) -> Iterator[tuple[FoundLink, ...]]:
    """Yield batches of links to pages that nobody has heard of."""
    random, counts = Random(1), [0] * N_HOSTS
    links: list[FoundLink] = []
    for page in range(n_urls // N_LINKS):
        host = random.randrange(N_HOSTS)
        for link in range(N_LINKS):
            target = host if link < N_LINKS - N_OUTSIDE else random.randrange(N_HOSTS)
            counts[target] += 1
            url = f"http://www.site-{target}.test/documents/{page % 97}/page-{counts[target]}.html"
            links.append(FoundLink(url, depth=1 + page % 5))
            if len(links) == LINKS_MAX:
                yield tuple(links)
                links = []


def new_controller(table: LmdbTable) -> Controller:
    """Return one that holds all slots, of a mesh where nobody else keeps any."""
    controller = Controller("a", table, CrawlSettings(), NOTHING_STORED)
    ownership = Ownership("a", SlotTable({"a": 65_536, "b": 0}, SLOT_COUNT, 1), ("a", "b"))
    for message in (OwnershipChanged(ownership), hold_slots(ownership)):
        controller.receive(Address("a", "handover"), message, 1_000.0)
    return controller


def main() -> None:
    """Print what was measured at each tenth."""
    settle_allocator()
    relax_collector()
    with TemporaryDirectory() as folder:
        table = LmdbTable(Path(folder) / "table")
        controller = new_controller(table)
        table.commit()
        empty, watch = memory_used().private_bytes, Watch()
        n_links, cpu_s, printed_s = 0, 0.0, 0.0
        for number, links in enumerate(batches(N_URLS), 1):
            began_s = time.thread_time()
            controller.receive(OTHER, LinksFound(number, links), 1_000.0)
            n_links += len(links)
            if n_links % COMMIT_LINKS == 0:
                table.commit()
            cpu_s += time.thread_time() - began_s
            if n_links % (N_URLS // 10) == 0:
                rate = N_URLS / 10 / (cpu_s - printed_s)
                printed_s = cpu_s
                used = memory_used().private_bytes
                print(
                    f"{n_links:12,} links  {rate:9,.0f}/CPU-s  {(used - empty) / 1e6:6.0f} MB over empty,"
                    f" {(watch.most - empty) / 1e6:.0f} at most, {(used - empty) / n_links:.1f} bytes each",
                    flush=True,
                )
        assert controller.observe().urls_seen == n_links
        table.close()
        n_bytes = (Path(folder) / "table" / "data.mdb").stat().st_size
        print(f"{n_links / cpu_s:,.0f} links a CPU-second, {n_bytes / n_links:.0f} bytes of disk each")


if __name__ == "__main__":
    main()
