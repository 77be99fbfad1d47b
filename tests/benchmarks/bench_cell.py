"""What a page costs the cells and indexers of its team, in memory: `pytest tests/benchmarks/bench_cell.py`.

The ports are twins that answer at once; the time is that of the actors, the nodes' routing and the
tables. A simulation of 100,000 pages in a minute leaves a cell about 60 us for each.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from mesh.actors.actor import Address, Message
from mesh.actors.node import Node, Outgoing
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.slots import SlotTable
from mesh.tables.memory_table import MemoryTable
from mesh.urls import host_of
from peers.engine.pages.document import Document
from peers.handover.messages import SlotsFilled
from peers.index.counting_index import CountingIndex
from peers.index.indexer import Indexer
from peers.storage.archive.archive_twin import ArchiveTwin
from peers.storage.cell import Cell, CellStatistics
from peers.storage.ledger.extent import Extent
from peers.storage.messages import AppendRecords, PageStored, StorePage
from peers.storage.scrubber import ScrubSettings
from peers.storage.settings import CellSettings
from peers.storage.wire_messages import StoredPage
from tests.peers.storage.dict_texts import DictTexts

N_PAGES = 5_000
SLOTS = 50_000


class CountingStore:
    """Keeps nothing but the size."""

    def __init__(self) -> None:
        self.size = 0

    def append(self, batch: Sequence[bytes | memoryview]) -> list[Extent | None]:
        places: list[Extent | None] = []
        for records in batch:
            places.append(Extent(1, self.size, len(records)))
            self.size += len(records)
        return places

    def read_many(self, extents: Sequence[Extent]) -> list[bytes | memoryview | None]:
        return [b"x" * extent.length for extent in extents]

    def remove(self, segments: Iterable[int]) -> None:
        raise AssertionError("there is only the last segment")


class Mesh:
    """Peers whose messages to each other arrive at once."""

    def __init__(self, n_peers: int, replicas: int) -> None:
        table = SlotTable({f"peer{n}": 100 for n in range(n_peers)}, SLOTS, replicas)
        self.ownership = Ownership("peer0", table, table.peers)
        self.now = 0.0
        self.nodes: dict[str, Node] = {}
        self.archives = {name: ArchiveTwin(CountingStore()) for name in table.peers}
        self.indexes = {name: CountingIndex() for name in table.peers}
        self.stored = 0
        for name in table.peers:
            cell = Cell(name, MemoryTable(), DictTexts(), CellSettings(scrub=ScrubSettings(bytes_per_s=0.0)))
            self.nodes[name] = Node(name, [cell, Indexer(name, self.indexes[name])])
            told = OwnershipChanged(Ownership(name, table, table.peers))
            for actor in ("cell", "indexer"):
                self.nodes[name].receive(Address(name, "membership"), actor, told, 0.0)

    def store(self, pages: list[StoredPage]) -> None:
        for page in pages:
            self.now += 0.001
            owner = self.ownership.owner_of(page.slot) or ""
            self._deliver(Address(owner, "controller"), Address(owner, "cell"), StorePage(page))
            for node in self.nodes.values():
                if node.wake_at() <= self.now:
                    self._carry_out(node.wake(self.now))
        self.now += 1.0
        for node in self.nodes.values():
            self._carry_out(node.wake(self.now))

    def _deliver(self, source: Address, target: Address, message: Message) -> None:
        self._carry_out(self.nodes[target.peer].receive(source, target.actor, message, self.now))

    def _carry_out(self, outgoing: list[Outgoing]) -> None:
        queue = deque(outgoing)
        while queue:
            source, target, message = queue.popleft()
            node = self.nodes[target.peer]
            if isinstance(message, PageStored):
                self.stored += 1
            elif target.actor == "handover":
                assert isinstance(message, SlotsFilled)
            elif node.has_actor(target.actor):
                queue += node.receive(source, target.actor, message, self.now)
            elif target.actor != "copies":
                port = self.archives if isinstance(message, AppendRecords) else self.indexes
                for actor, answer in port[target.peer].receive(message):
                    queue += node.receive(target, actor, answer, self.now)


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize(("n_peers", "replicas"), [(1, 1), (8, 2)])
def test_page_costs_the_team(benchmark: BenchmarkFixture, n_peers: int, replicas: int) -> None:
    def prepare() -> tuple[tuple[Mesh, list[StoredPage]], dict[str, object]]:
        mesh = Mesh(n_peers, replicas)
        return (mesh, [page_of(n, mesh.ownership) for n in range(N_PAGES)]), {}

    meshes: list[Mesh] = []

    def store(mesh: Mesh, pages: list[StoredPage]) -> None:
        mesh.store(pages)
        meshes.append(mesh)

    benchmark.pedantic(store, setup=prepare, rounds=3)
    mesh = meshes[-1]
    assert mesh.stored == N_PAGES
    statistics = [node.observe()["cell"] for node in mesh.nodes.values()]
    cells = [each for each in statistics if isinstance(each, CellStatistics)]
    assert sum(cell.stored + cell.replicated for cell in cells) == N_PAGES * replicas
    assert sum(cell.unindexed for cell in cells) == 0
    if benchmark.stats:
        benchmark.extra_info["us_per_page"] = benchmark.stats["min"] / N_PAGES * 1e6


def page_of(n: int, ownership: Ownership) -> StoredPage:
    url = f"http://host{n % 997}.example/page/{n}"
    document = Document(url, title=f"page {n}", text="some words of text", fetched_at=float(n))
    return StoredPage(url, ownership.slot_of(host_of(url)), float(n), 200, b"records", document)
