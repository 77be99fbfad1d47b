"""The port "segments" on a real index in a folder, and its twins."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import numpy as np
import pytest
import trio
import trio.testing

from mesh.actors.actor import Address, Message
from mesh.actors.port import DiskFilled, SpaceFound
from mesh.errors import LocalProtocolError, StorageError
from mesh.slot_set import decode_slots, encode_slot_list
from mesh.stamp import Stamp
from peers.engine.files.storage import Buffer, MemoryStorage
from peers.engine.index import Index
from peers.engine.merging.segment_merge import MERGE_FACTOR
from peers.engine.pages.document import Document
from peers.engine.pages.linkers import entry_of, linker_of
from peers.engine.pages.past import Lifetime, PastPage, past_key
from peers.index import segments_port
from peers.index.commit import commit_documents
from peers.index.counting_index import CountingIndex
from peers.index.messages import (
    AdoptDocuments,
    CommitDocuments,
    DocumentsAdopted,
    DocumentsCommitted,
    DocumentsExported,
    ExportDocuments,
    GiveUpSegment,
    NextDocuments,
    PagesIndexed,
    PastBehind,
    PastLost,
    PastSettled,
    SettlePast,
    SlotsDamaged,
    SlotsIndexed,
    SlotsRepaired,
    StopExport,
)
from peers.index.segments_port import REST_S, SegmentsPort
from peers.index.segments_twin import SegmentsTwin
from tests.helpers import seen
from tests.patience import PATIENCE_S
from tests.peers.engine.samples import placed_documents
from tests.peers.engine.test_index import as_contents, contents

INDEXER, CELL = Address("me", "indexer"), Address("me", "cell")
URL = "http://host.example/"
SLOTS = 50
ALL_SLOTS = encode_slot_list(range(SLOTS), SLOTS)


class FailingStorage(MemoryStorage):
    """A disk that fails with this error as long as there is one."""

    def __init__(self, number: int = 0) -> None:
        super().__init__()
        self.number = number

    def write(self, name: str, parts: Iterable[Buffer]) -> None:
        if self.number:
            raise OSError(self.number, "injected")
        super().write(name, parts)


class Served:
    """A running port, what it has delivered, and what it told of the slots in its index at the start."""

    def __init__(self, port: SegmentsPort) -> None:
        self.port = port
        self.delivered: list[tuple[str, Message]] = []
        self.indexed = b""
        self._more = trio.Event()

    def deliver(self, source: Address, actor: str, message: Message) -> None:
        assert source == Address("me", "segments")
        if isinstance(message, SlotsIndexed):
            assert actor == "cell"
            self.indexed = message.slots
        else:
            self.delivered.append((actor, message))
            self._more.set()

    async def wait_until(self, is_enough: Callable[[list[tuple[str, Message]]], bool]) -> None:
        while not is_enough(self.delivered):
            self._more = trio.Event()
            await self._more.wait()


@asynccontextmanager
async def serving(index: Index, rest_s: float = REST_S) -> AsyncIterator[Served]:
    served = Served(SegmentsPort("me", index, SLOTS, retry_s=0.01, rest_s=rest_s))
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(served.port.run, served.deliver)
            yield served
            nursery.cancel_scope.cancel()


def document(n: int, text: str = "some words", anchors: tuple[str, ...] = ()) -> Document:
    return Document(f"{URL}{n}", title=f"page {n}", text=text, anchors=anchors, fetched_at=float(n))


def order(
    batch: int, *documents: Document, anchors: dict[str, tuple[str, ...]] | None = None
) -> CommitDocuments:
    texts = tuple((3, url, each) for url, each in (anchors or {}).items())
    return CommitDocuments(batch, tuple((3, each) for each in documents), texts)


def stored(index: Index, n: int) -> Document | None:
    return index.snapshot().everything().stored(f"{URL}{n}")


async def test_committed_documents_are_there_after_opening_again(tmp_path: Path) -> None:
    with Index.open(tmp_path) as index:
        async with serving(index) as served:
            served.port.receive(INDEXER, order(1, document(1), document(2)))
            await served.wait_until(lambda delivered: len(delivered) == 1)
            assert served.delivered == [("indexer", DocumentsCommitted(1, index.generation))]
            assert served.port.n_documents == 2
    with Index.open(tmp_path) as index:
        assert (stored(index, 1), stored(index, 2)) == (document(1), document(2))


async def test_cell_is_told_at_the_start_which_slots_have_documents(tmp_path: Path) -> None:
    with Index.open(tmp_path) as index:
        async with serving(index) as served:
            served.port.receive(INDEXER, order(1, document(1)))
            await served.wait_until(_has(1))
            assert served.indexed == encode_slot_list([], SLOTS)
    with Index.open(tmp_path) as index:
        async with serving(index) as served:
            served.port.receive(INDEXER, CommitDocuments(2, (), (), (3,)))
            await served.wait_until(_has(1))
            assert served.indexed == encode_slot_list([3], SLOTS)
        assert not index.slots().any()


async def test_segments_are_merged_while_commits_go_on(tmp_path: Path) -> None:
    n_batches = 40
    with Index.open(tmp_path) as index:
        async with serving(index) as served:
            for batch in range(n_batches):
                served.port.receive(INDEXER, order(batch, document(batch), document(1_000 + batch // 2)))
                await served.wait_until(_has(batch + 1))
            while served.port.n_merges == 0:
                await trio.sleep(0.01)
        assert len(index.snapshot().segments) < n_batches
        documents = [document(n) for n in (*range(n_batches), *range(1_000, 1_000 + n_batches // 2))]
        assert sorted(index.snapshot().everything().urls()) == sorted(each.url for each in documents)
        assert [stored(index, n) for n in range(n_batches)] == documents[:n_batches]


async def test_few_segments_are_merged_when_nothing_is_written() -> None:
    with Index.open(MemoryStorage()) as index:
        async with serving(index, rest_s=0.05) as served:
            for batch in range(2):
                for n in range(3):
                    served.port.receive(INDEXER, order(batch, document(10 * batch + n)))
                while served.port.n_documents < 3 * (batch + 1) or len(index.snapshot().segments) > 1:
                    await trio.sleep(0.01)
        assert served.port.n_merges > 0
        assert [stored(index, n) for n in (0, 1, 2, 10, 11, 12)] == [
            document(n) for n in (0, 1, 2, 10, 11, 12)
        ]


def _has(count: int) -> Callable[[list[tuple[str, Message]]], bool]:
    return lambda delivered: len(delivered) == count


async def test_commit_that_was_begun_ends_before_the_port(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(index: Index, message: CommitDocuments) -> int:
        is_begun.set()
        may_end.wait(10)
        return commit_documents(index, message)

    monkeypatch.setattr("peers.index.segments_port.commit_documents", slow)
    is_begun, may_end = threading.Event(), threading.Event()
    index = Index(MemoryStorage())
    async with trio.open_nursery() as nursery:
        async with serving(index) as served:
            served.port.receive(INDEXER, order(1, document(1)))
            await trio.to_thread.run_sync(is_begun.wait, 10)
            nursery.start_soon(_release_soon, may_end)
    assert served.delivered == [("indexer", DocumentsCommitted(1, 1))]


async def _release_soon(may_end: threading.Event) -> None:
    await trio.sleep(0.05)  # by then the port is being cancelled
    may_end.set()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM])
async def test_full_disk_and_lack_of_descriptors_are_told_and_the_commit_repeated(number: int) -> None:
    storage = FailingStorage()
    index = Index(storage)
    storage.number = number
    async with serving(index) as served:
        served.port.receive(INDEXER, order(1, document(1)))
        await served.wait_until(lambda delivered: len(delivered) >= 4)
        assert {(actor, type(message)) for actor, message in served.delivered} == {
            ("cell", DiskFilled),
            ("controller", DiskFilled),
        }
        storage.number = 0
        await served.wait_until(lambda delivered: isinstance(delivered[-1][1], DocumentsCommitted))
        assert served.delivered[-2] == ("cell", SpaceFound())
    assert stored(index, 1) == document(1)


async def test_broken_disk_stops_the_port() -> None:
    storage = FailingStorage()
    index = Index(storage)
    storage.number = errno.EIO
    port = SegmentsPort("me", index, SLOTS)
    port.receive(INDEXER, order(1, document(1)))
    with pytest.raises(ExceptionGroup) as caught:
        await port.run(Served(port).deliver)
    assert caught.group_contains(StorageError)


async def test_message_that_is_not_for_the_segments_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        SegmentsPort("me", Index(MemoryStorage()), SLOTS).receive(INDEXER, PagesIndexed(()))
    for twin in (SegmentsTwin(Index(MemoryStorage()), SLOTS), CountingIndex()):
        with pytest.raises(LocalProtocolError):
            twin.receive(PagesIndexed(()))


# --- Exporting and adopting ------------------------------------------------------------------

PLACED = placed_documents(1, 60)


def placed_index(storage: MemoryStorage | None = None) -> Index:
    index = Index(storage or MemoryStorage())
    commit_documents(index, CommitDocuments(1, tuple(PLACED), ()))
    return index


def exported(delivered: list[tuple[str, Message]]) -> list[DocumentsExported]:
    return [message for _, message in delivered if isinstance(message, DocumentsExported)]


async def test_port_exports_part_by_part_and_another_adopts_it(tmp_path: Path) -> None:
    with Index.open(tmp_path) as other:
        async with serving(placed_index()) as source, serving(other) as target:
            source.port.receive(CELL, ExportDocuments(7, ALL_SLOTS))
            await source.wait_until(_has(1))
            await trio.testing.wait_all_tasks_blocked()
            (part,) = exported(source.delivered)
            assert (part.ticket, part.number, part.is_last) == (7, 0, False)
            source.port.receive(CELL, NextDocuments(7))
            await source.wait_until(_has(2))
            assert source.delivered[1] == ("cell", DocumentsExported(7, 1, b"", True))
            target.port.receive(CELL, AdoptDocuments(9, ALL_SLOTS, part.content))
            await target.wait_until(_has(1))
            ((actor, adopted),) = target.delivered
            assert actor == "cell"
            assert isinstance(adopted, DocumentsAdopted)
            assert (adopted.ticket, adopted.generation) == (9, other.generation)
            assert sorted(adopted.pages) == sorted((d.url, d.stamp) for _, d in PLACED)
            assert (target.port.n_adopted, target.port.n_refused) == (len(PLACED), 0)
            assert source.port.n_exported_bytes == len(part.content)
    with Index.open(tmp_path) as other:
        assert contents(other) == as_contents(PLACED)


async def test_export_is_of_what_was_committed_when_it_was_ordered() -> None:
    index = placed_index()
    async with serving(index) as served:
        served.port.receive(INDEXER, CommitDocuments(0, (), (), forgotten=tuple(range(SLOTS))))
        served.port.receive(CELL, ExportDocuments(7, ALL_SLOTS))
        await served.wait_until(_has(2))
    (part,) = exported(served.delivered)
    other = Index(MemoryStorage())
    assert len(other.adopt(part.content, np.ones(SLOTS, np.bool_))) == len(PLACED)
    assert index.snapshot().document_count == 0


async def test_stopped_export_makes_no_part_any_more() -> None:
    async with serving(placed_index()) as served:
        served.port.receive(CELL, ExportDocuments(7, ALL_SLOTS))
        served.port.receive(CELL, StopExport(7))
        served.port.receive(CELL, NextDocuments(7))
        served.port.receive(CELL, NextDocuments(8))
        served.port.receive(CELL, ExportDocuments(9, encode_slot_list([], SLOTS)))
        await served.wait_until(_has(1))
        assert served.delivered == [("cell", DocumentsExported(9, 0, b"", True))]


async def test_refused_segment_is_counted_and_answered_without_pages() -> None:
    index = placed_index()
    async with serving(index) as served:
        for ticket, content in enumerate((b"", b"garbage" * 1_000)):
            served.port.receive(CELL, AdoptDocuments(ticket, ALL_SLOTS, content))
        await served.wait_until(_has(2))
    assert [message for _, message in served.delivered] == [
        DocumentsAdopted(ticket, index.generation, ()) for ticket in (0, 1)
    ]
    assert served.port.n_refused == 2
    assert contents(index) == as_contents(PLACED)


async def test_full_disk_is_told_and_the_adoption_repeated() -> None:
    (part,) = placed_index().snapshot().export(np.ones(SLOTS, np.bool_))
    storage = FailingStorage()
    index = Index(storage)
    storage.number = errno.ENOSPC
    async with serving(index) as served:
        served.port.receive(CELL, AdoptDocuments(1, ALL_SLOTS, part))
        await served.wait_until(lambda delivered: len(delivered) >= 4)
        assert {type(message) for _, message in served.delivered} == {DiskFilled}
        storage.number = 0
        await served.wait_until(lambda delivered: isinstance(delivered[-1][1], DocumentsAdopted))
    assert contents(index) == as_contents(PLACED)


async def test_what_is_forgotten_before_it_is_adopted_stays() -> None:
    index = placed_index()
    (part,) = index.snapshot().export(np.ones(SLOTS, np.bool_))
    async with serving(index) as served:
        served.port.receive(INDEXER, order(1, document(1)))
        served.port.receive(INDEXER, CommitDocuments(0, (), (), forgotten=tuple(range(SLOTS))))
        served.port.receive(CELL, AdoptDocuments(2, ALL_SLOTS, part))
        await served.wait_until(_has(3))
    assert contents(index) == as_contents(PLACED)


# --- Damage ----------------------------------------------------------------------------------


def damaged_index(section: str) -> tuple[Index, str, bytes]:
    """An index whose one segment is damaged; its name and slots."""
    storage = MemoryStorage()
    index = placed_index(storage)
    segment = index.snapshot().segments[0].segment
    content = bytearray(storage.files[segment.name])
    content[segment.place_of(section)[7]] ^= 1
    storage.files[segment.name] = bytes(content)
    return Index(storage), segment.name, encode_slot_list({slot for slot, _ in PLACED}, SLOTS)


async def test_segment_given_up_is_told_to_cell_and_indexer_and_again_at_the_next_start() -> None:
    index, name, slots = damaged_index("postings")
    told = [("indexer", SlotsDamaged(slots)), ("cell", SlotsDamaged(slots))]
    async with serving(index) as served:
        served.port.receive(INDEXER, GiveUpSegment(name))
        served.port.receive(INDEXER, GiveUpSegment(name))
        await served.wait_until(lambda delivered: len(delivered) >= 4)
    assert served.delivered[:2] == told
    assert index.snapshot().document_count == 0
    async with serving(index) as again:
        assert again.port.n_damaged == 0
        await again.wait_until(_has(2))
        assert again.delivered == told
        again.port.receive(INDEXER, SlotsRepaired(slots))
        again.port.receive(INDEXER, order(1, document(1)))
        await again.wait_until(_has(3))
    async with serving(index) as last:
        last.port.receive(INDEXER, order(2, document(1)))
        await last.wait_until(_has(1))
        assert last.delivered == [("indexer", DocumentsCommitted(2, index.generation))]


@pytest.mark.parametrize("section", ["postings", "positions", "stored"])
async def test_damage_met_by_an_export_is_told_and_what_is_lacking(section: str) -> None:
    index, _, slots = damaged_index(section)
    async with serving(index) as served:
        served.port.receive(CELL, ExportDocuments(7, ALL_SLOTS))
        await served.wait_until(_has(3))
    assert served.delivered == [
        ("cell", DocumentsExported(7, 0, b"", True, (), slots)),
        ("indexer", SlotsDamaged(slots)),
        ("cell", SlotsDamaged(slots)),
    ]
    async with serving(index) as served:
        served.port.receive(CELL, ExportDocuments(8, ALL_SLOTS))
        await served.wait_until(_has(3))
        assert exported(served.delivered) == [DocumentsExported(8, 0, b"", True, (), slots)]


async def test_damage_met_by_a_commit_is_told_and_the_commit_done() -> None:
    index, _, slots = damaged_index("stored")
    url = next(iter(index.snapshot().everything().urls()))
    async with serving(index) as served:
        served.port.receive(INDEXER, order(1, document(1), anchors={url: ("new",)}))
        await served.wait_until(_has(3))
    assert served.delivered[:2] == [("indexer", SlotsDamaged(slots)), ("cell", SlotsDamaged(slots))]
    assert contents(index) == {document(1).url: document(1)}


async def test_damage_met_by_a_merge_is_told() -> None:
    storage = MemoryStorage()
    index = Index(storage)
    for part in range(MERGE_FACTOR):
        commit_documents(index, CommitDocuments(1, tuple(PLACED[part::MERGE_FACTOR]), ()))
    segment = index.snapshot().segments[2].segment
    content = bytearray(storage.files[segment.name])
    content[segment.place_of("positions")[0]] ^= 1
    storage.files[segment.name] = bytes(content)
    index = Index(storage)
    async with serving(index) as served:
        await served.wait_until(_has(2))
    slots = encode_slot_list({slot for slot, _ in PLACED[2::MERGE_FACTOR]}, SLOTS)
    assert served.delivered == [("indexer", SlotsDamaged(slots)), ("cell", SlotsDamaged(slots))]
    kept = (each for n, each in enumerate(PLACED) if n % MERGE_FACTOR != 2)
    assert contents(index) == as_contents(kept)


# --- What a commit does ----------------------------------------------------------------------


@pytest.fixture
def index() -> Index:
    index = Index(MemoryStorage())
    commit_documents(index, order(1, document(1), document(2, anchors=("old",))))
    return index


def test_link_texts_replace_those_of_a_page_in_the_index(index: Index) -> None:
    commit_documents(index, order(2, anchors={f"{URL}2": ("a", "b")}))
    assert stored(index, 2) == document(2, anchors=("a", "b"))
    assert index.snapshot().document_count == 2


def test_link_texts_replace_those_of_a_page_in_the_same_batch(index: Index) -> None:
    commit_documents(index, order(2, document(1, text="new"), anchors={f"{URL}1": ("a",)}))
    assert stored(index, 1) == document(1, text="new", anchors=("a",))


def test_link_texts_of_a_page_that_is_not_indexed_are_left(index: Index) -> None:
    generation = index.generation
    assert commit_documents(index, order(2, anchors={f"{URL}9": ("a",)})) == generation
    assert stored(index, 9) is None


def test_hosts_that_link_to_a_page_are_counted_in_the_index(index: Index) -> None:
    entries = tuple(sorted(entry_of(linker_of(f"http://h{n}.test/", f"{URL}2")) for n in range(3)))
    generation = commit_documents(index, order(2, anchors={f"{URL}2": (*entries, "text")}))
    document = stored(index, 2)
    assert document is not None
    assert (document.anchors, document.linking_hosts) == (("text",), 3)
    assert commit_documents(index, order(3, anchors={f"{URL}2": (*entries, "text")})) == generation


def test_link_texts_that_are_there_change_nothing(index: Index) -> None:
    generation = index.generation
    assert commit_documents(index, order(2, anchors={f"{URL}2": ("old",)})) == generation


def test_same_order_twice_is_the_same_index(index: Index) -> None:
    commit_documents(index, order(1, document(1), document(2, anchors=("old",))))
    assert index.snapshot().document_count == 2


def test_older_version_does_not_replace_what_came_another_way(index: Index) -> None:
    newer = msgspec.structs.replace(document(1), fetched_at=9.0, text="newer")
    commit_documents(index, CommitDocuments(2, ((3, newer),), ()))
    commit_documents(index, order(3, document(1), document(5)))
    assert (stored(index, 1), stored(index, 5)) == (newer, document(5))


def test_link_texts_are_those_of_the_version_that_came_another_way(index: Index) -> None:
    newer = msgspec.structs.replace(document(1), fetched_at=9.0, text="newer")
    commit_documents(index, CommitDocuments(2, ((3, newer),), ()))
    commit_documents(index, order(3, document(1), anchors={f"{URL}1": ("a",)}))
    assert stored(index, 1) == msgspec.structs.replace(newer, anchors=("a",))


def test_page_of_which_a_newer_version_came_another_way_is_not_removed(index: Index) -> None:
    newer = msgspec.structs.replace(document(1), fetched_at=9.0)
    commit_documents(index, CommitDocuments(2, ((3, newer),), ()))
    commit_documents(
        index, CommitDocuments(3, (), (), removed=((f"{URL}1", seen(8.0)), (f"{URL}2", seen(8.0))))
    )
    assert (stored(index, 1), stored(index, 2)) == (newer, None)


def test_pages_that_were_removed_are_not_adopted_again_unless_newer() -> None:
    removed = ((PLACED[0][1].url, PLACED[0][1].stamp), (PLACED[1][1].url, seen(PLACED[1][1].fetched_at - 1)))
    left = sorted((document.url, document.stamp) for _, document in PLACED[1:])
    index, counting = Index(MemoryStorage()), CountingIndex()
    for source, target in (
        (SegmentsTwin(Index(MemoryStorage()), SLOTS), SegmentsTwin(index, SLOTS)),
        (CountingIndex(), counting),
    ):
        source.receive(CommitDocuments(1, tuple(PLACED), ()))
        ((_, part),) = source.receive(ExportDocuments(7, ALL_SLOTS))
        assert isinstance(part, DocumentsExported)
        ((_, adopted),) = target.receive(AdoptDocuments(9, ALL_SLOTS, part.content, removed))
        assert isinstance(adopted, DocumentsAdopted)
        assert sorted(adopted.pages) == left
    assert set(contents(index)) == set(counting.urls) == {url for url, _ in left}


def test_removed_pages_and_forgotten_slots_go_before_documents_come(index: Index) -> None:
    removed, again = ((f"{URL}1", seen(9.0)), (f"{URL}2", seen(1.0))), document(2, text="again")
    commit_documents(index, CommitDocuments(2, ((3, again),), (), removed=removed))
    assert (stored(index, 1), stored(index, 2)) == (None, again)
    commit_documents(index, CommitDocuments(3, ((3, document(7)),), (), forgotten=(3,)))
    assert contents(index) == {document(7).url: document(7)}


def test_link_texts_of_a_page_that_is_removed_in_the_same_batch_do_not_bring_it_back(index: Index) -> None:
    anchors = ((3, f"{URL}1", ("a",)),)
    commit_documents(index, CommitDocuments(2, (), anchors, removed=((f"{URL}1", seen(9.0)),)))
    commit_documents(index, CommitDocuments(3, (), ((3, f"{URL}2", ("a",)),), forgotten=(3,)))
    assert contents(index) == {}


def test_twins_export_and_adopt() -> None:
    for source, target in (
        (SegmentsTwin(Index(MemoryStorage()), SLOTS), SegmentsTwin(Index(MemoryStorage()), SLOTS)),
        (CountingIndex(), CountingIndex()),
    ):
        source.receive(CommitDocuments(1, tuple(PLACED), ()))
        slots = encode_slot_list({slot for slot, _ in PLACED[:3]}, SLOTS)
        wanted = decode_slots(slots, SLOTS)
        ((actor, part),) = source.receive(ExportDocuments(7, slots))
        assert isinstance(part, DocumentsExported)
        assert (actor, part.ticket, part.number, part.is_last) == ("cell", 7, 0, False)
        assert source.receive(NextDocuments(7)) == [("cell", DocumentsExported(7, 1, b"", True))]
        assert source.receive(NextDocuments(7)) == []
        ((actor, adopted),) = target.receive(AdoptDocuments(9, slots, part.content))
        assert isinstance(adopted, DocumentsAdopted)
        assert (actor, adopted.ticket, adopted.generation) == ("cell", 9, 1)
        expected = sorted((d.url, d.stamp) for slot, d in PLACED if wanted[slot])
        assert sorted(adopted.pages) == expected
        for content, asked in ((b"garbage", slots), (part.content, encode_slot_list([], SLOTS))):
            ((_, refused),) = target.receive(AdoptDocuments(10, asked, content))
            assert refused == DocumentsAdopted(10, 1, ())
        source.receive(ExportDocuments(11, slots))
        assert source.receive(StopExport(11)) == []
        assert source.receive(NextDocuments(11)) == []


def test_counting_index_exports_in_parts_deletes_and_keeps_the_newest() -> None:
    index, other = CountingIndex(), CountingIndex()
    index.receive(CommitDocuments(1, tuple((n % 5, document(n)) for n in range(2_500)), ()))
    other.receive(
        CommitDocuments(
            1, ((0, document(10_000)), (0, msgspec.structs.replace(document(0), fetched_at=7.0))), ()
        )
    )
    parts = [index.receive(ExportDocuments(1, ALL_SLOTS))[0][1]]
    while not parts[-1].is_last:  # type: ignore[attr-defined]
        parts.append(index.receive(NextDocuments(1))[0][1])
    assert len(parts) == 4
    for part in parts[:-1]:
        other.receive(AdoptDocuments(1, ALL_SLOTS, part.content))  # type: ignore[attr-defined]
    assert other.urls == index.urls | {f"{URL}10000": seen(10_000.0), f"{URL}0": seen(7.0)}
    other.receive(CommitDocuments(2, (), (), forgotten=(1, 2, 3, 4), removed=((f"{URL}0", seen(7.0)),)))
    assert set(other.urls) == set(other.slots) == {f"{URL}{n}" for n in range(5, 2_500, 5)} | {f"{URL}10000"}


def test_twin_commits_at_once() -> None:
    index = Index(MemoryStorage())
    twin = SegmentsTwin(index, SLOTS)
    assert twin.receive(order(1, document(1))) == [("indexer", DocumentsCommitted(1, 1))]
    assert stored(index, 1) == document(1)


def test_counting_index_knows_urls_and_finds_nothing() -> None:
    index = CountingIndex()
    assert index.receive(order(1, document(1), document(2))) == [("indexer", DocumentsCommitted(1, 1))]
    assert index.receive(order(2, document(2))) == [("indexer", DocumentsCommitted(2, 2))]
    assert index.urls == {f"{URL}1": seen(1.0), f"{URL}2": seen(2.0)}


# --- Pace


def test_a_merge_writes_no_more_a_second_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = [100.0], [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds
        slept[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    parts: list[bytes | memoryview] = [b"head", bytes(5 << 20), b"", memoryview(bytes(3 << 20))]
    written = list(segments_port._paced(parts))
    assert b"".join(written) == b"".join(parts)
    assert max(map(len, written)) <= 1 << 20
    assert slept[0] == pytest.approx((4 + (8 << 20)) / segments_port.MERGE_BYTES_PER_S)


def test_document_of_a_later_visit_is_newer_though_its_clock_was_set_back(index: Index) -> None:
    first = msgspec.structs.replace(document(1), visit=1, fetched_at=5_000.0)
    second = msgspec.structs.replace(document(1), visit=2, fetched_at=1_400.0, text="newer")
    for number, each in enumerate((first, second, first), 1):
        commit_documents(index, CommitDocuments(number, ((3, each),), ()))
    assert stored(index, 1) == second
    commit_documents(index, CommitDocuments(4, (), (), removed=((f"{URL}1", Stamp(1, 9_000.0)),)))
    assert stored(index, 1) == second
    commit_documents(index, CommitDocuments(5, (), (), removed=((f"{URL}1", Stamp(3, 1_300.0)),)))
    assert stored(index, 1) is None


async def test_replaced_versions_are_kept_apart_and_given_up_apart(tmp_path: Path) -> None:
    old, new = document(1, "of old"), msgspec.structs.replace(document(1, "of now"), fetched_at=9.0)
    lifetime = Lifetime(1.0, 9.0)
    page = PastPage(3, old.url, (lifetime,))
    with Index.open(tmp_path) as index:
        async with serving(index) as served:
            served.port.receive(CELL, CommitDocuments(1, ((3, new),), ()))
            served.port.receive(CELL, SettlePast((page,)))
            served.port.receive(CELL, SettlePast((page._replace(documents=(old,)),)))
            await served.wait_until(lambda told: len(told) == 3)
            assert [message for _, message in served.delivered[1:]] == [
                PastSettled(((old.url, (lifetime,)),)),
                PastSettled(((old.url, ()),)),
            ]
            [past] = index.past().snapshot().segments
            assert list(index.snapshot().everything().urls()) == [old.url]
            assert list(index.past().snapshot().everything().urls()) == [past_key(old.url, lifetime)]
            generation = index.generation
            served.port.receive(INDEXER, GiveUpSegment(past.segment.name))
            await served.wait_until(lambda told: len(told) == 6)
            assert [(actor, type(message)) for actor, message in served.delivered[3:]] == [
                ("indexer", PastBehind),
                ("cell", PastLost),
                ("indexer", SlotsDamaged),
            ]
            assert not index.past().snapshot().document_count
            served.port.receive(CELL, SettlePast((page._replace(documents=(old,)),)))
            await served.wait_until(lambda told: len(told) == 7)
            served.port.receive(INDEXER, CommitDocuments(0, (), (), (3,)))
            await served.wait_until(lambda told: len(told) == 8)
            assert not index.snapshot().document_count
            assert not index.past().snapshot().document_count
    with Index.open(tmp_path) as index:
        assert index.generation == generation + 1
        assert index.replaced is not None
