"""Segments of the archive that nothing refers to any more: when they may be removed."""

from __future__ import annotations

from collections.abc import Set

from mesh.actors.actor import Address, Send
from peers.storage.ledger.ledger import Ledger
from peers.storage.messages import RemoveSegments


class DeadSegments:
    """Has segments removed, each once."""

    def __init__(self, me: str, ledger: Ledger) -> None:
        self._archive = Address(me, "archive")
        self._ledger = ledger
        self._removing: set[int] = set()

    def remove(self, in_use: Set[int]) -> list[Send]:
        """Have segments removed that nothing refers to, not even a page on its way.

        Args:
          in_use: segments with records of such pages, which the table does not know so far.
        """
        self._ledger.segments.has_dead = False
        dead = set(self._ledger.segments.dead()) - self._removing
        self._ledger.segments.has_dead = bool(dead & in_use)
        removed = tuple(sorted(dead - in_use))
        self._removing.update(removed)
        return [Send(self._archive, RemoveSegments(removed))] if removed else []

    def note_removed(self, segments: tuple[int, ...]) -> None:
        for number in segments:
            self._removing.discard(number)
            self._ledger.segments.drop(number)
