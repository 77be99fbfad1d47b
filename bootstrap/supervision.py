"""When a node that has ended by itself is started again. Pure.

It is started after a pause that doubles with every end in a row, so that one that cannot live does not keep
the machine busy; a longer life forgives. Who ends again and again is left alone, for a person to look at.
"""

from __future__ import annotations

from typing import Final, NamedTuple

PAUSE_S: Final = 1.0  # after the first end
PAUSE_S_MAX: Final = 60.0
FORGIVEN_S: Final = 60.0  # a life as long as this is none of several in a row
ENDS_MAX: Final = 6  # in a row, half a minute of pauses: what is still wrong then does not pass by itself


class _Ends(NamedTuple):
    in_a_row: int
    begun_s: float  # the life that has ended last, or goes on


class Supervision:
    """The starts and ends of some nodes; times are of any clock that goes forward."""

    def __init__(self) -> None:
        self._ends: dict[str, _Ends] = {}
        self._due_s: dict[str, float] = {}

    def began(self, name: str, now: float) -> None:
        """Note that a node lives."""
        ends = self._ends.get(name, _Ends(0, now))
        self._ends[name] = ends._replace(begun_s=now)
        self._due_s.pop(name, None)

    def ended(self, name: str, now: float) -> float | None:
        """Note that a node has ended; return after how many seconds it is to be started, None for never."""
        before = self._ends.get(name, _Ends(0, now))
        in_a_row = 1 if now - before.begun_s >= FORGIVEN_S else before.in_a_row + 1
        self._ends[name] = before._replace(in_a_row=in_a_row)
        if in_a_row >= ENDS_MAX:
            return None
        pause_s = min(PAUSE_S * 2.0 ** (in_a_row - 1), PAUSE_S_MAX)
        self._due_s[name] = now + pause_s
        return pause_s

    def due(self, now: float) -> list[str]:
        """Return the nodes to start again now that their pause is over, each until it has begun."""
        return [name for name, due_s in self._due_s.items() if due_s <= now]
