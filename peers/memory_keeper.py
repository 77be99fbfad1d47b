"""Gives freed memory back now and then: the allocator keeps memory that is in pieces. [io]

Commits, merges and parsing make large arrays in several threads. What they free stays with the process in
pieces: a peer that had indexed 18,000 pages held 279 MB of memory of its own, and 154 MB after giving back.
How the allocator is told to keep less from the start is in `mesh.process.allocator`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

import trio

from mesh.actors.actor import Address, Message
from mesh.actors.port import Deliver
from mesh.errors import LocalProtocolError

PAUSE_S: Final = 30.0  # it takes some milliseconds of a thread, without the interpreter's lock


class MemoryKeeper:
    """A port that nobody sends anything."""

    name: ClassVar[str] = "memory"

    def __init__(self, give_back: Callable[[], object] | None, *, pause_s: float = PAUSE_S) -> None:
        """Begin; `give_back` is called in a thread, and None where there is nothing to be done."""
        self._give_back = give_back
        self._pause_s = pause_s

    def receive(self, source: Address, message: Message) -> None:
        raise LocalProtocolError(f"{source} sent a {type(message).__name__} to the memory")

    async def run(self, deliver: Deliver) -> None:
        """Give back now and then until cancelled; end at once where the C library has no such call."""
        while self._give_back is not None:
            await trio.sleep(self._pause_s)
            await trio.to_thread.run_sync(self._give_back)
