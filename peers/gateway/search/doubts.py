"""Doubts: which of two members is wrong about a page that one gives as a hit and the other does not know.

Theory of operation
===================
The witness of a hit denies it (`witnesses`). Either may lie, or they differ for a moment: a commit is late, a
page has just been taken out. So the witness is asked again after `AGAIN_AFTER_S`, and only what it still does
not know is a *contradiction* of the two. A single liar is in every contradiction there is, and any honest
member in those with it alone; so who contradicts more members than the one it differs with, and more than
one, is wrong. Where it differs with this peer alone and this peer with nobody else, this peer believes
itself. Otherwise nobody is blamed: of two that differ with nobody else either may be lying.

Who is wrong in `SUSPECT_AFTER` contradictions is *suspect*: it is no witness, and each further time that it
is found wrong weighs in its conduct, which puts it into quarantine.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple

# A page is in the index of its whole team some seconds after the first has it; a busy peer may take longer.
AGAIN_AFTER_S: Final = 30.0
AGAIN_EVERY_S: Final = 5.0  # between two times that members are asked again
REMEMBERED_S: Final = 600.0
SUSPECT_AFTER: Final = 3
CONTRADICTIONS_MAX: Final = 1_000
WAITING_MAX: Final = 100  # what comes beyond is as good as these; as many as one question may be about


class Doubt(NamedTuple):
    """A hit, the member that claims it and the witness that does not know it."""

    url: str
    claimant: str
    witness: str


class Doubts:
    """Those of one gateway.

    Attributes:
      suspects: members that have been wrong several times lately.
    """

    def __init__(self, me: str) -> None:
        self._me = me
        self._waiting: dict[Doubt, float] = {}  # to when the witness is asked again, the first in front
        self._asked_at = -inf
        # With their times, the oldest in front.
        self._contradictions: deque[tuple[float, Doubt]] = deque(maxlen=CONTRADICTIONS_MAX)
        self.suspects: frozenset[str] = frozenset()

    def note(self, doubt: Doubt, now: float) -> None:
        """A hit was denied."""
        if len(self._waiting) < WAITING_MAX:
            self._waiting.setdefault(doubt, now + AGAIN_AFTER_S)

    def wake_at(self) -> float:
        """When there is something to be asked again."""
        return max(next(iter(self._waiting.values()), inf), self._asked_at + AGAIN_EVERY_S)

    def due(self, now: float) -> list[Doubt]:
        """Take the doubts that are due to be asked again."""
        due = [doubt for doubt, at in self._waiting.items() if at <= now]
        for doubt in due:
            del self._waiting[doubt]
        self._asked_at = now
        return due

    def note_contradictions(self, doubts: Sequence[Doubt], now: float) -> dict[str, Doubt]:
        """Note doubts that the witnesses repeat; return suspects that are wrong in one, with their last."""
        self._contradictions += [(now, doubt) for doubt in doubts]
        while self._contradictions and self._contradictions[0][0] < now - REMEMBERED_S:
            self._contradictions.popleft()
        differs_with: dict[str, set[str]] = defaultdict(set)
        for _, doubt in self._contradictions:
            differs_with[doubt.claimant].add(doubt.witness)
            differs_with[doubt.witness].add(doubt.claimant)
        wrong_in: dict[str, list[Doubt]] = defaultdict(list)
        for _, doubt in self._contradictions:
            who = self._wrong_in(doubt, len(differs_with[doubt.claimant]), len(differs_with[doubt.witness]))
            if who is not None:
                wrong_in[who].append(doubt)
        suspects = {peer: last for peer, last in wrong_in.items() if len(last) >= SUSPECT_AFTER}
        self.suspects = frozenset(suspects)
        return {peer: of_peer[-1] for peer, of_peer in suspects.items() if of_peer[-1] in doubts}

    def _wrong_in(self, doubt: Doubt, n_of_claimant: int, n_of_witness: int) -> str | None:
        """Which of the two it is; None where that cannot be told.

        Args:
          n_of_claimant: with how many members it differs.
          n_of_witness: likewise.
        """
        if min(n_of_claimant, n_of_witness) > 1:
            return None
        if n_of_claimant != n_of_witness:
            return doubt.claimant if n_of_claimant > n_of_witness else doubt.witness
        if self._me in (doubt.claimant, doubt.witness):
            return doubt.witness if doubt.claimant == self._me else doubt.claimant
        return None
