"""The table of a live peer: LMDB behind an overlay of the changes that are not yet on disk. [io]

Theory of operation. Puts and deletes go into an overlay in memory; reads look there first. A commit
has three steps, so that fsync never runs on the trio thread and one fsync covers many messages:

1. `begin_commit` (trio thread) freezes the overlay and starts an empty one above it;
2. `CommitBatch.write` (a worker thread) writes the frozen overlay in one LMDB transaction, synced to disk;
3. `finish_commit` (trio thread) drops the frozen overlay and moves the read transaction on.

Who wants to promise a change to somebody waits for step 3 of the commit that holds it. A process killed
at any moment loses what was in no finished `CommitBatch.write`, and never one change of a batch without the
others.

Rows carry a checksum (`sealed_rows`), which is made in the worker thread and looked at by every read. Damage
to what is around them is looked for before a peer starts (`table_check`).

LMDB's map is address space, not disk. `begin_commit` grows it beyond all that the batch can need, so
that MDB_MAP_FULL cannot happen: growing moves the map under every open transaction, and at that point
there is none but ours.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import lmdb

from mesh.errors import ConfigError, CorruptionError, StorageError, StorageFull
from mesh.tables.disk_space import NO_SPACE, is_full
from mesh.tables.private_files import FILE_MODE, make_private_folder
from mesh.tables.sealed_rows import all_sealed, opened
from mesh.tables.sorted_map import SortedMap
from mesh.tables.table import KEY_BYTES_MAX, prefix_end
from mesh.tables.table_check import DATA_FILE
from mesh.tables.table_compaction import LOCK_FILE, compact_if_sparse

Overlay = SortedMap[bytes | None]  # None: deleted
Items = Iterator[tuple[bytes, bytes | None]]

MAP_BYTES_FIRST = 1 << 30  # of address space; the file grows only as far as it is used
PAGE_BYTES = 4096
PAGES_PER_CHANGE = 8  # copied from leaf to root (5 levels hold 10^9 records), a split, the free list
PUTS_PER_CALL = 256  # py-lmdb holds the interpreter lock during one putmulti; so it is under 1 ms
LOCK_FILE_BYTES: Final = 8192  # LMDB's, for 126 readers


class CommitBatch:
    """The changes of one commit."""

    def __init__(self, env: lmdb.Environment, changes: Overlay) -> None:
        self._env = env
        self._changes = changes
        self.is_written = False

    def __len__(self) -> int:
        return len(self._changes)

    def write(self) -> None:
        """Write and sync all changes in one transaction; blocks, so it belongs in a worker thread.

        Raises:
          StorageFull: the disk is full, and nothing of the batch was written.
          StorageError: it is broken, and neither was.
        """
        try:
            self._env.reader_check()  # else what a killed process has read last would be kept for it for ever
            with self._env.begin(write=True) as transaction:
                _apply(sorted(self._changes.items_unsorted()), transaction)
        except lmdb.Error as error:
            raise _storage_error(error, self._env.path()) from error
        self.is_written = True


class LmdbTable:
    """A `mesh.tables.table.Table` on disk. Its methods belong to one thread; only `CommitBatch.write` leaves
    it."""

    def __init__(self, folder: Path, *, map_bytes: int = MAP_BYTES_FIRST) -> None:
        """Open the table in `folder`, creating both when absent.

        Raises:
          ConfigError: another process has it open, or the folder holds something else.
          StorageFull: there is no space to begin one.
        """
        self._lock_fd = lock_table(folder)
        compact_if_sparse(folder)
        try:
            self._env = _opened_env(folder, map_bytes)
        except BaseException:
            os.close(self._lock_fd)
            raise
        self._snapshot = self._env.begin()
        self._overlay: Overlay = SortedMap()
        self._overlay_bytes = 0  # of all values put since the last commit, overwritten ones too
        self._frozen: Overlay = SortedMap()
        self._batch: CommitBatch | None = None  # begun and not yet finished
        self._version = 0  # grows with every change of what a walk would see or walks on

    def get(self, key: bytes) -> bytes | None:
        assert 0 < len(key) <= KEY_BYTES_MAX, f"key of {len(key)} bytes"
        value = self._overlay.get(key, _ABSENT)
        if value is _ABSENT:
            value = self._frozen.get(key, _ABSENT)
        if value is not _ABSENT:
            return value
        row = self._snapshot.get(key)
        return None if row is None else self._opened(key, row)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        if not keys:
            return []
        found: dict[bytes, bytes | None] = {}
        on_disk: list[bytes] = []
        overlay, frozen = self._overlay.get, self._frozen.get
        for key in keys:
            value = overlay(key, _ABSENT)
            if value is _ABSENT:
                value = frozen(key, _ABSENT)
            if value is _ABSENT:
                on_disk.append(key)
            else:
                found[key] = value
        if on_disk:
            with self._snapshot.cursor() as cursor:
                for key, row in cursor.getmulti(on_disk):
                    found[key] = self._opened(key, row)
        return list(map(found.get, keys))

    def put(self, key: bytes, value: bytes) -> None:
        assert 0 < len(key) <= KEY_BYTES_MAX, f"key of {len(key)} bytes"
        self._overlay.put(key, value)
        self._overlay_bytes += len(value)
        self._version += 1

    def put_many(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        lengths = [len(key) for key, _ in rows]
        assert not rows or 0 < min(lengths) <= max(lengths) <= KEY_BYTES_MAX, "a key that is too long"
        self._overlay.put_many(rows)
        self._overlay_bytes += sum([len(value) for _, value in rows])
        self._version += 1

    def delete(self, key: bytes) -> None:
        assert 0 < len(key) <= KEY_BYTES_MAX, f"key of {len(key)} bytes"
        self._overlay.put(key, None)
        self._version += 1

    def scan(
        self, start: bytes, stop: bytes | None = None, *, limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        walk = self._walk(start, stop)
        return walk if limit is None else islice(walk, limit)

    def scan_prefix(self, prefix: bytes, *, limit: int | None = None) -> Iterator[tuple[bytes, bytes]]:
        return self.scan(prefix, prefix_end(prefix), limit=limit)

    @property
    def has_changes(self) -> bool:
        """Was anything written since the last commit was begun?"""
        return len(self._overlay) > 0

    def begin_commit(self) -> CommitBatch | None:
        """Freeze the changes since the last commit, and return them as a batch; None if there are none.

        The caller has the batch written in a worker thread, then calls `finish_commit`, or
        `abandon_commit` when writing failed. One batch at a time.
        """
        assert self._batch is None, "the batch before is still being written"
        if not self.has_changes:
            return None
        self._make_room(self._overlay_bytes + len(self._overlay) * PAGES_PER_CHANGE * PAGE_BYTES)
        self._frozen, self._overlay = self._overlay, SortedMap()
        self._overlay_bytes = 0
        self._version += 1
        self._batch = CommitBatch(self._env, self._frozen)
        return self._batch

    def finish_commit(self, batch: CommitBatch) -> None:
        """Read the rows of `batch` from the disk from now on; its changes may now be promised."""
        assert batch is self._batch, "not the batch that was begun"
        assert batch.is_written, "a batch that failed is abandoned, not finished"
        self._batch = None
        self._frozen = SortedMap()
        self._renew_snapshot()

    def abandon_commit(self, batch: CommitBatch) -> None:
        """Take the changes of a batch that could not be written back; they go with the next one."""
        assert batch is self._batch, "not the batch that was begun"
        assert not batch.is_written, "this batch is on disk"
        self._batch = None
        for key, value in self._frozen.items_unsorted():
            if key not in self._overlay:
                self._overlay.put(key, value)
                self._overlay_bytes += len(value or b"")
        self._frozen = SortedMap()
        self._version += 1

    def commit(self) -> None:
        """Do all three steps at once; blocks on the disk, so only for starting and stopping.

        Raises:
          StorageError: as `CommitBatch.write`.
        """
        batch = self.begin_commit()
        if batch is None:
            return
        try:
            batch.write()
        except StorageError:
            self.abandon_commit(batch)
            raise
        self.finish_commit(batch)

    def close(self) -> None:
        """Close the file. Changes that were not committed are lost."""
        self._version += 1
        self._snapshot.abort()
        self._env.close()
        os.close(self._lock_fd)

    def _walk(self, start: bytes, stop: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        passed: bytes | None = None
        while True:
            version = self._version
            for key, value in self._layers(start if passed is None else passed, stop):
                if value is None or key == passed:
                    continue
                passed = key
                yield key, value
                if self._version != version:
                    break  # what the layers have read ahead may be out of date
            else:
                return

    def _layers(self, start: bytes, stop: bytes | None) -> Items:
        items = self._walk_disk(start, stop)
        for overlay in (self._frozen, self._overlay):
            if len(overlay):
                items = _overlaid(overlay.walk(start, stop), items)
        return items

    def _walk_disk(self, start: bytes, stop: bytes | None) -> Items:
        cursor = self._snapshot.cursor()
        if not (cursor.set_range(start) if start else cursor.first()):
            return
        for key, row in cursor.iternext():
            if stop is not None and key >= stop:
                return
            yield key, self._opened(key, row)

    def _opened(self, key: bytes, row: bytes) -> bytes:
        try:
            return opened(key, row)
        except CorruptionError as error:
            raise CorruptionError(
                f"the table in {self._env.path()} is damaged ({error}): start the peer again, it will set its"
                " data aside, and what other peers have they bring back"
            ) from error

    def _renew_snapshot(self) -> None:
        self._version += 1
        self._snapshot.abort()
        self._snapshot = self._env.begin()

    def _make_room(self, bytes_needed: int) -> None:
        info = self._env.info()
        bytes_needed += (info["last_pgno"] + 1) * PAGE_BYTES
        if bytes_needed <= info["map_size"]:
            return
        try:
            self._snapshot.abort()
            self._env.set_mapsize(max(bytes_needed, 2 * info["map_size"]))
        except lmdb.Error as error:
            raise StorageError(
                f"no address space for a table of {bytes_needed} bytes in {self._env.path()}:"
                f" raise the limit on virtual memory (ulimit -v): {error}"
            ) from error
        finally:
            self._renew_snapshot()


_ABSENT: Final = b"absent"  # only its identity matters: no caller can hold this very object


def _overlaid(newer: Items, older: Items) -> Items:
    """Merge two walks by key; where both have a key, the newer one's item stands."""
    new, old = next(newer, None), next(older, None)
    while new is not None and old is not None:
        if old[0] < new[0]:
            yield old
            old = next(older, None)
            continue
        if old[0] == new[0]:
            old = next(older, None)
        yield new
        new = next(newer, None)
    if new is not None:
        yield new
        yield from newer
    if old is not None:
        yield old
        yield from older


def _apply(changes: list[tuple[bytes, bytes | None]], transaction: lmdb.Transaction[bytes]) -> None:
    for key, value in changes:
        if value is None:
            transaction.delete(key)
    cursor = transaction.cursor()
    puts = [(key, value) for key, value in changes if value is not None]
    for first in range(0, len(puts), PUTS_PER_CALL):
        cursor.putmulti(all_sealed(puts[first : first + PUTS_PER_CALL]))


def lock_table(folder: Path) -> int:
    """Make sure that no other process has the overlay that belongs to this table; closing ends that.

    Raises:
      ConfigError: another one has it, or there can be no table in the folder.
    """
    try:
        make_private_folder(folder)
        lock_fd = os.open(folder / "owner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"cannot write in {folder}, choose another data folder: {error}") from error
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock_fd)
        raise ConfigError(
            f"the table in {folder} is in use: stop the peer that runs there, or choose another data folder"
        ) from error
    return lock_fd


def _opened_env(folder: Path, map_bytes: int) -> lmdb.Environment:
    data = folder / DATA_FILE
    is_new = not data.exists()
    try:
        _allot_lock_file(folder)
        return lmdb.open(str(folder), map_size=map_bytes, max_spare_txns=1, mode=FILE_MODE)
    except (OSError, lmdb.Error) as error:
        if is_new:
            data.unlink(missing_ok=True)  # what there is of its headers would pass for a damaged table
        if _is_for_space(error, folder):
            raise _full(folder) from error
        raise ConfigError(f"cannot open the table in {folder}, move the folder away: {error}") from error


def _allot_lock_file(folder: Path) -> None:
    """Take the space for LMDB's lock file, which it only maps: without any the system would kill the process.

    Raises:
      OSError: there is none.
    """
    file = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        os.posix_fallocate(file, 0, LOCK_FILE_BYTES)
    finally:
        os.close(file)


def _storage_error(error: lmdb.Error, folder: str) -> StorageError:
    if _is_for_space(error, Path(folder)):
        return _full(Path(folder))
    return StorageError(f"the table in {folder} cannot be written, check its disk: {error}")


def _is_for_space(error: OSError | lmdb.Error, folder: Path) -> bool:
    number = error.errno if isinstance(error, OSError) else error.code
    return number in NO_SPACE or (number == errno.EIO and is_full(folder))  # LMDB's when it is cut short


def _full(folder: Path) -> StorageFull:
    return StorageFull(f"the disk of {folder} is full: free some space, nothing kept so far is lost")
