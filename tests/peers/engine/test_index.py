from __future__ import annotations

import errno
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from xxhash import xxh3_128_digest

from peers.engine.files.directory import DirectoryInUseError, DirectoryStorage
from peers.engine.files.errors import CorruptIndexError
from peers.engine.files.storage import Buffer, MemoryStorage, Storage
from peers.engine.index import BUFFER_BYTES_MAX, Index
from peers.engine.merging.segment_merge import (
    DELETED_SHARE_MAX,
    MERGE_FACTOR,
    SEGMENT_BYTES_MAX,
    SMALL_SEGMENT_BYTES,
    SegmentSize,
    segments_to_merge,
    segments_to_merge_at_rest,
)
from peers.engine.pages.document import Document
from peers.engine.queries.query import Mode
from peers.engine.segments.live_segment import VIEWS_KEPT
from peers.engine.segments.manifest import MANIFEST_NAME
from tests.peers.engine.samples import index_of, page, random_documents, search
from tests.peers.engine.test_search import QUERIES


@pytest.fixture(params=["memory", "directory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    """A storage of each kind; closing an index and opening it again is allowed."""
    if request.param == "memory":
        yield MemoryStorage()
    else:
        yield ReopenedDirectory(tmp_path / "index")


class ReopenedDirectory(DirectoryStorage):
    """A directory that locks itself again when it is used after closing, for tests that reopen an index."""

    is_open = False

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.is_open = True

    def names(self) -> list[str]:
        if not self.is_open:
            self.__init__(self.path)  # type: ignore[misc]
        return super().names()

    def close(self) -> None:
        super().close()
        self.is_open = False


def contents(index: Index) -> dict[str, Document | None]:
    view = index.snapshot().everything()
    return {url: view.stored(url) for url in view.urls()}


def as_contents(documents: Iterable[tuple[int, Document]]) -> dict[str, Document]:
    return {document.url: document for _, document in documents}


def test_what_is_committed_is_there_after_opening_again(storage: Storage) -> None:
    documents = random_documents(1, 120)
    index = Index.open(storage)
    assert index.generation == 0
    index.add(documents[:70])
    assert index.commit() == 1
    index.add(documents[70:])
    index.delete([documents[0][1].url, documents[80][1].url, "http://nosuch/"])
    assert index.commit() == 2
    index.add(random_documents(2, 5))  # never committed
    expected = [search(index.snapshot().everything(), query) for query in QUERIES]
    index.close()
    with Index.open(storage) as again:
        assert again.generation == 2
        assert contents(again) == as_contents(documents[1:80] + documents[81:])
        assert [search(again.snapshot().everything(), query) for query in QUERIES] == expected


def test_nothing_is_visible_before_the_commit(storage: Storage) -> None:
    with Index.open(storage) as index:
        index.add([page("a/1", "word")])
        assert index.snapshot().document_count == 0
        index.commit()
        index.delete(["http://a/1"])
        index.add([page("a/2", "word")])
        assert list(index.snapshot().everything().urls()) == ["http://a/1"]


def test_a_commit_of_nothing_changes_nothing(storage: Storage) -> None:
    with Index.open(storage) as index:
        assert index.commit() == 0
        index.add([page("a/1")])
        assert index.commit() == index.commit() == 1
        index.delete(["http://nosuch/"])
        assert index.commit() == 1


def test_a_document_replaces_the_one_with_its_url(storage: Storage) -> None:
    with Index.open(storage) as index:
        index.add([page("a/1", "first"), page("a/1", "second"), page("a/2", "first")])
        index.commit()
        assert search(index.snapshot().everything(), "first")[0] == 1
        index.add([page("a/1", "third")])
        index.commit()
        view = index.snapshot().everything()
        assert [search(view, word)[0] for word in ("first", "second", "third")] == [1, 0, 1]
        assert view.document_count == view.statistics([]).document_count == 2


def test_the_last_of_adding_and_deleting_counts(storage: Storage) -> None:
    with Index.open(storage) as index:
        index.add([page("a/1"), page("a/2")])
        index.delete(["http://a/1"])
        index.commit()
        assert set(contents(index)) == {"http://a/2"}
        index.delete(["http://a/2"])
        index.add([page("a/2", "again")])
        index.delete(["http://a/2"])
        index.add([page("a/2", "and again")])
        index.commit()
        assert contents(index) == as_contents([page("a/2", "and again")])


def test_slots_handed_over_are_deleted(storage: Storage) -> None:
    documents = random_documents(1, 60)
    with Index.open(storage) as index:
        index.add(documents[:40])
        index.commit()
        index.add(documents[40:])
        slots = {slot for slot, _ in documents[::3]}
        index.delete_slots(slots)
        index.commit()
        assert contents(index) == as_contents((s, d) for s, d in documents if s not in slots)


def test_an_index_that_lost_all_documents_is_empty_and_usable(storage: Storage) -> None:
    with Index.open(storage) as index:
        index.add([page("a/1")])
        index.commit()
        index.delete(["http://a/1"])
        assert index.commit() == 2
        assert index.snapshot().index_bytes == index.snapshot().document_count == 0
        assert storage.names() == [MANIFEST_NAME]
        index.add([page("a/1")])
        assert index.commit() == 3


def test_files_out_of_use_are_removed_while_snapshots_still_read_them(storage: Storage) -> None:
    with Index.open(storage) as index:
        index.add(random_documents(1, 30))
        index.commit()
        old = index.snapshot().everything()
        urls = list(old.urls())
        index.delete(urls)
        index.commit()
        assert all(old.stored(url) is not None for url in urls)


def test_a_large_buffer_is_written_before_the_commit(storage: Storage) -> None:
    with Index.open(storage) as index:
        big = "x" * (BUFFER_BYTES_MAX // 2 + 1)
        index.add([page("a/1", big), page("a/2", "small")])
        index.add([page("a/3", big), page("a/1", "new")])
        assert len(storage.names()) == 1
        index.add([page("a/4", big), page("a/2", "new")])
        assert len(storage.names()) == 2
        assert index.snapshot().document_count == 0
        index.add([page("a/3", "new")])
        index.commit()
        assert {url: d.text for url, d in contents(index).items() if d and len(d.text) < 9} == {
            "http://a/1": "new",
            "http://a/2": "new",
            "http://a/3": "new",
        }


@pytest.mark.parametrize("n_segments", [2, 8])
def test_merging_changes_no_answer(storage: Storage, n_segments: int) -> None:
    documents = random_documents(3, 400)
    with Index.open(storage) as index:
        for part in range(n_segments):
            index.add(documents[part::n_segments])
            index.commit()
        index.delete([document.url for _, document in documents[::5]])
        index.add([(slot, d) for slot, d in random_documents(4, 30)])
        index.commit()
        before = [search(index.snapshot().everything(), q, 500, m) for q in QUERIES for m in Mode]
        stored = contents(index)
        merge = index.plan_merge() if n_segments >= MERGE_FACTOR else None
        if merge is None:
            assert not index.merge_if_needed()
            return
        index.apply_merge(merge, merge.run())
        assert len(index.snapshot().segments) == 1
        assert [search(index.snapshot().everything(), q, 500, m) for q in QUERIES for m in Mode] == before
        assert contents(index) == stored
        assert not index.merge_if_needed()
    with Index.open(storage) as again:
        assert contents(again) == stored


def test_a_merged_segment_is_the_one_its_documents_would_have_made() -> None:
    documents = random_documents(3, 300)
    whole, merged = MemoryStorage(), MemoryStorage()
    index = Index.open(whole)
    index.add(documents[30:])
    index.commit()
    index = Index.open(merged)
    for part in range(MERGE_FACTOR):
        index.add(documents[part::MERGE_FACTOR])
        index.commit()
    index.delete([document.url for _, document in documents[:30]])
    assert index.merge_if_needed()
    assert [v for k, v in whole.files.items() if k != MANIFEST_NAME] == [
        v for k, v in merged.files.items() if k != MANIFEST_NAME
    ]


def test_what_happens_during_a_merge_is_not_lost(storage: Storage) -> None:
    documents = random_documents(3, 80)
    with Index.open(storage) as index:
        for part in range(MERGE_FACTOR):
            index.add(documents[part::MERGE_FACTOR])
            index.commit()
        merge = index.plan_merge()
        assert merge is not None
        merged = merge.run()
        replaced = page(documents[5][1].url.removeprefix("http://"), "new text")
        index.delete([document.url for _, document in documents[:3]])
        index.add([replaced, page("new/", "added")])
        index.commit()
        index.delete([documents[7][1].url])
        index.delete([document.url for _, document in documents[::MERGE_FACTOR]])  # one segment is gone
        index.commit()
        index.apply_merge(merge, merged)
        gone = {0, 1, 2, 5, 7, *range(0, 80, MERGE_FACTOR)}
        kept = [item for number, item in enumerate(documents) if number not in gone]
        expected = as_contents([*kept, replaced, page("new/", "added")])
        assert contents(index) == expected
    with Index.open(storage) as again:
        assert contents(again) == expected


def test_what_a_merge_has_written_is_removed_when_it_is_abandoned() -> None:
    storage = MemoryStorage()
    index = Index.open(storage)
    documents = random_documents(3, 80)
    for part in range(MERGE_FACTOR):
        index.add(documents[part::MERGE_FACTOR])
        index.commit()
    merge = index.plan_merge()
    assert merge is not None
    merge.run()
    index.add([page("new/", "added")])
    index.commit()
    assert merge.name in storage.files
    index.abandon_merge(merge)
    index.delete(["http://new/"])
    index.commit()
    assert merge.name not in storage.files
    assert contents(index) == as_contents(documents)


def test_many_small_commits_leave_few_segments() -> None:
    storage = MemoryStorage()
    index = Index.open(storage)
    documents = random_documents(6, 200)
    for item in documents:
        index.add([item])
        index.commit()
        index.merge_if_needed()
    assert len(index.snapshot().segments) < MERGE_FACTOR
    assert contents(index) == as_contents(documents)


def size(megabytes: float, live_share: float = 1.0) -> SegmentSize:
    return SegmentSize(int(megabytes * 2**20), 1000, int(1000 * live_share))


def test_policy_merges_a_full_tier_and_the_lowest_first() -> None:
    small, large = size(0.1), size(SMALL_SEGMENT_BYTES / 2**20 * 5)
    assert segments_to_merge([]) == []
    assert segments_to_merge([small] * (MERGE_FACTOR - 1)) == []
    assert segments_to_merge([small] * MERGE_FACTOR) == list(range(MERGE_FACTOR))
    assert segments_to_merge([large, *[small] * MERGE_FACTOR]) == list(range(1, MERGE_FACTOR + 1))
    assert segments_to_merge([large] * MERGE_FACTOR + [small]) == list(range(MERGE_FACTOR))


def test_policy_at_rest_leaves_no_small_segments_beside_one_they_are_a_share_of() -> None:
    assert segments_to_merge_at_rest([]) == []
    assert segments_to_merge_at_rest([size(5)]) == []
    assert segments_to_merge_at_rest([size(5), size(5)]) == [0, 1]
    assert segments_to_merge_at_rest([size(51), size(1), size(6), size(51), size(7)]) == [0, 1, 2, 3, 4]
    assert segments_to_merge_at_rest([size(51), size(1), size(6)]) == []
    assert segments_to_merge_at_rest([size(51), size(1), size(2)]) == [1, 2]
    assert segments_to_merge_at_rest([size(51), size(1, 1 - DELETED_SHARE_MAX - 0.1)]) == [1]


def test_policy_leaves_huge_segments_alone() -> None:
    assert segments_to_merge_at_rest([size(SEGMENT_BYTES_MAX / 2**20)] * 20) == []
    assert segments_to_merge([size(SEGMENT_BYTES_MAX / 2**20)] * 20) == []


def test_policy_rewrites_a_segment_of_deleted_documents() -> None:
    assert segments_to_merge([size(1), size(1, 1 - DELETED_SHARE_MAX - 0.1), size(1)]) == [1]
    assert segments_to_merge([size(1), size(1, 1 - DELETED_SHARE_MAX + 0.1), size(1)]) == []


class CrashError(BaseException):
    """The machine stops here."""


class FaultyStorage(MemoryStorage):
    """Fails at one of its operations, which may be half done by then."""

    def __init__(
        self, files: dict[str, bytes], fails_at: int, error: BaseException, is_half_done: bool
    ) -> None:
        super().__init__()
        self.files = files
        self.operations = 0
        self._fails_at = fails_at
        self._error = error
        self._is_half_done = is_half_done

    def _fails(self) -> bool:
        self.operations += 1
        return self.operations == self._fails_at

    def write(self, name: str, parts: Iterable[Buffer]) -> None:
        content = b"".join(parts)
        if self._fails():
            if self._is_half_done:
                self.files[name] = content[: len(content) // 2]
            raise self._error
        self.files[name] = content

    def replace(self, name: str, content: Buffer) -> None:
        fails = self._fails()
        if not fails or self._is_half_done:
            self.files[name] = bytes(content)  # renamed, but the directory was not written yet
        if fails:
            raise self._error

    def remove(self, name: str) -> None:
        if self._fails():
            raise self._error
        super().remove(name)


def change(index: Index) -> None:
    """One commit with all kinds of changes."""
    index.delete([document.url for _, document in random_documents(1, 40)[:10]])
    index.add(random_documents(2, 20))
    relink(index)
    index.commit()
    index.merge_if_needed()


def relink(index: Index) -> None:
    index.relink({document.url: ("a link",) for _, document in random_documents(1, 40)[5:30:2]})


def committed_files() -> dict[str, bytes]:
    storage = MemoryStorage()
    index = Index.open(storage)
    for part in range(MERGE_FACTOR - 1):
        index.add(random_documents(1, 40)[part :: MERGE_FACTOR - 1])
        index.commit()
    return storage.files


@pytest.mark.parametrize("is_half_done", [False, True])
def test_a_crash_at_any_operation_leaves_the_state_before_or_after_a_commit(is_half_done: bool) -> None:
    before = committed_files()
    old = contents(Index.open(FaultyStorage(dict(before), 0, CrashError(), False)))
    undisturbed = FaultyStorage(dict(before), 0, CrashError(), False)
    index = Index.open(undisturbed)
    change(index)
    new, operations = contents(index), undisturbed.operations
    assert old != new
    assert operations > 10
    seen = set()
    for fails_at in range(1, operations + 1):
        files = dict(before)
        with pytest.raises(CrashError):
            change(Index.open(FaultyStorage(files, fails_at, CrashError(), is_half_done)))
        after_crash = MemoryStorage()
        after_crash.files = files
        index = Index.open(after_crash)
        assert contents(index) in (old, new), fails_at
        seen.add(contents(index) == new)
        in_use = {part.segment.name for part in index.snapshot().segments}
        leftovers = {name for name in files if name.startswith("segment")} - in_use
        assert not leftovers
        change(index)
        assert contents(index) == new
    assert seen == {False, True}


@pytest.mark.parametrize("is_half_done", [False, True])
def test_after_a_full_disk_the_commit_can_be_repeated(is_half_done: bool) -> None:
    before = committed_files()
    undisturbed = MemoryStorage()
    undisturbed.files = dict(before)
    index = Index.open(undisturbed)
    change(index)
    new = contents(index)
    for fails_at in itertools.count(1):
        full = OSError(errno.ENOSPC, "no space left on device")
        storage = FaultyStorage(dict(before), fails_at, full, is_half_done)
        index = Index.open(storage)
        opened = storage.operations
        generation, old = index.generation, contents(index)
        try:
            change(index)
        except OSError:
            if index.generation == generation:
                assert contents(index) == old
                relink(index)
            index.commit()
            index.merge_if_needed()
        assert contents(index) == new
        again = MemoryStorage()
        again.files = dict(storage.files)
        reopened = Index.open(again)
        assert contents(reopened) == new
        in_use = {part.segment.name for part in reopened.snapshot().segments}
        assert {name for name in again.files if name.startswith("segment")} == in_use
        if storage.operations < fails_at:
            assert opened < fails_at
            return


def test_segments_without_a_manifest_are_not_taken_for_leftovers() -> None:
    storage = MemoryStorage()
    index = Index.open(storage)
    index.add([page("a/1")])
    index.commit()
    del storage.files[MANIFEST_NAME]
    with pytest.raises(CorruptIndexError, match="manifest is missing"):
        Index.open(storage)
    assert storage.files


def test_a_directory_is_opened_by_one_at_a_time(tmp_path: Path) -> None:
    with Index.open(tmp_path):
        with pytest.raises(DirectoryInUseError, match="open in another process"):
            Index.open(tmp_path)
    Index.open(tmp_path).close()


def test_a_half_written_manifest_is_removed_from_a_directory(tmp_path: Path) -> None:
    with Index.open(tmp_path) as index:
        index.add([page("a/1")])
        index.commit()
    (tmp_path / "manifest.tmp").write_bytes(b"half")
    (tmp_path / "segment-0000000099").write_bytes(b"")
    with Index.open(tmp_path) as index:
        assert set(contents(index)) == {"http://a/1"}
    assert len(list(tmp_path.iterdir())) == 3  # lock, manifest, segment


def test_a_failed_opening_unlocks_the_directory(tmp_path: Path) -> None:
    Index.open(tmp_path).close()
    manifest, elsewhere = tmp_path / MANIFEST_NAME, tmp_path / "segment-0000000001"
    manifest.rename(elsewhere)
    with pytest.raises(CorruptIndexError):
        Index.open(tmp_path)
    elsewhere.rename(manifest)
    Index.open(tmp_path).close()


_WRITER = """
import sys
from pathlib import Path
from peers.engine.index import Index
from tests.peers.engine.samples import random_documents
index = Index.open(Path(sys.argv[1]))
number = index.snapshot().document_count
while True:
    index.add([(1, document) for _, document in random_documents(number, 3)[:1]])
    print(index.commit(), flush=True)
    index.merge_if_needed()
    number += 1
"""


def test_a_writer_killed_at_any_moment_loses_no_commit(tmp_path: Path) -> None:
    random_ = np.random.default_rng(7)
    last = 0
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
        ) as writer:
            assert writer.stdout is not None
            for _ in range(int(random_.integers(5, 40))):
                last = int(writer.stdout.readline())
            os.kill(writer.pid, signal.SIGKILL)
        with Index.open(tmp_path) as index:
            assert index.generation >= last
            assert all(document is not None for document in contents(index).values())
            assert index.snapshot().document_count > 0


def test_views_of_several_masks_are_made_once_and_a_commit_takes_over_those_it_did_not_change() -> None:
    index = index_of(random_documents(1, 100))
    masks = [np.arange(50) % 7 != n for n in range(VIEWS_KEPT)]
    first = index.snapshot()
    views = [first.responsible(mask) for mask in masks]
    for _ in range(3):
        assert [first.responsible(mask.copy()) for mask in masks] == views
    index.add([page("new/", "added")])
    index.commit()
    second = index.snapshot()
    assert second.segments[0] is first.segments[0]
    before = [second.segments[0].of_slots(xxh3_128_digest(mask.data), mask) for mask in masks]
    assert [second.responsible(mask)._segments[0] for mask in masks] == before
    index.delete([random_documents(1, 1)[0][1].url])
    index.commit()
    assert index.snapshot().segments[0] is not first.segments[0]
    assert second.everything().document_count == 101


def test_views_kept_do_not_grow_with_the_masks_asked_for() -> None:
    index = index_of(random_documents(1, 100))
    snapshot = index.snapshot()
    for number in range(1, 40):
        mask = np.arange(50) % 41 != number
        assert search(snapshot.responsible(mask), "index")[0] <= 100
    assert len(snapshot._views) == len(snapshot.segments[0]._views) == VIEWS_KEPT
