"""Which slots are compared with which peers: those that are said to differ soon, all others in turn.

A comparison is a want of copies: what is equal is not brought. In turn owners and standbys ask each other,
each of what has changed in its own store since the two were equal: so nothing is asked where nothing has
happened, and a change that never reached the other is found by the one that has it.
"""

from __future__ import annotations

from math import ceil, inf

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from mesh.slot_limits import SLOTS_MAX
from mesh.slot_ranking import NOBODY
from mesh.slot_set import SlotMask
from peers.handover.outgoing_offers import OutgoingOffers
from peers.handover.settings import HandoverSettings
from peers.handover.slot_state import SlotState
from peers.handover.transfer_schedule import TransferSchedule


class ComparisonSchedule:
    """Slots by peer that are said to differ, and how far the turn has come."""

    def __init__(
        self,
        state: SlotState,
        transfers: TransferSchedule,
        offers: OutgoingOffers,
        settings: HandoverSettings,
        now: float,
    ) -> None:
        self.differing_at = inf
        self.routine_at = now + settings.compare_every_s
        self._state = state
        self._transfers = transfers
        self._offers = offers
        self._settings = settings
        self._differing: dict[str, SlotMask] = {}  # by peer: to be compared with it
        self._compared_to = 0  # peer and slot, as one number
        self._known_places: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._made_of: tuple[object, ...] = ()  # these places

    @property
    def n_differing(self) -> int:
        """Slots that are said to differ and have still to be compared, for every peer."""
        return sum(int(slots.sum()) for slots in self._differing.values())

    def follow(self) -> None:
        """Drop comparisons with peers that are gone."""
        alive = self._state.ownership.alive
        self._differing = {peer: slots for peer, slots in self._differing.items() if peer in alive}

    def note_differing(self, peer: str, slots: SlotMask, now: float) -> None:
        """Compare with that peer, not at once: items still on their way make a difference, too."""
        state, ownership = self._state, self._state.ownership
        slots = slots & ownership.kept
        if peer in ownership.alive and peer != state.me and slots.any():
            known = self._differing.get(peer)
            self._differing[peer] = slots if known is None else known | slots
            self.differing_at = min(self.differing_at, now + self._settings.differing_s)

    def compare_differing(self, now: float) -> dict[str, SlotMask]:
        """Bring differing slots from the peers that have them; return by peer those to bring from here."""
        state, differing = self._state, self._differing
        self._differing, self.differing_at = {}, inf
        for peer, slots in differing.items():
            self._transfers.want_copies(peer, slots & state.ownership.kept, now)
        return {peer: slots & state.held for peer, slots in differing.items()}

    def compare_some(self, now: float) -> None:
        """Compare some of the slots of this peer with the others of their teams, in turn."""
        self.routine_at = now + self._settings.compare_every_s
        places, peers = self._next_places(), self._state.ownership.table.peers
        for position in dict.fromkeys((places // SLOTS_MAX).tolist()):
            slots = self._state.nothing()
            slots[places[places // SLOTS_MAX == position] % SLOTS_MAX] = True
            self._transfers.want_copies(peers[position], slots, now, is_routine=True)

    def _next_places(self) -> npt.NDArray[np.int64]:
        """Return the next ones of `_places`, going round."""
        places = self._places_of_now()
        if not len(places):
            return places
        settings = self._settings
        start = int(np.searchsorted(places, self._compared_to))
        share = ceil(len(places) * settings.compare_every_s / settings.compare_round_s)
        count = min(max(settings.compare_slots_min, share), len(places))
        chosen = np.take(places, np.arange(start, start + count), mode="wrap")
        self._compared_to = int(chosen[-1]) + 1
        return chosen

    def _places_of_now(self) -> npt.NDArray[np.int64]:
        """Return `_places`, made anew only if a mask that they are made of has changed: none has at rest."""
        state = self._state
        masks = [state.complete, state.held]
        masks += [self._offers.taken_by(peer) for peer in state.ownership.table.peers]
        made_of = state.ownership, *(xxh3_64_intdigest(mask.data) for mask in masks)
        if made_of != self._made_of:
            self._known_places, self._made_of = self._places(), made_of
        return self._known_places

    def _places(self) -> npt.NDArray[np.int64]:
        """Return the complete slots, peer by peer for fewer questions: `SLOTS_MAX` times its position + slot.

        Those of which this peer is a standby are compared with their owner, its own with the standbys that
        have taken them.
        """
        state, ownership = self._state, self._state.ownership
        positions, slots = [], []
        for rank, ranked in enumerate(ownership.table.ranking):
            if rank == 0:
                mask = ownership.kept & ~ownership.owned & state.complete & (ranked != NOBODY)
            else:
                mask = state.nothing()
                for peer, of_peer in state.by_peer(state.held & state.complete, rank).items():
                    mask |= of_peer & self._offers.taken_by(peer)
            slots.append(np.flatnonzero(mask).astype(np.uint16))
            positions.append(ranked[slots[-1]])
        slot, position = np.concatenate(slots), np.concatenate(positions)
        order = np.argsort(slot, kind="stable")  # radix sorts, as both have 16 bits
        order = order[np.argsort(position[order], kind="stable")]
        places: npt.NDArray[np.int64] = position[order].astype(np.int64) * SLOTS_MAX + slot[order]
        return places
