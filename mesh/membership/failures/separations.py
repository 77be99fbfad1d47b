"""The members whose answers come over others alone: none is dead, but frames between them and us are lost.

Such a *partial partition* (Alfatafta, Alkhatib, Alquraan, Al-Kiswany, OSDI 2020) changes no member's state,
since SWIM asks others to try. What two members keep for each other does not get there all the same, so each
has to know. A ping needs both directions, so each of the two finds it out by itself, and need believe nobody.

Whoever is not reached by anybody is a suspect, and of no concern here.
"""

from __future__ import annotations

from collections.abc import Collection


class Separations:
    """Since when each member has answered over others alone."""

    def __init__(self, separated_s: float) -> None:
        """Begin with nobody.

        Args:
          separated_s: for how long its answers must have come over others.
        """
        self.members: frozenset[str] = frozenset()  # that are separated from this one
        self._separated_s = separated_s
        self.since: dict[str, float] = {}  # when the first ping was sent that had no answer of its own

    def note_relayed(self, peer: str, sent_at: float) -> None:
        """A ping sent then was answered over another member."""
        if sent_at >= self.since.setdefault(peer, sent_at) + self._separated_s:
            self.members |= {peer}

    def note_own_answer(self, peer: str) -> None:
        if self.since.pop(peer, None) is not None:
            self.members -= {peer}

    def keep_only(self, peers: Collection[str]) -> None:
        """Forget members that are not live any more."""
        for peer in self.since.keys() - peers:
            self.note_own_answer(peer)
