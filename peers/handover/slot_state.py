"""The state of the slots of this peer, which all parts of the handover look at and change."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

import numpy as np

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.slot_ranking import NOBODY
from mesh.slot_set import SlotMask, decode_slots
from mesh.slots import SlotTable


class SlotState:
    """Sets of slots, and the newest view of the peers that are responsible for them."""

    def __init__(self, ownership: Ownership, stores: Iterable[str]) -> None:
        """Begin as after a start: nothing is held, and nothing is known of the data here.

        Args:
          stores: names of all stores.
        """
        self.ownership = ownership
        self.held = self.nothing()  # that we may crawl
        self.stopping = self.nothing()  # given up, but something of them is not finished
        self.filled = self.nothing()  # of which anything is here
        self.complete = self.nothing()  # of which everything acknowledged is here
        self.lacking = self.nothing()  # here: not kept though it counts elsewhere, and not brought since
        self.silent_stores = set(stores)  # which have not told what they have
        self.fence_until = -inf  # nothing is yielded, and nothing comes to be held, before

    @property
    def me(self) -> str:
        return self.ownership.me

    @property
    def is_fenced(self) -> bool:
        return self.fence_until > -inf

    def nothing(self) -> SlotMask:
        """Return a new empty set."""
        return np.zeros(self.ownership.table.slot_count, np.bool_)

    def decode(self, slots: bytes) -> SlotMask:
        return decode_slots(slots, self.ownership.table.slot_count)

    def strays(self) -> SlotMask:
        """Return the slots of which something is here that is not ours to keep."""
        ownership = self.ownership
        return self.filled & ~(ownership.kept | ownership.answers | self.stopping)

    def by_peer(self, slots: SlotMask, rank: int) -> dict[str, SlotMask]:
        """Split slots by the peer that has this rank for them; those of nobody and our own are left out."""
        return self._split(slots, self.ownership.table, rank)

    def by_answerer(self, slots: SlotMask) -> dict[str, SlotMask]:
        """Split slots by the peer that is to answer for them once it is ready, likewise."""
        return self._split(slots, self.ownership.table.unpinned, 0)

    def _split(self, slots: SlotMask, table: SlotTable, rank: int) -> dict[str, SlotMask]:
        ranked = table.ranking[rank]
        counts = np.bincount(ranked[slots] - NOBODY, minlength=1)
        counts[0] = 0  # NOBODY
        found = ((table.peers[each + NOBODY], each + NOBODY) for each in np.flatnonzero(counts).tolist())
        return {peer: slots & (ranked == position) for peer, position in found if peer != self.me}

    def follow(self, new: Ownership) -> bool:
        """Take up a new view: slots that are no longer ours begin to stop; return whether any do."""
        # Who was in no team of a slot has missed what came for it.
        self.complete &= new.kept | new.answers
        lost = self.held & ~new.owned
        self.held &= ~lost
        self.stopping |= lost
        self.ownership = new
        return bool(lost.any())

    def revoke(self) -> None:
        """Hold nothing, and be complete in nothing: others may have taken over."""
        self.stopping |= self.held
        self.held[:] = False
        self.complete[:] = False


def to_handover(peer: str, message: Message) -> Send:
    """Say something to the handover of another peer, or of everybody."""
    return Send(Address(peer, "handover"), message)
