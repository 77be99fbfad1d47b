"""The archive on disk and its twin in memory; what was told survives."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import pytest
from fastwarc.warc import ArchiveIterator as FastwarcReader
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator as WarcioReader

from mesh.errors import ConfigError, CorruptionError, StorageError, StorageFull
from peers.storage.archive.archive import RUN_BYTES_MAX, Archive
from peers.storage.archive.memory_archive import MemoryArchive
from peers.storage.archive.warc import is_sound, read_records, request_record, response_record
from peers.storage.ledger.extent import Extent
from tests.helpers import seen

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
AnyArchive: TypeAlias = Archive | MemoryArchive
OpenArchive: TypeAlias = Callable[..., AnyArchive]


def records_of(number: int, size: int = 40) -> bytes:
    """Return what the cell appends for one page: response and request."""
    url = f"http://a.test/{number}"
    body = f"page {number} ".encode() * (size // 8)
    return response_record(url, HEAD, body, seen(float(number))) + request_of(number)


def request_of(number: int) -> bytes:
    head = f"GET /{number} HTTP/1.1\r\nHost: a.test\r\n\r\n".encode()
    return request_record(f"http://a.test/{number}", head, seen(float(number)))


def keep(archive: AnyArchive, *items: bytes) -> list[Extent]:
    extents = archive.append(items)
    assert None not in extents
    return [extent for extent in extents if extent is not None]


# --- Both twins ------------------------------------------------------------------------------


@pytest.fixture(params=["disk", "memory"])
def open_archive(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenArchive]:
    opened: list[AnyArchive] = []

    def open_(segment_bytes_max: int = 1_000_000, run_bytes_max: int = RUN_BYTES_MAX) -> AnyArchive:
        is_disk = request.param == "disk"
        archive: AnyArchive = (
            Archive(
                tmp_path / "archive", "a", segment_bytes_max=segment_bytes_max, run_bytes_max=run_bytes_max
            )
            if is_disk
            else MemoryArchive(segment_bytes_max)
        )
        opened.append(archive)
        return archive

    yield open_
    for archive in opened:
        archive.close()


def test_records_are_read_back_from_the_told_extents(open_archive: OpenArchive) -> None:
    archive = open_archive(1_000_000)
    batches = [[records_of(0)], [], [records_of(1), records_of(2, 100_000)], [records_of(3)]]
    told = [
        (extent, item) for batch in batches for extent, item in zip(keep(archive, *batch), batch, strict=True)
    ]
    assert [archive.read(extent) for extent, _ in told] == [item for _, item in told]


def test_extents_do_not_overlap_and_bytes_are_counted(open_archive: OpenArchive) -> None:
    archive = open_archive(1_000_000)
    empty = archive.byte_count
    extents = keep(archive, records_of(0), records_of(1)) + keep(archive, records_of(2))
    assert all(one.end <= two.offset for one, two in pairwise(extents))
    assert archive.byte_count - empty == sum(extent.length for extent in extents)


def test_what_is_not_whole_records_is_not_kept_and_the_rest_is(open_archive: OpenArchive) -> None:
    archive = open_archive(1_000_000)
    good = records_of(0)
    extents = archive.append([b"", good[:-1], good, b"hello", good + b"x", good])
    assert [extent is not None for extent in extents] == [False, False, True, False, False, True]
    assert all(archive.read(extent) == good for extent in extents if extent is not None)


def test_full_segment_is_followed_by_the_next_and_none_is_too_large(open_archive: OpenArchive) -> None:
    archive = open_archive(3_000)
    extents = [keep(archive, records_of(number))[0] for number in range(30)]
    assert {extent.segment for extent in extents} == set(range(1, extents[-1].segment + 1))
    assert extents[-1].segment > 3
    assert all(extent.end <= 3_000 for extent in extents)
    assert [archive.read(extent) for extent in extents] == [records_of(number) for number in range(30)]


def test_many_are_read_at_once_in_the_order_asked_and_what_is_not_there_is_none(
    open_archive: OpenArchive,
) -> None:
    archive = open_archive(20_000, run_bytes_max=5_000)
    items = [records_of(n, 40 * n) for n in range(1, 40)]
    extents = [extent for item in items for extent in keep(archive, item)]
    assert len({extent.segment for extent in extents}) > 1
    missing = Extent(extents[-1].segment, extents[-1].end, 10)
    elsewhere = Extent(99, 0, 10)
    asked = [*extents[::-1], missing, *extents[::3], elsewhere]
    found = [None if each is None else bytes(each) for each in archive.read_many(asked)]
    assert found == [*items[::-1], None, *items[::3], None]
    assert archive.read_many([]) == []


def test_segments_are_removed_but_never_the_last_one(open_archive: OpenArchive) -> None:
    archive = open_archive(3_000)
    extents = [extent for n in range(20) for extent in keep(archive, records_of(n))]
    first, last = extents[0], extents[-1]
    assert first.segment < last.segment
    before = archive.byte_count
    archive.remove([first.segment, last.segment, 99])
    archive.remove([first.segment])
    assert archive.byte_count < before
    for extent in extents:
        (found,) = archive.read_many([extent])
        assert (found is None) == (extent.segment == first.segment)
    assert keep(archive, records_of(7))[0].segment >= last.segment


def test_extent_that_was_never_told_is_refused(open_archive: OpenArchive) -> None:
    archive = open_archive(1_000_000)
    (extent,) = keep(archive, records_of(0))
    for wrong in (
        Extent(extent.segment, extent.offset, extent.length + 1),
        Extent(extent.segment, extent.end, 1),
        Extent(extent.segment, 0, 1 << 60),
        Extent(extent.segment + 1, 0, 1),
    ):
        with pytest.raises(CorruptionError):
            archive.read(wrong)


@settings(max_examples=20, deadline=None)
@given(
    batches=st.lists(st.lists(st.integers(0, 99), max_size=4), max_size=8), limit=st.integers(3_000, 9_000)
)
def test_twins_keep_the_same(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]], limit: int
) -> None:
    memory = MemoryArchive(limit)
    with Archive(tmp_path_factory.mktemp("twin"), "a", segment_bytes_max=limit) as disk:
        for batch in batches:
            items = [records_of(number) for number in batch]
            assert [disk.read(extent) for extent in keep(disk, *items)] == items
            assert [memory.read(extent) for extent in keep(memory, *items)] == items


def test_simulated_disk_fills_up_and_gets_space_again() -> None:
    archive = MemoryArchive(space_bytes=1_000)
    (kept,) = keep(archive, records_of(0))
    with pytest.raises(StorageFull):
        archive.append([records_of(number) for number in range(9)])
    assert archive.read(kept) == records_of(0)
    archive.space_bytes = 1_000_000
    keep(archive, records_of(1))


# --- On disk ---------------------------------------------------------------------------------


def segment_file(folder: Path, number: int = 1) -> Path:
    return folder / f"tianmesh-a-{number:05d}.warc.gz"


def test_other_tools_read_the_segments(tmp_path: Path) -> None:
    with Archive(tmp_path, "a") as archive:
        keep(archive, records_of(0), records_of(1))
    expected = [f"http://a.test/{number}" for number in (0, 0, 1, 1)]
    with segment_file(tmp_path).open("rb") as file:
        records = list(WarcioReader(file, check_digests="raise"))
    assert records[0].rec_headers.get_header("WARC-Filename") == segment_file(tmp_path).name
    assert [record.rec_headers.get_header("WARC-Target-URI") for record in records[1:]] == expected
    with segment_file(tmp_path).open("rb") as file:
        seen = [record.headers["WARC-Target-URI"] for record in FastwarcReader(file) if record.is_http]
    assert seen == expected


@pytest.mark.parametrize("with_durable", [True, False])
def test_opened_again_it_goes_on_where_it_ended(tmp_path: Path, with_durable: bool) -> None:
    told: list[Extent] = []
    for number in range(20):
        durable = told[-1] if told and with_durable else None
        with Archive(tmp_path, "a", durable, segment_bytes_max=3_000) as archive:
            told += keep(archive, records_of(number))
            assert [archive.read(extent) for extent in told] == [records_of(n) for n in range(number + 1)]
            assert archive.byte_count == sum(file.stat().st_size for file in tmp_path.iterdir())
    assert told[-1].segment > 3


@pytest.mark.parametrize("tail", [b"", bytes(700), b"\x1f\x8b\x08\x00" + bytes(10)])
@pytest.mark.parametrize("with_durable", [True, False])
def test_tail_torn_at_any_byte_is_cut_and_nothing_told_is_lost(
    tmp_path: Path, tail: bytes, with_durable: bool
) -> None:
    with Archive(tmp_path / "whole", "a") as archive:
        told = keep(archive, records_of(0), records_of(1))
        (last,) = keep(archive, records_of(2))
    middle = last.end - len(request_of(2))
    data = segment_file(tmp_path / "whole").read_bytes()
    torn = tmp_path / "torn"
    torn.mkdir()
    for end in range(last.offset, last.end):
        segment_file(torn).write_bytes(data[:end] + tail)
        with Archive(torn, "a", told[-1] if with_durable else None) as archive:
            # A tail of zeros may complete a record whose own last bytes are zeros.
            ends = [e for e in (last.offset, middle, last.end) if (data[:end] + tail)[:e] == data[:e]]
            assert archive.byte_count == ends[-1]
            assert [archive.read(extent) for extent in told] == [records_of(0), records_of(1)]
            (again,) = keep(archive, records_of(2))
            assert archive.read(again) == records_of(2)
        assert is_sound(segment_file(torn).read_bytes())


def test_first_record_torn_at_any_byte_is_written_again(tmp_path: Path) -> None:
    Archive(tmp_path, "a").close()
    data = segment_file(tmp_path).read_bytes()
    for end in range(len(data)):
        segment_file(tmp_path).write_bytes(data[:end])
        with Archive(tmp_path, "a") as archive:
            assert archive.byte_count == segment_file(tmp_path).stat().st_size
        assert is_sound(segment_file(tmp_path).read_bytes())


def test_crash_between_two_segments_loses_nothing(tmp_path: Path) -> None:
    with Archive(tmp_path, "a") as archive:
        (told,) = keep(archive, records_of(0))
    segment_file(tmp_path, 2).touch()
    with Archive(tmp_path, "a", told) as archive:
        (again,) = keep(archive, records_of(1))
        assert (again.segment, archive.read(told)) == (2, records_of(0))


def test_bit_that_flipped_before_what_was_told_cuts_nothing_behind_it(tmp_path: Path) -> None:
    with Archive(tmp_path, "a") as archive:
        extents = [extent for n in range(5) for extent in keep(archive, records_of(n))]
    content = bytearray(segment_file(tmp_path).read_bytes())
    content[extents[1].offset + 20] ^= 1
    segment_file(tmp_path).write_bytes(content)
    with Archive(tmp_path, "a", extents[-1]) as archive:
        assert archive.read(extents[4]) == records_of(4)
        assert keep(archive, records_of(5))[0].offset == extents[4].end


def test_archive_without_its_first_segments_is_opened(tmp_path: Path) -> None:
    with Archive(tmp_path, "peer", segment_bytes_max=3_000) as archive:
        extents = [extent for n in range(20) for extent in keep(archive, records_of(n))]
        archive.remove([1])
    with Archive(tmp_path, "peer", extents[-1], segment_bytes_max=3_000) as archive:
        assert archive.byte_count == sum(file.stat().st_size for file in tmp_path.iterdir())
        assert archive.read(extents[-1]) == records_of(19)


def test_lack_of_file_descriptors_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Archive(tmp_path, "peer") as archive:
        (extent,) = keep(archive, records_of(1))

        def fail(*arguments: object) -> int:
            raise OSError(errno.EMFILE, "too many open files")

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", fail)
            with pytest.raises(StorageError) as caught:
                archive.read_many([extent])
            assert not isinstance(caught.value, CorruptionError)
        assert archive.read_many([extent]) == [records_of(1)]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_segment_that_cannot_be_begun_for_lack_of_descriptors_is_begun_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with Archive(tmp_path, "peer", segment_bytes_max=3_000) as archive:
        keep(archive, records_of(1))

        def fail(*arguments: object) -> int:
            raise OSError(number, os.strerror(number))

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", fail)
            with pytest.raises(StorageFull, match="a little later"):
                [keep(archive, records_of(2)) for _ in range(10)]  # more than a segment takes
        (extent,) = keep(archive, records_of(2))
        assert archive.read(extent) == records_of(2)


def test_archive_that_lost_what_was_told_is_not_opened(tmp_path: Path) -> None:
    with Archive(tmp_path, "a") as archive:
        (told,) = keep(archive, records_of(0))
    os.truncate(segment_file(tmp_path), told.end - 1)
    with pytest.raises(CorruptionError, match="restore the folder"):
        Archive(tmp_path, "a", told)
    segment_file(tmp_path).unlink()
    with pytest.raises(CorruptionError, match="restore the folder"):
        Archive(tmp_path, "a", told)


def test_folder_in_use_is_refused_with_what_to_do_and_free_after_closing(tmp_path: Path) -> None:
    with Archive(tmp_path, "a"):
        with pytest.raises(ConfigError, match="is in use: stop the other peer"):
            Archive(tmp_path, "a")
    Archive(tmp_path, "a").close()


def test_folder_that_cannot_be_used_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be used: "):
        Archive(tmp_path / "file", "a")


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "tianmesh-b-00007.warc.gz"
    foreign.write_bytes(b"mine")
    with Archive(tmp_path, "a") as archive:
        assert keep(archive, records_of(0))[0].segment == 1
    assert foreign.read_bytes() == b"mine"


def test_full_disk_is_said_in_one_sentence_and_work_goes_on_with_space_again(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Archive(tmp_path, "a") as archive:
        (told,) = keep(archive, records_of(0))
        # The limit of the process stands in for the disk's: the kernel writes a part, then refuses.
        resource.setrlimit(resource.RLIMIT_FSIZE, (told.end + 100, hard))
        try:
            with pytest.raises(StorageFull, match=r"no space is left .*: free some or move the data folder"):
                archive.append([records_of(1)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert segment_file(tmp_path).stat().st_size == told.end == archive.byte_count
        (again,) = keep(archive, records_of(1))
        assert (again.offset, archive.read(told)) == (told.end, records_of(0))


def test_no_space_for_the_next_segment_is_survived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Archive(tmp_path, "a", segment_bytes_max=1_000) as archive:
        (told,) = keep(archive, records_of(0))
        with monkeypatch.context() as full:
            full.setattr(os, "pwrite", refuse(errno.ENOSPC))
            for _ in range(3):
                with pytest.raises(StorageFull):
                    archive.append([records_of(1)])
        (again,) = keep(archive, records_of(1))
        assert (told.segment, again.segment) == (1, 2)
        assert archive.byte_count == sum(file.stat().st_size for file in tmp_path.iterdir())
    kinds = [record.kind for record in read_records(segment_file(tmp_path, 2).read_bytes())]
    assert kinds == ["warcinfo", "response", "request"]


def test_failed_sync_of_the_next_segment_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    with Archive(tmp_path, "a", segment_bytes_max=1_000) as archive:
        keep(archive, records_of(0))
        with monkeypatch.context() as broken:
            broken.setattr("peers.storage.archive.archive.sync", refuse(errno.EIO))
            with pytest.raises(StorageError):
                archive.append([records_of(1)])
        monkeypatch.setattr("peers.storage.archive.archive.sync", synced.append)
        assert keep(archive, records_of(1))[0].segment == 2
    assert len(synced) == 3  # the new segment, the folder with its name, the batch


def test_disk_that_does_not_sync_is_not_trusted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Archive(tmp_path, "a") as archive:
        (told,) = keep(archive, records_of(0))
        with monkeypatch.context() as broken:
            broken.setattr("peers.storage.archive.archive.sync", refuse(errno.EIO))
            with pytest.raises(StorageError, match="cannot be used"):
                archive.append([records_of(1)])
        with pytest.raises(StorageError, match="restart the peer"):
            archive.append([records_of(1)])
        assert archive.read(told) == records_of(0)
    with Archive(tmp_path, "a", told) as archive:
        keep(archive, records_of(1))


def refuse(error_number: int) -> Callable[..., int]:
    def call(*_: object) -> int:
        raise OSError(error_number, os.strerror(error_number))

    return call


WRITER = """
import sys
from pathlib import Path
from peers.storage.archive.archive import Archive
from tests.peers.storage.archive.test_archive import records_of
archive, number = Archive(Path(sys.argv[1]), "a", segment_bytes_max=20_000), int(sys.argv[2])
while True:
    for extent in archive.append([records_of(number), records_of(number + 1)]):
        print(number, extent.segment, extent.offset, extent.length, flush=True)
        number += 1
"""


@pytest.mark.live
def test_killed_at_any_moment_it_loses_nothing_told(tmp_path: Path) -> None:
    told: dict[int, Extent] = {}
    for round_number in range(5):
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(len(told))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if not line.endswith("\n"):
                    break  # it was killed in the middle of telling
                number, *where = map(int, line.split())
                told[number] = Extent(*where)
                if len(told) % 97 == round_number:
                    process.send_signal(signal.SIGKILL)
        with Archive(tmp_path, "a") as archive:
            assert all(archive.read(extent) == records_of(number) for number, extent in told.items())
    assert len(told) > 97  # each round ends a few records after some multiple of that


def test_copy_of_an_open_archive_can_be_opened(tmp_path: Path) -> None:
    with Archive(tmp_path / "a", "a") as archive:
        (told,) = keep(archive, records_of(0))
        shutil.copytree(tmp_path / "a", tmp_path / "b")
        with Archive(tmp_path / "b", "a", told) as copy:
            assert copy.read(told) == records_of(0)
