"""The page archive of a peer on disk: WARC segments that only grow. [io]

Theory of operation
  Segments are files `tianmesh-<peer>-<number>.warc.gz` of at most SEGMENT_BYTES_MAX. Only the last
  one is written, at its end. A batch of records goes whole into one segment and is synced once; only
  then are its extents told, and what is at a told extent never changes. The next segment is begun only
  when all of the last one is synced. So a crash can tear nothing but the end of the last segment:
  opening reads that end record by record, from an offset known to be good, and cuts it behind the last
  record that is whole. Whole records that nobody was told of may stay; they do no harm. For this to
  be safe nothing is ever written that would not pass that reading: `append` checks every record,
  for records come from other peers too.
  A segment is removed whole, by `remove`, when nothing in it is referred to any more; never the last one.

Not here: which page lies where (the cell's table), threads. All methods block; `append` and `remove` are
for one thread at a time, reading for any.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import mmap
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, TypeAlias

from mesh.errors import ConfigError, CorruptionError, StorageError, StorageFull
from mesh.tables.disk_space import NO_SPACE
from mesh.transport.descriptors import SHORTAGES, for_disk
from peers.storage.archive.warc import is_sound, parse_record, unpack_member, warcinfo_record
from peers.storage.ledger.extent import Extent

SEGMENT_BYTES_MAX: Final = 1_000_000_000  # the size that the WARC standard recommends, annex C.1
GAP_BYTES_MAX: Final = 16 << 10  # reading over so much costs less than a second call
RUN_BYTES_MAX: Final = 8 << 20

Records: TypeAlias = bytes | memoryview

logger = logging.getLogger(__name__)


class Archive:
    """The open archive in one folder, which belongs to it alone."""

    def __init__(
        self,
        folder: Path,
        peer: str,
        durable: Extent | None = None,
        segment_bytes_max: int = SEGMENT_BYTES_MAX,
        run_bytes_max: int = RUN_BYTES_MAX,
    ) -> None:
        """Open the archive, or begin one, and cut a torn end.

        Args:
          folder: made if it does not exist.
          peer: for the names of the files: letters, digits, minus.
          durable: an extent told by `append` before, the later the better: opening reads only what is
            behind it. Without it the whole last segment is read, about 10 seconds for 1 GB, and a
            damaged record in the middle is taken for the torn end.
          segment_bytes_max: of one file.
          run_bytes_max: of what is read at once.

        Raises:
          ConfigError: another process has the archive open.
          CorruptionError: the archive ends before `durable`.
          StorageFull: there is no space for the first segment.
          StorageError: the folder cannot be used.
        """
        assert re.fullmatch("[A-Za-z0-9-]+", peer), peer
        self._folder = folder
        self._peer = peer
        self._segment_bytes_max = segment_bytes_max
        self._run_bytes_max = run_bytes_max
        self._is_writable = True
        self._folder_file = -1
        self._file = -1  # of the last segment
        try:
            self._folder_file = open_folder(folder)
            self._open_last(durable)
        except OSError as error:
            self.close()
            raise self._refusal(error) from error
        except StorageError:
            self.close()
            raise

    def append(self, batch: Sequence[Records]) -> list[Extent | None]:
        """Keep the records durably and tell where each item of the batch is.

        Args:
          batch: each item one or more packed records, as `warc.py` makes them; together no larger
            than a segment.

        Returns:
          For each item its extent, or None for an item that is not whole WARC records: it is not kept.

        Raises:
          StorageFull: no space is left. None of the batch is kept; it may be given again later.
          StorageError: the disk failed. Nothing can be appended until the archive is opened again.
        """
        if not self._is_writable:
            raise StorageError(
                f"the archive in {self._folder} is closed after a disk error: restart the peer"
            )
        sound = [item if is_sound(item) else b"" for item in batch]
        data = b"".join(sound)
        try:
            if self._size + len(data) > self._segment_bytes_max:
                self._begin(self._number + 1)
            assert self._size + len(data) <= self._segment_bytes_max, "a batch is larger than a segment"
            self._write(data)
        except OSError as error:
            raise self._refusal(error) from error
        extents = extents_of(self._number, self._size, sound)
        self._size += len(data)
        self.byte_count += len(data)
        return extents

    def read(self, extent: Extent) -> bytes:
        """Return the bytes that were appended at an extent.

        Raises:
          CorruptionError: the archive has no such extent, or the disk cannot read it.
          StorageError: it cannot be read now, as when too many files are open.
        """
        try:
            with for_disk():
                file = os.open(self._path(extent.segment), os.O_RDONLY | os.O_CLOEXEC)
            try:
                # The size is asked first: a wrong length must not reserve memory.
                if extent.end <= os.fstat(file).st_size:
                    return read_all(file, extent)
            finally:
                os.close(file)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EIO):
                raise self._refusal(error) from error
        raise CorruptionError(f"the archive in {self._folder} has no {extent}")

    def read_many(self, extents: Sequence[Extent]) -> list[Records | None]:
        """Return the records appended at each extent, None where they cannot be read.

        In the order asked; read in the order of the disk, neighbours at once.

        Raises:
          StorageError: as `read`.
        """
        found: list[Records | None] = [None] * len(extents)
        for run in runs_of(extents, self._run_bytes_max):
            first = extents[run[0]]
            whole = Extent(first.segment, first.offset, extents[run[-1]].end - first.offset)
            content = memoryview(self._read_or_nothing(whole))
            for index in run:
                extent = extents[index]
                start = extent.offset - whole.offset
                found[index] = content[start : start + extent.length] if content else None
            if not content and len(run) > 1:  # one of them may be bad
                for index in run:
                    found[index] = self._read_or_nothing(extents[index]) or None
        return found

    def remove(self, segments: Iterable[int]) -> None:
        """Delete whole segments; those that are not there are no error, the last one stays.

        Raises:
          StorageError: the disk failed; what is left is deleted when this is asked again.
        """
        try:
            for number in segments:
                path = self._path(number)
                if number != self._number and path.exists():
                    size = path.stat().st_size
                    path.unlink()
                    self.byte_count -= size
            sync(self._folder_file)
        except OSError as error:
            raise self._refusal(error) from error

    def close(self) -> None:
        for file in (self._file, self._folder_file):
            if file >= 0:
                os.close(file)
        self._file = self._folder_file = -1
        self._is_writable = False

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read_or_nothing(self, extent: Extent) -> bytes:
        try:
            return self.read(extent)
        except CorruptionError as error:
            logger.error("page cannot be read back: %s", error)
            return b""

    def _open_last(self, durable: Extent | None) -> None:
        """Open the last segment, or begin the first."""
        sizes = self._segment_sizes()
        if durable is not None and durable.end > sizes.get(durable.segment, 0):
            raise CorruptionError(
                f"the archive in {self._folder} ends before a page that was kept:"
                " restore the folder from a copy or start with an empty data folder"
            )
        self.byte_count = sum(sizes.values())  # of all segments
        if not sizes:
            self._begin(1)
            return
        self._number = max(sizes)
        self._size = sizes[self._number]
        self._file = os.open(self._path(self._number), os.O_RDWR | os.O_CLOEXEC)
        is_in_last = durable is not None and durable.segment == self._number
        self._cut_torn_end(durable.end if durable is not None and is_in_last else 0)
        if self._size == 0:  # the crash came before its first record was whole
            self._begin(self._number)

    def _segment_sizes(self) -> dict[int, int]:
        name = re.compile(rf"tianmesh-{re.escape(self._peer)}-(\d+)\.warc\.gz")
        found = ((name.fullmatch(entry.name), entry.stat().st_size) for entry in os.scandir(self._folder))
        return {int(match[1]): size for match, size in found if match}

    def _cut_torn_end(self, sound_end: int) -> None:
        """Cut the last segment behind its last whole record; all up to `sound_end` is known to be."""
        size = self._size
        sound_end = end_of_records(self._file, sound_end, size)
        if sound_end < size:
            logger.warning(
                "cut a torn record segment=%s bytes=%d", self._path(self._number), size - sound_end
            )
            os.ftruncate(self._file, sound_end)
            sync(self._file)
        self.byte_count += sound_end - size
        self._size = sound_end

    def _begin(self, number: int) -> None:
        """Make a new segment, durably, and only then let it be the last one."""
        path = self._path(number)
        fields = {"software": "tianmesh", "format": "WARC File Format 1.1", "isPartOf": self._peer}
        data = warcinfo_record(path.name, time.time(), fields)
        # There may be a file of an attempt that failed: nothing in it was ever told.
        with for_disk():
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            write_all(file, data, 0)
            sync(file)
            sync(self._folder_file)  # or a crash may lose the name of the file
        except OSError:
            os.close(file)
            raise
        if self._file >= 0:
            os.close(self._file)
        self._file, self._number, self._size = file, number, len(data)
        self.byte_count += len(data)

    def _write(self, data: bytes) -> None:
        """Write at the end of the last segment and sync; take back data that cannot be written whole."""
        try:
            write_all(self._file, data, self._size)
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        try:
            sync(self._file)
        except OSError:
            # The system may have dropped what it could not write and say "done" next time
            # (https://wiki.postgresql.org/wiki/Fsync_Errors): only reading it back can tell.
            self._is_writable = False
            raise

    def _path(self, number: int) -> Path:
        return segment_path(self._folder, self._peer, number)

    def _refusal(self, error: OSError) -> StorageError | ConfigError:
        """Return the error to raise: one sentence that says how to go on."""
        if error.errno in NO_SPACE:
            return StorageFull(
                f"no space is left for the archive in {self._folder}: free some or move the data folder"
                " to a larger disk, nothing that was kept is lost"
            )
        if error.errno in SHORTAGES:
            return StorageFull(f"the archive in {self._folder} is written a little later: {error.strerror}")
        if isinstance(error, BlockingIOError):
            return ConfigError(
                f"the archive in {self._folder} is in use:"
                " stop the other peer or give this one its own folder"
            )
        return StorageError(f"the archive in {self._folder} cannot be used: {error.strerror or error}")


def segment_path(folder: Path, peer: str, number: int) -> Path:
    """Return the path of a peer's segment; others may read the part they are told of, which never changes."""
    return folder / f"tianmesh-{peer}-{number:05d}.warc.gz"


def open_folder(folder: Path) -> int:
    """Open a folder, made if need be, for this process alone; the lock ends with the descriptor."""
    folder.mkdir(parents=True, exist_ok=True)
    with for_disk():
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise
    return file


def runs_of(extents: Sequence[Extent], bytes_max: int) -> Iterator[list[int]]:
    """Yield indexes of extents that follow each other closely on the disk, at most `bytes_max` together."""
    run: list[int] = []
    for index in sorted(range(len(extents)), key=extents.__getitem__):
        extent = extents[index]
        if run:
            first, last = extents[run[0]], extents[run[-1]]
            is_near = extent.segment == last.segment and 0 <= extent.offset - last.end <= GAP_BYTES_MAX
            if not is_near or extent.end - first.offset > bytes_max:
                yield run
                run = []
        run.append(index)
    if run:
        yield run


def extents_of(segment: int, offset: int, items: Sequence[Records]) -> list[Extent | None]:
    """Return where items lie that follow each other from `offset`; None for empty ones."""
    extents: list[Extent | None] = []
    for item in items:
        extents.append(Extent(segment, offset, len(item)) if item else None)
        offset += len(item)
    return extents


def end_of_records(file: int, start: int, size: int) -> int:
    """Return where the last whole record behind `start` ends, `start` if there is none."""
    if start == size:
        return size
    with mmap.mmap(file, size, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
        while start < size:
            try:
                content, end = unpack_member(data, start)
                parse_record(content)
            except CorruptionError:
                break
            start = end
    return start


def write_all(file: int, data: bytes, offset: int) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(file, rest, offset)
        rest = rest[written:]
        offset += written


def read_all(file: int, extent: Extent) -> bytes:
    data = b""
    while len(data) < extent.length:  # a signal or 2 GiB may end one read early
        data += os.pread(file, extent.length - len(data), extent.offset + len(data))
    return data


def sync(file: int) -> None:
    """Return when all data written to a file is on the disk itself."""
    if sys.platform == "darwin":
        fcntl.fcntl(file, fcntl.F_FULLFSYNC)  # there fsync stops at the cache of the disk
    else:
        os.fsync(file)
