"""From a member without slots to members that claim some: take them.

A slot is crawled by who has the consent of every live member (`peers/handover`), and the bootstrap node is
one. It never fetches, so it consents at once. It must not say so under another epoch than the claimant's:
that both know the same members is part of the consent.
"""

from __future__ import annotations

from typing import ClassVar

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import LocalProtocolError
from mesh.membership.messages import HoldingsRevoked
from mesh.slot_set import NO_SLOTS
from peers.handover.wire_messages import ClaimSlots, SlotsYielded


class YielderStatistics(Statistics, frozen=True):
    """Counts since the start."""

    yielded: int  # claims


class Yielder(Actor):
    """Stands where peers have their handover."""

    name: ClassVar[str] = "handover"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset({ClaimSlots})

    def __init__(self, me: str) -> None:
        self._me = me
        self._ownership: Ownership | None = None
        self._claims: dict[str, ClaimSlots] = {}  # the last of each member, which may come before its epoch
        self._n_yielded = 0

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case OwnershipChanged(ownership=ownership):
                self._ownership = ownership
                self._claims = {p: claim for p, claim in self._claims.items() if p in ownership.alive}
                return [send for peer in self._claims for send in self._yield_to(peer)]
            case ClaimSlots() if source.peer != self._me:
                self._claims[source.peer] = message
                return self._yield_to(source.peer)
            case HoldingsRevoked():
                return []  # there are none
            case _:
                raise LocalProtocolError(f"{type(message).__name__} for a member without slots")

    def observe(self) -> YielderStatistics:
        return YielderStatistics(self._n_yielded)

    def _yield_to(self, peer: str) -> list[Send]:
        claim, ownership = self._claims[peer], self._ownership
        if ownership is None or claim.epoch != ownership.epoch or peer not in ownership.alive:
            return []
        self._n_yielded += 1
        answer = SlotsYielded(claim.claim, claim.epoch, claim.slots, filled=NO_SLOTS)
        return [Send(Address(peer, self.name), answer)]
