"""What a transport hands in, kept to be read batch by batch. [io]"""

from __future__ import annotations

from math import inf

import trio

from mesh.transport.transport import Received, Transport


class Inbox:
    """Serves a transport and collects what comes in."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._arrived, self._batches = trio.open_memory_channel[list[Received]](inf)

    async def serve(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._transport.serve)
            nursery.start_soon(self._transport.receive_forever, self.take)

    def take(self, batch: list[Received]) -> None:
        self._arrived.send_nowait(batch)

    async def receive(self) -> list[Received]:
        """Wait for the next batch."""
        return await self._batches.receive()
