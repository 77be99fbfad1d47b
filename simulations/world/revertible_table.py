"""A table in memory that remembers its last commit, for peers that crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mesh.tables.memory_table import MemoryTable


class RevertibleTable:
    """A `mesh.tables.table.Table` that can undo its changes since the last commit."""

    def __init__(self) -> None:
        self._table = MemoryTable()
        self.get = self._table.get
        self.get_many = self._table.get_many
        self.scan = self._table.scan
        self.scan_prefix = self._table.scan_prefix
        self._before: dict[bytes, bytes | None] = {}  # of changed keys: the value at the last commit
        self.deleted: set[bytes] = set()  # since then; they may be there again
        self.on_commit: Callable[[Mapping[bytes, bytes | None]], None] | None = None  # gets those before

    def put(self, key: bytes, value: bytes) -> None:
        if key not in self._before:
            self._before[key] = self._table.get(key)
        self._table.put(key, value)

    def put_many(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        for key, value in rows:
            self.put(key, value)

    def delete(self, key: bytes) -> None:
        if key not in self._before:
            self._before[key] = self._table.get(key)
        self._table.delete(key)
        self.deleted.add(key)

    @property
    def has_changes(self) -> bool:
        return bool(self._before)

    def commit(self) -> None:
        """Keep all changes written so far."""
        if self.on_commit is not None:
            self.on_commit(self._before)
        self._before.clear()
        self.deleted.clear()

    def revert(self) -> None:
        """Undo everything since the last commit."""
        for key, value in self._before.items():
            if value is None:
                self._table.delete(key)
            else:
                self._table.put(key, value)
        self._before.clear()
        self.deleted.clear()
