"""Which slots are compared with which peers: those that are said to differ soon, all others in turn.

A comparison is a want of copies: what is equal is not brought.
"""

from __future__ import annotations

from math import ceil, inf

import numpy as np

from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import SlotMask
from peers.handover.settings import HandoverSettings
from peers.handover.slot_state import SlotState
from peers.handover.transfer_schedule import TransferSchedule


class ComparisonSchedule:
    """Slots by peer that are said to differ, and how far the turn has come."""

    def __init__(
        self, state: SlotState, transfers: TransferSchedule, settings: HandoverSettings, now: float
    ) -> None:
        self.differing_at = inf
        self.routine_at = now + settings.compare_every_s
        self._state = state
        self._transfers = transfers
        self._settings = settings
        self._differing: dict[str, SlotMask] = {}  # by peer: to be compared with it
        self._compared_to = 0  # owner and slot, as one number

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
        """Compare some of our slots with their owners, in turn."""
        self.routine_at = now + self._settings.compare_every_s
        for peer, slots in self._state.by_peer(self._next_compared(), 0).items():
            self._transfers.want_copies(peer, slots, now)

    def _next_compared(self) -> SlotMask:
        """Of our complete standby slots the next ones, going round; owner by owner, for fewer questions."""
        state, ownership = self._state, self._state.ownership
        chosen = state.nothing()
        standby = np.flatnonzero(ownership.kept & ~ownership.owned & state.complete)
        if len(standby):
            owners = ownership.table.ranking[0][standby]
            by_owner = np.argsort(owners, kind="stable")  # radix sort, as these have 16 bits
            places = owners[by_owner].astype(np.int64) * SLOTS_MAX + standby[by_owner]
            start = int(np.searchsorted(places, self._compared_to))
            settings = self._settings
            share = ceil(len(places) * settings.compare_every_s / settings.compare_round_s)
            count = min(max(settings.compare_slots_min, share), len(places))
            next_places = np.take(places, np.arange(start, start + count), mode="wrap")
            self._compared_to = int(next_places[-1]) + 1
            chosen[next_places % SLOTS_MAX] = True
        return chosen
