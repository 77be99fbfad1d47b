"""Bytes from connections that never became a message, and an end to connections with too many of them. [io]

Theory of operation. libzmq hands over whole messages, and bounds single parts and the number of whole
messages only: of a message of endlessly many parts nothing is ever handed over, and all of it is kept. But
the kernel knows how many bytes each connection has brought (`TCP_INFO`), libzmq says which connection a
message came over (`ZMQ_SRCFD`), and how many bytes a part takes on the wire follows from RFC 25/ZMTP-CURVE.
So the difference is what libzmq holds. While no whole message waits to be read, that can only be a part of
one, and no honest one is larger than a message may be: the connection is shut down, libzmq forgets what it
has of it, and the peer may connect anew. So is one of which too much waits to be read, be it whole messages,
even while nobody reads: libzmq bounds them by number only. A thread looks: to wake the event loop for it
ten times a second was half of what a peer at rest costs.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final, NamedTuple

import zmq

from mesh.transport.tcp_connection import counts_of, other_end_of, shut_down

CHECK_S: Final = 0.1  # between two looks; at 500 MB/s, as much as one connection can bring, 50 MB
QUIET_CHECK_S: Final = 0.3  # where less than this has come since the look before
QUIET_BYTES: Final = 1 << 16
HEARTBEAT_BYTES: Final = 256  # of commands a second that are no messages; there are some 60 in five
HANDSHAKE_BYTES: Final = 4_096

_SHORT_MAX: Final = 255  # a longer frame has a length of eight bytes

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Connection:
    other_end: tuple[str, int] | None  # address and port
    since_s: float
    delivered: int = 0  # bytes on the wire of the messages that were read


class Look(NamedTuple):
    """At all connections to a socket."""

    has_excess: bool  # one of them has brought too much, be it in messages that wait to be read
    received: int  # bytes, of all that there are


class Inflow:
    """The connections to one bound socket, by their descriptors."""

    def __init__(self, excess_max: int, held_max: int) -> None:
        """Begin without connections.

        Args:
          excess_max: bytes that a connection may have brought of a message that is not whole.
          held_max: bytes that it may have brought of all messages that were not read.
        """
        self.n_cut = 0  # count: connections that were shut down
        self._excess_max = excess_max
        self._held_max = held_max
        self._connections: dict[int, _Connection] = {}

    def note_event(self, event: int, descriptor: int, now: float) -> None:
        """Follow an event from the monitor of the socket; messages may have come before."""
        if event & zmq.EVENT_DISCONNECTED:
            self._connections.pop(descriptor, None)
        elif event & zmq.EVENT_ACCEPTED:
            known, other_end = self._connections.get(descriptor), other_end_of(descriptor)
            if other_end is not None and (known is None or known.other_end != other_end):
                self._connections[descriptor] = _Connection(other_end, now)

    def note_message(self, descriptor: int, n_bytes: int, now: float) -> None:
        """A message came over that connection, which took so many bytes."""
        connection = self._connections.get(descriptor)
        if connection is None:
            connection = self._connections[descriptor] = _Connection(other_end_of(descriptor), now)
        connection.delivered += n_bytes

    def look(self, now: float) -> Look:
        """Look at all connections, and shut down those that hold more than they may ever; any thread may."""
        received = self._cut_beyond(self._held_max, now)
        return Look(any(excess > self._excess_max for excess, _ in received), sum(n for _, n in received))

    def cut(self, now: float) -> None:
        """Shut down those that have brought too much; to be called while no message waits to be read."""
        self._cut_beyond(self._excess_max, now)

    def _cut_beyond(self, most: int, now: float) -> list[tuple[float, int]]:
        """Return, of each connection that remains, the bytes that were not read, and all that came."""
        remaining: list[tuple[float, int]] = []
        for descriptor, connection in list(self._connections.items()):
            counts = counts_of(descriptor)
            if counts is None:
                continue
            commands = HANDSHAKE_BYTES + HEARTBEAT_BYTES * (now - connection.since_s)
            excess = counts.received - connection.delivered - commands
            if excess > most:
                self._cut(descriptor, connection)
            else:
                remaining.append((excess, counts.received))
        return remaining

    def _cut(self, descriptor: int, connection: _Connection) -> None:
        self._connections.pop(descriptor, None)  # the loop may have been told of its end meanwhile
        if connection.other_end is not None and shut_down(descriptor, connection.other_end):
            self.n_cut += 1
            logger.warning("too much waits unread, connection shut down peer=%s", connection.other_end)


def bytes_on_wire(part_bytes: int) -> int:
    """How many bytes a part takes: a MESSAGE command of RFC 25/ZMTP-CURVE in a frame of RFC 23/ZMTP."""
    command = 8 + 8 + 16 + 1 + part_bytes  # name, nonce, authenticator, flags
    return command + (2 if command <= _SHORT_MAX else 9)
