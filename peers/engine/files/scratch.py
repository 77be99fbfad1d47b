"""Room for the output of a merge until it is in the segment's file: as much as the largest segment has.

A storage says where it is. On disk it is in a file without a name, so that the system can write it out and
take the memory for something else; what a merge needs besides does not grow with the index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from peers.kernel import Bytes

# Returns writable room of a number of bytes, until nobody refers to it. OSError when there is none.
Scratch: TypeAlias = Callable[[int], memoryview]


def in_memory(n_bytes: int) -> memoryview:
    """Return room in the memory of the process; parts that are never written to take none."""
    return np.empty(n_bytes, np.uint8).data


def room(scratch: Scratch, n_bytes: int) -> Bytes:
    """Return an array of so many bytes."""
    return np.frombuffer(scratch(n_bytes), np.uint8) if n_bytes else np.empty(0, np.uint8)


class Spool:
    """Bytes put one behind the other."""

    def __init__(self, scratch: Scratch, n_bytes: int) -> None:
        """Begin with room for so many; it grows."""
        self._scratch = scratch
        self._room = room(scratch, n_bytes)
        self.n_bytes = 0

    def put(self, content: bytes) -> None:
        end = self.n_bytes + len(content)
        if end > len(self._room):
            grown = room(self._scratch, end + end // 4)
            grown[: self.n_bytes] = self._room[: self.n_bytes]
            self._room = grown
        self._room[self.n_bytes : end] = np.frombuffer(content, np.uint8)
        self.n_bytes = end

    def content(self) -> Bytes:
        """View all of it; do not put anything behind it afterwards."""
        return self._room[: self.n_bytes]
