"""The members to which the transport is to connect: all that have not left, dead ones among them."""

from __future__ import annotations

from mesh.membership.model.members import State
from mesh.membership.model.messages import ConnectPeer, DisconnectPeer
from mesh.membership.model.turn_outbox import TurnOutbox
from mesh.membership.model.wire_messages import MemberRecord, Rumour


class Connections:
    """The orders to the network, which keeps the connections that they add up to."""

    def __init__(self, me: str, outbox: TurnOutbox) -> None:
        self._me = me
        self._outbox = outbox

    def open(self, record: MemberRecord) -> None:
        """Connect with a member, or anew where it has moved."""
        if record.peer != self._me:
            self._outbox.tell("network", ConnectPeer(record))

    def follow(self, rumour: Rumour, known: Rumour | None) -> None:
        """Follow the new belief about a member; `known` is the belief before."""
        record = rumour.record
        was_connected = known is not None and known.state != State.LEFT
        if rumour.state == State.LEFT:
            if was_connected:
                self._outbox.tell("network", DisconnectPeer(record.peer))
        elif not was_connected or known is None or addresses_of(known.record) != addresses_of(record):
            self.open(record)


def addresses_of(record: MemberRecord) -> tuple[str, str, bytes]:
    """Return the two endpoints of a member, and the key of the peer to be found there."""
    return record.endpoint, record.multicast, record.curve_key
