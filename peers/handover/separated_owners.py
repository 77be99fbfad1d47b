"""The owners that this peer cannot hear itself, though they live: their pages may not come here.

Theory of operation
===================
The cell of an owner counts a page without a standby that has not answered for `CellSettings.pages.give_up_s`.
A standby that is merely cut off from that one owner is alive to everybody, and would go on to answer for the
slot, and to deny pages to gateways, as if it had them all. So it calls those slots of its own lacking when
its membership has found out (`mesh.membership.failures.separations`), which is sooner than the owner gives it
up. A page that is on its way when frames pass again has come, or is given up, after as long once more: only
then are the slots asked for, compared, and complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from math import inf

from mesh.slot_set import SlotMask
from peers.handover.settings import HandoverSettings
from peers.handover.slot_state import SlotState


class SeparatedOwners:
    """Until when nothing that comes from each of them makes a slot of theirs complete."""

    def __init__(self, state: SlotState, settings: HandoverSettings) -> None:
        self.end_at = inf  # the first end
        self._state = state
        self._settings = settings
        self._until: dict[str, float] = {}  # inf while it is separated

    def hear(self, peers: Set[str], now: float) -> None:
        """Note the members that are separated from this one by now, which are all of them."""
        reunited_at = now + self._settings.reunited_s
        self._until = {peer: min(until, reunited_at) for peer, until in self._until.items()}
        self._until |= dict.fromkeys(peers, inf)
        self.end_at = min(self._until.values(), default=inf)

    def end(self, now: float) -> SlotMask:
        """Forget members that were reunited long enough ago; return their slots."""
        over = [peer for peer, until in self._until.items() if until <= now]
        slots = self._slots_of(over)
        for peer in over:
            del self._until[peer]
        self.end_at = min(self._until.values(), default=inf)
        return slots

    def slots(self) -> SlotMask:
        """Return the slots of all of them."""
        return self._slots_of(self._until)

    def _slots_of(self, peers: Iterable[str]) -> SlotMask:
        slots = self._state.nothing()
        for peer in peers:
            slots |= self._state.ownership.table.slots_of(peer)
        return slots
