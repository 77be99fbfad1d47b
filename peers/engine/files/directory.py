"""Index files in a directory on disk. [io]

A file counts as written only after fsync of its content and of the directory. One process at a time:
the directory is locked while it is open, because opening removes what a crash left over.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from mesh.transport.descriptors import for_disk
from peers.engine.files.storage import Buffer

_LOCK_NAME = "lock"
# Large files are synced in between: all at the end would keep everybody else from the disk for seconds.
SYNC_BYTES = 32 << 20
_TEMPORARY_SUFFIX = ".tmp"


class DirectoryInUseError(Exception):
    """Another process has the index open."""


class DirectoryStorage:
    """A directory of index files; see `storage.Storage`."""

    def __init__(self, path: Path) -> None:
        """Create the directory if need be and lock it.

        Raises:
          DirectoryInUseError: another process or another object of this one holds it.
        """
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        with for_disk():
            self._directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._lock = os.open(path / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            os.close(self._directory)
            raise DirectoryInUseError(
                f"the index in {path} is open in another process, stop it first"
            ) from None
        self._is_open = True
        for name in os.listdir(path):
            if name.endswith(_TEMPORARY_SUFFIX):
                self.remove(name)

    def names(self) -> list[str]:
        with for_disk():
            return sorted(name for name in os.listdir(self.path) if name != _LOCK_NAME)

    def read(self, name: str) -> memoryview:
        with for_disk(), open(self.path / name, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def write(self, name: str, parts: Iterable[Buffer]) -> None:
        self._write_durably(name, parts)
        os.fsync(self._directory)

    def replace(self, name: str, content: Buffer) -> None:
        temporary = name + _TEMPORARY_SUFFIX
        self._write_durably(temporary, [content])
        os.rename(self.path / temporary, self.path / name)
        os.fsync(self._directory)

    def rename(self, name: str, new_name: str) -> None:
        os.rename(self.path / name, self.path / new_name)

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def scratch(self, n_bytes: int) -> memoryview:
        with for_disk(), tempfile.TemporaryFile(dir=self.path) as file:
            # Now: on a disk that is full when a page is written out, the system would kill the process.
            os.posix_fallocate(file.fileno(), 0, n_bytes)
            return memoryview(mmap.mmap(file.fileno(), n_bytes))

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self._lock)
            os.close(self._directory)

    def _write_durably(self, name: str, parts: Iterable[Buffer]) -> None:
        with for_disk():
            file = open(self.path / name, "wb")  # noqa: SIM115  # closed below
        with file:
            n_unsynced = 0
            for part in parts:
                file.write(part)
                n_unsynced += len(part)
                if n_unsynced >= SYNC_BYTES:
                    os.fdatasync(file.fileno())
                    n_unsynced = 0
            file.flush()
            os.fsync(file.fileno())
