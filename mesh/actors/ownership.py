"""One peer's view, at one epoch, of the peers that are responsible for each slot.

Theory of operation
===================
Two tables follow from the records of the live members. By the *table*, from their weights, slots are
crawled and kept: its first rank is the *owner*, the next ones are the standbys. By the *serving* table,
from their serving weights, slots are searched. A peer raises its serving weight to its weight when it has
all that belongs to its slots, and lowers it when those who take over have; so a slot that moves is
answered by who had it until who gets it is ready. The rest of the time the two are equal, but for pins.
Where several get slots at once they serve together (`mesh.membership.own.serving_weights`).

*Pins.* The owner of a mesh may say who is to crawl a slot. Where that member has weight it is first in the
table, and those follow who would be first without it. The serving table knows no pins: a pin moves who asks
the hosts, never who answers, and who would answer next is a standby all the time; that costs a copy more.
Pins that count are part of the epoch as weights are. Two members that know other pins, since a decree reaches
them at other times, or their clocks differ, are at different epochs and yield each other nothing: who holds a
slot keeps it until both know the same.

A member that is down is in neither: who was ranked second is first at once, and has what it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from mesh.actors.actor import Message
from mesh.slot_ranking import NOBODY
from mesh.slots import SlotTable, slot_of


class Ownership:
    """The two slot tables over the live members; immutable."""

    def __init__(
        self,
        me: str,
        table: SlotTable,
        alive: Iterable[str],
        *,
        serving: SlotTable | None = None,
        serving_with_me: SlotTable | None = None,
        has_majority: bool = True,
        missed: int = 0,
        importers: Iterable[str] | None = None,
    ) -> None:
        """Note which members own slots, answer for them, and may import.

        Args:
          table: from the weights of the live members.
          alive: all live members, those without weight too.
          serving: from their serving weights; None when it is the same table.
          serving_with_me: what that would be if `me` served as much as its weight; None for `table`.
          has_majority: whether the live members are most of those known: only then may slots be taken.
          missed: how many members are down that may have something of slots. As long as these are fewer
            than the copies, the live ones together have everything that was acknowledged.
          importers: live members that may bring pages of files; None for all of them.
        """
        self.me = me
        self.table = table
        self.serving = table if serving is None else serving
        self.serving_with_me = table if serving_with_me is None else serving_with_me
        self.alive = frozenset(alive)
        self.has_majority = has_majority
        self.missed = missed
        self.importers = self.alive if importers is None else frozenset(importers)
        self.epoch = self._digest()
        self._teams: dict[int, tuple[str, ...]] = {}

    def slot_of(self, host: str) -> int:
        return slot_of(host, self.table.slot_count)

    def owner_of(self, slot: int) -> str | None:
        """The peer that is to crawl the slot; None while no live member has any weight."""
        return next(iter(self.table.team_of(slot)), None)

    def team_of(self, slot: int) -> tuple[str, ...]:
        """Return the peers that must store a slot: owner, standbys, and answerers until those are ready."""
        team = self._teams.get(slot)
        if team is None:
            team = self.table.team_of(slot)
            if self.serving is not self.table:
                team = tuple(dict.fromkeys((*team, *self.serving.team_of(slot))))
            self._teams[slot] = team
        return team

    @cached_property
    def owned(self) -> npt.NDArray[np.bool_]:
        """Return a mask over slots: true for those that this peer is to crawl."""
        return self.table.slots_of(self.me)

    @cached_property
    def kept(self) -> npt.NDArray[np.bool_]:
        """Mask over slots: of which this peer is owner or standby."""
        mask = np.zeros(self.table.slot_count, np.bool_)
        for rank in range(len(self.table.ranking)):
            mask |= self.table.slots_of(self.me, rank)
        return mask

    @cached_property
    def answers(self) -> npt.NDArray[np.bool_]:
        """Mask over slots: where this peer's index answers queries."""
        return self.answered_by(self.me)

    @property
    def answers_next(self) -> npt.NDArray[np.bool_]:
        """Mask over slots: where this peer's index would answer if it served as much as its weight."""
        return self.serving_with_me.slots_of(self.me)

    @property
    def leaving(self) -> npt.NDArray[np.bool_]:
        """Mask over slots: where this peer's index answers until another's is ready."""
        return self.answers & ~self.table.unpinned.slots_of(self.me)

    def answered_by(self, peer: str) -> npt.NDArray[np.bool_]:
        """Mask over slots: where the index of `peer` answers queries."""
        return self.serving.slots_of(peer)

    def answered_instead(self, peer: str, absent: frozenset[str]) -> npt.NDArray[np.bool_]:
        """Mask over slots: where the index of `peer` answers for want of those that are `absent`.

        For every slot that one of `absent` answers, the best ranked peer that is not among them has it, so
        the masks of all peers are disjoint. All False for a peer that is absent itself.
        """
        serving = self.serving
        if peer not in serving.weights or peer in absent:
            return np.zeros(serving.slot_count, np.bool_)
        position = serving.peers.index(peer)
        lost = np.zeros(serving.slot_count, np.bool_)
        for name in absent:
            lost |= serving.slots_of(name)
        mask: npt.NDArray[np.bool_] = lost & (
            serving.answering(frozenset(serving.peers) - absent) == position
        )
        return mask

    @cached_property
    def serving_epoch(self) -> bytes:
        """Return 8 bytes that are equal on two peers exactly when both agree on the answerers of all slots.

        What else the epoch tells is nothing to a search: a newcomer that serves nothing yet disturbs none.
        """
        digest = blake2b(digest_size=8)
        for peer, weight in self.serving.weights.items():
            if weight > 0:
                digest.update(f"{peer} {weight}\n".encode())
        return digest.digest()

    def answerer_of(self, slot: int) -> str | None:
        """Return the peer that answers for the slot from its index; None when nobody serves."""
        return self.serving.owner_of(slot)

    @cached_property
    def slots_answered(self) -> Mapping[str, int]:
        """How many slots each member that serves answers for."""
        ranking = self.serving.ranking[0]
        positions, counts = np.unique(ranking[ranking != NOBODY], return_counts=True)
        return {self.serving.peers[p]: int(n) for p, n in zip(positions, counts, strict=True)}

    def _digest(self) -> bytes:
        """8 bytes that are equal on two peers exactly when they agree on everything here but `me`."""
        digest = blake2b(digest_size=8)
        for table in (self.table, self.serving):
            for peer, weight in table.weights.items():
                digest.update(f"{peer} {weight}\n".encode())
            digest.update(b"\n")
        for peer in sorted(self.alive):
            digest.update(f"{peer}\n".encode())
        for slot, peer in self.table.pins.items():
            digest.update(f"{slot} {peer}\n".encode())
        return digest.digest()


class OwnershipChanged(Message, frozen=True):
    """Membership to the other actors of its peer: from now on this holds."""

    ownership: Ownership
