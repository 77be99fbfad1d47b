"""Ordering a peer to give its slots away, or to take its share again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mesh.actors.actor import Address, Message, Send
from mesh.keys.decree import DRAIN, WRITE_OFF, number_body
from mesh.membership.model.members import State, is_live
from mesh.membership.model.messages import DrainPeer
from mesh.membership.model.wire_messages import MembersTold, MembersWanted, Rumour
from peers.gateway.errands.errand import Errand
from peers.gateway.model.messages import DrainOrder, DrainOrdered, DrainRefused

REPEAT_S: Final = 0.5  # news of a member takes about so long to all others
DRAINING_S_MAX: Final = 10.0
NAMED_MAX: Final = 20  # members in a refusal


class DrainErrand(Errand):
    """Answers one `DrainOrder` by one `DrainOrdered`, when the mesh knows of it, or `DrainRefused`.

    To drain this peer is for its own gateway to order. For all others the answer is what has to be decreed;
    whether that has been obeyed is read from the records.
    """

    def __init__(self, number: int, me: str, order: DrainOrder) -> None:
        super().__init__(number, me, order.ticket)
        self._order = order
        self._membership = Address(me, "membership")

    def start(self, now: float) -> list[Send]:
        self._limit_at = now + DRAINING_S_MAX
        return self._look(now)

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        match message:
            case MembersTold(members) if source == self._membership:
                return self._consider(members)
            case _:
                return None

    def wake(self, now: float) -> list[Send]:
        if now >= self._limit_at:
            return self._end(DrainRefused(self.ticket, _TOO_LATE, is_known=True))
        return self._look(now)

    def wake_at(self) -> float:
        return min(self._look_at, self._limit_at)

    def _look(self, now: float) -> list[Send]:
        self._look_at = now + REPEAT_S
        return [Send(self._membership, MembersWanted(()))]

    def _consider(self, members: tuple[Rumour, ...]) -> list[Send]:
        """End if the order is carried out or cannot be, else give it again."""
        named = [rumour for rumour in members if rumour.record.peer.startswith(self._order.peer)]
        there = [rumour for rumour in named if rumour.state != State.LEFT]
        if len(there) > 1:
            reason = f"{self._order.peer!r} is the beginning of several: {_names(there)}"
            return self._end(DrainRefused(self.ticket, reason, is_known=True))
        if not there:
            return self._consider_gone(named, members)
        [target] = there
        if is_live(target):
            return self._consider_live(target, members)
        if not self._order.is_draining:
            reason = f"peer {target.record.peer} is down: when it is back it drains or not as it did before"
            return self._end(DrainRefused(self.ticket, reason, is_known=True))
        return self._ask_for_decree(target, WRITE_OFF, target.record.incarnation)

    def _consider_gone(self, named: list[Rumour], members: tuple[Rumour, ...]) -> list[Send]:
        """Answer that the peer was written off if it has left; else refuse: there is no such peer."""
        if len(named) == 1 and self._order.is_draining:
            return self._end(DrainOrdered(self.ticket, named[0].record.peer, True, is_written_off=True))
        known = [rumour for rumour in members if rumour.state != State.LEFT]
        reason = f"no peer's id begins with {self._order.peer!r}; there are {_names(known)}"
        return self._end(DrainRefused(self.ticket, reason, is_known=False))

    def _consider_live(self, target: Rumour, members: tuple[Rumour, ...]) -> list[Send]:
        peer, is_draining = target.record.peer, self._order.is_draining
        if target.record.is_draining == is_draining:
            return self._end(DrainOrdered(self.ticket, peer, is_draining))
        if is_draining and not (target.record.weight or target.record.serving or target.record.gateway):
            reason = f"{peer} is a bootstrap node and has nothing to give away: just stop it"
            return self._end(DrainRefused(self.ticket, reason, is_known=True))
        others = [each for each in members if is_live(each) and each.record.peer != peer]
        if is_draining and not any(each.record.weight for each in others):
            reason = f"there is no other live peer to take what {peer} has: start one first"
            return self._end(DrainRefused(self.ticket, reason, is_known=True))
        if peer == self._me:
            return [Send(self._membership, DrainPeer(is_draining))]
        return self._ask_for_decree(target, DRAIN, is_draining)

    def _ask_for_decree(self, target: Rumour, kind: str, number: int) -> list[Send]:
        body, is_draining = number_body(number), self._order.is_draining
        return self._end(DrainOrdered(self.ticket, target.record.peer, is_draining, kind=kind, body=body))


_TOO_LATE: Final = f"this peer has not carried out the order in {DRAINING_S_MAX:g} s: ask again"


def _names(members: Iterable[Rumour]) -> str:
    names = [f"{each.record.peer}{'' if is_live(each) else ' (down)'}" for each in members]
    more = [f"{len(names) - NAMED_MAX} more"] if len(names) > NAMED_MAX else []
    return ", ".join(sorted(names)[:NAMED_MAX] + more)
