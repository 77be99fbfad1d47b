"""A transport under TLS that hands records on one at a time. [io]

`trio.SSLStream` takes whatever has come and decrypts it when it is asked for. What a server sends behind its
answer would lie there unseen, and become the answer to the next question. So it stays here, where it shows.
"""

from __future__ import annotations

from typing import Final

import trio

_HEADER_BYTES: Final = 5  # RFC 8446, 5.1: type, version (2), length (2)
_RECEIVE_BYTES: Final = 65_536


class TlsRecords(trio.abc.Stream):
    """The bytes of a socket, in pieces that end where TLS records do or earlier."""

    def __init__(self, raw: trio.SocketStream) -> None:
        self._raw = raw
        self._received = bytearray()
        self._left = 0  # of the record that is being handed on

    @property
    def has_more(self) -> bool:
        """Has anything come that nobody has asked for?"""
        return bool(self._received)

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        while not self._received or (not self._left and len(self._received) < _HEADER_BYTES):
            data = await self._raw.receive_some(_RECEIVE_BYTES)
            if not data:
                return self._take(len(self._received))
            self._received += data
        if not self._left:
            self._left = _HEADER_BYTES + int.from_bytes(self._received[3:_HEADER_BYTES], "big")
        piece = self._take(min(self._left, max_bytes or self._left))
        self._left -= len(piece)
        return piece

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._raw.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._raw.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self._raw.aclose()

    def _take(self, count: int) -> bytes:
        piece = bytes(self._received[:count])
        del self._received[:count]
        return piece
