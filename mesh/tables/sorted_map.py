"""A dictionary of bytes keys that can be walked in key order while it changes.

Theory of operation. Values live in a dict. Keys are sorted only when somebody walks: a new key waits
in a set, and the next walk moves the waiting keys into sorted blocks (a list of short lists, as in the
sortedcontainers package, so that an insert moves one short block and not the whole list). Many puts
between two walks are sorted together in one pass of timsort, which merges runs in linear time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

Value = TypeVar("Value")

BLOCK_KEYS = 512  # keys of a fresh block: 4 KiB of pointers, one cheap memmove; split at twice that
REBUILD_SHARE = 16  # more than one waiting key per so many sorted ones: sort all rather than insert


class SortedMap(Generic[Value]):
    """Map bytes to values; `walk` yields in key order. Get and put cost the same as in a dict."""

    def __init__(self) -> None:
        self._values: dict[bytes, Value] = {}
        self._waiting: set[bytes] = set()  # keys of _values that are in no block yet
        self._blocks: list[list[bytes]] = []  # none empty, each sorted, in order
        self._lasts: list[bytes] = []  # the last key of each block
        self.changes = 0  # grows when the set of keys changes; a value alone does not count
        self.get = self._values.get

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: bytes) -> bool:
        return key in self._values

    def put(self, key: bytes, value: Value) -> None:
        if key not in self._values:
            self._waiting.add(key)
            self.changes += 1
        self._values[key] = value

    def put_many(self, items: Iterable[tuple[bytes, Value]]) -> None:
        values, waiting = self._values, self._waiting
        for key, value in items:
            if key not in values:
                waiting.add(key)
                self.changes += 1
            values[key] = value

    def delete(self, key: bytes) -> None:
        if key not in self._values:
            return
        del self._values[key]
        self.changes += 1
        if key in self._waiting:
            self._waiting.remove(key)
        else:
            self._remove_sorted(key)

    def items_unsorted(self) -> Iterator[tuple[bytes, Value]]:
        return iter(self._values.items())

    def walk(self, start: bytes, stop: bytes | None) -> Iterator[tuple[bytes, Value]]:
        """Yield items with start <= key < stop in order; each step sees the map as it is then."""
        values = self._values
        block_index, key_index = self._find(start, bisect_left)
        while block_index < len(self._blocks):
            block = self._blocks[block_index]
            changes = self.changes
            while key_index < len(block):
                key = block[key_index]
                if stop is not None and key >= stop:
                    return
                yield key, values[key]
                if self.changes != changes:
                    block_index, key_index = self._find(key, bisect_right)
                    break
                key_index += 1
            else:
                block_index, key_index = block_index + 1, 0

    def _find(self, key: bytes, bisect: _Bisect) -> tuple[int, int]:
        """Return block and index of the first key >= `key` (bisect_left) or > `key` (bisect_right)."""
        if self._waiting:
            self._sort_waiting()
        block_index = bisect(self._lasts, key)
        if block_index == len(self._blocks):
            return block_index, 0
        return block_index, bisect(self._blocks[block_index], key)

    def _sort_waiting(self) -> None:
        if len(self._waiting) * REBUILD_SHARE > len(self._values):
            keys = [key for block in self._blocks for key in block]
            keys += sorted(self._waiting)
            keys.sort()
            self._blocks = [keys[i : i + BLOCK_KEYS] for i in range(0, len(keys), BLOCK_KEYS)]
            self._lasts = [block[-1] for block in self._blocks]
        else:
            for key in self._waiting:
                self._insert_sorted(key)
        self._waiting.clear()

    def _insert_sorted(self, key: bytes) -> None:
        block_index = min(bisect_left(self._lasts, key), len(self._blocks) - 1)
        block = self._blocks[block_index]
        block.insert(bisect_left(block, key), key)
        self._lasts[block_index] = block[-1]
        if len(block) > 2 * BLOCK_KEYS:
            self._blocks.insert(block_index + 1, block[BLOCK_KEYS:])
            del block[BLOCK_KEYS:]
            self._lasts[block_index] = block[-1]
            self._lasts.insert(block_index + 1, self._blocks[block_index + 1][-1])

    def _remove_sorted(self, key: bytes) -> None:
        block_index = bisect_left(self._lasts, key)
        block = self._blocks[block_index]
        key_index = bisect_left(block, key)
        assert block[key_index] == key
        del block[key_index]
        if block:
            self._lasts[block_index] = block[-1]
        else:
            del self._blocks[block_index], self._lasts[block_index]


class _Bisect(Protocol):
    def __call__(self, keys: list[bytes], key: bytes, /) -> int: ...
