"""The claims of others: slots we do not crawl are theirs at once, the rest once the controller stopped."""

from __future__ import annotations

from dataclasses import dataclass

from mesh.actors.actor import Send
from mesh.errors import RemoteProtocolError
from mesh.slot_set import SlotMask, encode_slots
from peers.handover.slot_state import SlotState, to_handover
from peers.handover.wire_messages import ClaimSlots, SlotsYielded


@dataclass(slots=True)
class _Claimant:
    """Another peer and the slots it claims that we have not yet yielded."""

    claim: int
    blocked: SlotMask


class IncomingClaims:
    """The last claim of each other peer, and the claimed slots that it still waits for."""

    def __init__(self, state: SlotState) -> None:
        self.n_yielded = 0  # count: slots, a repetition counts again
        self.n_refused = 0  # count: claims that were kept and made no sense when their epoch came
        self._state = state
        self._heard: dict[str, ClaimSlots] = {}  # by peer, its last claim, under whatever epoch
        self._claimants: dict[str, _Claimant] = {}

    def hear(self, peer: str, message: ClaimSlots) -> list[Send]:
        """Yield the claimed slots; those still crawled here follow once they have stopped.

        Raises:
          RemoteProtocolError: it claims what is not its own.
        """
        state, ownership = self._state, self._state.ownership
        self._heard[peer] = message  # under another epoch it waits until that is ours
        if message.epoch != ownership.epoch or peer not in ownership.alive or state.silent_stores:
            return []
        if state.is_fenced:
            return []
        claimed = state.decode(message.slots)
        if (claimed & ~ownership.table.slots_of(peer)).any():
            raise RemoteProtocolError(f"{peer} claims what is not its own")
        blocked = claimed & (state.held | state.stopping)
        self._claimants[peer] = _Claimant(message.claim, blocked)
        return self._yield_to(peer, message.claim, claimed & ~blocked)

    def hear_again(self) -> list[Send]:
        """Answer the kept claims of live peers, which came before this peer had the epoch or could answer."""
        alive = self._state.ownership.alive
        self._claimants.clear()
        self._heard = {peer: claim for peer, claim in self._heard.items() if peer in alive}
        sends = []
        for peer, claim in list(self._heard.items()):
            try:
                sends += self.hear(peer, claim)
            except RemoteProtocolError:
                self.n_refused += 1
                del self._heard[peer]
        return sends

    def note_stopped(self, slots: SlotMask) -> list[Send]:
        """Yield the slots that other peers waited for."""
        state = self._state
        stopped = state.stopping & slots
        state.stopping &= ~slots
        sends: list[Send] = []
        for peer, claimant in self._claimants.items():
            sends += self._yield_to(peer, claimant.claim, claimant.blocked & stopped)
            claimant.blocked &= ~stopped
        return sends

    def _yield_to(self, peer: str, claim: int, slots: SlotMask) -> list[Send]:
        if not slots.any():
            return []
        state = self._state
        self.n_yielded += int(slots.sum())
        masks = (state.filled, state.complete, state.lacking)
        known = (encode_slots(slots & mask) for mask in masks)
        answer = SlotsYielded(claim, state.ownership.epoch, encode_slots(slots), *known)
        return [to_handover(peer, answer)]
