"""With whom the transport is to be connected: all members that have not left, dead ones among them."""

from __future__ import annotations

from mesh.membership.members import State
from mesh.membership.messages import ConnectPeer, DisconnectPeer
from mesh.membership.outbox import Outbox
from mesh.membership.wire_messages import MemberRecord, Rumour


class Connections:
    """The orders to the network; it keeps what they add up to."""

    def __init__(self, me: str, outbox: Outbox) -> None:
        self._me = me
        self._outbox = outbox

    def open(self, record: MemberRecord) -> None:
        """Connect with a member, or anew where it has moved."""
        if record.peer != self._me:
            self._outbox.tell("network", ConnectPeer(record))

    def follow(self, rumour: Rumour, known: Rumour | None) -> None:
        """Follow what is believed from now on; `known` is what was believed before."""
        record = rumour.record
        was_connected = known is not None and known.state != State.LEFT
        if rumour.state == State.LEFT:
            if was_connected:
                self._outbox.tell("network", DisconnectPeer(record.peer))
        elif not was_connected or known is None or addresses_of(known.record) != addresses_of(record):
            self.open(record)


def addresses_of(record: MemberRecord) -> tuple[str, str, bytes]:
    """How a member is reached, and who is to be found there."""
    return record.endpoint, record.multicast, record.curve_key
