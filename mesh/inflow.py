"""What connections have brought that never became a message, and an end to those with too much of it. [io]

Theory of operation. libzmq hands over whole messages, and bounds single parts and the number of whole
messages only: of a message of endlessly many parts nothing is ever handed over, and all of it is kept. But
the kernel knows how many bytes each connection has brought (`TCP_INFO`), libzmq says which connection a
message came over (`ZMQ_SRCFD`), and how many bytes a part takes on the wire follows from RFC 25/ZMTP-CURVE.
So the difference is what libzmq holds. While no whole message waits to be read, that can only be a part of
one, and no honest one is larger than a message may be: the connection is shut down, libzmq forgets what it
has of it, and the peer may connect anew.
"""

from __future__ import annotations

import logging
import socket
import struct
from dataclasses import dataclass
from typing import Final

import zmq

CHECK_S: Final = 0.1  # between two looks; at 500 MB/s, as much as one connection can bring, 50 MB
HEARTBEAT_BYTES: Final = 256  # of commands a second that are no messages; there are some 60 in five
HANDSHAKE_BYTES: Final = 4_096

_TCP_INFO_BYTES: Final = 136
_BYTES_RECEIVED_AT: Final = 128  # tcpi_bytes_received, linux/tcp.h
_SHORT_MAX: Final = 255  # a longer frame has a length of eight bytes

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Connection:
    peer_name: object  # address and port at the other end
    since_s: float
    delivered: int = 0  # bytes on the wire of the messages that were read


class Inflow:
    """The connections to one bound socket, by their descriptors."""

    def __init__(self, excess_max: int) -> None:
        """Args: excess_max: bytes that a connection may have brought of a message that is not whole."""
        self.n_cut = 0  # count: connections that were shut down
        self._excess_max = excess_max
        self._connections: dict[int, _Connection] = {}

    def note_event(self, event: int, descriptor: int, now: float) -> None:
        """Follow what the monitor of the socket says; messages may have come before."""
        if event & zmq.EVENT_DISCONNECTED:
            self._connections.pop(descriptor, None)
        elif event & zmq.EVENT_ACCEPTED:
            known, name = self._connections.get(descriptor), _peer_name(descriptor)
            if name is not None and (known is None or known.peer_name != name):
                self._connections[descriptor] = _Connection(name, now)

    def note_message(self, descriptor: int, n_bytes: int, now: float) -> None:
        """A message came over that connection, which took so many bytes."""
        connection = self._connections.get(descriptor)
        if connection is None:
            connection = self._connections[descriptor] = _Connection(_peer_name(descriptor), now)
        connection.delivered += n_bytes

    def cut(self, now: float) -> None:
        """Shut down those that have brought too much; to be called while no message waits to be read."""
        for descriptor, connection in list(self._connections.items()):
            commands = HANDSHAKE_BYTES + HEARTBEAT_BYTES * (now - connection.since_s)
            received = _bytes_received(descriptor)
            if received - connection.delivered - commands > self._excess_max:
                self._cut(descriptor, connection)

    def _cut(self, descriptor: int, connection: _Connection) -> None:
        del self._connections[descriptor]
        if _peer_name(descriptor) != connection.peer_name:
            return  # closed meanwhile, and the number is something else's
        self.n_cut += 1
        logger.warning("message without an end, connection shut down peer=%s", connection.peer_name)
        with _Borrowed(descriptor) as stream:
            stream.shutdown(socket.SHUT_RDWR)


def bytes_on_wire(part_bytes: int) -> int:
    """How many bytes a part takes: a MESSAGE command of RFC 25/ZMTP-CURVE in a frame of RFC 23/ZMTP."""
    command = 8 + 8 + 16 + 1 + part_bytes  # name, nonce, authenticator, flags
    return command + (2 if command <= _SHORT_MAX else 9)


class _Borrowed:
    """A socket object for a descriptor that libzmq owns; it is not closed with it."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, descriptor)

    def __enter__(self) -> socket.socket:
        return self._socket

    def __exit__(self, *_: object) -> None:
        self._socket.detach()


def _bytes_received(descriptor: int) -> int:
    """0 when it is no TCP connection any more."""
    try:
        with _Borrowed(descriptor) as stream:
            info = stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except OSError:
        return 0
    return int(struct.unpack_from("=Q", info, _BYTES_RECEIVED_AT)[0]) if len(info) == _TCP_INFO_BYTES else 0


def _peer_name(descriptor: int) -> object:
    try:
        with _Borrowed(descriptor) as stream:
            return stream.getpeername()
    except OSError:
        return None
