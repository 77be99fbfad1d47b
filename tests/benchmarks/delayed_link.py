"""A way into a peer on which everything takes longer. [io]"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

PART_BYTES: Final = 64 << 10


class DelayedLink:
    """Forwards TCP connections made to one address to the same ports of another.

    Attributes:
      delay_s: what goes to the other address arrives so much later; what comes back does not.
    """

    def __init__(self, address: str, target: str, ports: Sequence[int]) -> None:
        self.delay_s = 0.0
        self._address = address
        self._target = target
        self._ports = ports

    async def run(self, is_ready: threading.Event, is_over: asyncio.Event) -> None:
        servers = [await asyncio.start_server(self._forward, self._address, port) for port in self._ports]
        is_ready.set()
        await is_over.wait()
        for server in servers:
            server.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = writer.get_extra_info("sockname")[1]
        try:
            onward_reader, onward_writer = await asyncio.open_connection(self._target, port)
        except OSError:  # the peer is not there, or no more; who connects tries again
            writer.close()
            return
        back = asyncio.create_task(self._copy_back(onward_reader, writer))
        await self._copy_later(reader, onward_writer)
        back.cancel()

    async def _copy_later(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        arrives_at = 0.0
        while part := await _read(reader):
            # In order, also when the delay has become shorter meanwhile.
            arrives_at = max(arrives_at, loop.time() + self.delay_s)
            loop.call_at(arrives_at, _write, writer, part)
        loop.call_at(max(arrives_at, loop.time()), writer.close)

    async def _copy_back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while part := await _read(reader):
            _write(writer, part)
        writer.close()


def _write(writer: asyncio.StreamWriter, part: bytes) -> None:
    if not writer.is_closing():
        writer.write(part)


async def _read(reader: asyncio.StreamReader) -> bytes:
    with suppress(OSError):
        return await reader.read(PART_BYTES)
    return b""


@contextmanager
def delayed_link(address: str, target: str, ports: Sequence[int]) -> Iterator[DelayedLink]:
    """Have it forward while the block runs."""
    link = DelayedLink(address, target, ports)
    is_ready = threading.Event()
    loop = asyncio.new_event_loop()
    is_over = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(link.run(is_ready, is_over)))
    thread.start()
    assert is_ready.wait(10), f"cannot listen on {address}"
    try:
        yield link
    finally:
        loop.call_soon_threadsafe(is_over.set)
        thread.join()
