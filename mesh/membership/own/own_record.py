"""This peer's record of itself: its addresses, weight, serving weight, and whether it is drained.

Whatever changes is said in the next incarnation, signed, believed here at once and spread.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from mesh.keys.decree import Decree, number_of
from mesh.membership.model.credentials import Credentials
from mesh.membership.model.members import MemberList, State
from mesh.membership.model.memory import Memory
from mesh.membership.model.rumours import RumourQueue
from mesh.membership.model.wire_messages import MemberRecord, Rumour
from mesh.membership.own.lifecycle import Lifecycle
from mesh.membership.own.serving_weights import READY, is_ready


class OwnRecord:
    """The newest record of this peer; no one else writes it."""

    def __init__(
        self,
        record: MemberRecord,
        credentials: Credentials,
        members: MemberList,
        rumours: RumourQueue,
        memory: Memory,
        lifecycle: Lifecycle,
    ) -> None:
        """Begin with the settings of a person, and the facts of the last life that must not be forgotten.

        Args:
          record: with the weight that a person wants; need not be signed.

        Raises:
          ConfigError: the memory is of another peer.
        """
        self._credentials = credentials
        self._members = members
        self._rumours = rumours
        self._memory = memory
        self._lifecycle = lifecycle
        remembered = memory.own_record(record.peer)
        self.is_remembered = remembered is not None  # this peer was a member before
        self.weight_wanted = record.weight  # by a person; the queues may change it for a while
        self.record = credentials.sign(_opening_record(record, remembered))
        members.merge(self.rumour)

    @property
    def peer(self) -> str:
        return self.record.peer

    @property
    def rumour(self) -> Rumour:
        """Return the rumour about this peer that others are to believe."""
        return Rumour(self.record, self.record.parting)

    def enter(self) -> None:
        """Say it to the mesh from now on, and remember it."""
        self._rumours.put(self.rumour)
        self._memory.keep_own(self.record)

    def serve(self, *, is_together: bool) -> None:
        """Answer for our slots, now or together with others; a peer that serves already does not wait."""
        record = self.record
        waits = is_together and record.serving <= READY
        serving = min(READY, record.weight) if waits else record.weight
        if record.serving != serving and not self._lifecycle.is_ended:
            self._rewrite(replace(record, serving=serving))

    def set_draining(self, is_draining: bool) -> None:
        """Give away all slots, or take the share again that a person wants."""
        if self.record.is_draining != is_draining and not self._lifecycle.is_ended:
            weight = 0 if is_draining else min(self.weight_wanted, self._weight_allowed())
            self._rewrite(replace(self._unready(), weight=weight, is_draining=is_draining))

    def move(self, endpoint: str, multicast: str, door: str) -> None:
        """Be reached there from now on; say it anew, though it be the same, for others have lost us."""
        self._rewrite(replace(self.record, endpoint=endpoint, multicast=multicast, door=door))

    def part(self, state: State) -> None:
        """Say that this peer goes, for a while or for good: nobody else can say so for it."""
        self._rewrite(replace(self.record, parting=state))

    def hear_orders(self, orders: Mapping[str, Decree], now: float) -> None:
        """Carry out an order to drain, or to drain no more, once: a person may change it here later."""
        order = orders.get(self.peer)
        if order is not None and self._memory.note_obeyed(order.name):
            self.set_draining(number_of(order) != 0)

    def set_weight(self, weight: int) -> None:
        """Take so much, or as much of it as the certificate allows."""
        self._rewrite(replace(self._unready(), weight=min(weight, self._weight_allowed())))

    def hear_renewals(self, renewals: Mapping[str, Decree], now: float) -> None:
        """Have the certificate of a renewal, unless it is for other keys or ends before our own."""
        if self.peer in renewals and not self._lifecycle.is_ended:
            self._renew(renewals[self.peer].body)

    def _renew(self, certificate: bytes) -> None:
        renewed = self._credentials.sign(replace(self.record, certificate=certificate, weight=0, serving=0))
        if certificate == self.record.certificate or not self._credentials.is_genuine(renewed):
            return
        own, new = self._credentials.grant_of(self.record), self._credentials.grant_of(renewed)
        if new.valid_until >= own.valid_until:
            most = new.weight_allowed
            weight, serving = min(self.record.weight, most), min(self.record.serving, most)
            self._rewrite(replace(self.record, certificate=certificate, weight=weight, serving=serving))

    def _unready(self) -> MemberRecord:
        """Return our record for another weight: readiness for the old weight says nothing of the new one."""
        return replace(self.record, serving=0) if is_ready(self.record) else self.record

    def _weight_allowed(self) -> int:
        return self._credentials.grant_of(self.record).weight_allowed

    def outdo(self, incarnation: int) -> None:
        """Say the same anew, so that it beats anything said of us in this incarnation."""
        self._rewrite(replace(self.record, incarnation=max(self.record.incarnation, incarnation)))

    def _rewrite(self, record: MemberRecord) -> None:
        """Say something new of ourselves, in the next incarnation."""
        self.record = self._credentials.sign(replace(record, incarnation=record.incarnation + 1))
        self._members.merge(self.rumour)
        self._rumours.put(self.rumour)
        if self._lifecycle.is_member:
            self._memory.keep_own(self.record)


def _opening_record(record: MemberRecord, remembered: MemberRecord | None) -> MemberRecord:
    """Return a peer's record at its start: that it takes its share, and cannot answer for it yet."""
    if remembered is None:
        return replace(record, serving=0)
    return replace(
        record,
        incarnation=max(record.incarnation, remembered.incarnation + 1),
        weight=0 if remembered.is_draining else record.weight,
        serving=0,
        is_draining=remembered.is_draining,
    )
