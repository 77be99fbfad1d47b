"""Ways to have every slot answered once: by the peer that serves it, or the next best if some are absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from mesh.actors.ownership import Ownership
from mesh.slot_ranking import NOBODY

Absent: TypeAlias = tuple[str, ...]  # sorted ids of peers for which others answer

NOBODY_ABSENT: Final[Absent] = ()


class Share(NamedTuple):
    """The slots that a peer answers for in a plan: its own, or those that it is the next best for."""

    peer: str
    absent: Absent  # NOBODY_ABSENT for its own


class Plan:
    """Which share speaks for which slot; the shares do not overlap.

    Attributes:
      absent: the peers whose own answers are not used.
      slots: number of slots by share, shares without any left out.
      slot_count: slots that any share speaks for; less than all when whole teams are absent.
    """

    def __init__(self, ownership: Ownership, absent: Absent = NOBODY_ABSENT) -> None:
        serving = ownership.serving
        self.absent = absent
        self._peers = serving.peers
        self._own = serving.ranking[0]
        self._answering = serving.answering(frozenset(serving.peers) - frozenset(absent))
        is_own = self._answering == self._own
        self.slots: Mapping[Share, int] = {
            **self._count(np.flatnonzero(is_own), NOBODY_ABSENT),
            **self._count(np.flatnonzero(~is_own), absent),
        }
        self.slot_count = sum(self.slots.values())

    def stand_ins(self) -> list[Share]:
        """The shares that speak for those that are absent."""
        return [share for share in self.slots if share.absent]

    def share_of(self, slot: int) -> Share | None:
        """The share that speaks for the slot."""
        position = int(self._answering[slot])
        if position == NOBODY:
            return None
        is_own = position == int(self._own[slot])
        return Share(self._peers[position], NOBODY_ABSENT if is_own else self.absent)

    def _count(self, slots: np.ndarray[tuple[int], np.dtype[np.intp]], absent: Absent) -> dict[Share, int]:
        answering = self._answering[slots]
        positions, counts = np.unique(answering[answering != NOBODY], return_counts=True)
        return {
            Share(self._peers[position], absent): int(count)
            for position, count in zip(positions, counts, strict=True)
        }
