"""How fast slots go from one cell to another, beside a plain copy of the same bytes through a socket.

    pytest tests/benchmarks/bench_cell_transfer.py --benchmark-enable -s

Two peers in one process, each with its own runtime, table (LMDB), archive and index on disk; frames are
encoded and decoded and go through a channel. The plain copy writes the same records to a socket in parts of
the same size and from there to a file, synced after each part, also with both ends in one process.

Measured (2 shared vCPU AMD EPYC, CPython 3.11.7, nothing else running): 58 and 69 MB/s of records, 57 and 73
MB per CPU second of both peers together; a third of it is the check of every record where it comes in, a
third the two event loops. With the segments of the index 46 and 47 MB/s, 37 and 44 MB per CPU second: merging
what was adopted costs as much as sending it. Wanted: 50 MB/s.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path

import numpy as np
import pytest
import trio
from xxhash import xxh3_64_intdigest

from bootstrap.demo_web import DemoWeb
from mesh.actors.actor import Actor, Address, Message, Send
from mesh.actors.node import Node
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.actors.port import Port
from mesh.process.runtime import Runtime
from mesh.slot_set import encode_slots
from mesh.slots import SlotTable
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.table import TableSection
from mesh.transport.transport import Received
from mesh.urls import host_of
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.handover.messages import SlotsComplete, SlotsSynchronised, SynchroniseSlots
from peers.handover.settings import HandoverSettings
from peers.index.index_reader import IndexReader
from peers.index.indexer import Indexer
from peers.index.segments_port import SegmentsPort
from peers.storage.archive.archive import Archive
from peers.storage.archive.archive_port import ArchivePort
from peers.storage.archive.warc import request_record, response_record
from peers.storage.cell import Cell, CellStatistics
from peers.storage.cell_store import PART_RECORDS_BYTES
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import identity_of
from peers.storage.ledger.place import Place
from tests.frames import DECODER
from tests.helpers import seen
from tests.peers.storage.dict_texts import DictTexts

SLOTS = 50_000
N_PAGES = 20_000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: nginx\r\n\r\n"
REQUEST = b"GET / HTTP/1.1\r\nHost: www.debian.org\r\nUser-Agent: tianmesh\r\n\r\n"
SETTINGS = HandoverSettings()
ALL = encode_slots(np.ones(SLOTS, np.bool_))


class Handover(Actor):
    """Has slots brought from the other peer as the real one does: some tasks at a time, of some slots."""

    name = "handover"

    def __init__(self, me: str) -> None:
        self.done = trio.Event()
        self._cell = Address(me, "cell")
        self._todo: list[bytes] = []
        self._n_tasks = 0

    def begin(self) -> list[Send]:
        """Order the first tasks."""
        numbers = np.arange(SLOTS) // Cell.keeps.task_slots_max
        self._todo = [encode_slots(numbers == number) for number in range(int(numbers[-1]) + 1)]
        return [send for _ in range(SETTINGS.tasks_max) for send in self._next()]

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        if not isinstance(message, SlotsSynchronised):
            return []
        self._n_tasks -= 1
        sends = self._next()
        if not self._n_tasks:
            self.done.set()
        return sends

    def _next(self) -> list[Send]:
        if not self._todo:
            return []
        self._n_tasks += 1
        return [Send(self._cell, SynchroniseSlots(len(self._todo), "a", self._todo.pop(), inf))]


class Line:
    """The transport of one peer: frames for the other one."""

    def __init__(self) -> None:
        self.peers = frozenset({"a", "b"})
        self._in, self._out = trio.open_memory_channel[Received](inf)
        self.other: Line | None = None

    def send(self, peer: str, frames: Sequence[bytes]) -> bool:
        assert self.other is not None
        self.other._in.send_nowait(("a" if peer == "b" else "b", list(frames), sum(map(len, frames))))
        return True

    def publish(self, topic: bytes, frame: bytes) -> None:
        raise AssertionError("what is brought goes to one peer")

    async def receive_forever(self, take: Callable[[list[Received]], object]) -> None:
        async for each in self._out:
            take([each])


class Peer:
    """What is on disk, and the runtime over it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.table = LmdbTable(folder / "table")
        self.archive = Archive(folder / "archive", name)
        self.index = Index.open(folder / "index")
        self.line = Line()

    def start(self) -> None:
        me = self.name
        self.cell, self.handover = Cell(me, TableSection(self.table, b"S"), DictTexts()), Handover(me)
        node = Node(me, [self.cell, Indexer(me, IndexReader(self.index)), self.handover])
        ports: list[Port] = [ArchivePort(me, self.archive), SegmentsPort(me, self.index, SLOTS)]
        self.runtime = Runtime(node, self.table, self.line, DECODER, ports)

    def close(self) -> None:
        self.archive.close()
        self.index.close()
        self.table.close()

    def tell(self, message: Message) -> None:
        self.runtime.deliver(Address(self.name, "handover"), "cell", message)

    def fill(self, pages: list[tuple[str, bytes, Document | None]], weights: dict[str, int]) -> None:
        """Keep pages, indexed, as if they had come one after the other."""
        ownership = Ownership(self.name, SlotTable(weights, SLOTS, 2), weights)
        ledger = Ledger(TableSection(self.table, b"S"))
        for start in range(0, len(pages), 500):
            batch = pages[start : start + 500]
            extents = self.archive.append([records for _, records, _ in batch])
            for (url, records, document), extent in zip(batch, extents, strict=True):
                assert extent is not None
                place = Place(
                    url,
                    1.7e9,
                    200,
                    extent.segment,
                    extent.offset,
                    extent.length,
                    xxh3_64_intdigest(records),
                    document is not None,
                )
                ledger.keep(identity_of(ownership.slot_of(host_of(url)), url), place)
        documents = [(ownership.slot_of(host_of(url)), document) for url, _, document in pages if document]
        for start in range(0, len(documents), 2_000):
            self.index.add(documents[start : start + 2_000])
            self.index.commit()
            self.index.merge_if_needed()
        ledger.save()
        self.table.commit()


@pytest.fixture(scope="module")
def bodies() -> list[tuple[bytes, str]]:
    """Records of real pages, and their text, roughly."""
    web = DemoWeb.load()
    found: list[tuple[bytes, str]] = []
    for (host, target), page in web._responses.items():
        url = f"http://{host}{target}"
        records = response_record(url, HEAD, page.body, seen(1.7e9)) + request_record(
            url, REQUEST, seen(1.7e9)
        )
        found.append((records, page.body.decode(errors="replace")[:3_000]))
    return found


def pages_of(
    bodies: list[tuple[bytes, str]], n_pages: int, *, indexed: bool
) -> list[tuple[str, bytes, Document | None]]:
    pages: list[tuple[str, bytes, Document | None]] = []
    for n in range(n_pages):
        url = f"http://host{n % 997}.example/page/{n}"
        records, text = bodies[n % len(bodies)]
        document = Document(url, title=f"page {n}", text=text, fetched_at=1.7e9) if indexed else None
        pages.append((url, records, document))
    return pages


@pytest.mark.parametrize("indexed", [False, True], ids=["records", "records and documents"])
async def test_transfer_between_two_cells(
    tmp_path: Path, bodies: list[tuple[bytes, str]], indexed: bool
) -> None:
    pages = pages_of(bodies, N_PAGES, indexed=indexed)
    weights = {"a": 100, "b": 100}
    source, target = Peer("a", tmp_path / "a"), Peer("b", tmp_path / "b")
    source.fill(pages, weights)
    source.line.other, target.line.other = target.line, source.line
    async with running(source, target):
        for peer in (source, target):
            ownership = Ownership(peer.name, SlotTable(weights, SLOTS, 2), weights)
            for actor in ("cell", "indexer"):
                peer.runtime.deliver(Address(peer.name, "membership"), actor, OwnershipChanged(ownership))
        source.tell(SlotsComplete(ALL))
        began, cpu_began = time.perf_counter(), time.process_time()
        for send in target.handover.begin():
            target.tell(send.message)
        with trio.fail_after(240):
            await target.handover.done.wait()
        seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
        observed = target.runtime.observe()["cell"]
    assert isinstance(observed, CellStatistics)
    megabytes = observed.store.bytes_received / 1e6  # with the segments of the index
    assert (observed.brought, observed.unindexed) == (N_PAGES, 0)
    assert target.index.snapshot().document_count == (N_PAGES if indexed else 0)
    source.close()
    target.close()
    copied = seconds_of_copy([records for _, records, _ in pages], tmp_path / "copy")
    print(
        f"\n{N_PAGES} pages, {megabytes:.0f} MB: {megabytes / seconds:.0f} MB/s, "
        f"{megabytes / cpu_s:.0f} MB per CPU second, {N_PAGES / seconds:.0f} pages/s; "
        f"plain copy {megabytes / copied:.0f} MB/s, ratio {copied / seconds:.2f}"
    )


@asynccontextmanager
async def running(*peers: Peer) -> AsyncIterator[None]:
    for peer in peers:
        peer.start()
    async with trio.open_nursery() as nursery:
        for peer in peers:
            await nursery.start(peer.runtime.run)
        yield
        nursery.cancel_scope.cancel()


def seconds_of_copy(records: list[bytes], path: Path) -> float:
    """Send records through a socket in parts and write them to a file, synced part by part."""
    left, right = socket.socketpair()
    parts = list(parts_of(records))
    began = time.perf_counter()

    def send() -> None:
        for part in parts:
            left.sendall(part)

    sender = threading.Thread(target=send)
    sender.start()
    with path.open("wb") as file:
        for part in parts:
            rest = len(part)
            while rest:
                data = right.recv(min(rest, 1 << 20))
                file.write(data)
                rest -= len(data)
            file.flush()
            os.fsync(file.fileno())
    sender.join()
    left.close()
    right.close()
    return time.perf_counter() - began


def parts_of(records: list[bytes]) -> Iterator[bytes]:
    part: list[bytes] = []
    for each in records:
        part.append(each)
        if sum(map(len, part)) > PART_RECORDS_BYTES:
            yield b"".join(part)
            part = []
    yield b"".join(part)
