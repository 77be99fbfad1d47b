"""The offers of others to us, and the slots of them we have taken: in all of our stores, and complete."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from mesh.actors.actor import Send
from mesh.actors.ownership import Ownership
from mesh.slot_set import SlotMask, encode_slots
from peers.handover.settings import HandoverSettings
from peers.handover.slot_state import SlotState, to_handover
from peers.handover.transfer_schedule import TransferSchedule
from peers.handover.wire_messages import OfferSlots, ReplicasWanted, SlotsTaken


@dataclass(slots=True)
class _Offered:
    """An offer of another peer, as far as we keep the slots it offers."""

    number: int
    slots: SlotMask  # to be brought, or brought, since it was offered under this number and ownership
    told: SlotMask  # of those, what we said we have taken


class IncomingOffers:
    """The offers of other peers."""

    def __init__(self, state: SlotState, transfers: TransferSchedule, settings: HandoverSettings) -> None:
        self.ask_at = inf
        self._copies_at = 0.0  # standbys bring nothing new before
        self._awaited: frozenset[str] = frozenset()  # who was lost of late, and may be back by then
        self._state = state
        self._transfers = transfers
        self._settings = settings
        self._offered: dict[str, _Offered] = {}  # by peer
        self._stirred: set[str] = set()  # whose offers may have been taken by now

    def wait_for(self, old: Ownership | None, new: Ownership, now: float) -> None:
        """Leave those that are lost by a new view some time to come back, before others make up for them."""
        gone = old.alive - new.alive if old else frozenset()
        lost = frozenset(peer for peer in gone if old and old.table.weights.get(peer))  # of some copies
        if lost:
            earlier = self._awaited if now < self._copies_at else frozenset()
            self._awaited, self._copies_at = earlier | lost, now + self._settings.replicate_after_s
        self._awaited -= new.alive
        if not self._awaited or not new.missed:  # all are back, or gone for good
            self._awaited, self._copies_at = frozenset(), now

    def begin_anew(self, now: float) -> None:
        """Forget all offers: another peer may make us complete now. Peers offer again, or are asked."""
        self._offered.clear()
        self.ask_at = now + self._settings.ask_s

    def hear(self, peer: str, message: OfferSlots, now: float) -> bool:
        """Bring the offered slots that are ours; False if the offer is of another epoch: it is repeated."""
        state, ownership = self._state, self._state.ownership
        if message.epoch != ownership.epoch or peer not in ownership.alive:
            return False
        slots = state.decode(message.slots) & ownership.kept
        offered = self._offered.get(peer)
        if offered is None or offered.number != message.offer:
            offered = _Offered(message.offer, state.nothing(), state.nothing())
            self._offered[peer] = offered
        new = slots & ~offered.slots
        offered.slots |= new
        offered.told &= ~slots  # what we said of them was lost
        self._transfers.want_copies(peer, new & ownership.owned, now)
        self._transfers.want_copies(peer, new & ~ownership.owned, max(now, self._copies_at))
        self._stirred.add(peer)
        return True

    def is_waiting_for(self, peer: str) -> bool:
        """Is there anything that this peer offers and that we have not said we have taken?"""
        offered = self._offered.get(peer)
        return offered is not None and bool((offered.slots & ~offered.told).any())

    def stir(self, peer: str) -> None:
        """Something has come from a peer."""
        self._stirred.add(peer)

    def stir_all(self) -> None:
        """Look at all offers again: any of their slots may be complete only now."""
        self._stirred.update(self._offered)

    def completed(self) -> SlotMask:
        """Return the slots brought in full from their owner, which had all of them when it offered them."""
        table, completed = self._state.ownership.table, self._state.nothing()
        for peer in self._stirred & self._offered.keys():
            completed |= table.slots_of(peer) & self._brought(peer)
        return completed

    def lose(self, slots: SlotMask, now: float) -> None:
        """These could not be kept: bring them again, and ask their owners for them."""
        for offered in self._offered.values():
            offered.slots &= ~slots
            offered.told &= ~slots
        self.ask_at = min(self.ask_at, now + self._settings.ask_s)

    def tell(self) -> list[Send]:
        """Tell each peer which of the slots it offers we have taken by now."""
        sends = []
        for peer in sorted(self._stirred & self._offered.keys()):
            offered = self._offered[peer]
            new = self._brought(peer) & self._state.complete & ~offered.told
            if new.any():
                offered.told |= new
                sends.append(to_handover(peer, SlotsTaken(offered.number, encode_slots(new))))
        self._stirred.clear()
        return sends

    def ask(self, now: float) -> list[Send]:
        """As a standby, have owners offer slots they believe we took, as they may after a restart of ours."""
        state, ownership = self._state, self._state.ownership
        lacking = ownership.kept & ~ownership.owned & ~state.complete
        self.ask_at = now + self._settings.again_max_s if lacking.any() else inf
        sends = []
        for peer, slots in state.by_peer(lacking, 0).items():
            offered = self._offered.get(peer)
            unoffered = slots if offered is None else slots & ~offered.slots
            if unoffered.any():
                sends.append(to_handover(peer, ReplicasWanted(encode_slots(unoffered))))
        return sends

    def _brought(self, peer: str) -> SlotMask:
        """Return the slots offered by a peer that are in all stores."""
        return self._offered[peer].slots & ~self._transfers.wanted_from(peer)
