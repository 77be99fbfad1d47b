"""Peers that come and go, each session as long as chance says, and what becomes of the copies of slots.

Sessions and absences last as Weibull distributions say, as those of peers that were watched do (Stutzbach
and Rejaie 2006): with a shape of 1 they are exponential, below it many are short and few very long. A slot
belongs to the first R of the peers that are not missed, in an order of its own (rendezvous). Who has become
absent is missed after a while; then others copy its slots, each peer one after the other, from whoever has
them. Who comes back has its copies of before, and copies of each what has changed since; where nobody else
is there that has a slot, an old copy is taken as it is. A copy that belongs to nobody is given up when the R
are whole. A disk may be lost with a session: then its peer comes back with nothing.

Left out: the lines of the senders, who are many, and how long peers take to agree.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from math import gamma
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Marks: TypeAlias = NDArray[np.bool_]

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
    """What was seen after the warm-up; means over time."""

    present: float  # share of the peers
    covered: float  # share of the slots that somebody present has
    complete: float  # share of the time in which these were all slots
    copied: float  # slots copied, a peer and hour
    lost: int  # slots of which no disk had a copy any more; they begin anew
    long_sessions: float  # of all sessions, those longer than the mean
    long_time: float  # of the time of all sessions, that of these


class ChurningMesh:
    """Peers, and which of the slots each has."""

    def __init__(
        self, peers: int, slots: int, replicas: int, churn: Churn, random: np.random.Generator
    ) -> None:
        self._churn, self._random, self._replicas = churn, random, replicas
        self._order = np.argsort(random.random((slots, peers)), axis=1)  # of each slot, peers, the best first
        self._is_present = np.ones(peers, np.bool_)
        self._is_counted = np.ones(peers, np.bool_)  # is present, or not missed yet
        self._belongs = self._owners()
        self._has = self._belongs.copy()  # a copy on its disk, old or not
        self._is_whole = self._belongs.copy()  # with all that has changed
        self._old = np.zeros((slots, peers))  # share of a copy that has changed since
        self._left_at = np.zeros(peers)
        self._stint = [0] * peers  # grows as it leaves and returns: what was due before is void
        self._to_copy: list[deque[int]] = [deque() for _ in range(peers)]
        self._is_copying = [False] * peers
        self._events: list[tuple[float, int, int, int, int]] = []  # when, what, peer, stint, slot
        self._sessions: list[float] = []
        self._copied = 0.0
        self._lost = 0

    def run(self, hours: float) -> ChurnSeen:
        """Let so many hours pass after the warm-up."""
        start = WARM_UP * (self._churn.session_h + self._churn.absence_h)
        for peer in range(len(self._stint)):
            self._begin_session(peer, 0.0)
        self._pass(0.0, start)
        self._copied, self._lost = 0.0, 0
        present, covered, complete = self._pass(start, start + hours)
        longer = [length for length in self._sessions if length > self._churn.session_h]
        return ChurnSeen(
            present / hours,
            covered / hours,
            complete / hours,
            self._copied / hours / len(self._stint),
            self._lost,
            len(longer) / len(self._sessions),
            sum(longer) / sum(self._sessions),
        )

    def _pass(self, now: float, end: float) -> tuple[float, float, float]:
        """Let time pass; return the hours in which peers were present, slots covered, and all of them."""
        sums = np.zeros(3)
        while now < end:
            until = min(self._events[0][0], end)
            covered = float((self._is_whole & self._is_present).any(axis=1).mean())
            sums += (until - now) * np.array([self._is_present.mean(), covered, covered == 1.0])
            now = until
            while self._events[0][0] <= now:
                _, what, peer, stint, slot = heappop(self._events)
                if stint == self._stint[peer]:
                    self._happen(what, peer, slot, now)
        present, covered, complete = sums.tolist()
        return present, covered, complete

    def _happen(self, what: int, peer: int, slot: int, now: float) -> None:
        if what == _HAS_COPIED:
            self._take(peer, slot, now)
            return
        if what == _LEAVES:
            self._leave(peer, now)
        elif what == _RETURNS:
            self._return(peer, now)
        else:
            self._is_counted[peer] = False
        self._belongs = self._owners()
        self._settle()
        for other in np.flatnonzero(self._is_present).tolist():
            self._to_copy[other] = deque(
                np.flatnonzero(self._belongs[:, other] & ~self._is_whole[:, other]).tolist()
            )
            self._copy_next(other, now)

    def _begin_session(self, peer: int, now: float) -> None:
        length = self._length(self._churn.session_h)
        self._sessions.append(length)
        self._due(now + length, _LEAVES, peer)

    def _leave(self, peer: int, now: float) -> None:
        self._stint[peer] += 1
        self._is_present[peer] = self._is_copying[peer] = False
        self._left_at[peer] = now
        self._is_whole[:, peer] = False
        if self._random.random() < self._churn.disks_lost:
            self._has[:, peer] = False
            self._begin_anew(np.logical_not(self._has.any(axis=1)))
        self._due(now + self._churn.missed_h, _IS_MISSED, peer)
        self._due(now + self._length(self._churn.absence_h), _RETURNS, peer)

    def _begin_anew(self, is_lost: _Marks) -> None:
        """Let the owners of slots that nobody has any more have them, empty."""
        self._lost += int(is_lost.sum())
        self._has |= is_lost[:, None] & self._belongs
        self._old[is_lost] = 0.0

    def _return(self, peer: int, now: float) -> None:
        self._stint[peer] += 1
        self._is_present[peer] = self._is_counted[peer] = True
        away = self._churn.changed_per_h * (now - self._left_at[peer])
        self._old[:, peer] = np.minimum(1.0, self._old[:, peer] + away)
        self._begin_session(peer, now)

    def _settle(self) -> None:
        """Take the newest old copy for whole where nobody who is present has a whole one."""
        is_open = ~(self._is_whole & self._is_present).any(axis=1)
        age = np.where(self._has & self._is_present, self._old, np.inf)[is_open]
        newest = age.argmin(axis=1)
        slots = np.flatnonzero(is_open)[np.isfinite(age.min(axis=1))]
        newest = newest[np.isfinite(age.min(axis=1))]
        self._is_whole[slots, newest] = True
        self._old[slots, newest] = 0.0

    def _copy_next(self, peer: int, now: float) -> None:
        """Begin to copy the first slot that somebody has, unless another is being copied."""
        while self._to_copy[peer] and not self._is_copying[peer]:
            slot = self._to_copy[peer].popleft()
            if (self._is_whole[slot] & self._is_present).any():
                self._is_copying[peer] = True
                self._due(now + self._share(peer, slot) * self._churn.slot_h, _HAS_COPIED, peer, slot)

    def _share(self, peer: int, slot: int) -> float:
        """Return the share of a slot that a peer has to copy."""
        return float(self._old[slot, peer]) if self._has[slot, peer] else 1.0

    def _take(self, peer: int, slot: int, now: float) -> None:
        """End the copying of a slot, in vain if it has become another's or who gave it has left."""
        self._is_copying[peer] = False
        if self._belongs[slot, peer] and (self._is_whole[slot] & self._is_present).any():
            self._copied += self._share(peer, slot)
            self._has[slot, peer] = self._is_whole[slot, peer] = True
            self._old[slot, peer] = 0.0
            if (self._is_whole[slot] | ~self._belongs[slot]).all():
                spare = self._is_present & ~self._belongs[slot]
                self._has[slot, spare] = self._is_whole[slot, spare] = False
        self._copy_next(peer, now)

    def _owners(self) -> _Marks:
        """Return whose slots are whose; shape (slots, peers)."""
        counts = self._is_counted[self._order]
        owners = np.zeros(self._order.shape, np.bool_)
        np.put_along_axis(owners, self._order, counts & (counts.cumsum(axis=1) <= self._replicas), axis=1)
        return owners

    def _due(self, at: float, what: int, peer: int, slot: int = 0) -> None:
        heappush(self._events, (at, what, peer, self._stint[peer], slot))

    def _length(self, mean: float) -> float:
        shape = self._churn.shape
        return mean / gamma(1.0 + 1.0 / shape) * float(self._random.weibull(shape))
