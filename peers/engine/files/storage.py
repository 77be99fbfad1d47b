"""Where an index keeps its files: the protocol, and the twin that keeps them in memory.

Files are written once and whole; only the manifest is ever replaced. `DirectoryStorage` in
`directory.py` is the one on disk.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from peers.engine.files.scratch import in_memory

Buffer = bytes | bytearray | memoryview


class Storage(Protocol):
    """A flat folder of files. Every method raises OSError when the medium fails."""

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""

    def read(self, name: str) -> memoryview:
        """Return the content of a file: stays valid after the file is removed. FileNotFoundError."""

    def write(self, name: str, parts: Iterable[Buffer]) -> None:
        """Write a new file; on return it is durable, after an error it may exist in part."""

    def replace(self, name: str, content: Buffer) -> None:
        """Replace a file atomically and durably: after a crash it has the old or the new content."""

    def rename(self, name: str, new_name: str) -> None:
        """Give a file a new name, in the place of any that has it."""

    def remove(self, name: str) -> None:
        """Remove a file; nothing happens when there is none."""

    def scratch(self, n_bytes: int) -> memoryview:
        """Return writable room for so many bytes, at least one, which is gone when nobody refers to it."""

    def close(self) -> None:
        """Let another process open the storage."""


class MemoryStorage:
    """Files in a dict, for simulations and tests; outlives the `Index` opened on it."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def names(self) -> list[str]:
        return sorted(self.files)

    def read(self, name: str) -> memoryview:
        try:
            return memoryview(self.files[name])
        except KeyError:
            raise FileNotFoundError(name) from None

    def write(self, name: str, parts: Iterable[Buffer]) -> None:
        self.files[name] = b"".join(parts)

    def replace(self, name: str, content: Buffer) -> None:
        self.files[name] = bytes(content)

    def rename(self, name: str, new_name: str) -> None:
        self.files[new_name] = self.files.pop(name)

    def remove(self, name: str) -> None:
        self.files.pop(name, None)

    def scratch(self, n_bytes: int) -> memoryview:
        return in_memory(n_bytes)

    def close(self) -> None:
        """Nothing to let go of."""


class PartOfStorage:
    """The files of a storage whose names begin with a prefix, without it."""

    def __init__(self, storage: Storage, prefix: str) -> None:
        self._storage = storage
        self._prefix = prefix

    def names(self) -> list[str]:
        names = self._storage.names()
        return [name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix)]

    def read(self, name: str) -> memoryview:
        return self._storage.read(self._prefix + name)

    def write(self, name: str, parts: Iterable[Buffer]) -> None:
        self._storage.write(self._prefix + name, parts)

    def replace(self, name: str, content: Buffer) -> None:
        self._storage.replace(self._prefix + name, content)

    def rename(self, name: str, new_name: str) -> None:
        self._storage.rename(self._prefix + name, self._prefix + new_name)

    def remove(self, name: str) -> None:
        self._storage.remove(self._prefix + name)

    def scratch(self, n_bytes: int) -> memoryview:
        return self._storage.scratch(n_bytes)

    def close(self) -> None:
        """Nothing: the whole storage is closed by its owner."""
