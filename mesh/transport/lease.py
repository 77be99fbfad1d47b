"""One peer behind a relay, as the relay sees it: its control connection and its callers. [io]

For what this is all about see `relay`.
"""

from __future__ import annotations

import errno
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import trio

from mesh.errors import RemoteProtocolError
from mesh.transport.callers import Callers
from mesh.transport.descriptors import SHORTAGES
from mesh.transport.relay_frames import (
    BEAT_S,
    CONTROL,
    LEASE_BYTES,
    SECRET_BYTES,
    SILENT_S,
    order_of,
)
from mesh.transport.splice import splice

CONTROL_WAIT_S: Final = 10.0  # for the control connection of who has been lent ports
ANSWER_S: Final = 5.0  # for the peer to come for a caller, as long as a handshake may take
# Callers for whom the peer is asked to come at a time, for it comes to a door, where 64 visitors have room.
ASKED_MAX: Final = 16
BEATS_AT_ONCE: Final = 64  # bytes that are read of them
SHORTAGE_S: Final = 0.1  # pause when the machine has no descriptor left

Attend = Callable[[trio.SocketStream], Awaitable[None]]


@dataclass(slots=True)
class RelayCounts:
    """Of one relay, over all its peers; see `relay.RelayStatistics`."""

    calls: int = 0
    calls_refused: int = 0
    calls_unanswered: int = 0
    calls_idle: int = 0
    callers_turned_out: int = 0
    leases: int = 0
    leases_refused: int = 0
    bytes_carried: int = 0


class _Awaited:
    """A caller for which the peer has been asked to open a stream."""

    def __init__(self) -> None:
        self.is_taken = False  # a stream is good once
        self.stream: trio.SocketStream | None = None
        self.has_come = trio.Event()
        self.is_over = trio.Event()


class Lease:
    """The ports lent to a peer, once: from the door's answer until its control connection is gone."""

    def __init__(self, peer: str, counts: RelayCounts, has_room: Callable[[], bool], answer_s: float) -> None:
        """Args: has_room: whether the relay bears another caller, of any peer."""
        self.peer = peer
        self.id = secrets.token_bytes(LEASE_BYTES)
        self.secret = secrets.token_bytes(SECRET_BYTES)
        self.callers = Callers()
        self.is_controlled = False  # as a stream, the control connection is made once
        self._counts = counts
        self._has_room = has_room
        self._answer_s = answer_s
        self._scope = trio.CancelScope()
        self._control: trio.SocketStream | None = None
        self._has_control, self._is_over = trio.Event(), trio.Event()
        self._awaited: dict[int, _Awaited] = {}
        self._scopes: dict[int, trio.CancelScope] = {}  # of the callers
        self._asking = trio.CapacityLimiter(ASKED_MAX)
        self._order, self._orders = trio.open_memory_channel[bytes](ASKED_MAX)

    async def run(
        self, listeners: Sequence[trio.SocketListener], turn: trio.Lock, begin: Callable[[], None]
    ) -> None:
        """Let callers in at these ports as long as the peer keeps its control connection.

        Args:
          turn: of the ports, which another lease may still have.
          begin: ends that one.
        """
        try:
            with self._scope:
                with trio.move_on_after(CONTROL_WAIT_S):
                    await self._has_control.wait()
                if self._control is not None:
                    begin()
                    async with turn:
                        await self._relay(self._control, listeners)
        finally:
            self._is_over.set()

    def end(self) -> None:
        """Let nobody in any more."""
        self._scope.cancel()

    def attends(self, number: int) -> Attend:
        """See `Relay.attends`."""
        if number == CONTROL and not self.is_controlled:
            self.is_controlled = True
            return self._take_control
        awaited = self._awaited.get(number)
        if awaited is None or awaited.is_taken:
            raise RemoteProtocolError("nobody waits for that stream")
        awaited.is_taken = True

        async def attend(stream: trio.SocketStream) -> None:
            awaited.stream = stream
            awaited.has_come.set()
            await awaited.is_over.wait()

        return attend

    async def _take_control(self, stream: trio.SocketStream) -> None:
        self._control = stream
        self._has_control.set()
        await self._is_over.wait()

    async def _relay(self, control: trio.SocketStream, listeners: Sequence[trio.SocketListener]) -> None:
        """Let callers in until the control connection is cut off, or silent for too long."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._speak, control)
            for index, listener in enumerate(listeners):
                nursery.start_soon(self._accept, index, listener, nursery)
            with suppress(trio.BrokenResourceError, trio.TooSlowError):
                while True:
                    with trio.fail_after(SILENT_S):
                        if not await control.receive_some(BEATS_AT_ONCE):
                            break
            nursery.cancel_scope.cancel()

    async def _speak(self, control: trio.SocketStream) -> None:
        """Send the peer orders for streams, and heartbeats; that it is gone is noticed by the reader."""
        order = order_of(CONTROL, 0)  # the first one says that the ports are open
        with suppress(trio.BrokenResourceError):
            while True:
                await control.send_all(order)
                order = order_of(CONTROL, 0)
                with trio.move_on_after(BEAT_S):
                    order = await self._orders.receive()

    async def _accept(self, index: int, listener: trio.SocketListener, nursery: trio.Nursery) -> None:
        while True:
            try:
                stream = await listener.accept()
            except OSError as error:
                if error.errno not in SHORTAGES | {errno.ENOBUFS}:
                    raise
                await trio.sleep(SHORTAGE_S)
                continue
            self._counts.calls += 1
            if self.callers.is_full or not self._has_room():
                self._counts.calls_refused += 1
                await trio.aclose_forcefully(stream)
            else:
                nursery.start_soon(self._serve, index, stream)
            await trio.sleep(self.callers.pause_s(trio.current_time()))

    async def _serve(self, index: int, stream: trio.SocketStream) -> None:
        """Serve one caller until it has gone, or has to make room."""
        async with stream:
            try:
                address = str(stream.socket.getpeername()[0])
            except OSError:  # it has gone already
                return
            number, oldest = self.callers.enter(address)
            if oldest is not None:
                self._counts.callers_turned_out += 1
                self._scopes[oldest].cancel()
            awaited = self._awaited[number] = _Awaited()
            try:
                with trio.CancelScope() as self._scopes[number]:
                    await self._connect(number, index, stream, awaited)
            finally:
                awaited.is_over.set()
                self._awaited.pop(number, None)
                self._scopes.pop(number, None)
                self.callers.leave(number)

    async def _connect(self, number: int, index: int, stream: trio.SocketStream, awaited: _Awaited) -> None:
        with trio.move_on_after(self._answer_s):
            async with self._asking:
                await self._order.send(order_of(number, index))
                await awaited.has_come.wait()
        del self._awaited[number]
        if awaited.stream is None:
            self._counts.calls_unanswered += 1
            return

        def note(to_peer: int, to_caller: int) -> None:
            self._counts.bytes_carried += to_peer + to_caller
            self.callers.note_told(number, to_caller)

        if await splice(stream, awaited.stream, note):
            self._counts.calls_idle += 1
