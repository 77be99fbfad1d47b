"""The slots this peer has others bring from here (`offers`), and those it may forget since they have.

Offers are repeated, but no `mesh.actors.delivery`: there is one for each peer, which others take slot by
slot, and what is said again is what it holds by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from mesh.actors.actor import Send
from mesh.actors.ownership import Ownership
from mesh.slot_ranking import NOBODY
from mesh.slot_set import SlotMask, encode_slots
from peers.handover.offers import Offers
from peers.handover.settings import HandoverSettings
from peers.handover.slot_state import SlotState, to_handover
from peers.handover.wire_messages import OfferSlots


class OutgoingOffers:
    """Offers to others, repeated until they are taken; slots that the whole team has taken may go."""

    def __init__(self, state: SlotState, numbers: Iterator[int], settings: HandoverSettings) -> None:
        self.again_at = inf
        self.are_stale = self.may_forget = True  # as far as we know, to spare work
        self._state = state
        self._settings = settings
        self._pause_s = settings.again_s
        self._offers = Offers(state.ownership.table.slot_count, numbers)

    def follow(self, old: Ownership | None, now: float) -> None:
        """Begin anew under a new view of which peers keep which slots."""
        if old is not None:
            # What a peer took while we kept the slot does not let us forget it.
            self._offers.take_back(old.kept ^ self._state.ownership.kept)
        self.are_stale = self.may_forget = True
        self.again_at, self._pause_s = now + self._settings.again_s, self._settings.again_s

    def make(self, now: float) -> None:
        """Offer the slots that are due."""
        self.are_stale = False
        if self._offers.make(self._due()):
            self._pause_s = self._settings.again_s
            # A little later, for more slots may become complete.
            self.again_at = min(self.again_at, now + self._pause_s)

    def send(self, now: float) -> list[Send]:
        """Send each peer the slots offered to it and not taken so far."""
        offers = self._offers.open()
        self._pause_s = min(2 * self._pause_s, self._settings.again_max_s)
        self.again_at = now + self._pause_s if offers else inf
        epoch = self._state.ownership.epoch
        return [
            to_handover(peer, OfferSlots(number, epoch, encode_slots(slots)))
            for peer, (number, slots) in offers.items()
        ]

    def note_taken(self, peer: str, number: int, slots: SlotMask) -> bool:
        """Note an answer; False when it is old or says nothing new."""
        is_new = self._offers.note_taken(peer, number, slots)
        self.may_forget |= is_new
        return is_new

    def take_back(self, slots: SlotMask) -> None:
        """These are to be taken again, by everybody."""
        self._offers.take_back(slots)
        self.are_stale = True

    def take_back_from(self, peer: str, slots: SlotMask) -> None:
        """Have a peer take these again, if they are still due."""
        if slots.any():
            self._offers.take_back_from(peer, slots)
            self.are_stale = True

    def taken_by(self, peer: str) -> SlotMask:
        """Return the slots a peer has taken of those offered to it; they are not to be changed."""
        return self._offers.taken_by(peer)

    @property
    def n_open(self) -> int:
        """Slots to be taken by others; a slot counts once for every peer."""
        return sum(int(slots.sum()) for _, slots in self._offers.open().values())

    def untaken_strays(self) -> SlotMask:
        """Return the strays that the team does not have yet."""
        return self._state.strays() & ~self._taken_by_team()

    def forget_taken(self) -> SlotMask:
        """Return the strays that the whole team has taken, which are gone from here now."""
        self.may_forget = False
        state, table = self._state, self._state.ownership.table
        gone = state.strays()
        if gone.any():
            gone &= self._taken_by_team() & (table.ranking[table.replicas - 1] != NOBODY)
        if gone.any():
            state.filled &= ~gone
            state.complete &= ~gone
            state.lacking &= ~gone
            self.are_stale = True
        return gone

    def _due(self) -> dict[str, SlotMask]:
        """Return by peer the slots it is to take from here, whether it has taken them or not."""
        state, ownership = self._state, self._state.ownership
        copied = state.held & state.complete
        strays = state.strays()
        due = state.by_answerer(ownership.leaving)
        for rank in range(len(ownership.table.ranking)):
            offered = strays if rank == 0 else strays | copied
            for peer, slots in state.by_peer(offered, rank).items():
                due[peer] = due[peer] | slots if peer in due else slots
        return due

    def _taken_by_team(self) -> SlotMask:
        """Return the strays that all their keepers have taken, without those that nobody is to keep."""
        state, table = self._state, self._state.ownership.table
        strays = state.strays()
        taken: SlotMask = strays & (table.ranking[0] != NOBODY)
        for rank in range(len(table.ranking)):
            for peer, slots in state.by_peer(strays, rank).items():
                taken &= ~slots | self._offers.taken_by(peer)
        return taken
