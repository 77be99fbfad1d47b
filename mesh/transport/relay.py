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

import logging
import resource
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from typing import Final, NamedTuple

import trio

from mesh.actors.actor import Statistics
from mesh.errors import ConfigError, RemoteProtocolError
from mesh.port_leases import PORTS_EACH, PortLeases
from mesh.transport.lease import ANSWER_S, Attend, Lease, RelayCounts
from mesh.transport.relay_frames import head_in, is_proven
from mesh.transport.tcp_endpoint import endpoint_of, host_and_port, listen_on

IDLE_LEASES_MAX: Final = 4  # of a peer, that wait for its control connection; the oldest goes
CALLERS_MAX: Final = 4_096  # of all relayed peers; each takes two descriptors
DESCRIPTORS_PART: Final = 8  # of few only one in so many is for callers, and another for their peers

logger = logging.getLogger(__name__)


class RelayStatistics(Statistics, frozen=True):
    """Statistics of a relay: gauges first, then counters since the start."""

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
    """The ports that a peer is lent, as it is told of them: endpoints, lease and secret."""

    places: tuple[str, str, str]  # endpoints for its record: inbox, multicast, door
    lease: bytes
    secret: bytes


class Relay:
    """The relay of one member: ports that it lends to others. `serve` must run."""

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
        self._port_leases = PortLeases(ports)
        self._ports: dict[str, _Ports] = {}  # by peer
        self._leases: dict[bytes, Lease] = {}
        self._counts = RelayCounts()
        self._callers_max = min(CALLERS_MAX, _descriptors() // DESCRIPTORS_PART)
        self._nursery: trio.Nursery | None = None

    async def serve(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Relay until cancelled."""
        async with trio.open_nursery() as self._nursery:
            task_status.started()
            await trio.sleep_forever()

    def lend(self, peer: str, before: str, claimed: Iterable[str]) -> Lent | None:
        """Lend ports to a peer, those that it has if it has any; None when there are none left.

        What it has lasts until it takes over what it was lent now: the question may be a recorded one.

        Args:
          before: the endpoint of its inbox that it had last, "" for none.
          claimed: those of other members.
        """
        assert self._nursery is not None, "a door opens after its relay"
        ports = self._ports.get(peer) or self._opened(peer, before, claimed)
        if ports is None:
            self._counts.leases_refused += 1
            return None
        idle = [each for each in ports.leases if not each.is_controlled]
        for lease in idle[: 1 - IDLE_LEASES_MAX]:
            lease.end()
        lease = Lease(peer, self._counts, self._has_room, self._answer_s)
        ports.leases.append(lease)
        self._leases[lease.id] = lease
        self._counts.leases += 1
        self._nursery.start_soon(self._keep, lease, ports)
        numbers = range(ports.first, ports.first + PORTS_EACH)
        inbox, multicast, door = (endpoint_of((self._announced, number)) for number in numbers)
        return Lent((inbox, multicast, door), lease.id, lease.secret)

    def evict(self, peer: str) -> None:
        """Relay a peer no longer; one that is not relayed is no error."""
        ports = self._ports.pop(peer, None)
        if ports is not None:
            ports.end()
            self._port_leases.end(peer)
            logger.info("ports taken back peer=%s first=%d", peer, ports.first)

    def attends(self, head: bytes) -> Attend:
        """Return the function that attends to a connection to the door, by the bytes that it begins with.

        Raises:
          RemoteProtocolError: for nothing here.
        """
        lease_id, number, proof = head_in(head)
        lease = self._leases.get(lease_id)
        if lease is None or not is_proven(lease.secret, lease_id, number, proof):
            raise RemoteProtocolError("of no peer that is relayed here")
        return lease.attends(number)

    def observe(self) -> RelayStatistics:
        relayed = sum(ports.kept is not None for ports in self._ports.values())
        return RelayStatistics(relayed=relayed, callers=self._n_callers(), **asdict(self._counts))

    async def _keep(self, lease: Lease, ports: _Ports) -> None:
        """See to a lease; with the last one of a peer its ports are free."""
        try:
            await lease.run(ports.listeners, ports.turn, lambda: ports.begin(lease))
        finally:
            ports.leases.remove(lease)
            del self._leases[lease.id]
            if ports.kept is lease:
                ports.kept = None
            if not ports.leases and self._ports.get(lease.peer) is ports:
                self.evict(lease.peer)

    def _opened(self, peer: str, before: str, claimed: Iterable[str]) -> _Ports | None:
        """Listen on the best three ports that are free on this machine, too."""
        places = {self._port_of(each) for each in claimed}
        for first in self._port_leases.offers(peer, self._port_of(before), places):
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
            self._port_leases.lend(peer, first)
            self._ports[peer] = ports = _Ports(first, listeners)
            logger.info("ports lent peer=%s first=%d", peer, first)
            return ports
        return None

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


class _Ports:
    """The ports and the leases that one peer has of a relay."""

    def __init__(self, first: int, listeners: list[trio.SocketListener]) -> None:
        self.first = first
        self.listeners = listeners
        self.turn = trio.Lock()  # of the lease that lets callers in
        self.leases: list[Lease] = []  # the oldest first; those without a control connection among them
        self.kept: Lease | None = None  # the one whose control connection came last

    def begin(self, lease: Lease) -> None:
        """Have this lease let callers in, in the place of the one before."""
        if self.kept is not None:
            self.kept.end()
        self.kept = lease

    def end(self) -> None:
        for lease in self.leases:
            lease.end()
        for listener in self.listeners:
            listener.socket.close()


def _descriptors() -> int:
    """How many this process may have."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return limit if limit != resource.RLIM_INFINITY else CALLERS_MAX * DESCRIPTORS_PART
