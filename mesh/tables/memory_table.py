"""The table of the simulation: everything in memory, gone with the process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from mesh.tables.sorted_map import SortedMap
from mesh.tables.table import KEY_BYTES_MAX, prefix_end


class MemoryTable:
    """A `mesh.tables.table.Table` in a sorted map."""

    def __init__(self) -> None:
        self._map: SortedMap[bytes] = SortedMap()
        self.get = self._map.get  # asked for most of all, and a key that cannot be is not there

    def __len__(self) -> int:
        return len(self._map)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return list(map(self.get, keys))

    def put(self, key: bytes, value: bytes) -> None:
        assert 0 < len(key) <= KEY_BYTES_MAX, f"key of {len(key)} bytes"
        self._map.put(key, value)

    def put_many(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        assert all(0 < len(key) <= KEY_BYTES_MAX for key, _ in rows), "a key that is too long"
        self._map.put_many(rows)

    def delete(self, key: bytes) -> None:
        assert 0 < len(key) <= KEY_BYTES_MAX, f"key of {len(key)} bytes"
        self._map.delete(key)

    def scan(
        self, start: bytes, stop: bytes | None = None, *, limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        walk = self._map.walk(start, stop)
        return walk if limit is None else islice(walk, limit)

    def scan_prefix(self, prefix: bytes, *, limit: int | None = None) -> Iterator[tuple[bytes, bytes]]:
        return self.scan(prefix, prefix_end(prefix), limit=limit)
