"""How far a member trusts its own judgement of others.

A member that is slow, or cut off, finds everybody silent. Before it accuses anybody it should doubt
itself: each sign that it is itself to blame makes it wait longer for answers, each answer less long.
Source: Dadgar, Phillips, Currey 2018 (Lifeguard), section 4.1, the local health multiplier.
"""

from __future__ import annotations


class LocalHealth:
    """Counts signs that this member is itself to blame."""

    def __init__(self, distrust_max: int) -> None:
        """Start in good health; the factor never exceeds `distrust_max`."""
        self._score_max = distrust_max - 1
        self._score = 0

    @property
    def distrust(self) -> int:
        """The factor by which to wait longer, 1 in good health."""
        return 1 + self._score

    def worsen(self, signs: int = 1) -> None:
        self._score = min(self._score_max, self._score + signs)

    def improve(self) -> None:
        self._score = max(0, self._score - 1)
