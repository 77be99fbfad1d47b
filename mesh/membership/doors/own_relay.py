"""Whether this peer is reached over a relay, which member that is, and asking for one.

Who is told at two doors, or twice at the only one, that others do not reach it falls back to the relay that
one of them offers, if it may (`Reach`): it borrows ports there and announces them as its own. When the relay
is gone it asks again, at all doors that it knows in turn, and announces anew. At its next start it tries its
own addresses first.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Final

from mesh.membership.doors.knock_schedule import DoorAddress
from mesh.membership.model.members import MemberList
from mesh.membership.model.messages import Borrow, Borrowed
from mesh.membership.model.turn_outbox import TurnOutbox
from mesh.membership.model.wire_messages import BorrowPorts, JoinRefused
from mesh.membership.own.lifecycle import Lifecycle
from mesh.membership.own.own_record import OwnRecord
from mesh.reach import Reach

# In a row before a relay is asked for: one may be a moment's doing, or that of a door that wants to relay.
REFUSALS_MIN: Final = 2
PAUSE_S: Final = 1.0  # after all doors were asked for ports in vain; doubles each time
PAUSE_MAX_S: Final = 5.0  # the relay may be back at any moment, and asking costs little
ANSWER_S: Final = 15.0  # within which the port has answered


class OwnRelay:
    """The relay of this peer, had or sought."""

    def __init__(
        self,
        reach: Reach,
        doors: Iterable[DoorAddress],
        mesh_digest: bytes,
        own: OwnRecord,
        members: MemberList,
        lifecycle: Lifecycle,
        outbox: TurnOutbox,
    ) -> None:
        self._reach = reach
        self._doors = list(doors)
        self._mesh_digest = mesh_digest
        self._own = own
        self._members = members
        self._lifecycle = lifecycle
        self._outbox = outbox
        self._relay: DoorAddress | None = None  # whose ports we have
        self._has_moved = False  # what we announce is, or was, a relay's
        self._n_refusals = 0  # in a row
        self._offer: DoorAddress | None = None  # the last one of those that has a relay
        self._n_asked = 0  # doors, since ports were had last
        self._is_asking = False
        self._ask_at = inf  # the next door, or when no answer is to be expected any more
        self._pause_s = PAUSE_S

    @property
    def is_always(self) -> bool:
        """Nothing else is tried before."""
        return self._reach is Reach.ALWAYS and bool(self._doors)

    @property
    def is_in_vain(self) -> bool:
        """All doors were asked and none lends us ports."""
        return self._relay is None and self._n_asked >= len(self._doors)

    @property
    def door(self) -> DoorAddress | None:
        """Of the relay that we have."""
        return self._relay

    @property
    def relay(self) -> str:
        """Return the member that relays us, "" for none, or as long as we have not heard which one it is."""
        member = None if self._relay is None else self._members.with_key(self._relay.server_key)
        return "" if member is None else member.record.peer

    def wake_at(self) -> float:
        return self._ask_at

    def start(self, now: float) -> None:
        """Ask for ports from now on."""
        self._is_asking, self._ask_at = False, now

    def wake(self, now: float) -> None:
        """Ask the next door for ports when it is time."""
        if now < self._ask_at:
            return
        if self._is_asking:
            self._ask_another(now)
            return
        self._is_asking, self._ask_at = True, now + ANSWER_S
        door = self._doors[0]
        borrow = BorrowPorts(self._own.record, self._mesh_digest)
        self._outbox.tell("relay", Borrow(door.endpoint, door.server_key, borrow))

    def hear_welcome(self) -> None:
        """Hear that others reach us; at our own addresses, they need no relay."""
        self._n_refusals, self._offer = 0, None
        if not self._has_moved and self._reach is Reach.AUTO:
            self._is_asking, self._ask_at = False, inf

    def hear_refusal(self, refusal: JoinRefused, door: DoorAddress, now: float) -> bool:
        """Hear that others do not reach us; tells whether to knock at the next door at once, to be sure."""
        if self._relay is not None:
            self._lifecycle.unreachable = (
                f"nor do others reach this peer over the relay at {self._relay.endpoint}: let them through "
                "the firewall of that machine to the ports in its member.relay_ports"
            )
            return False
        self._n_refusals += 1
        self._offer = door if refusal.lends_ports else self._offer
        if self._offer is None or self._reach is Reach.NEVER or self._ask_at < inf:
            return False
        if self._n_refusals < REFUSALS_MIN:
            return True
        self._doors = [self._offer, *(each for each in self._doors if each != self._offer)]
        self.start(now)
        return False

    def hear(self, borrowed: Borrowed, now: float) -> bool:
        """Hear the result of asking for ports, or the loss of ours; tell whether others reach us anew."""
        if borrowed.lent is None:
            was_relayed, self._relay = self._relay is not None, None
            if was_relayed:
                self.start(now)
            elif self._is_asking:
                self._ask_another(now)
            self._lifecycle.unreachable = f"it asks for a relay: {borrowed.why}"
            return False
        self._relay = next((each for each in self._doors if each.server_key == borrowed.server_key), None)
        self._is_asking, self._ask_at = False, inf
        self._n_refusals, self._offer, self._n_asked = 0, None, 0
        self._pause_s = PAUSE_S
        self._lifecycle.unreachable = ""
        lent, self._has_moved = borrowed.lent, True
        self._own.move(lent.endpoint, lent.multicast, lent.door)
        return True

    def _ask_another(self, now: float) -> None:
        """The next door at once, and after all of them a pause."""
        self._doors = [*self._doors[1:], self._doors[0]]
        self._n_asked += 1
        self._is_asking, self._ask_at = False, now
        if self._n_asked % len(self._doors) == 0:
            self._ask_at = now + self._pause_s
            self._pause_s = min(2 * self._pause_s, PAUSE_MAX_S)
