"""News of slots that is told when all their pages are indexed, and not before.

Slots that were brought count as synchronised then, and documents that were lost as repaired: what is in the
archive alone is not found.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from mesh.actors.actor import Send
from mesh.slot_set import SlotMask
from peers.handover.messages import SlotsSynchronised
from peers.storage.ledger.ledger import Ledger


@dataclass(slots=True)
class _Held:
    """A message that is sent when all marks of some slots have been seen gone."""

    told: Send
    slots: SlotMask  # those where they have not
    until: float  # told then anyway

    @property
    def task(self) -> int | None:
        """The handover's number of the task that was synchronised."""
        message = self.told.message
        return message.task if isinstance(message, SlotsSynchronised) else None


class SlotNews:
    """Messages that wait for the marks of their slots to go."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._held: list[_Held] = []

    def wake_at(self) -> float:
        return min(held.until for held in self._held) if self._held else inf

    def hold(self, told: Send, slots: SlotMask, until: float) -> None:
        """Have something told when no page of these slots is marked, or at that time at the latest."""
        self._held.append(_Held(told, slots, until))

    def stop(self, task: int) -> None:
        """Tell nothing of a task that has been stopped."""
        self._held = [held for held in self._held if held.task != task]

    def let_go(self, now: float) -> list[Send]:
        """Return the messages that were held back for marks that are gone."""
        if not self._held:
            return []
        for held in self._held:
            held.slots &= self._ledger.marks.by_slot[: len(held.slots)] > 0
        free = [held for held in self._held if not held.slots.any() or held.until <= now]
        self._held = [held for held in self._held if held.slots.any() and held.until > now]
        return [held.told for held in free]
