"""Who owns which slots, which follows from the members and which the other actors of this peer are told."""

from __future__ import annotations

from mesh.certificate import Right
from mesh.config import MeshConfig
from mesh.credentials import Credentials
from mesh.membership.members import MemberList, State
from mesh.membership.outbox import Outbox
from mesh.membership.wire_messages import MemberRecord
from mesh.ownership import Ownership, OwnershipChanged
from mesh.slots import SlotTable, slot_table


class Announcing:
    """The last ownership, until the members say something else."""

    def __init__(
        self, me: str, config: MeshConfig, members: MemberList, credentials: Credentials, outbox: Outbox
    ) -> None:
        self.ownership: Ownership | None = None  # as announced last
        self._me = me
        self._config = config
        self._members = members
        self._credentials = credentials
        self._outbox = outbox
        self._revision = -1  # of the members when last looked at

    def follow(self) -> None:
        """Announce a new ownership, if weights, serving, the majority or who is down have changed."""
        if self._members.revision == self._revision:
            return
        self._revision = self._members.revision
        records = self._members.live_records()
        weights = {record.peer: record.weight for record in records}
        serving = {record.peer: record.serving for record in records}
        if not any(serving.values()):
            serving = weights  # nobody is ready, so nobody is readier than who is to be
        is_most, missed, old = self._members.has_majority(), self._count_missed(), self.ownership
        importers = frozenset(record.peer for record in records if self._may_import(record))
        if old is not None and (weights, serving, is_most, missed, importers) == (
            old.table.weights,
            old.serving.weights,
            old.has_majority,
            old.missed,
            old.importers,
        ):
            return
        table = self._slot_table(weights, old.table if old else None)
        served = self._slot_table(serving, old.serving if old else None) if serving != weights else None
        self.ownership = Ownership(
            self._me,
            table,
            weights,
            serving=served,
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
        """How many are down that may have something of slots: who drains has, till it says that it leaves."""
        dead = [rumour.record for rumour in self._members if rumour.state == State.DEAD]
        return sum(record.weight > 0 or record.serving > 0 or record.is_draining for record in dead)
