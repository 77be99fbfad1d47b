"""Our claim: the slots that are ours and not held, until all other members have yielded them.

It is repeated, but no `mesh.actors.delivery`: the first time it goes to everybody at once, others answer
slot by slot, and what is said again is what is left by then. A new view of who owns what makes it void.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

import numpy as np

from mesh.actors.actor import EVERYBODY, Send
from mesh.slot_set import SlotMask, encode_slots
from peers.handover.settings import HandoverSettings
from peers.handover.slot_state import SlotState, to_handover
from peers.handover.wire_messages import ClaimSlots, SlotsYielded


class Heard(NamedTuple):
    """The news in an answer to our claim."""

    filled: SlotMask  # newly yielded, and something of them is there to be brought
    has_agreed: bool  # now all have yielded some


class OwnClaim:
    """The last claim of this peer, and which peers have yielded which of its slots."""

    def __init__(self, state: SlotState, numbers: Iterator[int], settings: HandoverSettings) -> None:
        self.again_at = inf
        self.n_claims = 0  # count
        self._state = state
        self._numbers = numbers
        self._settings = settings
        self._number = 0
        self._pause_s = settings.again_s
        self._claimed, self._agreed = state.nothing(), state.nothing()
        self._vouched = state.nothing()  # claimed, and complete at one who has yielded it
        self._found = state.nothing()  # agreed upon while all that was acknowledged was to be had
        self._yields: dict[str, SlotMask] = {}  # by live member: of our claim
        self._n_yields = state.nothing().astype(np.int16)  # their sum
        self._n_lacking = state.nothing().astype(np.int16)  # who have yielded it as lacking something

    def claim(self, now: float) -> list[Send]:
        """Claim all slots that are ours and not held; former agreements have to be reached again."""
        state, ownership = self._state, self._state.ownership
        # Without a claim, too, so that answers to the last one count no more.
        self._number = next(self._numbers)
        self.again_at = inf
        self._claimed = ownership.owned & ~state.held
        self._agreed = state.nothing()
        self._vouched, self._found = state.nothing(), state.nothing()
        self._yields = {peer: state.nothing() for peer in ownership.alive if peer != state.me}
        self._n_yields[:] = 0
        self._n_lacking[:] = state.lacking
        if not ownership.has_majority or not self._claimed.any():
            return []
        self.n_claims += 1
        if not self._yields:
            self._agree(self._claimed)
            return []
        self._pause_s = self._settings.again_s
        self.again_at = now + self._pause_s
        return [to_handover(EVERYBODY, self._claim_of(self._claimed))]

    def repeat(self, now: float) -> list[Send]:
        """Send the claim again to peers that have not yielded everything."""
        self._pause_s = min(2 * self._pause_s, self._settings.again_max_s)
        open_slots = {peer: self._claimed & ~yielded for peer, yielded in sorted(self._yields.items())}
        sends = [
            to_handover(peer, self._claim_of(slots)) for peer, slots in open_slots.items() if slots.any()
        ]
        self.again_at = now + self._pause_s if sends else inf
        return sends

    def _claim_of(self, slots: SlotMask) -> ClaimSlots:
        return ClaimSlots(self._number, self._state.ownership.epoch, encode_slots(slots))

    def hear_yield(self, peer: str, message: SlotsYielded) -> Heard | None:
        """Note an answer; None when it is old or says nothing new."""
        state, yielded = self._state, self._yields.get(peer)
        epoch = state.ownership.epoch
        if yielded is None or message.claim != self._number or message.epoch != epoch:
            return None
        new = state.decode(message.slots) & self._claimed & ~yielded
        filled = state.decode(message.filled) & new
        self._vouched |= state.decode(message.complete) & new
        self._n_lacking += state.decode(message.lacking) & new
        if not new.any():
            return None
        yielded |= new
        self._n_yields += new
        agreed = new & (self._n_yields == len(self._yields))
        if agreed.any():
            self._agree(agreed)
        return Heard(filled, bool(agreed.any()))

    def _agree(self, slots: SlotMask) -> None:
        """Note slots that all have yielded, and which can be complete here without the members now down."""
        self._agreed |= slots
        ownership = self._state.ownership
        missed, replicas = ownership.missed, ownership.table.replicas
        is_there = self._n_lacking < replicas - missed if missed else slots
        self._found |= slots & (is_there | self._state.complete | self._vouched)

    def ready(self) -> SlotMask:
        """Return the slots that may be held as far as the others are concerned."""
        state = self._state
        if state.is_fenced:
            return state.nothing()
        return self._agreed & self._found & ~state.held & ~state.stopping
