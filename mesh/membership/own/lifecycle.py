"""The standing of this peer in its mesh: a stranger at first, then a member, in the end gone."""

from __future__ import annotations

from math import inf

from mesh.membership.model.messages import MembershipRefused
from mesh.membership.model.turn_outbox import TurnOutbox


class Lifecycle:
    """Each of the three follows from the one before; nothing leads back but a new start."""

    def __init__(self, outbox: TurnOutbox) -> None:
        self.is_member = False
        self.member_since = -inf  # mesh clock
        self.is_ended = False  # this peer says nothing any more
        self.refusal = ""  # why the mesh does not want this peer, "" while it does
        self.unreachable = ""  # why others do not reach this peer, and the fix, as a door has said last
        self._outbox = outbox

    def enter(self, now: float) -> None:
        """Be a member from now on."""
        self.is_member, self.member_since = True, now
        self.unreachable = ""

    def end(self) -> None:
        """Say nothing from now on."""
        self.is_ended = True

    def give_up(self, reason: str) -> None:
        """End, and have the whole peer end, with a sentence for the person that runs it."""
        self.refusal = reason
        self.is_ended = True
        self._outbox.tell("network", MembershipRefused(reason))
