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
from peers.handover.standing import Standing, to_handover
from peers.handover.wire_messages import ClaimSlots, SlotsYielded


class Heard(NamedTuple):
    """The news in an answer to our claim."""

    filled: SlotMask  # newly yielded, and something of them is there to be brought
    has_agreed: bool  # now all have yielded some


class Claims:
    """The last claim of this peer, and which peers have yielded which of its slots."""

    def __init__(self, standing: Standing, numbers: Iterator[int], settings: HandoverSettings) -> None:
        self.again_at = inf
        self.n_claims = 0  # count
        self._standing = standing
        self._numbers = numbers
        self._settings = settings
        self._number = 0
        self._pause_s = settings.again_s
        self._claimed, self._agreed = standing.nothing(), standing.nothing()
        self._vouched = standing.nothing()  # claimed, and complete at one who has yielded it
        self._found = standing.nothing()  # agreed upon while all that was acknowledged was to be had
        self._yields: dict[str, SlotMask] = {}  # by live member: of our claim
        self._n_yields = standing.nothing().astype(np.int16)  # their sum
        self._n_lacking = standing.nothing().astype(np.int16)  # who have yielded it as lacking something

    def claim(self, now: float) -> list[Send]:
        """Claim all slots that are ours and not held; former agreements have to be reached again."""
        standing, ownership = self._standing, self._standing.ownership
        # Without a claim, too, so that answers to the last one count no more.
        self._number = next(self._numbers)
        self.again_at = inf
        self._claimed = ownership.owned & ~standing.held
        self._agreed = standing.nothing()
        self._vouched, self._found = standing.nothing(), standing.nothing()
        self._yields = {peer: standing.nothing() for peer in ownership.alive if peer != standing.me}
        self._n_yields[:] = 0
        self._n_lacking[:] = standing.lacking
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
        return ClaimSlots(self._number, self._standing.ownership.epoch, encode_slots(slots))

    def hear_yield(self, peer: str, message: SlotsYielded) -> Heard | None:
        """Note an answer; None when it is old or says nothing new."""
        standing, yielded = self._standing, self._yields.get(peer)
        epoch = standing.ownership.epoch
        if yielded is None or message.claim != self._number or message.epoch != epoch:
            return None
        new = standing.decode(message.slots) & self._claimed & ~yielded
        filled = standing.decode(message.filled) & new
        self._vouched |= standing.decode(message.complete) & new
        self._n_lacking += standing.decode(message.lacking) & new
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
        ownership = self._standing.ownership
        missed, replicas = ownership.missed, ownership.table.replicas
        is_there = self._n_lacking < replicas - missed if missed else slots
        self._found |= slots & (is_there | self._standing.complete | self._vouched)

    def ready(self) -> SlotMask:
        """Return the slots that may be held as far as the others are concerned."""
        standing = self._standing
        if standing.is_fenced:
            return standing.nothing()
        return self._agreed & self._found & ~standing.held & ~standing.stopping
