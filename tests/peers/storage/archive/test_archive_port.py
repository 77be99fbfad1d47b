"""The port "archive" on a real archive, and its twin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path

import pytest
import trio
import trio.testing
from xxhash import xxh3_64_intdigest

from mesh.actors.actor import Address, Message
from mesh.actors.port import DiskFilled
from mesh.errors import LocalProtocolError, StorageError
from peers.storage.archive.archive import Archive
from peers.storage.archive.archive_port import BATCH_BYTES_MAX, MANY_ORDERS, ArchivePort
from peers.storage.archive.archive_twin import ArchiveTwin, RecordStore
from peers.storage.archive.memory_archive import MemoryArchive
from peers.storage.archive.warc import request_record
from peers.storage.ledger.extent import Extent
from peers.storage.messages import (
    AppendBulk,
    AppendRecords,
    BulkAppended,
    ExtentsRead,
    ParseRecords,
    ReadExtents,
    ReadRecords,
    RecordsAppended,
    RecordsRead,
    RecordsRefused,
    RemoveSegments,
    SegmentsRemoved,
)
from tests.helpers import seen
from tests.patience import PATIENCE_S
from tests.peers.storage.team import ListStore

CELL = Address("me", "cell")
Delivered = tuple[str, Message]


class Served:
    """A running port and what it has delivered."""

    def __init__(self, port: ArchivePort) -> None:
        self.port = port
        self.delivered: list[Delivered] = []
        self._more = trio.Event()

    def deliver(self, source: Address, actor: str, message: Message) -> None:
        assert source == Address("me", "archive")
        self.delivered.append((actor, message))
        self._more.set()

    async def wait_until(self, is_enough: Callable[[list[Delivered]], bool]) -> None:
        while not is_enough(self.delivered):
            self._more = trio.Event()
            await self._more.wait()


@asynccontextmanager
async def serving(
    store: RecordStore, retry_s: float = 0.01, batch_bytes_max: int = BATCH_BYTES_MAX
) -> AsyncIterator[Served]:
    served = Served(ArchivePort("me", store, retry_s=retry_s, batch_bytes_max=batch_bytes_max))
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(served.port.run, served.deliver)
            yield served
            nursery.cancel_scope.cancel()


def order(n: int) -> AppendRecords:
    url = f"http://host.example/{n}"
    return AppendRecords(url, seen(float(n)), request_record(url, b"GET / HTTP/1.1\r\n\r\n", seen(float(n))))


def read_of(appended: RecordsAppended, records: bytes) -> ReadRecords:
    place = appended.segment, appended.offset, appended.length
    return ReadRecords(appended.url, appended.stamp, *place, xxh3_64_intdigest(records))


async def test_records_are_read_back_from_where_the_answer_says(tmp_path: Path) -> None:
    with Archive(tmp_path, "me") as archive:
        async with serving(archive) as served:
            for n in range(20):
                served.port.receive(CELL, order(n))
            await served.wait_until(lambda delivered: len(delivered) == 20)
            appended = [message for actor, message in served.delivered if actor == "cell"]
            for n, message in enumerate(appended):
                assert isinstance(message, RecordsAppended)
                assert (message.url, message.stamp) == (order(n).url, seen(float(n)))
                served.port.receive(CELL, read_of(message, order(n).records))
            await served.wait_until(lambda delivered: len(delivered) == 40)
    read = {
        message.url: message.records for _, message in served.delivered if isinstance(message, RecordsRead)
    }
    assert read == {order(n).url: order(n).records for n in range(20)}


async def test_what_comes_during_an_append_goes_into_the_next_one() -> None:
    class SlowStore(ListStore):
        def append(self, batch: Sequence[bytes | memoryview]) -> list[Extent | None]:
            trio.from_thread.run(gate.wait)
            batches.append(len(batch))
            return super().append(batch)

    gate, batches = trio.Event(), list[int]()
    async with serving(SlowStore()) as served:
        served.port.receive(CELL, order(0))
        await trio.testing.wait_all_tasks_blocked()
        for n in range(1, 100):
            served.port.receive(CELL, order(n))
        gate.set()
        await served.wait_until(lambda delivered: len(delivered) == 100)
    assert batches == [1, 99]
    assert (served.port.n_appends, served.port.n_appended) == (2, 100)


@pytest.mark.parametrize("n_orders", [MANY_ORDERS - 1, MANY_ORDERS])
async def test_after_many_orders_more_are_gathered(n_orders: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peers.storage.archive.archive_port.GATHERING_S", inf)
    async with serving(ListStore()) as served:
        for n in range(n_orders):
            served.port.receive(CELL, order(n))
        await served.wait_until(lambda delivered: len(delivered) == n_orders)
        served.port.receive(CELL, order(n_orders))
        if n_orders < MANY_ORDERS:
            await served.wait_until(lambda delivered: len(delivered) == n_orders + 1)
        else:
            await trio.testing.wait_all_tasks_blocked()
            assert (served.port.n_appends, served.port.n_appended) == (1, n_orders)
    assert served.port.n_appended == n_orders + 1  # those that waited are appended at the end


async def test_batch_has_at_most_the_limit_of_bytes() -> None:
    longest = max(len(order(n).records) for n in range(1, 8))
    async with serving(ListStore(), batch_bytes_max=3 * longest) as served:
        for n in range(1, 8):
            served.port.receive(CELL, order(n))
        await served.wait_until(lambda delivered: len(delivered) == 7)
    assert served.port.n_appends == 3


async def test_full_disk_is_told_and_nothing_is_lost() -> None:
    store = ListStore()
    store.is_full = True
    async with serving(store) as served:
        served.port.receive(CELL, order(1))
        await served.wait_until(lambda delivered: len(delivered) >= 4)
        assert {actor for actor, _ in served.delivered} == {"cell", "controller"}
        assert {type(message) for _, message in served.delivered} == {DiskFilled}
        served.port.receive(CELL, order(2))
        store.is_full = False
        await served.wait_until(lambda delivered: isinstance(delivered[-1][1], RecordsAppended))
    assert store.items == [order(1).records, order(2).records]


async def test_records_that_are_not_whole_are_refused(tmp_path: Path) -> None:
    with Archive(tmp_path, "me") as archive:
        async with serving(archive) as served:
            served.port.receive(CELL, AppendRecords("http://host.example/", seen(1.0), b"not a record"))
            served.port.receive(CELL, order(2))
            await served.wait_until(lambda delivered: len(delivered) == 2)
    assert served.delivered[0] == ("cell", RecordsRefused("http://host.example/", seen(1.0)))
    assert isinstance(served.delivered[1][1], RecordsAppended)


async def test_place_that_is_not_there_reads_as_nothing(tmp_path: Path) -> None:
    with Archive(tmp_path, "me") as archive:
        async with serving(archive) as served:
            served.port.receive(CELL, ReadRecords("http://host.example/", seen(1.0), 9, 0, 10, 0))
            await served.wait_until(lambda delivered: len(delivered) == 1)
    assert served.delivered == [("cell", RecordsRead("http://host.example/", seen(1.0), b""))]


async def test_what_came_before_the_end_is_appended(tmp_path: Path) -> None:
    with Archive(tmp_path, "me") as archive:
        async with serving(archive) as served:
            for n in range(5):
                served.port.receive(CELL, order(n))
    assert [type(message) for _, message in served.delivered] == [RecordsAppended] * 5


async def test_full_disk_does_not_hold_up_the_end() -> None:
    store = ListStore()
    store.is_full = True
    async with serving(store, retry_s=60.0) as served:
        served.port.receive(CELL, order(1))
        await served.wait_until(lambda delivered: len(delivered) == 2)
    assert store.items == []


async def test_broken_disk_stops_the_port() -> None:
    class BrokenStore(ListStore):
        def append(self, batch: Sequence[bytes | memoryview]) -> list[Extent | None]:
            raise StorageError("the disk failed")

    port = ArchivePort("me", BrokenStore())
    port.receive(CELL, order(1))
    with pytest.raises(ExceptionGroup) as caught:
        await port.run(Served(port).deliver)
    assert caught.group_contains(StorageError)


async def test_message_that_is_not_for_the_archive_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        ArchivePort("me", ListStore()).receive(CELL, ParseRecords("u", seen(1.0), b""))
    with pytest.raises(LocalProtocolError):
        ArchiveTwin(ListStore()).receive(ParseRecords("u", seen(1.0), b""))


def test_twin_answers_as_the_port_does() -> None:
    twin = ArchiveTwin(MemoryArchive())
    ((actor, appended),) = twin.receive(order(1))
    assert actor == "cell"
    assert isinstance(appended, RecordsAppended)
    read = read_of(appended, order(1).records)
    assert twin.receive(read) == [("cell", RecordsRead(order(1).url, seen(1.0), order(1).records))]
    missing = ReadRecords(order(1).url, seen(1.0), 9, 0, 10, 0)
    assert twin.receive(missing) == [("cell", RecordsRead(order(1).url, seen(1.0), b""))]
    assert twin.receive(AppendRecords("u", seen(1.0), b"x")) == [("cell", RecordsRefused("u", seen(1.0)))]


def test_twin_keeps_what_a_full_disk_left() -> None:
    store = ListStore()
    store.is_full = True
    twin = ArchiveTwin(store)
    assert [actor for actor, _ in twin.receive(order(1))] == ["cell", "controller"]
    store.is_full = False
    assert [type(message) for _, message in twin.receive(order(2))] == [RecordsAppended] * 2
    assert twin.append() == []


# --- In bulk ---------------------------------------------------------------------------------


async def test_bulk_is_appended_in_one_go_and_read_back_with_what_is_damaged_left_out(tmp_path: Path) -> None:
    items = [order(n).records for n in range(9)]
    bulk = AppendBulk(7, tuple(map(memoryview, [*items[:5], b"no record", *items[5:]])))
    with Archive(tmp_path, "me") as archive:
        async with serving(archive) as served:
            served.port.receive(CELL, bulk)
            await served.wait_until(lambda delivered: len(delivered) == 1)
            ((_, appended),) = served.delivered
            assert isinstance(appended, BulkAppended)
            assert [extent is None for extent in appended.extents] == [n == 5 for n in range(10)]
            assert served.port.n_appends == 1
            extents = tuple(extent for extent in appended.extents if extent is not None)
            checksums = tuple(map(xxh3_64_intdigest, items))
            flip(tmp_path, extents[3])
            served.port.receive(CELL, ReadExtents(8, extents[::-1], checksums[::-1]))
            await served.wait_until(lambda delivered: len(delivered) == 2)
    kept = [item for n, item in enumerate(items) if n != 3]
    sound = tuple(n != 3 for n in range(9))
    assert served.delivered[1] == ("cell", ExtentsRead(8, b"".join(kept[::-1]), sound[::-1]))


async def test_any_flipped_bit_of_a_page_keeps_it_from_being_handed_out(tmp_path: Path) -> None:
    records = order(1).records
    with Archive(tmp_path, "me") as archive:
        (extent,) = archive.append([records])
        assert extent is not None
        twin = ArchiveTwin(archive)
        question = ReadRecords("u", seen(1.0), 1, extent.offset, extent.length, xxh3_64_intdigest(records))
        assert twin.receive(question) == [("cell", RecordsRead("u", seen(1.0), records))]
        for at in range(extent.length):
            flip(tmp_path, extent, at)
            assert twin.receive(question) == [("cell", RecordsRead("u", seen(1.0), b""))]
            flip(tmp_path, extent, at)


async def test_segments_are_removed_in_their_turn(tmp_path: Path) -> None:
    with Archive(tmp_path, "me", segment_bytes_max=1_000) as archive:
        async with serving(archive) as served:
            for n in range(9):
                served.port.receive(CELL, order(n))
                await served.wait_until(lambda delivered, n=n: len(delivered) == n + 1)  # type: ignore[misc]
            assert len(list(tmp_path.iterdir())) > 2
            served.port.receive(CELL, RemoveSegments((1, 2)))
            served.port.receive(CELL, order(9))
            await served.wait_until(lambda delivered: len(delivered) == 11)
        assert served.delivered[9] == ("cell", SegmentsRemoved((1, 2)))
        assert isinstance(served.delivered[10][1], RecordsAppended)
        assert not {"tianmesh-me-00001.warc.gz", "tianmesh-me-00002.warc.gz"} & {
            file.name for file in tmp_path.iterdir()
        }


async def test_read_that_fails_for_want_of_files_is_repeated() -> None:
    class BusyStore(ListStore):
        def read_many(self, extents: Sequence[Extent]) -> list[bytes | memoryview | None]:
            attempts.append(len(extents))
            if len(attempts) < 3:
                raise StorageError("too many open files")
            return super().read_many(extents)

    attempts: list[int] = []
    async with serving(BusyStore()) as served:
        served.port.receive(CELL, order(0))
        served.port.receive(CELL, ReadExtents(8, (Extent(1, 0, 1),), (xxh3_64_intdigest(order(0).records),)))
        await served.wait_until(lambda delivered: len(delivered) == 2)
    assert len(attempts) == 3
    assert ("cell", ExtentsRead(8, order(0).records, (True,))) in served.delivered


def flip(folder: Path, extent: Extent, at: int = 30) -> None:
    path = folder / f"tianmesh-me-{extent.segment:05d}.warc.gz"
    content = bytearray(path.read_bytes())
    content[extent.offset + at] ^= 4
    path.write_bytes(content)
