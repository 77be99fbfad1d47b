"""One client of the gateway, over streams in memory and with a clock that jumps."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock, lockstep_stream_pair, memory_stream_pair

from peers.gateway.http.asgi import ReadBody, Request, Response
from peers.gateway.http.connection import (
    HEAD_BYTES_MAX,
    HEAD_S_MAX,
    LINGER_BYTES_MAX,
    LINGER_S_MAX,
    PIECE_BYTES,
    REQUEST_S_MAX,
    UNREAD_S_MAX,
    WRITE_S_MAX,
    HttpConnection,
)
from peers.gateway.http.memory_budget import MemoryBudget

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HELLO = b"hello"


class Client:
    """The other end, and what the server has been asked."""

    def __init__(self, stream: trio.abc.HalfCloseableStream, connection: HttpConnection) -> None:
        self.stream = stream
        self.connection = connection
        self.is_over = trio.Event()

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def trickle(self) -> None:
        """Send a byte a second for ever."""
        while True:
            await self.send(b"G")
            await trio.sleep(1)

    async def read(self, end: bytes) -> bytes:
        """Read until what came ends so."""
        data = b""
        while not data.endswith(end):
            part = await self.stream.receive_some()
            assert part, data
            data += part
        return data

    async def read_to_end(self) -> bytes:
        return b"".join([part async for part in self.stream])


async def hello(request: Request, read_body: ReadBody) -> Response:
    return Response(200, [(b"content-type", b"text/plain")], HELLO)


async def echo(request: Request, read_body: ReadBody) -> Response:
    body = b""
    while part := await read_body():
        body += part
    return Response(200, [], body)


def constantly(body: bytes) -> Callable[[Request, ReadBody], Awaitable[Response]]:
    async def respond(request: Request, read_body: ReadBody) -> Response:
        return Response(200, [], body)

    return respond


@asynccontextmanager
async def client_of(
    respond: Callable[[Request, ReadBody], Awaitable[Response]] = hello,
    budget_bytes: int = 1 << 20,
    is_lockstep: bool = False,
) -> AsyncIterator[Client]:
    """A client; `is_lockstep`: nothing is buffered between it and the server."""
    ours, theirs = lockstep_stream_pair() if is_lockstep else memory_stream_pair()
    budget = MemoryBudget(budget_bytes)
    connection = HttpConnection(theirs, ("192.0.2.1", 5), ("192.0.2.2", 80), respond, budget)
    client = Client(ours, connection)

    async def serve() -> None:
        await connection.serve()
        client.is_over.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        yield client
        nursery.cancel_scope.cancel()
    assert budget.take(budget_bytes), "all was given back"


# --- What HTTP asks ------------------------------------------------------------------------------


async def test_answer_has_length_and_date_and_keeps_the_connection() -> None:
    async with client_of() as client:
        for _ in range(3):
            await client.send(GET)
            reply = await client.read(HELLO)
            assert reply.startswith(b"HTTP/1.1 200")
            assert b"content-length: 5\r\n" in reply.lower()
            assert b"\r\ndate: " in reply.lower()
            assert b"connection: close" not in reply.lower()
    assert not client.connection.is_malformed


async def test_request_is_handed_over_as_it_came() -> None:
    asked: list[Request] = []

    async def remember(request: Request, read_body: ReadBody) -> Response:
        asked.append(request)
        return Response(200, [], HELLO)

    async with client_of(remember) as client:
        await client.send(b"PUT /a?b=c HTTP/1.1\r\nHost: x\r\nX-One: 1\r\nContent-Length: 0\r\n\r\n")
        await client.read(HELLO)
    headers = [(b"host", b"x"), (b"x-one", b"1"), (b"content-length", b"0")]
    assert asked == [Request("PUT", b"/a?b=c", headers, ("192.0.2.1", 5), ("192.0.2.2", 80))]


async def test_requests_sent_at_once_are_answered_in_order() -> None:
    async def tell_path(request: Request, read_body: ReadBody) -> Response:
        return Response(200, [], request.target)

    async with client_of(tell_path) as client:
        await client.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % n for n in range(100)))
        reply = await client.read(b"/99")
    bodies = [part.partition(b"\r\n\r\n")[2] for part in reply.split(b"HTTP/1.1 200")[1:]]
    assert bodies == [b"/%d" % n for n in range(100)]


async def test_connection_is_closed_when_the_client_asks_for_it() -> None:
    async with client_of() as client:
        await client.send(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        reply = await client.read_to_end()
    assert b"connection: close" in reply.lower()
    assert reply.endswith(HELLO)


async def test_http_1_0_is_answered_and_closed() -> None:
    async with client_of() as client:
        await client.send(b"GET / HTTP/1.0\r\n\r\n")
        assert (await client.read_to_end()).endswith(HELLO)


async def test_head_has_the_length_and_no_body() -> None:
    async with client_of() as client:
        await client.send(GET.replace(b"GET", b"HEAD"))
        reply = await client.read(b"\r\n\r\n")
        assert b"content-length: 5\r\n" in reply.lower()
        await client.send(GET)
        assert (await client.read(HELLO)).startswith(b"HTTP/1.1 200")


async def test_no_content_has_neither_length_nor_body() -> None:
    async def nothing(request: Request, read_body: ReadBody) -> Response:
        return Response(204, [], b"")

    async with client_of(nothing) as client:
        await client.send(GET)
        reply = await client.read(b"\r\n\r\n")
    assert b"content-length" not in reply.lower()


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 11\r\n\r\nhello world",
        b"Transfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n5;x=y\r\nworld\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: 1\r\n\r\n",
    ],
)
async def test_body_is_read_whole_however_it_is_framed(body: bytes) -> None:
    async with client_of(echo) as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\n" + body)
        assert (await client.read(b"hello world")).startswith(b"HTTP/1.1 200")


async def test_request_with_a_length_is_followed_by_another() -> None:
    async with client_of(echo) as client:
        for body in (b"hello", b"abc"):
            await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            assert (await client.read(body)).startswith(b"HTTP/1.1 200")


async def test_client_that_waits_to_send_its_body_is_told_to_go_on() -> None:
    async with client_of(echo) as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        assert (await client.read(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        await client.send(HELLO)
        assert (await client.read(HELLO)).startswith(b"HTTP/1.1 200")


async def test_client_that_waits_to_send_an_unwanted_body_gets_the_answer_at_once() -> None:
    async with client_of() as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        reply = await client.read(HELLO)
    assert reply.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in reply.lower()


async def test_unwanted_body_that_has_come_does_not_cost_the_connection() -> None:
    async with client_of() as client:
        for _ in range(2):
            await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12345")
            assert b"connection: close" not in (await client.read(HELLO)).lower()


async def test_large_answer_comes_whole() -> None:
    body = b"".join(b"%07d\n" % n for n in range(PIECE_BYTES // 3))
    async with client_of(constantly(body)) as client:
        await client.send(GET)
        assert (await client.read(body[-8:])).partition(b"\r\n\r\n")[2] == body


# --- What clients do wrong, or on purpose --------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\0\0\0\0\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),  # TLS
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),  # without Host
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", b"400"),
        (b"GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", b"501"),
        (b"GET /" + b"a" * HEAD_BYTES_MAX, b"431"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * HEAD_BYTES_MAX, b"431"),
    ],
)
async def test_what_is_no_http_is_answered_so_and_the_connection_closed(sent: bytes, status: bytes) -> None:
    async with client_of(echo) as client:
        await client.send(sent)
        reply = await client.read(b"\n")
        await client.stream.aclose()
        await client.is_over.wait()
    assert reply.startswith(b"HTTP/1.1 " + status), reply
    assert b"connection: close" in reply.lower()
    assert client.connection.is_malformed


@pytest.mark.parametrize("piece_bytes", [1, 7, 1_000])
async def test_raw_bytes_of_request_lines_are_percent_encoded_however_they_come(piece_bytes: int) -> None:
    targets: list[bytes] = []

    async def remember(request: Request, read_body: ReadBody) -> Response:
        targets.append(request.target)
        return await echo(request, read_body)

    body = "身体".encode()
    sent = "GET /api/search?q=中文&k=10 HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    sent += b"POST /\xe9 HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n" + body
    sent += "GET /%E4?é HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    async with client_of(remember) as client:
        for start in range(0, len(sent), piece_bytes):
            await client.send(sent[start : start + piece_bytes])
        reply = await client.read_to_end()
    assert reply.count(b"HTTP/1.1 200") == 3
    assert body in reply  # is left as it is
    assert targets == [b"/api/search?q=%E4%B8%AD%E6%96%87&k=10", b"/%E9", b"/%E4?%C3%A9"]


async def test_a_refusal_says_why() -> None:
    async with client_of() as client:
        await client.send(b"GET / HTTP/1.1\r\n\r\n")
        assert b"400 bad request: Missing mandatory Host: header" in await client.read_to_end()


async def test_what_follows_a_malformed_request_is_not_answered(autojump_clock: MockClock) -> None:
    async with client_of() as client:
        await client.send(b"GET / HTTP/1.1\r\nno colon\r\n\r\n" + GET)
        reply = await client.read_to_end()
    assert reply.count(b"HTTP/1.1") == 1
    assert reply.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    "sent", [b"", GET[:-2], GET[:9], b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1"]
)
async def test_client_that_leaves_in_the_middle_ends_its_connection(sent: bytes) -> None:
    async with client_of(echo) as client:
        await client.send(sent)
        await client.stream.aclose()
        await client.is_over.wait()
    assert not client.connection.is_slow


async def test_idle_client_is_closed_after_its_time(autojump_clock: MockClock) -> None:
    async with client_of() as client:
        began = trio.current_time()
        assert await client.read_to_end() == b""
        assert trio.current_time() - began == HEAD_S_MAX
        await client.is_over.wait()
    assert not client.connection.is_slow


async def test_head_that_comes_byte_by_byte_gets_no_more_time(autojump_clock: MockClock) -> None:
    async with client_of() as client:
        began = trio.current_time()
        with pytest.raises(trio.BrokenResourceError):
            await client.trickle()
        assert trio.current_time() - began <= HEAD_S_MAX + 1


async def test_body_that_comes_byte_by_byte_gets_no_more_time(autojump_clock: MockClock) -> None:
    async with client_of(echo) as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n")
        began = trio.current_time()
        with pytest.raises(trio.BrokenResourceError):
            await client.trickle()
        assert trio.current_time() - began <= REQUEST_S_MAX + 1
        await client.is_over.wait()
    assert client.connection.is_slow


async def test_answer_that_takes_too_long_ends_the_connection(autojump_clock: MockClock) -> None:
    async def never(request: Request, read_body: ReadBody) -> Response:
        await trio.sleep_forever()
        raise AssertionError

    async with client_of(never) as client:
        await client.send(GET)
        began = trio.current_time()
        assert await client.read_to_end() == b""
        assert trio.current_time() - began == REQUEST_S_MAX


async def test_client_that_does_not_read_is_closed(autojump_clock: MockClock) -> None:
    async with client_of(constantly(bytes(PIECE_BYTES * 2)), is_lockstep=True) as client:
        await client.send(GET)
        began = trio.current_time()
        await client.is_over.wait()
        assert trio.current_time() - began == UNREAD_S_MAX
    assert client.connection.is_slow


async def test_client_that_reads_slowly_is_closed_in_the_end(autojump_clock: MockClock) -> None:
    async with client_of(constantly(bytes(PIECE_BYTES * 10)), is_lockstep=True) as client:
        await client.send(GET)
        began = trio.current_time()
        while not client.is_over.is_set():
            await trio.sleep(UNREAD_S_MAX - 1)
            await client.stream.receive_some(PIECE_BYTES + 1_000)
        assert trio.current_time() - began < WRITE_S_MAX + UNREAD_S_MAX
    assert client.connection.is_slow


async def test_refusal_can_be_read_by_who_still_sends(autojump_clock: MockClock) -> None:
    async with client_of() as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 90000000\r\n\r\n")
        await client.read(HELLO)
        began = trio.current_time()
        await client.send(bytes(1_000))  # is not refused yet
        assert await client.read_to_end() == b""
        await client.is_over.wait()
        assert trio.current_time() - began == LINGER_S_MAX


async def test_who_still_sends_is_not_heard_for_ever() -> None:
    async with client_of(is_lockstep=True) as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 90000000\r\n\r\n")
        await client.read(HELLO)
        with pytest.raises(trio.BrokenResourceError):
            await client.send(bytes(LINGER_BYTES_MAX + PIECE_BYTES))


async def test_bodies_of_all_clients_together_are_bounded() -> None:
    async with client_of(echo, budget_bytes=1_000) as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n" + bytes(2_000))
        assert (await client.read(b"\n")).startswith(b"HTTP/1.1 503")


async def test_large_answers_of_all_clients_together_are_bounded() -> None:
    async with client_of(constantly(bytes(PIECE_BYTES + 1)), budget_bytes=1_000) as client:
        await client.send(GET)
        assert (await client.read(b"unavailable\n")).startswith(b"HTTP/1.1 503")


# --- The end -------------------------------------------------------------------------------------


async def test_idle_connection_is_closed_at_once() -> None:
    async with client_of() as client:
        await client.send(GET)
        await client.read(HELLO)
        await trio.testing.wait_all_tasks_blocked()
        client.connection.close()
        assert await client.read_to_end() == b""


async def test_request_under_way_is_answered_before_the_connection_is_closed() -> None:
    may_answer = trio.Event()

    async def wait(request: Request, read_body: ReadBody) -> Response:
        await may_answer.wait()
        return Response(200, [], HELLO)

    async with client_of(wait) as client:
        await client.send(GET + GET)
        await trio.testing.wait_all_tasks_blocked()
        client.connection.close()
        may_answer.set()
        reply = await client.read_to_end()
    assert reply.endswith(HELLO)
    assert reply.count(HELLO) == 1
    assert b"connection: close" in reply.lower()


@pytest.mark.parametrize("body", [b"zz\r\n", b"5\r\nhello!!\r\n"])
async def test_head_with_a_body_that_is_none_is_refused_without_a_body(body: bytes) -> None:
    """An answer with one was a bug of ours, which ended the peer."""
    async with client_of(echo) as client:
        await client.send(b"HEAD / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
        reply = await client.read(b"\r\n\r\n")
        assert reply.startswith(b"HTTP/1.1 400 ")
    assert client.connection.is_malformed


async def test_an_answer_that_is_none_costs_its_connection_and_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def mistaken(request: Request, read_body: ReadBody) -> Response:
        return Response(200, [(b"content-length", b"10")], b"hello")

    async with client_of(mistaken) as client:
        await client.send(GET)
        assert (await client.read_to_end()).endswith(b"hello")
    assert [record.message for record in caplog.records] == ["answer broken off"]


# --- What others may read otherwise --------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "why"),
    [
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", b"beside"),
        (b"GET / HTTP/1.1\nHost: x\r\n\r\n", b"LF without CR"),
        (b"GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", b"LF without CR"),
        (b"GET / HTTP/1.1\r\nHost: x\n\n", b"LF without CR"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c: d\r\n\r\n", b"goes on in the next"),
        (b"GET / HTTP/1.1\r\n\tHost: y\r\nHost: x\r\n\r\n", b"goes on in the next"),
        (b"GET http://evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n", b"not that of Host"),
    ],
)
@pytest.mark.parametrize("step", [1, 3, 7, 1_000])
@pytest.mark.parametrize("before", [b"", GET, GET.replace(b"GET", b"HEAD")], ids=["first", "GET", "HEAD"])
async def test_a_head_that_can_be_read_in_two_ways_is_refused(
    head: bytes, why: bytes, step: int, before: bytes
) -> None:
    async with client_of() as client:
        sent = before + head
        for start in range(0, len(sent), step):
            await client.send(sent[start : start + step])
        replies = await client.read_to_end()
    assert replies.count(b"HTTP/1.1 200") == bool(before)
    assert b"HTTP/1.1 400" in replies
    assert why in replies
    assert client.connection.is_malformed


@pytest.mark.parametrize("end", [b"0\r\n\r\n", b"0\r\nA: b\n\r\n", b"0\n\r\n"])
async def test_no_request_behind_one_in_chunks_is_answered(end: bytes) -> None:
    async with client_of(echo) as client:
        chunked = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
        await client.send(chunked + end + GET)
        replies = await client.read_to_end()
    assert replies.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in replies.lower()


@pytest.mark.parametrize("step", [1, 2, 5, 1_000])
async def test_a_body_may_have_lines_as_it_likes(step: int) -> None:
    async with client_of(echo) as client:
        last = GET.replace(b"Host: x", b"Host: x\r\nConnection: close")
        sent = b"POST http://X/ HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n\na\r\n\nb" + last
        for start in range(0, len(sent), step):
            await client.send(sent[start : start + step])
        replies = await client.read_to_end()
    assert replies.count(b"HTTP/1.1 200") == 2
    assert b"\r\n\r\n\na\r\n\nbHTTP/1.1 200" in replies
    assert not client.connection.is_malformed


async def test_answer_is_sent_while_it_is_made_and_ends_when_its_client_goes() -> None:
    is_closed = trio.Event()

    async def parts() -> AsyncGenerator[bytes]:
        try:
            yield b"one"
            await trio.sleep_forever()
        finally:
            is_closed.set()

    async def respond(request: Request, read_body: ReadBody) -> Response:
        return Response(200, [(b"content-type", b"text/plain")], b"", parts())

    async with client_of(respond) as client:
        await client.send(GET)
        head = await client.read(b"3\r\none\r\n")
        assert b"transfer-encoding: chunked" in head.lower()
        assert b"content-length" not in head.lower()
        client.connection.turn_out()
        await is_closed.wait()
