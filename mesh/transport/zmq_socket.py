"""Reading a ZeroMQ socket under trio without losing a wake-up. [io]

Theory of operation. ZeroMQ gives one file descriptor per socket. It becomes readable when the state of
the socket *changes*, and says only "go and look at EVENTS"; every operation on the socket, a send too,
looks by itself and takes the signal away. A reader that just waits for the descriptor sleeps for ever
when a send of another task took the signal of the message it waits for. Three rules prevent it:

1. wait only after a look at EVENTS or a receive that said EAGAIN: it has looked at everything there was;
2. after any other operation, while a reader waits, look at EVENTS and wake the reader;
3. one task waits on a descriptor: trio allows no second one, and only one could be woken.

Known history: python-trio/trio#116, zeromq/pyzmq#1827.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import trio
import zmq

Item = TypeVar("Item")

_POLLIN = int(zmq.POLLIN)  # the flag itself makes a flag of the answer, which takes as long as asking

BATCH_ITEMS_MAX = 256  # reads between two checkpoints: about 1 ms, so that other tasks get their turn


class TrioSocket(Generic[Item]):
    """A socket that one task reads in batches and others may send on; owns the socket."""

    def __init__(self, socket: zmq.Socket[bytes], read: Callable[[zmq.Socket[bytes]], Item]) -> None:
        """Take over `socket`; `read` reads one item of it with `zmq.NOBLOCK`."""
        self.socket = socket
        self._read = read
        self._fd = int(socket.getsockopt(zmq.FD))
        self._has_reader_waiting = False

    async def receive_batch(self) -> list[Item]:
        """Return all that has arrived, at least one item and at most 256; a checkpoint.

        Raises:
          trio.ClosedResourceError: the socket was closed.
        """
        batch = self._read_batch([])
        if batch:
            await trio.lowlevel.checkpoint()
        while not batch:
            await self._wait()  # a checkpoint, too
            batch = self._read_woken()
        return batch

    def send_nowait(self, frames: Sequence[bytes]) -> bool:
        """Queue a message; False when the queue is full or nobody is there to take it."""
        try:
            self.socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.ZMQError as error:
            if error.errno not in (zmq.EAGAIN, zmq.EHOSTUNREACH):
                raise
            return False
        finally:
            self.wake_reader()
        return True

    def is_idle(self) -> bool:
        """Has all that has arrived been read?"""
        is_idle = not self._is_readable()
        self.wake_reader()
        return is_idle

    def wake_reader(self) -> None:
        """Call this after any operation on `socket` that is not of this class (rule 2)."""
        if self._has_reader_waiting and self._is_readable():
            trio.lowlevel.notify_closing(self._fd)  # the one way to wake a waiter: as if by a close

    def close(self, linger_ms: int) -> None:
        trio.lowlevel.notify_closing(self._fd)
        self.socket.close(linger_ms)

    def _read_woken(self) -> list[Item]:
        """Read the messages that have arrived; most likely one has, so the socket need not be asked."""
        try:
            return self._read_batch([self._read(self.socket)])
        except zmq.Again:
            return []

    def _read_batch(self, batch: list[Item]) -> list[Item]:
        """Add to the batch the other messages that have arrived, up to `BATCH_ITEMS_MAX` in all."""
        try:
            # To look whether there is more costs a fifth of an exception that says no.
            while len(batch) < BATCH_ITEMS_MAX and self._is_readable():
                batch.append(self._read(self.socket))
        except zmq.Again:
            pass
        return batch

    def _is_readable(self) -> bool:
        return bool(int(self.socket.getsockopt(zmq.EVENTS)) & _POLLIN)

    async def _wait(self) -> None:
        if self.socket.closed:
            raise trio.ClosedResourceError("the socket was closed")
        assert not self._has_reader_waiting, "one task reads a socket"
        self._has_reader_waiting = True
        try:
            await trio.lowlevel.wait_readable(self._fd)
        except trio.ClosedResourceError:
            if self.socket.closed:
                raise
        finally:
            self._has_reader_waiting = False
