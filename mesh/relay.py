"""The relay of a member: it listens on behalf of peers behind a router, which can only dial out. [io]

Theory of operation. Such a peer asks at the door of a member that has ports to lend. It is lent three of
them, keeps a control connection to that door, and announces the relay's address with these ports as its own.
For each connection that comes in there the relay asks it for another one, which it dials to the door as well,
and makes the two one (`splice`). So its sockets are reached as if they were here: by members, by strangers at
its door, by who calls it back before it is let in. Two peers behind two routers reach each other likewise.

A relay sees who talks to whom, when and how much; what they say is encrypted from end to end (CURVE, the
seal of a door), and the peer's key proves that it is the peer. The worst that a relay can do is to be down.

What it bears is bounded: peers by its ports, connections in all and for each peer, strangers among them and
how fast they come (`callers`), idle ones by time, bytes on their way by one piece for each direction.
A peer that is no member any more is relayed no longer.
"""

from __future__ import annotations

import errno
import logging
import resource
import secrets
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Final, NamedTuple

import trio

from mesh.actor import Statistics
from mesh.callers import STRANGERS_MAX, Callers
from mesh.descriptors import SHORTAGES
from mesh.errors import ConfigError, RemoteProtocolError
from mesh.lending import PORTS_EACH, Lending
from mesh.relay_frames import (
    BEAT_S,
    CONTROL,
    LEASE_BYTES,
    SECRET_BYTES,
    SILENT_S,
    head_in,
    is_proven,
    order_of,
)
from mesh.splice import splice
from mesh.tcp_endpoint import endpoint_of, host_and_port, listen_on

CONTROL_WAIT_S: Final = 10.0  # for the control connection of who has been lent ports
ANSWER_S: Final = 5.0  # for the peer to come for a caller, as long as a handshake may take
BEATS_AT_ONCE: Final = 64  # bytes that are read of them
SHORTAGE_S: Final = 0.1  # pause when the machine has no descriptor left
CALLERS_MAX: Final = 4_096  # of all relayed peers; each takes two descriptors
DESCRIPTORS_PART: Final = (
    8  # of few descriptors only one in so many is for callers, and another for their peers
)

Attend = Callable[[trio.SocketStream], Awaitable[None]]

logger = logging.getLogger(__name__)


class RelayStatistics(Statistics, frozen=True):
    """What a relay lets be seen: gauges first, then counters since the start."""

    relayed: int  # peers that have ports
    callers: int  # connections to them
    calls: int  # connections that came
    calls_refused: int  # at a limit
    calls_unanswered: int  # for which the peer did not come in time
    calls_idle: int  # ended since nothing came
    callers_turned_out: int  # strangers that had to make room
    leases: int  # times that ports were lent
    leases_refused: int  # since all ports are lent
    bytes_carried: int  # in both directions


class Lent(NamedTuple):
    """What a peer is told of its ports."""

    places: tuple[str, str, str]  # endpoints for its record: inbox, multicast, door
    lease: bytes
    secret: bytes


@dataclass(slots=True)
class _Counts:
    """Of one relay, over all its peers."""

    calls: int = 0
    calls_refused: int = 0
    calls_unanswered: int = 0
    calls_idle: int = 0
    callers_turned_out: int = 0
    leases: int = 0
    leases_refused: int = 0
    bytes_carried: int = 0


class Relay:
    """What one member lends to others. `serve` must run."""

    def __init__(self, listen: str, announced: str, ports: range, *, answer_s: float = ANSWER_S) -> None:
        """Lend ports of this machine.

        Args:
          listen: address of the network card.
          announced: address under which others reach it.
          answer_s: for a peer to come for a caller.
        """
        self._answer_s = answer_s
        self._listen = listen
        self._announced = announced
        self._lending = Lending(ports)
        self._leases: dict[bytes, _Lease] = {}
        self._counts = _Counts()
        self._callers_max = min(CALLERS_MAX, _descriptors() // DESCRIPTORS_PART)
        self._nursery: trio.Nursery | None = None

    async def serve(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Relay until cancelled."""
        async with trio.open_nursery() as self._nursery:
            task_status.started()
            await trio.sleep_forever()

    def lend(self, peer: str, before: str, claimed: Iterable[str]) -> Lent | None:
        """Lend ports to a peer, in the place of those that it has; None when there are none left.

        Args:
          before: the endpoint of its inbox that it had last, "" for none.
          claimed: those of other members.
        """
        assert self._nursery is not None, "a door opens after its relay"
        self.evict(peer)
        listeners = self._listeners(peer, before, claimed)
        if not listeners:
            self._counts.leases_refused += 1
            return None
        lease = _Lease(peer, listeners, self._counts, self._has_room, self._answer_s)
        self._leases[lease.id] = lease
        self._counts.leases += 1
        self._nursery.start_soon(self._keep, lease)
        ports = [int(each.socket.getsockname()[1]) for each in listeners]
        inbox, multicast, door = (endpoint_of((self._announced, port)) for port in ports)
        logger.info("ports lent peer=%s ports=%d-%d", peer, ports[0], ports[-1])
        return Lent((inbox, multicast, door), lease.id, lease.secret)

    def evict(self, peer: str) -> None:
        """Relay a peer no longer; one that is not relayed is no error."""
        for lease in [each for each in self._leases.values() if each.peer == peer]:
            self._end(lease)

    def attends(self, head: bytes) -> Attend:
        """Find out what a connection to the door is for that begins so.

        Raises:
          RemoteProtocolError: for nothing here.
        """
        lease_id, number, proof = head_in(head)
        lease = self._leases.get(lease_id)
        if lease is None or not is_proven(lease.secret, lease_id, number, proof):
            raise RemoteProtocolError("of no peer that is relayed here")
        return lease.attends(number)

    def observe(self) -> RelayStatistics:
        return RelayStatistics(relayed=len(self._leases), callers=self._n_callers(), **asdict(self._counts))

    async def _keep(self, lease: _Lease) -> None:
        await lease.run()
        if self._leases.get(lease.id) is lease:
            self._end(lease)

    def _end(self, lease: _Lease) -> None:
        lease.close()
        del self._leases[lease.id]
        self._lending.end(lease.peer)
        logger.info("ports taken back peer=%s", lease.peer)

    def _listeners(self, peer: str, before: str, claimed: Iterable[str]) -> list[trio.SocketListener]:
        """Listen on the best three ports that are free on this machine, too."""
        places = {self._port_of(each) for each in claimed}
        for first in self._lending.offers(peer, self._port_of(before), places):
            listeners: list[trio.SocketListener] = []
            try:
                for port in range(first, first + PORTS_EACH):
                    socket = listen_on(endpoint_of((self._listen, port)))
                    listeners.append(trio.SocketListener(trio.socket.from_stdlib_socket(socket)))
            except ConfigError as error:
                logger.warning("port of the relay not to be had error=%s", error)
                for listener in listeners:
                    listener.socket.close()
                continue
            self._lending.lend(peer, first)
            return listeners
        return []

    def _port_of(self, endpoint: str) -> int:
        """The port of an endpoint of ours, 0 for all others."""
        with suppress(RemoteProtocolError):
            host, port = host_and_port(endpoint)
            return port if host == self._announced else 0
        return 0

    def _has_room(self) -> bool:
        return self._n_callers() < self._callers_max

    def _n_callers(self) -> int:
        return sum(len(lease.callers) for lease in self._leases.values())


class _Awaited:
    """A caller for whom the peer has been asked to come."""

    def __init__(self) -> None:
        self.is_taken = False  # a stream is good once
        self.stream: trio.SocketStream | None = None
        self.has_come = trio.Event()
        self.is_over = trio.Event()


class _Lease:
    """The three ports of one peer, from when it is lent them until it is gone."""

    def __init__(
        self,
        peer: str,
        listeners: list[trio.SocketListener],
        counts: _Counts,
        has_room: Callable[[], bool],
        answer_s: float,
    ) -> None:
        self.peer = peer
        self.id = secrets.token_bytes(LEASE_BYTES)
        self.secret = secrets.token_bytes(SECRET_BYTES)
        self.callers = Callers()
        self._listeners = listeners
        self._counts = counts
        self._has_room = has_room
        self._answer_s = answer_s
        self._scope = trio.CancelScope()
        self._is_controlled = False  # as a stream, the control connection is made once
        self._control: trio.SocketStream | None = None
        self._has_control, self._is_over = trio.Event(), trio.Event()
        self._awaited: dict[int, _Awaited] = {}
        self._scopes: dict[int, trio.CancelScope] = {}  # of the callers
        self._order, self._orders = trio.open_memory_channel[bytes](STRANGERS_MAX)

    async def run(self) -> None:
        """Listen as long as the peer keeps its control connection."""
        try:
            with self._scope:
                with trio.move_on_after(CONTROL_WAIT_S):
                    await self._has_control.wait()
                if self._control is not None:
                    await self._relay(self._control)
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the ports at once."""
        self._scope.cancel()
        self._is_over.set()
        for listener in self._listeners:
            listener.socket.close()

    def attends(self, number: int) -> Attend:
        """See `Relay.attends`."""
        if number == CONTROL and not self._is_controlled:
            self._is_controlled = True
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

    async def _relay(self, control: trio.SocketStream) -> None:
        """Let callers in until the control connection is cut off, or silent for too long."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._speak, control)
            for index, listener in enumerate(self._listeners):
                nursery.start_soon(self._accept, index, listener, nursery)
            with suppress(trio.BrokenResourceError, trio.TooSlowError):
                while True:
                    with trio.fail_after(SILENT_S):
                        if not await control.receive_some(BEATS_AT_ONCE):
                            break
            nursery.cancel_scope.cancel()

    async def _speak(self, control: trio.SocketStream) -> None:
        """Send what the peer is asked for, and signs of life; that it is cut off, who hears it finds out."""
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
        with suppress(trio.WouldBlock):  # a peer that does not listen is not asked
            self._order.send_nowait(order_of(number, index))
            with trio.move_on_after(self._answer_s):
                await awaited.has_come.wait()
        if awaited.stream is None:
            self._counts.calls_unanswered += 1
            return
        del self._awaited[number]

        def note(to_peer: int, to_caller: int) -> None:
            self._counts.bytes_carried += to_peer + to_caller
            self.callers.note_told(number, to_caller)

        if await splice(stream, awaited.stream, note):
            self._counts.calls_idle += 1


def _descriptors() -> int:
    """How many this process may have."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return limit if limit != resource.RLIM_INFINITY else CALLERS_MAX * DESCRIPTORS_PART
