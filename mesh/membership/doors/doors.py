"""The doors of the mesh that are known here, and knocking at one."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import TYPE_CHECKING

from mesh.membership.doors.knock_schedule import DoorAddress
from mesh.membership.model.members import MemberList, is_live
from mesh.membership.model.messages import Knock
from mesh.membership.model.turn_outbox import TurnOutbox
from mesh.membership.model.wire_messages import JoinMesh
from mesh.membership.own.own_record import OwnRecord

if TYPE_CHECKING:
    from random import Random


class Doors:
    """Those that a person named, then those of members; never our own."""

    def __init__(
        self,
        named: Iterable[DoorAddress],
        mesh_digest: bytes,
        own: OwnRecord,
        members: MemberList,
        outbox: TurnOutbox,
        random: Random,
    ) -> None:
        others = (door for door in named if door.server_key != own.record.curve_key)
        self.named = tuple(dict.fromkeys(others))
        self._mesh_digest = mesh_digest
        self._own = own
        self._members = members
        self._outbox = outbox
        self._random = random
        self._n_unheard = 0  # knocks at doors behind which nobody was heard

    def knock_at(self, door: DoorAddress) -> None:
        """Send our record to a door; the answer is `Knocked`."""
        join = JoinMesh(self._own.record, self._mesh_digest, is_callable=True)
        self._outbox.tell("door", Knock(door.endpoint, door.server_key, join))

    def all(self) -> list[DoorAddress]:
        """Those named, then those of all members that are known, live or not."""
        records = [rumour.record for rumour in self._members if rumour.record.peer != self._own.peer]
        of_members = [DoorAddress(record.door, record.curve_key) for record in records if record.door]
        return list(dict.fromkeys((*self.named, *of_members)))

    def knock_at_any(self) -> None:
        """As a member that hears nobody, seek the mesh."""
        self._knock_at_one_of(self.all())

    def knock_at_lost(self) -> None:
        """As a member, seek those we lost sight of: knock at the door of a peer that is not believed live."""
        live = {rumour.record.curve_key for rumour in self._members if is_live(rumour)}
        self._knock_at_one_of([door for door in self.all() if door.server_key not in live])

    def knock_at_unheard(self, heard: Set[str]) -> None:
        """As a newcomer that has heard nobody but behind one of the named doors, knock at the others in turn.

        All that it knows it has from the door that let it in. If that one lied, to keep all others from it,
        the second tells who they are, and has them hear of it.
        """
        if self._own.is_remembered:
            return
        tellers = {self._members.with_key(door.server_key): door for door in self.named}
        heard_at = {door for each, door in tellers.items() if each is not None and each.record.peer in heard}
        unheard = [door for door in self.named if door not in heard_at]
        if len(heard_at) < 2 and unheard:
            self.knock_at(unheard[self._n_unheard % len(unheard)])
            self._n_unheard += 1

    def _knock_at_one_of(self, doors: list[DoorAddress]) -> None:
        if doors:
            self.knock_at(self._random.choice(doors))
