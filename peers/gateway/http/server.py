"""The server under the gateway: connections taken, bounded and closed. [io]

`HttpLimits.connections_max` connections are open at a time. One more takes the place of one that waits for
its client, be it for a request, for the rest of a request or for an answer to be read: of the client with
most connections, so that who has few never loses to who has many, the one that has waited the longest. If we
are to answer all of them it is told to come back. The same holds among the connections of one client, which
may only have so many.

Own, on h11, because it measured better than what there is for trio: Hypercorn 0.18 took 386 us of CPU for
an answer to /healthz, of which 18 are the application's; this 160. httptools in the place of h11 took 81, but
would have the rules of keep-alive, of bodies and their ends to be written here.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Final

import msgspec
import trio

from mesh.actors.actor import Statistics
from peers.gateway.http.connection import HttpConnection, Respond
from peers.gateway.http.memory_budget import MemoryBudget
from peers.gateway.http.quotas import client_of

COME_BACK_S: Final = 5  # what who found no room is told to wait


class HttpLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of the resources that all clients of a server take together."""

    connections_max: int = 512  # half of the descriptors that most systems let a process have
    held_bytes_max: int = 128 << 20  # bodies and large answers of all clients
    closing_s_max: float = 1.0  # for requests under way when the server stops


class HttpServerStatistics(Statistics, frozen=True):
    """Connections: now, and since the start."""

    connections: int = 0
    accepted: int = 0
    turned_out: int = 0  # while they waited for their clients, to make room
    refused: int = 0  # none of them could make room
    refused_to_clients: int = 0  # of one client that had too many
    malformed: int = 0  # what came was no HTTP, or over a limit on heads
    slow: int = 0  # a request or the reading of its answer took too long
    without_memory: int = 0  # requests refused because all clients together held too much


class HttpServer:
    """Serves one listener; `serve` must run."""

    def __init__(
        self,
        listener: socket.socket,
        respond: Respond,
        limits: HttpLimits | None = None,
        client_limit: Callable[[str], int] = lambda client: 0,
    ) -> None:
        """Take over a socket that listens; `serve` closes it.

        Args:
          client_limit: how many connections a client (`quotas.client_of`) may have; 0 for any number.
        """
        self._listener = listener
        self._respond = respond
        self._limits = limits = limits or HttpLimits()
        self._budget = MemoryBudget(limits.held_bytes_max)
        self._count = 0
        self._client_limit = client_limit
        self._of_clients: dict[str, set[HttpConnection]] = {}
        self._accepted = self._turned_out = self._refused = self._malformed = self._slow = 0
        self._refused_to_clients = 0

    async def serve(self, stopping: trio.Event) -> None:
        """Serve until `stopping`; then take no more, and let requests under way end for a moment."""
        async with trio.open_nursery() as clients:
            async with trio.open_nursery() as accepting:
                accepting.start_soon(self._accept, clients)
                await stopping.wait()
                accepting.cancel_scope.cancel()
            for own in self._of_clients.values():
                for connection in own:
                    connection.close()
            clients.cancel_scope.deadline = trio.current_time() + self._limits.closing_s_max

    def observe(self) -> HttpServerStatistics:
        return HttpServerStatistics(
            connections=self._count,
            accepted=self._accepted,
            turned_out=self._turned_out,
            refused=self._refused,
            refused_to_clients=self._refused_to_clients,
            malformed=self._malformed,
            slow=self._slow,
            without_memory=self._budget.refused,
        )

    async def _accept(self, clients: trio.Nursery) -> None:
        # It goes on, with a pause, when descriptors run out, and closes the listener.
        self._listener.setblocking(False)
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(self._listener))
        await trio.serve_listeners(self._take, [listener], handler_nursery=clients)

    async def _take(self, stream: trio.SocketStream) -> None:
        self._accepted += 1
        try:
            client, server = stream.socket.getpeername()[:2], stream.socket.getsockname()[:2]
        except OSError:  # the client has gone
            await trio.aclose_forcefully(stream)
            return
        connection = HttpConnection(stream, client, server, self._respond, self._budget)
        owner = client_of(client[0])
        if not self._has_room_for(owner):
            self._refused_to_clients += 1
            await connection.decline(HTTPStatus.TOO_MANY_REQUESTS, COME_BACK_S)
        elif self._count < self._limits.connections_max or self._make_room():
            await self._serve(connection, owner)
        else:
            self._refused += 1
            await connection.decline(HTTPStatus.SERVICE_UNAVAILABLE, COME_BACK_S)

    def _has_room_for(self, owner: str) -> bool:
        """Has this client fewer connections than it may have, or one that makes room?"""
        limit = self._client_limit(owner)
        return not limit or len(self._of_clients.get(owner, ())) < limit or self._turn_out([owner])

    async def _serve(self, connection: HttpConnection, owner: str) -> None:
        self._of_clients.setdefault(owner, set()).add(connection)
        self._count += 1
        try:
            await connection.serve()
        finally:
            self._forget(connection, owner)
            self._malformed += connection.is_malformed
            self._slow += connection.is_slow

    def _make_room(self) -> bool:
        """Turn a connection out of a client that has most of them, as far as these can be."""
        counts = {owner: len(own) for owner, own in self._of_clients.items()}
        return any(
            self._turn_out([owner for owner, count in counts.items() if count == most])
            for most in sorted(set(counts.values()), reverse=True)
        )

    def _turn_out(self, owners: Sequence[str]) -> bool:
        """Close the one of theirs that has waited for its client the longest; tell whether there was one."""
        waiting = [
            (connection.waits_since, number, connection)
            for number, owner in enumerate(owners)
            for connection in self._of_clients[owner]
            if connection.is_waiting
        ]
        if not waiting:
            return False
        _, number, longest = min(waiting, key=lambda each: each[0])
        longest.turn_out()
        self._forget(longest, owners[number])
        self._turned_out += 1
        return True

    def _forget(self, connection: HttpConnection, owner: str) -> None:
        """Count a connection no longer; one that was turned out is forgotten already."""
        own = self._of_clients.get(owner, set())
        if connection in own:
            own.remove(connection)
            self._count -= 1
            if not own:
                del self._of_clients[owner]
