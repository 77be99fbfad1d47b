from __future__ import annotations

import gzip
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_network
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
import trio
import trustme

from peers.crawler.addresses.address_queues import AddressQueues
from peers.crawler.addresses.addresses import ALLOW_ALL, AddressPolicy
from peers.crawler.fetching.connection import FetchLimits
from peers.crawler.fetching.content_encoding import BODY_BYTES_MAX, Decoded
from peers.crawler.fetching.fetcher import Fetcher, tls_context
from peers.crawler.fetching.resolver import (
    LOOK_AGAIN_S,
    Endpoints,
    FixedEndpoint,
    FixedResolver,
    LookupFailed,
    StillOpen,
    SystemResolver,
)
from peers.crawler.fetching.tls_sessions import TlsSessions
from peers.crawler.model.address_rules import AddressRules, HostRule, PageRule
from peers.crawler.model.robots import ROBOTS_BYTES_MAX
from peers.crawler.model.web_request import (
    FailureReason,
    FetchFailed,
    FetchPage,
    FetchResult,
    PageFetched,
    header_of,
    location_of,
    response_head,
)
from peers.crawler.parsing.extraction import decoded
from tests.patience import PATIENCE_S
from tests.peers.crawler.web_host import (
    QUICK,
    Behaviour,
    WebHost,
    close_fetchers,
    closed_later,
    fetch_from,
    fetcher_for,
    page,
    repeating,
    saying,
)

HELLO = page(b"<title>hello</title>")
SHORT = FetchLimits(connect_s=0.3, total_s=0.3)


@pytest.fixture(autouse=True)
async def _no_connection_stays() -> AsyncIterator[None]:
    yield
    close_fetchers()


def reason_of(result: FetchResult) -> FailureReason:
    assert isinstance(result, FetchFailed), result
    return result.reason


def body_of(result: FetchResult) -> bytes:
    assert isinstance(result, PageFetched), result
    return result.body


# --- what works -----------------------------------------------------------------------------------------


async def test_validators_are_sent_and_not_modified_is_an_answer_whatever_length_it_names(
    nursery: trio.Nursery,
) -> None:
    heads: list[bytes] = []

    async def behave(stream: trio.abc.Stream, head: bytes) -> None:
        heads.append(head)
        await stream.send_all(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 999999999\r\n\r\n")

    host = WebHost(behave)
    await host.start(nursery)
    fetcher = fetcher_for(host)
    date = "Sun, 06 Nov 1994 08:49:37 GMT"
    for etag, modified in (('W/"7"', date), ("", "")):
        result = await fetcher.fetch(FetchPage("http://h0.test/", etag=etag, last_modified=modified))
        assert isinstance(result, PageFetched)
        assert (result.status, result.body) == (304, b"")
    assert b'If-None-Match: W/"7"\r\n' in heads[0]
    assert f"If-Modified-Since: {date}\r\n".encode() in heads[0]
    assert b"If-" not in heads[1]


async def test_a_page_comes_with_all_the_archive_needs(nursery: trio.Nursery) -> None:
    answer = page(b"<p>x", "X-Odd-Case: Yes", "Set-Cookie: a", "set-cookie: b")
    host = WebHost(saying(answer))
    await host.start(nursery)
    result = await fetcher_for(host).fetch(FetchPage("http://h0.test/a?b=c", user_agent="otherbot/2 (x)"))
    assert isinstance(result, PageFetched)
    assert (result.url, result.status, result.reason_phrase, result.http_version) == (
        "http://h0.test/a?b=c",
        200,
        "OK",
        "1.1",
    )
    assert result.body == b"<p>x"
    assert result.ip == "127.0.0.1"
    assert ("X-Odd-Case", "Yes") in result.headers
    assert [value for name, value in result.headers if name.lower() == "set-cookie"] == ["a", "b"]
    assert result.request_head == host.requests[0]
    assert result.request_head.startswith(
        b"GET /a?b=c HTTP/1.1\r\nHost: h0.test\r\nUser-Agent: otherbot/2 (x)\r\n"
    )
    assert result.bytes_received == len(answer)
    assert 0 < result.seconds < 5
    assert result.is_whole


async def test_a_connection_serves_one_request_after_another(nursery: trio.Nursery) -> None:
    host = WebHost(saying(HELLO))
    await host.start(nursery)
    fetcher = fetcher_for(host)
    for _ in range(3):
        assert body_of(await fetcher.fetch(FetchPage("http://h0.test/"))) == b"<title>hello</title>"
    assert host.connection_count == 1
    assert fetcher.idle_connections == 1
    fetcher.close()
    assert fetcher.idle_connections == 0


async def test_schemes_and_ports_of_a_name_share_one_connection(nursery: trio.Nursery) -> None:
    """A connection to one is closed before one to another is opened; none is used for the wrong one."""
    host, other = WebHost(saying(page(b"one"))), WebHost(saying(page(b"other")))
    for each in (host, other):
        await each.start(nursery)
    fetcher = fetcher_for(host)
    other_url = f"http://h0.test:{other.port}/"
    for url, body in (("http://h0.test/", b"one"), (other_url, b"other"), ("http://h0.test/", b"one")):
        for _ in range(2):
            assert body_of(await fetcher.fetch(FetchPage(url))) == body
            assert fetcher.idle_connections == 1
    await trio.testing.wait_all_tasks_blocked()
    assert (host.connection_count, other.connection_count) == (2, 1)
    assert (host.open_count, other.open_count) == (1, 0)


async def test_a_connection_closed_while_idle_is_replaced_unnoticed(nursery: trio.Nursery) -> None:
    host = WebHost(saying(HELLO, close=True))  # announces no close, and does it
    await host.start(nursery)
    fetcher = fetcher_for(host)
    for _ in range(3):
        assert body_of(await fetcher.fetch(FetchPage("http://h0.test/"))) == b"<title>hello</title>"
    assert host.connection_count == 3
    assert len(host.requests) == 3


async def test_a_new_connection_closed_without_an_answer_is_not_asked_twice(nursery: trio.Nursery) -> None:
    host = WebHost(saying(b"", close=True))
    await host.start(nursery)
    assert reason_of(await fetcher_for(host).fetch(FetchPage("http://h0.test/"))) is FailureReason.RESET
    assert host.connection_count == 1


async def test_connection_close_is_honoured(nursery: trio.Nursery) -> None:
    host = WebHost(saying(page(b"x", "Connection: close")))
    await host.start(nursery)
    fetcher = fetcher_for(host)
    assert body_of(await fetcher.fetch(FetchPage("http://h0.test/"))) == b"x"
    assert fetcher.idle_connections == 0


async def test_idle_connections_are_limited_in_number_and_time(nursery: trio.Nursery) -> None:
    hosts = [WebHost(saying(HELLO)) for _ in range(3)]
    for host in hosts:
        await host.start(nursery)
    fetcher = fetcher_for(*hosts, limits=FetchLimits(connections_idle_max=2, keep_alive_s=1000.0))
    for index in range(3):
        await fetcher.fetch(FetchPage(f"http://h{index}.test/"))
    assert fetcher.idle_connections == 2
    fetcher.close_idle(500.0)
    assert fetcher.idle_connections == 2
    fetcher.close_idle(0.0)
    assert fetcher.idle_connections == 0


async def test_an_http_1_0_body_ends_with_the_connection(nursery: trio.Nursery) -> None:
    answer = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>old"
    assert body_of(await fetch_from(nursery, saying(answer, close=True))) == b"<p>old"


async def test_bare_line_feeds_are_tolerated(nursery: trio.Nursery) -> None:
    answer = b"HTTP/1.1 200 OK\nContent-Length: 2\nContent-Type: text/html\n\nok"
    assert body_of(await fetch_from(nursery, saying(answer))) == b"ok"


async def test_a_chunked_body_is_put_together(nursery: trio.Nursery) -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
    assert body_of(await fetch_from(nursery, saying(answer))) == b"abcde"


async def test_chunks_may_end_their_lines_with_line_feeds_alone(nursery: trio.Nursery) -> None:
    host = WebHost(saying(HEAD + b"Transfer-Encoding: chunked\n\n3\nabc\n2;x=y\nd\n\n0\nA: b\n\n"))
    await host.start(nursery)
    fetcher = fetcher_for(host)
    for _ in range(2):
        assert body_of(await fetcher.fetch(FetchPage("http://h0.test/"))) == b"abcd\n"
    assert host.connection_count == 1


async def test_a_chunked_body_that_was_packed_for_the_way_is_put_together_and_told_as_packed(
    nursery: trio.Nursery,
) -> None:
    packed = gzip.compress(TEXT)
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(packed), packed)
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + chunks
    result = await fetch_from(nursery, saying(answer))
    assert isinstance(result, PageFetched)
    assert (result.body, result.codings, result.is_whole) == (packed, "gzip", True)


async def test_a_few_informational_answers_are_skipped(nursery: trio.Nursery) -> None:
    assert body_of(
        await fetch_from(nursery, saying(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 2 + HELLO))
    )


async def test_errors_of_the_server_are_answers(nursery: trio.Nursery) -> None:
    for status in (403, 404, 410, 429, 500, 503):
        result = await fetch_from(nursery, saying(page(b"no", "Retry-After: 3", status=f"{status} No")))
        assert isinstance(result, PageFetched)
        assert result.status == status
        assert header_of(result, "retry-after") == "3"


# --- redirects ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b?c#d", "http://h0.test/b?c"),
        ("//other.test", "http://other.test/"),
        ("HTTPS://Other.test:443/x", "https://other.test/x"),
        ("/中", "http://h0.test/%E4%B8%AD"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),  # judged when it is fetched
        ("file:///etc/passwd", None),
        ("gopher://x/", None),
        ("javascript:alert(1)", None),
        ("http://[", None),
    ],
)
async def test_a_redirect_is_not_followed_but_told(
    nursery: trio.Nursery, location: str, target: str | None
) -> None:
    head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location.encode() + b"\r\n\r\n"
    host = WebHost(saying(head))
    await host.start(nursery)
    result = await fetcher_for(host).fetch(FetchPage("http://h0.test/a/"))
    assert isinstance(result, PageFetched)
    assert location_of(result) == target
    assert len(host.requests) == 1


async def test_an_answer_that_is_no_redirect_leads_nowhere(nursery: trio.Nursery) -> None:
    result = await fetch_from(nursery, saying(page(b"x", "Location: /b")))
    assert isinstance(result, PageFetched)
    assert location_of(result) is None


# --- A4: time and size ----------------------------------------------------------------------------------

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


@pytest.mark.parametrize(
    "behaviour",
    [
        repeating(HEAD + b"Content-Length: 1000000\r\n\r\n", b"x", 0.01),
        repeating(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 0.01),
        repeating(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.01),
        repeating(b"HTTP/1.1 200 ", b"H", 0.05),
        repeating(HEAD + b"Content-Length: 5\r\n\r\n", b"", 0.05),
        repeating(b"", b"", 0.05),
    ],
    ids=["slow body", "slow chunks", "slow headers", "slow status line", "stalled body", "silence"],
)
async def test_a_server_that_dawdles_gets_no_more_than_its_time(
    nursery: trio.Nursery, behaviour: Behaviour
) -> None:
    started = trio.current_time()
    assert reason_of(await fetch_from(nursery, behaviour, SHORT)) is FailureReason.TIMEOUT
    assert trio.current_time() - started < PATIENCE_S


@pytest.mark.parametrize(
    "behaviour",
    [
        repeating(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 1000),
        repeating(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 10_000),
        repeating(b"HTTP/1.1 200 ", b"H" * 10_000),
        saying(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 5_001 + b"\r\n"),
        saying(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 1_000_000 + b"\r\n\r\n"),
    ],
    ids=["endless headers", "endless line", "endless status line", "5,001 headers", "1 MB line"],
)
async def test_endless_headers_are_cut_off(nursery: trio.Nursery, behaviour: Behaviour) -> None:
    assert reason_of(await fetch_from(nursery, behaviour)) is FailureReason.HEADER_TOO_LARGE


SMALL = FetchLimits(connect_s=2.0, total_s=5.0, body_bytes_max=100_000)


@pytest.mark.parametrize(
    "behaviour",
    [
        repeating(HEAD + b"\r\n", b"x" * 10_000),
        repeating(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"3E8\r\n" + b"x" * 1000 + b"\r\n"),
        saying(HEAD + b"Content-Length: 30000000\r\n\r\n"),
    ],
    ids=["endless", "endless chunks", "announced"],
)
async def test_a_body_too_large_is_cut_off(nursery: trio.Nursery, behaviour: Behaviour) -> None:
    assert reason_of(await fetch_from(nursery, behaviour, SMALL)) is FailureReason.BODY_TOO_LARGE


async def test_a_body_of_exactly_the_limit_is_taken(nursery: trio.Nursery) -> None:
    assert len(body_of(await fetch_from(nursery, saying(page(b"x" * 100_000)), SMALL))) == 100_000


async def test_the_beginning_of_a_long_body_is_taken_where_it_is_wanted(nursery: trio.Nursery) -> None:
    host = WebHost(saying(page(b"x" * 150_000)))
    await host.start(nursery)
    result = await fetcher_for(host, limits=SMALL).fetch(FetchPage("http://h0.test/", may_be_cut=True))
    assert isinstance(result, PageFetched)
    assert (len(result.body), result.is_whole) == (100_000, False)


async def test_a_body_in_pieces_of_a_byte_is_cut_off(nursery: trio.Nursery) -> None:
    behaviour = repeating(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000)
    limits = FetchLimits(body_pieces_max=2_000)
    assert reason_of(await fetch_from(nursery, behaviour, limits)) is FailureReason.PROTOCOL


async def test_informational_answers_for_ever_are_cut_off(nursery: trio.Nursery) -> None:
    behaviour = repeating(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
    assert reason_of(await fetch_from(nursery, behaviour)) is FailureReason.PROTOCOL


async def test_a_slow_host_does_not_slow_the_others(nursery: trio.Nursery) -> None:
    slow, quick = WebHost(repeating(b"", b"", 0.05)), WebHost(saying(HELLO))
    await slow.start(nursery)
    await quick.start(nursery)
    fetcher = fetcher_for(slow, quick, limits=FetchLimits(total_s=10 * PATIENCE_S))
    nursery.start_soon(fetcher.fetch, FetchPage("http://h0.test/"))
    with trio.fail_after(PATIENCE_S):
        for _ in range(20):
            body_of(await fetcher.fetch(FetchPage("http://h1.test/")))


# --- A11: what is not HTTP ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>HTTP/0.9 had no headers</html>",
        b"SSH-2.0-OpenSSH_9.2p1\r\n",
        b"\x00\x01\x02\xff" * 100,
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1e3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
    ],
)
async def test_garbage_is_a_protocol_failure(nursery: trio.Nursery, answer: bytes) -> None:
    assert reason_of(await fetch_from(nursery, saying(answer, close=True))) is FailureReason.PROTOCOL


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        HEAD + b"Content-Length: 100\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
    ],
)
async def test_a_connection_closed_before_the_body_is_a_reset(nursery: trio.Nursery, answer: bytes) -> None:
    assert reason_of(await fetch_from(nursery, saying(answer, close=True))) is FailureReason.RESET


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (HEAD + b"Content-Length: 100\r\n\r\nonly this", b"only this"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", b"hel"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", b"hello"),
    ],
)
async def test_what_came_of_a_body_is_kept_and_told_to_be_cut(
    nursery: trio.Nursery, answer: bytes, body: bytes
) -> None:
    host = WebHost(saying(answer, close=True))
    await host.start(nursery)
    fetcher = fetcher_for(host)
    for _ in range(2):
        result = await fetcher.fetch(FetchPage("http://h0.test/"))
        assert isinstance(result, PageFetched)
        assert (result.body, result.is_whole) == (body, False)
    assert fetcher.idle_connections == 0, "what ends early serves no other request"


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (b"Content-Length: x", "Content-Length"),
        (b"Content-Length: 5\r\nContent-Length: 6", "Content-Length"),
        (b"Transfer-Encoding: unheard, chunked", "Transfer-Encoding"),
        (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding"),
    ],
)
async def test_a_head_that_is_refused_is_told_by_the_name_of_its_header(
    nursery: trio.Nursery, lines: bytes, name: str
) -> None:
    result = await fetch_from(nursery, saying(HEAD + lines + b"\r\n\r\nhello", close=True))
    assert isinstance(result, FetchFailed)
    assert name in result.detail


async def test_a_reset_in_the_body_is_a_reset(nursery: trio.Nursery) -> None:
    async def behave(stream: trio.abc.Stream, head: bytes) -> None:
        assert isinstance(stream, trio.SocketStream)
        await stream.send_all(HEAD + b"Content-Length: 100\r\n\r\nonly this")
        stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        await stream.aclose()

    assert reason_of(await fetch_from(nursery, behave)) is FailureReason.RESET


@pytest.mark.parametrize(
    "answer",
    [
        HELLO + b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled",
        HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nsmuggled",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\n\nsmuggled",
        page(b"right") + b"too long",
    ],
    ids=["second answer", "length and chunks", "chunks without CR", "wrong length"],
)
async def test_nothing_is_smuggled_into_the_next_answer(nursery: trio.Nursery, answer: bytes) -> None:
    host = WebHost(saying(answer))
    await host.start(nursery)
    fetcher = fetcher_for(host)
    for count in (1, 2):
        assert b"smuggled" not in body_of(await fetcher.fetch(FetchPage("http://h0.test/")))
        assert host.connection_count == count


RIGHT = page(b"right")
SMUGGLED = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled"


@pytest.mark.parametrize("pause_s", [0.0, 0.05])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_rfc9112_9_2_what_comes_on_an_idle_connection_is_no_answer(
    nursery: trio.Nursery, authority: trustme.CA, tmp_path: Path, scheme: str, pause_s: float
) -> None:
    async def behave(stream: trio.abc.Stream, head: bytes) -> None:
        await stream.send_all(RIGHT)
        await trio.sleep(pause_s)
        await stream.send_all(SMUGGLED)

    host = WebHost(behave)
    await host.start(nursery, server_context(authority, "h0.test") if scheme == "https" else None)
    fetcher = fetcher_for(host, tls=client_context(authority, tmp_path))
    for count in (1, 2):
        assert body_of(await fetcher.fetch(FetchPage(f"{scheme}://h0.test/{count}"))) == b"right"
        await trio.sleep(0.2)
    assert host.connection_count == 2
    fetcher.close()


class Collecting(trio.abc.HalfCloseableStream):
    """A transport that sends what it is given as a whole, when it is told to."""

    def __init__(self, raw: trio.SocketStream) -> None:
        self.raw, self.kept, self.collects = raw, b"", False

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        self.kept += bytes(data)
        if not self.collects:
            kept, self.kept = self.kept, b""
            await self.raw.send_all(kept)

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        return await self.raw.receive_some(max_bytes)

    async def wait_send_all_might_not_block(self) -> None:
        await self.raw.wait_send_all_might_not_block()

    async def send_eof(self) -> None:
        await self.raw.send_eof()

    async def aclose(self) -> None:
        await self.raw.aclose()


async def test_tls_records_that_came_with_the_answer_are_not_the_next_one(
    nursery: trio.Nursery, authority: trustme.CA, tmp_path: Path
) -> None:
    """They are in memory already, where no look at the socket finds them."""

    async def behave(stream: trio.abc.Stream, head: bytes) -> None:
        assert isinstance(stream, trio.SSLStream)
        transport = stream.transport_stream
        transport.collects = True
        await stream.send_all(RIGHT)
        transport.collects = False
        await stream.send_all(SMUGGLED)

    host = WebHost(behave, transport=Collecting)
    await host.start(nursery, server_context(authority, "h0.test"))
    fetcher = fetcher_for(host, tls=client_context(authority, tmp_path))
    for count in (1, 2):
        assert body_of(await fetcher.fetch(FetchPage(f"https://h0.test/{count}"))) == b"right"
        assert host.connection_count == count
    fetcher.close()


# --- What real servers send -----------------------------------------------------------------------------

FORBIDS = b"User-agent: *\nDisallow: /\n"
LONG_ROBOTS = FORBIDS + b"# filler\n" * (1 << 20)
ROBOTS_REQUEST = FetchPage("http://h0.test/robots.txt", (), ROBOTS_BYTES_MAX + 1)
SIZED = b"Content-Length: %d\r\n" % len(FORBIDS)
ODD_HOSTS = {
    "none": page(FORBIDS, "Content-Encoding: none"),
    "utf-8": page(FORBIDS, "Content-Encoding: UTF-8"),
    "false gzip": page(FORBIDS, "Content-Encoding: gzip"),
    "false br": page(FORBIDS, "Content-Encoding: br"),
    "space": b"HTTP/1.1 200 OK\r\nContent-Type : text/plain\r\n" + SIZED + b"\r\n" + FORBIDS,
    "space in length": b"HTTP/1.1 200 OK\r\n" + SIZED.replace(b":", b" :") + b"\r\n" + FORBIDS,
    "no colon": b"HTTP/1.1 200 OK\r\nServer nobody\r\n" + SIZED + b"\r\n" + FORBIDS,
    "identity": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n" + SIZED + b"\r\n" + FORBIDS,
    "empty lines": b"\r\n\r\n" + page(FORBIDS),
    "600 headers": page(FORBIDS, *(f"X-{number}: y" for number in range(600))),
    "9 MiB": page(LONG_ROBOTS),
    "gzip of 12 MiB": page(gzip.compress(FORBIDS + b"#\n" * (6 << 20)), "Content-Encoding: gzip"),
    "no length": b"HTTP/1.1 200 OK\r\n\r\n" + LONG_ROBOTS,
}


@pytest.mark.parametrize("name", ODD_HOSTS)
async def test_a_robots_txt_is_read_as_real_servers_send_it(nursery: trio.Nursery, name: str) -> None:
    host = WebHost(saying(ODD_HOSTS[name]))
    await host.start(nursery)
    result = await fetcher_for(host).fetch(ROBOTS_REQUEST)
    assert isinstance(result, PageFetched)
    assert result.body.startswith(FORBIDS)
    assert len(result.body) <= ROBOTS_BYTES_MAX + 1
    assert result.is_whole == (len(result.body) <= ROBOTS_BYTES_MAX)


async def test_a_connection_with_half_a_body_is_not_used_again(nursery: trio.Nursery) -> None:
    host = WebHost(saying(page(LONG_ROBOTS)))
    await host.start(nursery)
    fetcher = fetcher_for(host)
    for count in (1, 2):
        assert body_of(await fetcher.fetch(ROBOTS_REQUEST)).startswith(FORBIDS)
        assert (host.connection_count, fetcher.idle_connections) == (count, 0)


# --- A3: content coding; what is in one is decoded elsewhere, see `test_extraction` --------------------

TEXT = b"<p>" + b"some text, and more of it. " * 500


@pytest.mark.parametrize("coding", ["gzip", "gzip, br", "compress", ""])
async def test_a_body_stays_in_its_content_codings(nursery: trio.Nursery, coding: str) -> None:
    encoded = gzip.compress(TEXT)
    result = await fetch_from(nursery, saying(page(encoded, f"Content-Encoding: {coding}")))
    assert isinstance(result, PageFetched)
    assert result.body == encoded
    assert result.codings == coding
    assert result.is_whole


async def test_the_archived_head_is_true_of_the_decoded_body(nursery: trio.Nursery) -> None:
    answer = page(gzip.compress(TEXT), "content-encoding: gzip", "ETag: x")
    result = await fetch_from(nursery, saying(answer))
    assert isinstance(result, PageFetched)
    assert response_head(decoded(result)) == (
        b"HTTP/1.1 200 OK\r\n"
        b"Content-Type: text/html\r\n"
        b"X-Crawler-Content-Length: %d\r\n"
        b"X-Crawler-content-encoding: gzip\r\n"
        b"ETag: x\r\n"
        b"Content-Length: %d\r\n\r\n" % (len(gzip.compress(TEXT)), len(TEXT))
    )


async def test_a_beginning_that_is_not_in_its_coding_is_a_decoding_failure(nursery: trio.Nursery) -> None:
    host = WebHost(saying(page(b"\1\2\3binary", "Content-Encoding: gzip")))
    await host.start(nursery)
    assert reason_of(await fetcher_for(host).fetch(ROBOTS_REQUEST)) is FailureReason.DECODING


async def test_a_decoding_that_does_not_end_is_given_up_in_a_time_of_its_own(nursery: trio.Nursery) -> None:
    """The peer's processes may be stopped or have much other work; the server has done its part."""
    host = WebHost(saying(page(gzip.compress(b"User-agent: *"), "Content-Encoding: gzip")))
    await host.start(nursery)
    has_begun = trio.Event()

    async def decode(body: bytes, codings: str, n_bytes: int) -> Decoded:
        has_begun.set()
        return await trio.sleep_forever()

    resolver = FixedResolver({"h0.test": FixedEndpoint("127.0.0.1", host.port, host.port)})
    limits = FetchLimits(total_s=60.0, decoding_s=0.05)
    fetcher = Fetcher(resolver, limits=limits, addresses=ALLOW_ALL, decode_beginning=decode)
    with trio.fail_after(PATIENCE_S):
        assert reason_of(await closed_later(fetcher).fetch(ROBOTS_REQUEST)) is FailureReason.DECODING
    assert has_begun.is_set()


# --- A12: media types -----------------------------------------------------------------------------------


async def test_the_body_of_another_media_type_is_not_read(nursery: trio.Nursery) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-iso9660-image\r\n\r\n"
    assert reason_of(await fetch_from(nursery, repeating(head, b"x" * 10_000))) is FailureReason.NOT_HTML


@pytest.mark.parametrize(
    "content_type",
    [
        "TEXT/HTML; charset=gbk",
        "application/xhtml+xml",
        "text/plain",
        "",
        "*/*",
        "text/html charset=gbk",
        "null",
    ],
)
async def test_pages_are_wanted(nursery: trio.Nursery, content_type: str) -> None:
    assert body_of(await fetch_from(nursery, saying(page(b"x", content_type=content_type)))) == b"x"


async def test_what_speaks_http_in_small_letters_is_read(nursery: trio.Nursery) -> None:
    assert body_of(await fetch_from(nursery, saying(page(b"x").replace(b"HTTP", b"http", 1)))) == b"x"


async def test_a_cookie_goes_with_the_question_that_has_it(nursery: trio.Nursery) -> None:
    host = WebHost(saying(page(b"x")))
    await host.start(nursery)
    fetcher = fetcher_for(host)
    for cookie in ("", "s=1; t=2"):
        await fetcher.fetch(FetchPage("http://h0.test/", cookie=cookie))
    assert b"Cookie" not in host.requests[0]
    assert b"\r\nCookie: s=1; t=2\r\n" in host.requests[1]


async def test_what_has_no_type_is_read_on_if_it_begins_like_a_document(nursery: trio.Nursery) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n"
    result = await fetch_from(nursery, repeating(head, b"x" * 10_000))
    assert reason_of(result) is FailureReason.NOT_HTML
    body = b"%PDF-1.5" + bytes(BODY_BYTES_MAX)
    result = await fetch_from(nursery, saying(page(body, content_type="application/octet-stream")))
    assert isinstance(result, PageFetched)
    assert result.body == body


async def test_documents_may_be_longer_than_pages(nursery: trio.Nursery) -> None:
    limits = FetchLimits(body_bytes_max=1_000, document_bytes_max=2_000)
    for content_type, n_bytes, is_taken in (
        ("text/html", 1_001, False),
        ("application/pdf", 2_000, True),
        ("application/pdf", 2_001, False),
    ):
        answer = saying(page(bytes(n_bytes), content_type=content_type))
        result = await fetch_from(nursery, answer, limits=limits)
        assert isinstance(result, PageFetched) is is_taken, content_type


async def test_robots_txt_is_wanted_under_any_media_type(nursery: trio.Nursery) -> None:
    host = WebHost(saying(page(b"User-agent: *", content_type="application/octet-stream")))
    await host.start(nursery)
    request = FetchPage("http://h0.test/robots.txt", media_types=())
    assert body_of(await fetcher_for(host).fetch(request)) == b"User-agent: *"


# --- A1, A2: addresses ----------------------------------------------------------------------------------


class ScriptedResolver:
    """Gives one answer after another, as a name server in hostile hands would."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self._answers = list(answers)
        self.port = 0

    async def resolve(self, hostname: str, port: int) -> Endpoints:
        return Endpoints(self._answers.pop(0) if len(self._answers) > 1 else self._answers[0], self.port)


@pytest.mark.parametrize(
    "addresses",
    [
        ("127.0.0.1",),
        ("93.184.216.34", "127.0.0.1"),
        ("::ffff:127.0.0.1",),
        ("64:ff9b::7f00:1",),
        ("10.0.0.1",),
    ],
)
async def test_a_name_with_any_private_address_is_refused_unconnected(
    nursery: trio.Nursery, addresses: tuple[str, ...]
) -> None:
    trap = WebHost(saying(HELLO))
    await trap.start(nursery)
    resolver = ScriptedResolver(addresses)
    resolver.port = trap.port
    result = await Fetcher(resolver, limits=QUICK).fetch(FetchPage("http://evil.test/"))
    assert reason_of(result) is FailureReason.PRIVATE_ADDRESS
    assert trap.connection_count == 0


@pytest.mark.parametrize("spelling", ["127.0.0.1", "[::1]", "[::ffff:7f00:1]"])
async def test_an_address_as_a_name_is_judged_alike(nursery: trio.Nursery, spelling: str) -> None:
    trap = WebHost(saying(HELLO))
    await trap.start(nursery)
    fetcher = Fetcher(FixedResolver({}), limits=QUICK)
    result = await fetcher.fetch(FetchPage(f"http://{spelling}:{trap.port}/"))
    assert reason_of(result) is FailureReason.PRIVATE_ADDRESS
    assert trap.connection_count == 0


async def test_every_new_connection_is_judged_anew(nursery: trio.Nursery) -> None:
    host = WebHost(saying(HELLO, close=True))
    await host.start(nursery)
    resolver = ScriptedResolver(("127.0.0.1",), ("127.0.0.2",))
    resolver.port = host.port
    policy = AddressPolicy(allowed_networks=(ip_network("127.0.0.1/32"),))
    fetcher = closed_later(Fetcher(resolver, limits=QUICK, addresses=policy))
    body_of(await fetcher.fetch(FetchPage("http://rebinding.test/")))
    result = await fetcher.fetch(FetchPage("http://rebinding.test/"))
    assert reason_of(result) is FailureReason.PRIVATE_ADDRESS
    assert host.connection_count == 1


async def test_a_private_host_may_be_allowed_by_name(nursery: trio.Nursery) -> None:
    host = WebHost(saying(HELLO))
    await host.start(nursery)
    fetcher = fetcher_for(host, host, addresses=AddressPolicy(frozenset({"h0.test"})))
    body_of(await fetcher.fetch(FetchPage("http://h0.test/")))
    assert reason_of(await fetcher.fetch(FetchPage("http://h1.test/"))) is FailureReason.PRIVATE_ADDRESS


@pytest.mark.parametrize("port", [22, 25, 6667])
async def test_ports_of_other_protocols_are_refused(port: int) -> None:
    fetcher = Fetcher(FixedResolver({"h.test": FixedEndpoint("93.184.216.34")}))
    assert reason_of(await fetcher.fetch(FetchPage(f"http://h.test:{port}/"))) is FailureReason.URL


@pytest.mark.parametrize(
    "url", ["gopher://a/", "http:", "http://a.test", "http://a.test/a b", "http://a.test/\r\nX: y", "/x"]
)
async def test_what_is_not_canonical_is_refused(url: str) -> None:
    assert reason_of(await Fetcher(FixedResolver({})).fetch(FetchPage(url))) is FailureReason.URL


# --- names and connecting -------------------------------------------------------------------------------


async def test_an_unknown_name_is_a_dns_failure() -> None:
    assert (
        reason_of(await Fetcher(FixedResolver({})).fetch(FetchPage("http://no.test/"))) is FailureReason.DNS
    )


async def test_a_name_server_that_fails_is_told_apart() -> None:
    class Failing:
        async def resolve(self, hostname: str, port: int) -> Endpoints:
            raise LookupFailed("try again")

    result = await Fetcher(Failing()).fetch(FetchPage("http://a.test/"))
    assert reason_of(result) is FailureReason.DNS_TEMPORARY


async def test_a_host_comes_again_when_its_name_is_not_resolved_at_once() -> None:
    class Slow:
        async def resolve(self, hostname: str, port: int) -> Endpoints:
            raise StillOpen("no answer so far")

    result = await Fetcher(Slow()).fetch(FetchPage("http://a.test/"))
    assert isinstance(result, FetchFailed)
    assert (result.reason, result.pause_s) == (FailureReason.DNS_OPEN, LOOK_AGAIN_S)


async def test_a_closed_port_is_refused(nursery: trio.Nursery) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening
        host = WebHost(saying(HELLO))
        host.port = unused.getsockname()[1]
        result = await fetcher_for(host).fetch(FetchPage("http://h0.test/"))
    assert reason_of(result) is FailureReason.REFUSED


async def test_the_next_address_is_tried_when_one_refuses(nursery: trio.Nursery) -> None:
    host = WebHost(saying(HELLO))
    await host.start(nursery)
    resolver = ScriptedResolver(("127.0.0.2", "127.0.0.1"))  # listens on the second only
    resolver.port = host.port
    policy = AddressPolicy(allowed_networks=(ip_network("127.0.0.0/8"),))
    fetcher = closed_later(Fetcher(resolver, limits=QUICK, addresses=policy))
    result = await fetcher.fetch(FetchPage("http://a.test/"))
    assert isinstance(result, PageFetched)
    assert result.ip == "127.0.0.1"


@contextmanager
def never_accepting(address: str, port: int = 0) -> Iterator[int]:
    """A port that answers no connection, as behind a firewall that drops all."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with ExitStack() as stack:
        full = stack.enter_context(socket.socket(family))
        full.bind((address, port))
        full.listen(0)
        for _ in range(4):  # fill its backlog
            client = stack.enter_context(socket.socket(family))
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        yield full.getsockname()[1]


async def test_a_listener_that_never_accepts_times_out() -> None:
    with never_accepting("127.0.0.1") as port:
        host = WebHost(saying(HELLO))
        host.port = port
        result = await fetcher_for(host, limits=SHORT).fetch(FetchPage("http://h0.test/"))
    assert reason_of(result) is FailureReason.TIMEOUT


async def test_ipv4_is_tried_in_time_when_ipv6_leads_nowhere(nursery: trio.Nursery) -> None:
    host = WebHost(saying(HELLO))
    await host.start(nursery)
    with never_accepting("::1", host.port):
        resolver = ScriptedResolver(("::1", "127.0.0.1"))
        resolver.port = host.port
        limits = FetchLimits(connect_s=4.0, fallback_s=0.1, total_s=3.0)
        fetcher = closed_later(Fetcher(resolver, limits=limits, addresses=ALLOW_ALL))
        result = await fetcher.fetch(FetchPage("http://a.test/"))
    assert isinstance(result, PageFetched)
    assert result.ip == "127.0.0.1"


# --- Addresses ------------------------------------------------------------------------------------------


def everywhere() -> AddressQueues:
    return AddressQueues(lambda address: True)


async def test_an_address_is_asked_one_thing_at_a_time_whatever_names_it_has(nursery: trio.Nursery) -> None:
    """Of 300 names at one address 200 were asked at once."""
    open_now: list[int] = []

    async def behave(stream: trio.abc.Stream, head: bytes) -> None:
        open_now.append(host.open_count)
        await trio.sleep(0.05)
        await stream.send_all(HELLO)

    host = WebHost(behave)
    await host.start(nursery)
    fetcher = fetcher_for(*[host] * 12, turns=everywhere())
    results: list[FetchResult] = []

    async def fetch(number: int) -> None:
        results.append(await fetcher.fetch(FetchPage(f"http://h{number}.test/", delay_s=2.0)))

    async with trio.open_nursery() as fetches:
        for number in range(10):
            fetches.start_soon(fetch, number)
    assert sum(isinstance(result, PageFetched) for result in results) == 1
    busy = [result for result in results if isinstance(result, FetchFailed)]
    assert {result.reason for result in busy} == {FailureReason.ADDRESS_BUSY}
    pauses = [result.pause_s for result in busy]
    assert all(after - before >= 1.0 for before, after in pairwise([0.0, *pauses]))
    await trio.sleep(2.1)
    body_of(await fetcher.fetch(FetchPage(busy[0].url, delay_s=0.1)))
    assert open_now == [1, 1], "an idle connection of another host is closed before"


async def test_a_connection_closed_while_idle_does_not_cost_its_host_the_turn(nursery: trio.Nursery) -> None:
    host = WebHost(saying(HELLO, close=True))
    await host.start(nursery)
    fetcher = fetcher_for(host, turns=everywhere())
    for _ in range(2):
        body_of(await fetcher.fetch(FetchPage("http://h0.test/", delay_s=0.1)))
        await trio.sleep(0.15)


async def test_an_address_that_refuses_is_free_again_after_the_delay() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening
        host = WebHost(saying(HELLO))
        host.port = unused.getsockname()[1]
        fetcher = fetcher_for(host, turns=everywhere())
        question = FetchPage("http://h0.test/", delay_s=2.0)
        assert reason_of(await fetcher.fetch(question)) is FailureReason.REFUSED
        assert reason_of(await fetcher.fetch(question)) is FailureReason.ADDRESS_BUSY
        await trio.sleep(2.1)
        assert reason_of(await fetcher.fetch(question)) is FailureReason.REFUSED


async def test_a_host_waits_for_its_turn_at_one_address_though_another_one_refuses(
    nursery: trio.Nursery,
) -> None:
    """It was blamed for the address that refuses, and lost its place at the one that answers."""
    host = WebHost(saying(HELLO))
    await host.start(nursery)
    resolver = ScriptedResolver(("127.0.0.1",), ("127.0.0.2", "127.0.0.1"))  # listens on the second only
    resolver.port = host.port
    turns = everywhere()
    fetcher = Fetcher(resolver, limits=QUICK, addresses=ALLOW_ALL, turns=turns)
    body_of(await closed_later(fetcher).fetch(FetchPage("http://a.test/", delay_s=60.0)))
    result = await fetcher.fetch(FetchPage("http://b.test/", delay_s=60.0))
    assert isinstance(result, FetchFailed)
    assert result.reason is FailureReason.ADDRESS_BUSY
    pause_s = turns.book(("127.0.0.1",), "c.test", 60.0, trio.current_time())
    assert pause_s >= 90.0, "its place is at the address that is busy"


async def test_addresses_that_are_not_public_are_not_held_back(nursery: trio.Nursery) -> None:
    host = WebHost(saying(HELLO))
    await host.start(nursery)
    fetcher = fetcher_for(host, host, host)
    for number in range(3):
        body_of(await fetcher.fetch(FetchPage(f"http://h{number}.test/", delay_s=9.0)))


async def test_a_cancelled_fetch_closes_its_connection(nursery: trio.Nursery) -> None:
    host = WebHost(repeating(b"", b"", 0.01))
    await host.start(nursery)
    fetcher = fetcher_for(host)
    with trio.move_on_after(0.2) as scope:
        await fetcher.fetch(FetchPage("http://h0.test/"))
    assert scope.cancelled_caught
    assert fetcher.idle_connections == 0


# --- TLS ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def server_context(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def client_context(authority: trustme.CA, tmp_path: Path) -> ssl.SSLContext:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return tls_context(path)


async def test_https_with_a_good_certificate(
    nursery: trio.Nursery, authority: trustme.CA, tmp_path: Path
) -> None:
    host = WebHost(saying(HELLO))
    await host.start(nursery, server_context(authority, "h0.test"))
    fetcher = fetcher_for(host, tls=client_context(authority, tmp_path))
    for _ in range(2):
        body_of(await fetcher.fetch(FetchPage("https://h0.test/")))
    assert host.connection_count == 1
    fetcher.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_the_next_connection_takes_the_tls_session_up(
    nursery: trio.Nursery, authority: trustme.CA, tmp_path: Path, version: ssl.TLSVersion
) -> None:
    host = WebHost(saying(page(b"hello", "Connection: close"), close=True))
    context = server_context(authority, "h0.test")
    context.minimum_version = context.maximum_version = version
    await host.start(nursery, context)
    fetcher = fetcher_for(host, tls=client_context(authority, tmp_path))
    for _ in range(3):
        assert body_of(await fetcher.fetch(FetchPage("https://h0.test/"))) == b"hello"
    assert host.connection_count == 3
    assert context.session_stats()["hits"] == 2


async def test_only_so_many_tls_sessions_are_kept() -> None:
    sessions = TlsSessions(sessions_max=2)
    for number in range(4):
        sessions.keep(f"https://h{number}.test", cast(ssl.SSLSession, object()))
    sessions.keep("https://h0.test", None)
    assert len(sessions) == 2
    assert sessions.take("https://h3.test") is not None
    assert sessions.take("https://h3.test") is None


@pytest.mark.parametrize(("name", "is_trusted"), [("other.test", True), ("h0.test", False)])
async def test_https_with_a_bad_certificate_is_a_tls_failure(
    nursery: trio.Nursery, authority: trustme.CA, tmp_path: Path, name: str, is_trusted: bool
) -> None:
    host = WebHost(saying(HELLO))
    await host.start(nursery, server_context(authority, name))
    tls = client_context(authority, tmp_path) if is_trusted else None
    result = await fetcher_for(host, tls=tls).fetch(FetchPage("https://h0.test/"))
    assert reason_of(result) is FailureReason.TLS
    assert host.requests == []


async def test_plain_http_on_a_tls_port_is_a_tls_failure(nursery: trio.Nursery) -> None:
    async def behave_badly(stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    listeners = await nursery.start(
        lambda task_status: trio.serve_tcp(behave_badly, 0, host="127.0.0.1", task_status=task_status)
    )
    host = WebHost(saying(HELLO))
    host.port = listeners[0].socket.getsockname()[1]
    result = await fetcher_for(host).fetch(FetchPage("https://h0.test/"))
    assert reason_of(result) is FailureReason.TLS


@pytest.mark.parametrize("name", [".", "..", ".a.test", "a..test"])
async def test_odd_names_fail_without_raising(nursery: trio.Nursery, name: str) -> None:
    host = WebHost(saying(HELLO))
    await host.start(nursery)
    resolver = FixedResolver({name: FixedEndpoint("127.0.0.1", host.port, host.port)})
    fetcher = Fetcher(resolver, limits=SHORT, addresses=ALLOW_ALL)
    assert isinstance(await fetcher.fetch(FetchPage(f"https://{name}/")), FetchFailed)
    assert isinstance(await Fetcher(SystemResolver()).fetch(FetchPage(f"https://{name}/")), FetchFailed)


# --- rules on addresses ---------------------------------------------------------------------------------


def at_loopback(reason: str = "", pause_s: float = 0.0) -> AddressRules:
    return AddressRules(
        (PageRule(("127.0.0.0/8",), reason), PageRule((), "unruled")), (HostRule((), pause_s, 0.0),)
    )


async def test_host_at_an_address_that_the_policy_wants_is_asked(nursery: trio.Nursery) -> None:
    host = WebHost(saying(HELLO))
    await host.start(nursery)
    asked = FetchPage("http://h0.test/", address_rules=at_loopback())
    assert body_of(await fetcher_for(host).fetch(asked)) == b"<title>hello</title>"


@pytest.mark.parametrize(("reason", "pause_s"), [("policy", 0.0), ("", 60.0)])
async def test_host_at_an_address_that_is_ruled_out_sees_no_connection(
    nursery: trio.Nursery, reason: str, pause_s: float
) -> None:
    host = WebHost(saying(HELLO))
    await host.start(nursery)
    fetcher = fetcher_for(host)
    asked = FetchPage("http://h0.test/", address_rules=at_loopback(reason, pause_s))
    result = await fetcher.fetch(asked)
    assert result == FetchFailed(asked.url, FailureReason.POLICY, reason, pause_s, "127.0.0.1")
    assert host.connection_count == 0


async def test_idle_connection_to_what_is_ruled_out_by_now_is_closed_and_not_used(
    nursery: trio.Nursery,
) -> None:
    host = WebHost(saying(HELLO))
    await host.start(nursery)
    fetcher = fetcher_for(host)
    await fetcher.fetch(FetchPage("http://h0.test/"))
    result = await fetcher.fetch(FetchPage("http://h0.test/", address_rules=at_loopback("policy")))
    assert reason_of(result) is FailureReason.POLICY
    assert fetcher.idle_connections == 0
    assert len(host.requests) == 1
