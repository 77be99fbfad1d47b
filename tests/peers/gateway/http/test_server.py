"""Many clients over real sockets: bounded, whatever they do."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
import trio

from peers.gateway.http.asgi import ReadBody, Request, Response
from peers.gateway.http.server import HttpLimits, HttpServer
from peers.gateway.http_port import listen
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.live

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HELLO = b"hello"


class Running:
    """A server on a free port of loopback whose answers can be held back."""

    def __init__(self, limits: HttpLimits | None, client_limit: int, large: bytes) -> None:
        listener = listen("127.0.0.1", 0)
        self.port: int = listener.getsockname()[1]
        self.server = HttpServer(listener, self._respond, limits, lambda client: client_limit)
        self.stopping = trio.Event()
        self.asked = self.bodies = self.larges = 0
        self._large = large
        self.may_answer = trio.Event()
        self._clients: list[trio.SocketStream] = []

    async def _respond(self, request: Request, read_body: ReadBody) -> Response:
        if request.target == b"/wait":
            self.asked += 1
            await self.may_answer.wait()
        if request.target == b"/large":
            self.larges += 1
            return Response(200, [], self._large)
        if request.method == "POST":
            self.bodies += 1
            while await read_body():
                pass
        return Response(200, [], HELLO)

    async def client(self, address: str = "127.0.0.1") -> trio.SocketStream:
        """Somebody who has connected; closed with the server, whatever the test leaves open."""
        stream = await trio.open_tcp_stream("127.0.0.1", self.port, local_address=address)
        self._clients.append(stream)
        return stream

    async def close_clients(self) -> None:
        for stream in self._clients:
            await trio.aclose_forcefully(stream)

    async def until(self, *, connections: int = -1, bodies: int = 0, larges: int = 0) -> None:
        """Wait until the server knows of so many connections, bodies that come, answers to be read."""
        while connections not in (-1, self.server.observe().connections):
            await trio.lowlevel.checkpoint()
        while self.bodies < bodies or self.larges < larges:
            await trio.lowlevel.checkpoint()


@asynccontextmanager
async def running(
    limits: HttpLimits | None = None, client_limit: int = 0, large: bytes = b""
) -> AsyncIterator[Running]:
    it = Running(limits, client_limit, large)
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(it.server.serve, it.stopping)
            try:
                yield it
            finally:
                await it.close_clients()
            it.stopping.set()


async def answer(stream: trio.SocketStream, request: bytes = GET) -> bytes:
    """What comes up to the body that all have; less when the connection ends before."""
    reply = b""
    with suppress(trio.BrokenResourceError):
        await stream.send_all(request)
        while not reply.endswith(HELLO):
            part = await stream.receive_some()
            if not part:
                break
            reply += part
    return reply


async def test_newcomer_takes_the_place_of_who_has_been_idle_the_longest() -> None:
    async with running(HttpLimits(connections_max=3)) as it:
        clients = [await it.client() for _ in range(3)]
        for client in (clients[1], clients[2], clients[0]):
            assert await answer(client)
        newcomer = await it.client()
        assert await answer(newcomer)
        assert await clients[1].receive_some() == b""
        for client in (clients[0], clients[2], newcomer):
            assert await answer(client)
            await client.aclose()
        assert it.server.observe().turned_out == 1


async def test_newcomer_is_sent_away_when_all_have_requests_under_way() -> None:
    async with running(HttpLimits(connections_max=2)) as it:
        async with trio.open_nursery() as nursery:
            for client in [await it.client() for _ in range(2)]:
                nursery.start_soon(answer, client, GET.replace(b"/ ", b"/wait ", 1))
            while it.asked < 2:
                await trio.lowlevel.checkpoint()
            newcomer = await it.client()
            assert (await newcomer.receive_some()).startswith(b"HTTP/1.1 503")
            it.may_answer.set()
        assert it.server.observe().refused == 1


async def test_a_thousand_idlers_keep_nobody_out() -> None:
    limits = HttpLimits(connections_max=64)  # so that the test itself has descriptors enough
    async with running(limits) as it:
        idlers: list[trio.SocketStream] = []
        for number in range(1_000):
            idler = await it.client()
            if number % 2:
                with suppress(trio.BrokenResourceError):
                    await idler.send_all(b"GET / HT")  # half a request
            idlers.append(idler)
            if len(idlers) > 200:
                await idlers.pop(0).aclose()
            assert it.server.observe().connections <= 64
        honest = await it.client()
        assert (await answer(honest)).startswith(b"HTTP/1.1 200")
        assert it.server.observe().turned_out >= 1_000 - 64 - 200
        for idler in idlers:
            await idler.aclose()


async def test_malformed_requests_are_counted() -> None:
    async with running() as it:
        client = await it.client()
        assert (await answer(client, b"\0\r\n\r\n")).startswith(b"HTTP/1.1 400")
        await client.aclose()
        await it.until(connections=0)
        assert it.server.observe().malformed == 1


async def test_client_that_has_gone_before_it_is_taken_disturbs_nobody() -> None:
    async with running() as it:
        for _ in range(50):
            client = await it.client()
            client.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            await client.aclose()  # with a reset
        assert (await answer(await it.client())).startswith(b"HTTP/1.1 200")


async def test_stopping_server_answers_what_is_under_way_and_closes_the_rest() -> None:
    async with running() as it:
        idler, asker = await it.client(), await it.client()
        assert await answer(idler)
        replies: list[bytes] = []

        async def ask() -> None:
            replies.append(await answer(asker, GET.replace(b"/ ", b"/wait ", 1)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            while not it.asked:
                await trio.lowlevel.checkpoint()
            it.stopping.set()
            assert await idler.receive_some() == b""
            with pytest.raises(OSError, match="all attempts to connect"):
                await it.client()
            it.may_answer.set()
        assert b"connection: close" in replies[0].lower()
        assert replies[0].endswith(HELLO)


async def test_stopping_server_does_not_wait_for_ever() -> None:
    async with running(HttpLimits(closing_s_max=0.05)) as it, trio.open_nursery() as nursery:
        nursery.start_soon(answer, await it.client(), GET.replace(b"/ ", b"/wait ", 1))
        while not it.asked:
            await trio.lowlevel.checkpoint()
        it.stopping.set()
    assert it.server.observe().connections == 0


async def test_half_sent_requests_of_one_client_leave_room_for_others() -> None:
    """As those who send the beginning of a body and no more: one of them filled the server."""
    async with running(HttpLimits(connections_max=64), client_limit=8) as it:
        for _ in range(8):
            await (await it.client()).send_all(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        while it.asked < 8:
            await trio.lowlevel.checkpoint()
        refused = await answer(await it.client())
        assert refused.startswith(b"HTTP/1.1 429 ")
        assert b"retry-after: " in refused.lower()
        assert (await answer(await it.client("127.0.0.2"))).endswith(HELLO)
        assert it.server.observe().refused_to_clients == 1
        it.may_answer.set()


async def test_an_idle_connection_of_a_client_makes_room_for_its_next_one() -> None:
    async with running(client_limit=2) as it:
        first = await it.client()
        await answer(first)
        for _ in range(3):
            assert (await answer(await it.client())).endswith(HELLO)
        assert it.server.observe().turned_out == 2
        assert it.server.observe().connections == 2


async def test_connections_of_a_client_are_forgotten_when_they_close() -> None:
    async with running(client_limit=2) as it:
        for _ in range(5):
            stream = await it.client()
            assert (await answer(stream)).endswith(HELLO)
            await stream.aclose()
            await it.until(connections=0)
        assert it.server.observe().turned_out == 0
        assert not it.server._of_clients


HALF_POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf of "


@pytest.mark.parametrize("hostile", [8, 30])
@pytest.mark.parametrize("sent", [HALF_POST, b"GET / HT", b""])
async def test_who_fills_all_connections_with_half_sent_requests_keeps_nobody_out(
    hostile: int, sent: bytes
) -> None:
    async with running(HttpLimits(connections_max=64), client_limit=8) as it:

        async def fill(address: str) -> None:
            streams: deque[trio.SocketStream] = deque()
            while True:
                streams.append(await it.client(address))
                with suppress(trio.BrokenResourceError):
                    await streams[-1].send_all(sent)
                if len(streams) > 16:  # of which the server has closed half
                    await trio.aclose_forcefully(streams.popleft())

        async with trio.open_nursery() as nursery:
            for number in range(hostile):
                nursery.start_soon(fill, f"127.0.1.{number + 1}")
            while it.server.observe().connections < 64:
                await trio.lowlevel.checkpoint()
            kept = await it.client()
            for _ in range(5):
                assert (await answer(kept)).startswith(b"HTTP/1.1 200")
                assert (await answer(await it.client("127.0.0.2"))).startswith(b"HTTP/1.1 200")
                assert it.server.observe().connections <= 64
            nursery.cancel_scope.cancel()
        assert it.server.observe().turned_out >= 5
        assert it.server.observe().slow == 0


async def test_who_reads_no_answers_keeps_nobody_out() -> None:
    large = bytes(8 << 20)  # more than the buffers of a connection take
    async with running(HttpLimits(connections_max=2), large=large) as it:
        for number in range(4):
            await (await it.client(f"127.0.1.{number + 1}")).send_all(GET.replace(b"/ ", b"/large ", 1))
            await it.until(larges=number + 1)
        assert (await answer(await it.client())).startswith(b"HTTP/1.1 200")
        assert it.server.observe().turned_out == 3


async def test_a_half_sent_request_of_a_client_makes_room_for_its_next_one() -> None:
    async with running(client_limit=2) as it:
        halves = [await it.client() for _ in range(2)]
        for half in halves:
            await half.send_all(HALF_POST)
            await it.until(bodies=halves.index(half) + 1)
        assert (await answer(await it.client())).endswith(HELLO)
        assert await halves[0].receive_some() == b""
        assert it.server.observe().refused_to_clients == 0


async def test_room_is_made_by_the_client_that_has_most() -> None:
    async with running(HttpLimits(connections_max=3)) as it:
        first = await it.client()
        assert await answer(first)
        many = [await it.client("127.0.0.2") for _ in range(2)]
        for one in many:
            assert await answer(one)
        assert await answer(await it.client("127.0.0.3"))
        assert await many[0].receive_some() == b""
        assert await answer(first)
