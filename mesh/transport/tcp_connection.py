"""Facts that the kernel knows of a TCP connection of libzmq, by the number of its descriptor. [io]

A descriptor may be closed by libzmq and be something else's at any moment, so who wants to shut a connection
down says which one it means, by the name of its other end.
"""

from __future__ import annotations

import socket
import struct
from typing import Final, NamedTuple

_TCP_INFO_BYTES: Final = 136
_COUNTS_AT: Final = 120  # tcpi_bytes_acked and tcpi_bytes_received, linux/tcp.h


class TcpCounts(NamedTuple):
    """Bytes since the connection was made."""

    acknowledged: int  # by the other end, of what we have sent
    received: int


def counts_of(descriptor: int) -> TcpCounts | None:
    """None when it is no TCP connection any more, or the system does not count."""
    try:
        with _Borrowed(descriptor) as stream:
            info = stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except OSError:
        return None
    return TcpCounts(*struct.unpack_from("=QQ", info, _COUNTS_AT)) if len(info) == _TCP_INFO_BYTES else None


def other_end_of(descriptor: int) -> tuple[str, int] | None:
    """Address and port; None when it is no connection."""
    try:
        with _Borrowed(descriptor) as stream:
            name = stream.getpeername()
    except OSError:
        return None
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) else None


def shut_down(descriptor: int, other_end: tuple[str, int]) -> bool:
    """End this connection, which its owner then closes; False when it was closed meanwhile."""
    if other_end_of(descriptor) != other_end:
        return False
    try:
        with _Borrowed(descriptor) as stream:
            stream.shutdown(socket.SHUT_RDWR)
    except OSError:
        return False
    return True


class _Borrowed:
    """A socket object for a descriptor of somebody else; it is not closed with it."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, descriptor)

    def __enter__(self) -> socket.socket:
        return self._socket

    def __exit__(self, *_: object) -> None:
        self._socket.detach()
