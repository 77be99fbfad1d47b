"""Pages through proxies: a small one of each kind stands on loopback, and names exist only behind it."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import trio
import trustme

from mesh.errors import ConfigError
from peers.crawler.addresses.addresses import AddressPolicy
from peers.crawler.fetching.connection import FetchLimits
from peers.crawler.fetching.fetcher import Fetcher, tls_context
from peers.crawler.fetching.proxy import Proxy
from peers.crawler.fetching.resolver import FixedResolver
from peers.crawler.model.web_request import FailureReason, FetchFailed, FetchPage, PageFetched
from tests.peers.crawler.web_host import WebHost, close_fetchers, closed_later, page, saying

HELLO = page(b"hello")


@pytest.fixture(autouse=True)
async def _no_connection_stays() -> AsyncIterator[None]:
    yield
    close_fetchers()


class FakeProxy:
    """Reaches one host, whatever its name; keeps what it was asked for."""

    def __init__(self, port: int) -> None:
        self.asked: list[str] = []
        self.port = 0
        self._host_port = port

    async def start(self, nursery: trio.Nursery) -> None:
        listeners = await nursery.start(partial(trio.serve_tcp, self.serve, 0, host="127.0.0.1"))
        self.port = listeners[0].socket.getsockname()[1]

    async def serve(self, client: trio.SocketStream) -> None:
        raise NotImplementedError

    async def tunnel(self, client: trio.SocketStream, first: bytes = b"") -> None:
        host = await trio.open_tcp_stream("127.0.0.1", self._host_port)
        await host.send_all(first)
        async with host, trio.open_nursery() as ways:
            ways.start_soon(_carry, client, host, ways.cancel_scope)
            ways.start_soon(_carry, host, client, ways.cancel_scope)


async def _carry(source: trio.SocketStream, to: trio.SocketStream, scope: trio.CancelScope) -> None:
    try:
        async for piece in source:
            await to.send_all(piece)
    except trio.BrokenResourceError:
        pass
    scope.cancel()


class Socks5(FakeProxy):
    """RFC 1928, without authentication."""

    reply = 0

    async def serve(self, client: trio.SocketStream) -> None:
        greeting = await client.receive_some()
        assert greeting[0] == 5
        await client.send_all(b"\x05\x00")
        order = await client.receive_some()
        assert order[:4] == b"\x05\x01\x00\x03", "the name is left to the proxy"
        name = order[5 : 5 + order[4]].decode()
        self.asked.append(f"{name}:{int.from_bytes(order[-2:], 'big')}")
        await client.send_all(bytes((5, self.reply, 0, 1, 0, 0, 0, 0, 0, 0)))
        if not self.reply:
            await self.tunnel(client)


class HttpProxy(FakeProxy):
    """Takes CONNECT, and whole URLs."""

    wants_password = False

    async def serve(self, client: trio.SocketStream) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += await client.receive_some()
        self.asked.append(head.decode())
        if self.wants_password and b"Proxy-Authorization: Basic bWU6aXQncyBtZQ==" not in head:
            await client.send_all(b"HTTP/1.1 407 Who?\r\nContent-Length: 0\r\n\r\n")
        elif head.startswith(b"CONNECT"):
            await client.send_all(b"HTTP/1.1 200 OK\r\n\r\n")
            await self.tunnel(client)
        else:
            await self.tunnel(client, head)


def fetcher_by(url: str, tls: ssl.SSLContext | None = None) -> Fetcher:
    limits = FetchLimits(connect_s=2.0, total_s=5.0)
    return closed_later(Fetcher(FixedResolver({}), limits=limits, tls=tls, proxy=Proxy(url)))


async def test_a_page_comes_by_socks_and_the_proxy_looks_its_name_up(nursery: trio.Nursery) -> None:
    host = WebHost(saying(HELLO))
    await host.start(nursery)
    proxy = Socks5(host.port)
    await proxy.start(nursery)
    fetcher = fetcher_by(f"socks5://127.0.0.1:{proxy.port}")
    for _ in range(2):
        result = await fetcher.fetch(FetchPage("http://a.test/p"))
        assert isinstance(result, PageFetched), result
        assert (result.body, result.ip) == (b"hello", "")
    assert proxy.asked == ["a.test:80"], "the second went over the same connection"
    assert host.requests[0].startswith(b"GET /p HTTP/1.1\r\nHost: a.test\r\n")


async def test_an_http_proxy_gets_whole_urls_or_connects_for_tls(
    nursery: trio.Nursery, tmp_path: Path
) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("a.test").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    plain, secure = WebHost(saying(HELLO)), WebHost(saying(HELLO))
    await plain.start(nursery)
    await secure.start(nursery, context)
    for host, url, asked in (
        (plain, "http://a.test/p", "GET http://a.test/p HTTP/1.1\r\nHost: a.test\r\n"),
        (secure, "https://a.test/p", "CONNECT a.test:443 HTTP/1.1\r\n"),
    ):
        proxy = HttpProxy(host.port)
        proxy.wants_password = True
        await proxy.start(nursery)
        fetcher = fetcher_by(
            f"http://me:it%27s%20me@127.0.0.1:{proxy.port}", tls_context(tmp_path / "ca.pem")
        )
        result = await fetcher.fetch(FetchPage(url))
        assert isinstance(result, PageFetched), result
        assert proxy.asked[0].startswith(asked)
    assert b"GET /p HTTP/1.1" in secure.requests[0]
    assert b"Proxy" not in secure.requests[0]


@pytest.mark.parametrize(
    ("reply", "reason"), [(4, FailureReason.UNREACHABLE), (5, FailureReason.UNREACHABLE)]
)
async def test_a_host_that_the_proxy_cannot_reach_is_to_blame(
    nursery: trio.Nursery, reply: int, reason: FailureReason
) -> None:
    proxy = Socks5(0)
    proxy.reply = reply
    await proxy.start(nursery)
    result = await fetcher_by(f"socks5://127.0.0.1:{proxy.port}").fetch(FetchPage("http://a.test/"))
    assert isinstance(result, FetchFailed)
    assert result.reason is reason


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_not_there_or_wants_a_password_is_no_fault_of_the_host(
    nursery: trio.Nursery, scheme: str
) -> None:
    proxy = HttpProxy(0)
    proxy.wants_password = True
    await proxy.start(nursery)
    for port in (proxy.port, 1):
        result = await fetcher_by(f"http://127.0.0.1:{port}").fetch(FetchPage(f"{scheme}://a.test/"))
        assert isinstance(result, FetchFailed)
        assert result.reason is FailureReason.LOCAL, result


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "10.0.0.1", "localhost", "a.localhost"])
async def test_what_says_itself_that_it_is_private_is_not_asked_of_a_proxy(
    nursery: trio.Nursery, host: str
) -> None:
    proxy = Socks5(0)
    await proxy.start(nursery)
    result = await fetcher_by(f"socks5://127.0.0.1:{proxy.port}").fetch(FetchPage(f"http://{host}/"))
    assert isinstance(result, FetchFailed)
    assert result.reason is FailureReason.PRIVATE_ADDRESS
    assert proxy.asked == []


async def test_a_private_host_behind_a_proxy_may_be_allowed_by_name(nursery: trio.Nursery) -> None:
    host = WebHost(saying(HELLO))
    await host.start(nursery)
    proxy = Socks5(host.port)
    await proxy.start(nursery)
    allowed = AddressPolicy(allowed_names=frozenset(("localhost",)))
    way = Proxy(f"socks5://127.0.0.1:{proxy.port}")
    fetcher = closed_later(Fetcher(FixedResolver({}), addresses=allowed, proxy=way))
    assert isinstance(await fetcher.fetch(FetchPage("http://localhost/")), PageFetched)


@pytest.mark.parametrize("url", ["ftp://a:1", "socks5://a", "http://:80", "socks5://a:port", "a:1080"])
async def test_what_names_no_proxy_is_told_by_name(url: str) -> None:
    with pytest.raises(ConfigError, match=r"web\.proxy .* write it as"):
        Proxy(url)
