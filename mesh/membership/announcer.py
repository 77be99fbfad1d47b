"""The owners of the slots, which follow from the members and are announced to other actors of this peer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.config import MeshConfig
from mesh.keys.certificate import Right
from mesh.keys.decree import Decree
from mesh.membership.model.credentials import Credentials
from mesh.membership.model.members import MemberList, State
from mesh.membership.model.turn_outbox import TurnOutbox
from mesh.membership.model.wire_messages import MemberRecord
from mesh.membership.own.serving_weights import serving_weights, serving_weights_with
from mesh.slots import SlotTable, slot_table

# Which peers are to crawl which slots by a policy in a mesh of so many slots; None when it cannot be read.
PinsOf: TypeAlias = Callable[[Decree, int], Mapping[int, str] | None]


def no_pins(policy: Decree, slot_count: int) -> Mapping[int, str]:
    """Pin nothing, for a node that does not read policies."""
    return {}


class Announcer:
    """The last ownership, until the members say something else."""

    def __init__(
        self,
        me: str,
        config: MeshConfig,
        members: MemberList,
        credentials: Credentials,
        outbox: TurnOutbox,
        pins_of: PinsOf,
    ) -> None:
        self.ownership: Ownership | None = None  # as announced last
        self._me = me
        self._config = config
        self._members = members
        self._credentials = credentials
        self._outbox = outbox
        self._pins_of = pins_of
        self._pins: Mapping[int, str] = {}
        self._pins_announced: Mapping[int, str] = {}
        self._revision = -1  # of the members when last looked at; -1 when something else has changed

    def hear_policy(self, in_force: Mapping[str, Decree], now: float) -> None:
        """Set the pins of the mesh's policy; a policy that cannot be read changes nothing."""
        policy = in_force.get("")
        pins = self._pins_of(policy, self._config.slot_count) if policy is not None else {}
        if pins is not None and pins != self._pins:
            self._pins, self._revision = pins, -1

    def follow(self) -> None:
        """Announce a new ownership if weights, serving, pins, majority, the dead or importers changed."""
        if self._members.revision == self._revision:
            return
        self._revision = self._members.revision
        records = self._members.live_records()
        weights = {record.peer: record.weight for record in records}
        serving, serving_with_me = serving_weights(records), serving_weights_with(self._me, records)
        is_most, missed, old = self._members.has_majority(), self._count_missed(), self.ownership
        importers = frozenset(record.peer for record in records if self._may_import(record))
        seen = self._pins, weights, serving, serving_with_me, is_most, missed, importers
        if old is not None and seen == (
            self._pins_announced,
            old.table.weights,
            old.serving.weights,
            old.serving_with_me.weights,
            old.has_majority,
            old.missed,
            old.importers,
        ):
            return
        self._pins_announced = self._pins
        table = self._slot_table(weights, old.table.unpinned if old else None)
        served = table
        if serving != weights:
            served = self._slot_table(serving, old.serving if old else None)
        served_with_me = served
        if serving_with_me != serving:
            served_with_me = self._slot_table(serving_with_me, served)
        self.ownership = Ownership(
            self._me,
            table.pinned(self._pins),
            weights,
            serving=served,
            serving_with_me=served_with_me,
            has_majority=is_most,
            missed=missed,
            importers=importers,
        )
        self._outbox.tell_listeners(OwnershipChanged(self.ownership))

    def _may_import(self, record: MemberRecord) -> bool:
        return bool(self._credentials.grant_of(record).rights & Right.IMPORT)

    def _slot_table(self, weights: dict[str, int], near: SlotTable | None) -> SlotTable:
        return slot_table(weights, self._config.slot_count, self._config.replicas, near)

    def _count_missed(self) -> int:
        """Count the members down that may have data of slots; a draining one has, until it says it leaves."""
        dead = [rumour.record for rumour in self._members if rumour.state == State.DEAD]
        return sum(record.weight > 0 or record.serving > 0 or record.is_draining for record in dead)
