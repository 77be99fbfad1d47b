"""What a transport hands in, kept to be read batch by batch. [io]"""

from __future__ import annotations

from math import inf
from typing import TypeAlias

import trio

from mesh.transport.transport import Received, Transport

Message: TypeAlias = tuple[str, list[bytes]]  # sender and frames


class Inbox:
    """Serves a transport and collects what comes in."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._arrived, self._batches = trio.open_memory_channel[list[Message]](inf)

    async def serve(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._transport.serve)
            nursery.start_soon(self._transport.receive_forever, self.take)

    def take(self, batch: list[Received]) -> None:
        whole = [(sender, frames) for sender, frames, _ in batch if frames]
        if whole:
            self._arrived.send_nowait(whole)

    async def receive(self) -> list[Message]:
        """Wait for the next batch."""
        return await self._batches.receive()
