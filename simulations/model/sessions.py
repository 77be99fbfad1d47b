"""Peers that come and go, each session as long as chance says, and the copies of slots that they make.

Sessions and absences last as Weibull distributions say, as those of peers that were watched do (Stutzbach
and Rejaie 2006): with a shape of 1 they are exponential, below it many are short and few very long. A slot
belongs to the first R of the peers that are not missed, in an order of its own (rendezvous). Who has become
absent is missed after a while; then others copy its slots, each peer one after the other, from whoever has
them. Who comes back has its copies of before, and copies of each what has changed since; where nobody else
is there that has a slot, an old copy is taken as it is. A copy that belongs to nobody is given up when the R
are whole. A disk may be lost with a session: then its peer comes back with nothing.

Left out: the lines of the senders, who are many, how long peers take to agree, and that many go at once, as
machines of a lab may in the evening: here each comes and goes for itself.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from math import gamma
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simulations.traces.columns import Ints

Marks: TypeAlias = NDArray[np.bool_]

_LEAVES, _IS_MISSED, _RETURNS, _HAS_COPIED = range(4)
WARM_UP: Final = 3.0  # sessions and absences before anything is counted, since all peers begin at once


class Churn(NamedTuple):
    """How peers come and go, and how fast they copy."""

    session_h: float  # mean
    absence_h: float  # mean
    shape: float  # of the distributions of both
    missed_h: float  # after which an absent peer is held for gone
    slot_h: float  # in which a peer takes in a slot
    changed_per_h: float  # share of a slot that changes
    disks_lost: float  # share of the sessions that end with the disk


class ChurnSeen(NamedTuple):
    """Shares and sums after the warm-up; means over time."""

    present: float  # share of the peers
    covered: float  # share of the slots that somebody present has
    complete: float  # share of the time in which these were all slots
    copied: float  # slots copied, a peer and hour
    lost: int  # slots of which no disk had a copy any more; they begin anew
    long_sessions: float  # of all sessions, those longer than the mean
    long_time: float  # of the time of all sessions, that of these


class SlotCopies:
    """The copies of slots, by owner and by holder; arrays of shape (slots, peers).

    Attributes:
      belongs: whether a slot is one of a peer's.
      has: whether a peer has a copy on its disk, old or not.
      is_whole: whether it is there with all that has changed.
      copied: slots that were copied.
      lost: slots of which no disk had a copy any more.
    """

    def __init__(self, order: Ints, replicas: int) -> None:
        """Give all slots to their first peers.

        Args:
          order: of each slot, all peers, the best first.
        """
        self._order, self._replicas = order, replicas
        self.belongs = self._owners(np.ones(order.shape[1], np.bool_))
        self.has, self.is_whole = self.belongs.copy(), self.belongs.copy()
        self._old = np.zeros(order.shape)  # share of a copy that has changed since
        self.copied, self.lost = 0.0, 0

    def _owners(self, is_counted: Marks) -> Marks:
        counts = is_counted[self._order]
        owners = np.zeros(self._order.shape, np.bool_)
        np.put_along_axis(owners, self._order, counts & (counts.cumsum(axis=1) <= self._replicas), axis=1)
        return owners

    def share_out(self, is_counted: Marks, is_present: Marks) -> None:
        """Give slots to the first peers that count; old copies are whole where nobody has a newer one."""
        self.belongs = self._owners(is_counted)
        is_open = ~(self.is_whole & is_present).any(axis=1)
        age = np.where(self.has & is_present, self._old, np.inf)[is_open]
        is_there = np.isfinite(age.min(axis=1))
        slots, newest = np.flatnonzero(is_open)[is_there], age.argmin(axis=1)[is_there]
        self.is_whole[slots, newest] = True
        self._old[slots, newest] = 0.0

    def lose(self, peer: int) -> None:
        """Lose the disk of a peer; slots that nobody has any more begin anew with their owners."""
        self.has[:, peer] = False
        is_lost = np.logical_not(self.has.any(axis=1))
        self.lost += int(is_lost.sum())
        self.has |= is_lost[:, None] & self.belongs
        self._old[is_lost] = 0.0

    def grow_old(self, peer: int, share: float) -> None:
        """Let such a share of all slots have changed while a peer was away."""
        self._old[:, peer] = np.minimum(1.0, self._old[:, peer] + share)

    def is_had(self, slot: int, is_present: Marks) -> bool:
        """Tell whether somebody present has a slot whole."""
        return bool((self.is_whole[slot] & is_present).any())

    def to_copy(self, peer: int) -> list[int]:
        """Return the slots of a peer that it does not have whole."""
        slots: list[int] = np.flatnonzero(self.belongs[:, peer] & ~self.is_whole[:, peer]).tolist()
        return slots

    def share(self, slot: int, peer: int) -> float:
        """Return the share of a slot that a peer has to copy."""
        return float(self._old[slot, peer]) if self.has[slot, peer] else 1.0

    def take(self, slot: int, peer: int, is_present: Marks) -> None:
        """Let a peer have a slot whole; when all owners have, others give up theirs."""
        self.copied += self.share(slot, peer)
        self.has[slot, peer] = self.is_whole[slot, peer] = True
        self._old[slot, peer] = 0.0
        if (self.is_whole[slot] | ~self.belongs[slot]).all():
            spare = is_present & ~self.belongs[slot]
            self.has[slot, spare] = self.is_whole[slot, spare] = False


class ChurningMesh:
    """Peers that come and go, and copy slots."""

    def __init__(
        self, peers: int, slots: int, replicas: int, churn: Churn, random: np.random.Generator
    ) -> None:
        self._churn, self._random = churn, random
        self._slots = SlotCopies(np.argsort(random.random((slots, peers)), axis=1), replicas)
        self._is_present = np.ones(peers, np.bool_)
        self._is_counted = np.ones(peers, np.bool_)  # is present, or not missed yet
        self._left_at = [0.0] * peers
        self._stint = [0] * peers  # grows as it leaves and returns: what was due before is void
        self._to_copy: list[deque[int]] = [deque() for _ in range(peers)]
        self._is_copying = [False] * peers
        self._events: list[tuple[float, int, int, int, int]] = []  # when, which, peer, stint, slot
        self._sessions: list[float] = []

    def run(self, hours: float) -> ChurnSeen:
        """Let so many hours pass after the warm-up."""
        start = WARM_UP * (self._churn.session_h + self._churn.absence_h)
        for peer in range(len(self._stint)):
            self._begin_session(peer, 0.0)
        self._pass(0.0, start)
        copied, lost = self._slots.copied, self._slots.lost
        present, covered, complete = self._pass(start, start + hours)
        longer = [length for length in self._sessions if length > self._churn.session_h]
        return ChurnSeen(
            present / hours,
            covered / hours,
            complete / hours,
            (self._slots.copied - copied) / hours / len(self._stint),
            self._slots.lost - lost,
            len(longer) / len(self._sessions),
            sum(longer) / sum(self._sessions),
        )

    def _pass(self, now: float, end: float) -> tuple[float, float, float]:
        """Let time pass; return the hours in which peers were present, slots covered, and all of them."""
        sums = np.zeros(3)
        while now < end:
            until = min(self._events[0][0], end)
            covered = float((self._slots.is_whole & self._is_present).any(axis=1).mean())
            sums += (until - now) * np.array([self._is_present.mean(), covered, covered == 1.0])
            now = until
            while self._events[0][0] <= now:
                _, which, peer, stint, slot = heappop(self._events)
                if stint == self._stint[peer]:
                    self._happen(which, peer, slot, now)
        present, covered, complete = sums.tolist()
        return present, covered, complete

    def _happen(self, which: int, peer: int, slot: int, now: float) -> None:
        if which == _HAS_COPIED:
            self._end_copying(peer, slot, now)
            return
        if which == _LEAVES:
            self._leave(peer, now)
        elif which == _RETURNS:
            self._return(peer, now)
        else:
            self._is_counted[peer] = False
        self._slots.share_out(self._is_counted, self._is_present)
        for other in np.flatnonzero(self._is_present).tolist():
            self._to_copy[other] = deque(self._slots.to_copy(other))
            self._copy_next(other, now)

    def _begin_session(self, peer: int, now: float) -> None:
        length = self._length(self._churn.session_h)
        self._sessions.append(length)
        self._due(now + length, _LEAVES, peer)

    def _leave(self, peer: int, now: float) -> None:
        self._stint[peer] += 1
        self._is_present[peer] = self._is_copying[peer] = False
        self._left_at[peer] = now
        self._slots.is_whole[:, peer] = False
        if self._random.random() < self._churn.disks_lost:
            self._slots.lose(peer)
        self._due(now + self._churn.missed_h, _IS_MISSED, peer)
        self._due(now + self._length(self._churn.absence_h), _RETURNS, peer)

    def _return(self, peer: int, now: float) -> None:
        self._stint[peer] += 1
        self._is_present[peer] = self._is_counted[peer] = True
        self._slots.grow_old(peer, self._churn.changed_per_h * (now - self._left_at[peer]))
        self._begin_session(peer, now)

    def _copy_next(self, peer: int, now: float) -> None:
        """Begin to copy the first slot that somebody has, unless another is being copied."""
        while self._to_copy[peer] and not self._is_copying[peer]:
            slot = self._to_copy[peer].popleft()
            if self._slots.is_had(slot, self._is_present):
                self._is_copying[peer] = True
                share = self._slots.share(slot, peer)
                self._due(now + share * self._churn.slot_h, _HAS_COPIED, peer, slot)

    def _end_copying(self, peer: int, slot: int, now: float) -> None:
        """Have a slot, unless it has become another's or nobody has it any more."""
        self._is_copying[peer] = False
        if self._slots.belongs[slot, peer] and self._slots.is_had(slot, self._is_present):
            self._slots.take(slot, peer, self._is_present)
        self._copy_next(peer, now)

    def _due(self, at: float, which: int, peer: int, slot: int = 0) -> None:
        heappush(self._events, (at, which, peer, self._stint[peer], slot))

    def _length(self, mean: float) -> float:
        shape = self._churn.shape
        return mean / gamma(1.0 + 1.0 / shape) * float(self._random.weibull(shape))
