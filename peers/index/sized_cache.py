"""A cache of the values used lately, as many as fit. Any thread may use it. [io]"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class SizedCache(Generic[Key, Value]):
    """Keeps values up to a total size; the value that has not been used the longest goes first.

    Attributes:
      size: of all that is kept.
    """

    def __init__(self, size_max: int) -> None:
        self.size = 0
        self._size_max = size_max
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()

    def find(self, key: Key) -> Value | None:
        """Return the value kept under a key; it counts as used now."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept.move_to_end(key)
            return kept[0]

    def keep(self, key: Key, value: Value, size: int) -> None:
        """Keep a value, in the place of another under this key; one that is larger than all may be is not."""
        with self._lock:
            _, size_before = self._kept.pop(key, (None, 0))
            self.size -= size_before
            if size > self._size_max:
                return
            self._kept[key] = value, size
            self.size += size
            while self.size > self._size_max:
                _, (_, size_of_oldest) = self._kept.popitem(last=False)
                self.size -= size_of_oldest

    def __len__(self) -> int:
        return len(self._kept)
