"""A web host on loopback that says exactly what a test wants, byte by byte."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from functools import partial

import trio

from peers.crawler.addresses.address_queues import AddressQueues
from peers.crawler.addresses.addresses import ALLOW_ALL, AddressPolicy
from peers.crawler.fetching.connection import FetchLimits
from peers.crawler.fetching.fetcher import Fetcher
from peers.crawler.fetching.resolver import FixedEndpoint, FixedResolver
from peers.crawler.model.web_request import FetchPage, FetchResult

Behaviour = Callable[[trio.abc.Stream, bytes], Awaitable[None]]

QUICK = FetchLimits(connect_s=2.0, total_s=5.0)

_fetchers: list[Fetcher] = []  # of the test that runs, with their idle connections


class WebHost:
    """Answers each request by one behaviour; counts what comes."""

    def __init__(
        self,
        behaviour: Behaviour,
        transport: Callable[[trio.SocketStream], trio.abc.HalfCloseableStream] = lambda raw: raw,
    ) -> None:
        """Make one; `transport` is put between the socket and TLS."""
        self.behaviour = behaviour
        self.transport = transport
        self.requests: list[bytes] = []
        self.connection_count = 0  # ever
        self.open_count = 0
        self.port = 0
        self.tls: ssl.SSLContext | None = None

    async def start(self, nursery: trio.Nursery, tls: ssl.SSLContext | None = None) -> None:
        """Listen on a free port of 127.0.0.1 until the nursery is cancelled."""
        self.tls = tls
        listeners = await nursery.start(partial(trio.serve_tcp, self._serve, 0, host="127.0.0.1"))
        self.port = listeners[0].socket.getsockname()[1]

    async def _serve(self, raw: trio.SocketStream) -> None:
        self.connection_count += 1
        self.open_count += 1
        stream: trio.abc.Stream = raw
        if self.tls is not None:
            stream = trio.SSLStream(self.transport(raw), self.tls, server_side=True, https_compatible=True)
        try:
            while head := await self._head(stream):
                self.requests.append(head)
                await self.behaviour(stream, head)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the fetcher hung up, which is its right
        finally:
            self.open_count -= 1
            await trio.aclose_forcefully(stream)

    async def _head(self, stream: trio.abc.Stream) -> bytes:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            data = await stream.receive_some()
            if not data:
                return b""
            head += bytes(data)
        return head


def saying(answer: bytes, *, close: bool = False) -> Behaviour:
    """A behaviour: always these bytes, then maybe close."""

    async def behave(stream: trio.abc.Stream, head: bytes) -> None:
        await stream.send_all(answer)
        if close:
            await stream.aclose()

    return behave


def repeating(start: bytes, piece: bytes, pause_s: float = 0.0) -> Behaviour:
    """A behaviour: a beginning, then the same piece for ever."""

    async def behave(stream: trio.abc.Stream, head: bytes) -> None:
        await stream.send_all(start)
        while True:
            await stream.send_all(piece)
            await trio.sleep(pause_s)

    return behave


def page(body: bytes, *headers: str, status: str = "200 OK", content_type: str = "text/html") -> bytes:
    """A complete answer with Content-Length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def fetcher_for(
    *hosts: WebHost,
    limits: FetchLimits = QUICK,
    addresses: AddressPolicy = ALLOW_ALL,
    tls: ssl.SSLContext | None = None,
    turns: AddressQueues | None = None,
) -> Fetcher:
    """A fetcher that finds the hosts under the names h0.test, h1.test ..."""
    table = {
        f"h{index}.test": FixedEndpoint("127.0.0.1", host.port, host.port) for index, host in enumerate(hosts)
    }
    return closed_later(
        Fetcher(FixedResolver(table), limits=limits, addresses=addresses, tls=tls, turns=turns)
    )


def closed_later(fetcher: Fetcher) -> Fetcher:
    """Have `close_fetchers` close a fetcher."""
    _fetchers.append(fetcher)
    return fetcher


def close_fetchers() -> None:
    """Close all that were made in a test."""
    while _fetchers:
        _fetchers.pop().close()


async def fetch_from(
    nursery: trio.Nursery, behaviour: Behaviour, limits: FetchLimits = QUICK, path: str = "/p"
) -> FetchResult:
    """Start a host with this behaviour and fetch one page of it."""
    host = WebHost(behaviour)
    await host.start(nursery)
    fetcher = fetcher_for(host, limits=limits)
    result = await fetcher.fetch(FetchPage(f"http://h0.test{path}"))
    fetcher.close()
    return result
