"""One peer's view of who is responsible for what, at one epoch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from mesh.actor import Message
from mesh.slots import NOBODY, SlotTable, slot_of


class Ownership:
    """The slot table over all members, and which of them are alive; immutable.

    Members that are down keep their slots: their part of the crawl waits for them, and while they
    are away the best ranked standby answers queries for them.
    """

    def __init__(self, me: str, table: SlotTable, alive: Iterable[str]) -> None:
        self.me = me
        self.table = table
        self.alive = frozenset(alive)
        self.epoch = self._digest()
        self._teams: dict[int, tuple[str, ...]] = {}

    def slot_of(self, host: str) -> int:
        return slot_of(host, self.table.slot_count)

    def owner_of(self, slot: int) -> str | None:
        """The peer that crawls the slot; None while no member has any weight."""
        return next(iter(self.team_of(slot)), None)

    def team_of(self, slot: int) -> tuple[str, ...]:
        """Owner and standbys in order of rank."""
        team = self._teams.get(slot)
        if team is None:
            team = self._teams[slot] = self.table.team_of(slot)
        return team

    @cached_property
    def answers(self) -> npt.NDArray[np.bool_]:
        """Mask over slots: where this peer's index answers queries."""
        return self.answered_by(self.me)

    def answered_by(self, peer: str) -> npt.NDArray[np.bool_]:
        """Mask over slots: where the index of `peer` answers queries."""
        if peer not in self.table.weights:
            return np.zeros(self.table.slot_count, np.bool_)
        mask: npt.NDArray[np.bool_] = self._answering == self.table.peers.index(peer)
        return mask

    def answerer_of(self, slot: int) -> str | None:
        """The peer whose index answers for the slot; None when its whole team is down."""
        position = int(self._answering[slot])
        return None if position == NOBODY else self.table.peers[position]

    @cached_property
    def slots_answered(self) -> Mapping[str, int]:
        """How many slots each live member with slots answers for."""
        positions, counts = np.unique(self._answering[self._answering != NOBODY], return_counts=True)
        return {self.table.peers[p]: int(n) for p, n in zip(positions, counts, strict=True)}

    @cached_property
    def _answering(self) -> npt.NDArray[np.int16]:
        return self.table.answering(self.alive)

    def _digest(self) -> bytes:
        """8 bytes that are equal on two peers exactly when they agree on everything here but `me`."""
        digest = blake2b(digest_size=8)
        for peer, weight in self.table.weights.items():
            digest.update(f"{peer} {weight} {peer in self.alive}\n".encode())
        return digest.digest()


class OwnershipChanged(Message, frozen=True):
    """Membership to the other actors of its peer: from now on this holds."""

    ownership: Ownership
