"""The port "segments" on a real index in a folder, and its twins."""

from __future__ import annotations

import errno
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from mesh.actor import Address, Message
from mesh.document import Document
from mesh.errors import LocalProtocolError, StorageError
from peers.index.index import Index
from peers.index.messages import CommitDocuments, DocumentsCommitted, PagesIndexed
from peers.index.segments_port import SegmentsPort
from peers.index.segments_twin import CountingIndex, SegmentsTwin, commit_documents
from peers.index.storage import Buffer, MemoryStorage
from peers.storage.messages import DiskFilled

INDEXER = Address("me", "indexer")
URL = "http://host.example/"


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
    """A running port and what it has delivered."""

    def __init__(self, port: SegmentsPort) -> None:
        self.port = port
        self.delivered: list[tuple[str, Message]] = []
        self._more = trio.Event()

    def deliver(self, source: Address, actor: str, message: Message) -> None:
        assert source == Address("me", "segments")
        self.delivered.append((actor, message))
        self._more.set()

    async def wait_until(self, is_enough: Callable[[list[tuple[str, Message]]], bool]) -> None:
        while not is_enough(self.delivered):
            self._more = trio.Event()
            await self._more.wait()


@asynccontextmanager
async def serving(index: Index) -> AsyncIterator[Served]:
    served = Served(SegmentsPort("me", index, retry_s=0.01))
    with trio.fail_after(60):
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
            assert served.port.cpu_s > 0
    with Index.open(tmp_path) as index:
        assert (stored(index, 1), stored(index, 2)) == (document(1), document(2))


async def test_segments_are_merged_while_commits_go_on(tmp_path: Path) -> None:
    n_batches = 40
    with Index.open(tmp_path) as index:
        async with serving(index) as served:
            for batch in range(n_batches):
                served.port.receive(INDEXER, order(batch, document(batch), document(1_000 + batch // 2)))
                await served.wait_until(_has(batch + 1))
            while served.port.n_merges == 0:
                await trio.sleep(0.01)
        assert len(index.snapshot().parts) < n_batches
        documents = [document(n) for n in (*range(n_batches), *range(1_000, 1_000 + n_batches // 2))]
        assert sorted(index.snapshot().everything().urls()) == sorted(each.url for each in documents)
        assert [stored(index, n) for n in range(n_batches)] == documents[:n_batches]


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


async def test_full_disk_is_told_and_the_commit_repeated() -> None:
    storage = FailingStorage()
    index = Index(storage)
    storage.number = errno.ENOSPC
    async with serving(index) as served:
        served.port.receive(INDEXER, order(1, document(1)))
        await served.wait_until(lambda delivered: len(delivered) >= 4)
        assert {(actor, type(message)) for actor, message in served.delivered} == {
            ("cell", DiskFilled),
            ("controller", DiskFilled),
        }
        storage.number = 0
        await served.wait_until(lambda delivered: isinstance(delivered[-1][1], DocumentsCommitted))
    assert stored(index, 1) == document(1)


async def test_broken_disk_stops_the_port() -> None:
    storage = FailingStorage()
    index = Index(storage)
    storage.number = errno.EIO
    port = SegmentsPort("me", index)
    port.receive(INDEXER, order(1, document(1)))
    with pytest.raises(ExceptionGroup) as caught:
        await port.run(Served(port).deliver)
    assert caught.group_contains(StorageError)


async def test_message_that_is_not_for_the_segments_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        SegmentsPort("me", Index(MemoryStorage())).receive(INDEXER, PagesIndexed(()))
    for twin in (SegmentsTwin(Index(MemoryStorage())), CountingIndex()):
        with pytest.raises(LocalProtocolError):
            twin.receive(PagesIndexed(()))


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


def test_link_texts_that_are_there_change_nothing(index: Index) -> None:
    generation = index.generation
    assert commit_documents(index, order(2, anchors={f"{URL}2": ("old",)})) == generation


def test_same_order_twice_is_the_same_index(index: Index) -> None:
    commit_documents(index, order(1, document(1), document(2, anchors=("old",))))
    assert index.snapshot().document_count == 2


def test_twin_commits_at_once() -> None:
    index = Index(MemoryStorage())
    twin = SegmentsTwin(index)
    assert twin.receive(order(1, document(1))) == [("indexer", DocumentsCommitted(1, 1))]
    assert stored(index, 1) == document(1)


def test_counting_index_knows_urls_and_finds_nothing() -> None:
    index = CountingIndex()
    assert index.receive(order(1, document(1), document(2))) == [("indexer", DocumentsCommitted(1, 1))]
    assert index.receive(order(2, document(2))) == [("indexer", DocumentsCommitted(2, 2))]
    assert index.urls == {f"{URL}1": 1.0, f"{URL}2": 2.0}
