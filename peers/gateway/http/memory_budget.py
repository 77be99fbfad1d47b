"""How many bytes may be held at a time for all clients together."""

from __future__ import annotations


class MemoryBudget:
    """Counts the bytes that are taken and given back, within a limit.

    Attributes:
      refused: times that there was too little left.
    """

    def __init__(self, bytes_max: int) -> None:
        self.refused = 0
        self._left = bytes_max

    def take(self, byte_count: int) -> bool:
        """Take so many, or nothing when there are fewer left."""
        if byte_count > self._left:
            self.refused += 1
            return False
        self._left -= byte_count
        return True

    def give_back(self, byte_count: int) -> None:
        self._left += byte_count
