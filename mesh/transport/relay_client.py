"""The peer's side of a relay: it keeps the ports that it was lent, and dials out for each caller. [io]

For the relay's side, and what both promise, see `relay`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from math import inf
from typing import Final

import trio

from mesh.actors.actor import Statistics
from mesh.errors import RemoteProtocolError
from mesh.transport.relay import Lent
from mesh.transport.relay_frames import BEAT, BEAT_S, CONTROL, ORDER_BYTES, SILENT_S, head_of, order_in
from mesh.transport.splice import splice
from mesh.transport.tcp_endpoint import host_and_port

CONNECT_S: Final = 5.0  # to the relay, and to our own socket; longer no caller waits
STREAMS_MAX: Final = 4_096  # at a time; a relay that asks for more is not obeyed


class RelayClientStatistics(Statistics, frozen=True):
    """Statistics of a relayed peer: gauges first, then counters since the start."""

    is_relayed: bool
    streams: int
    streams_opened: int
    streams_refused: int  # beyond the limit
    streams_failed: int  # the relay, or our own socket, could not be connected to
    bytes_carried: int  # in both directions


class RelayClient:
    """The sockets of a peer that are reached over a relay."""

    def __init__(self, own: Sequence[str], *, streams_max: int = STREAMS_MAX) -> None:
        """Args: own: the endpoints that inbox, multicast and door are bound to."""
        self._own = tuple(map(_near, own))
        self._streams_max = streams_max
        self._is_relayed = False
        self._n_streams = self._n_opened = self._n_refused = self._n_failed = self._n_bytes = 0

    async def keep(self, door: str, lent: Lent, opened: Callable[[], None]) -> str:
        """Have the ports until the relay is gone; return why it is.

        Args:
          door: endpoint of the relay's.
          opened: called when others can connect to the ports.
        """
        try:
            with trio.fail_after(CONNECT_S) as scope:
                async with await trio.open_tcp_stream(*host_and_port(door)) as control:
                    await control.send_all(head_of(lent.lease, CONTROL, lent.secret))
                    await _read_order(control)
                    scope.deadline = inf
                    self._is_relayed = True
                    opened()
                    return await self._obey(control, lent)
        except trio.TooSlowError:
            return "no answer"
        except (OSError, RemoteProtocolError, trio.BrokenResourceError) as error:
            return str(error) or "cut off"
        finally:
            self._is_relayed = False

    def observe(self) -> RelayClientStatistics:
        return RelayClientStatistics(
            is_relayed=self._is_relayed,
            streams=self._n_streams,
            streams_opened=self._n_opened,
            streams_refused=self._n_refused,
            streams_failed=self._n_failed,
            bytes_carried=self._n_bytes,
        )

    async def _obey(self, control: trio.SocketStream, lent: Lent) -> str:
        """Dial out whenever the relay says so."""
        relay = control.socket.getpeername()[:2]  # the door may have a name, which is not asked for each time
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_beat, control)
            while True:
                try:
                    with trio.fail_after(SILENT_S):
                        number, socket = order_in(await _read_order(control))
                except trio.TooSlowError:
                    why = f"silent for {SILENT_S:g} s"
                    break
                except (RemoteProtocolError, trio.BrokenResourceError) as error:
                    why = str(error) or "cut off"
                    break
                if number != CONTROL and socket < len(self._own):
                    if self._n_streams >= self._streams_max:
                        self._n_refused += 1
                        continue
                    self._n_streams += 1
                    nursery.start_soon(self._dial, relay, head_of(lent.lease, number, lent.secret), socket)
            nursery.cancel_scope.cancel()
        return why

    async def _dial(self, relay: tuple[str, int], head: bytes, socket: int) -> None:
        """Bring a caller to our own socket."""
        self._n_opened += 1
        try:
            with trio.fail_after(CONNECT_S) as scope:
                async with (
                    await trio.open_tcp_stream(*self._own[socket]) as served,
                    await trio.open_tcp_stream(*relay) as caller,
                ):
                    await caller.send_all(head)
                    scope.deadline = inf
                    await splice(caller, served, self._note)
        except (OSError, trio.BrokenResourceError, trio.TooSlowError):
            self._n_failed += 1
        finally:
            self._n_streams -= 1

    def _note(self, to_served: int, to_caller: int) -> None:
        self._n_bytes += to_served + to_caller


def _near(endpoint: str) -> tuple[str, int]:
    """Return the host and port at which this machine reaches a socket bound to an endpoint of its own."""
    host, port = host_and_port(endpoint)
    address = ip_address(host)
    if address.is_unspecified:
        host = "127.0.0.1" if address.version == 4 else "::1"
    return host, port


async def _beat(control: trio.SocketStream) -> None:
    """Send heartbeats to the relay; that the relay is gone is noticed by the reader of the connection."""
    with suppress(trio.BrokenResourceError):
        while True:
            await control.send_all(BEAT)
            await trio.sleep(BEAT_S)


async def _read_order(control: trio.SocketStream) -> bytes:
    order = b""
    while len(order) < ORDER_BYTES:
        piece = await control.receive_some(ORDER_BYTES - len(order))
        if not piece:
            raise RemoteProtocolError("it has hung up")
        order += piece
    return order
