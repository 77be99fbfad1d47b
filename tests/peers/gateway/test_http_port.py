"""The HTTP port over real sockets."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf
from random import Random

import pytest
import trio

from mesh.actors.actor import Address, Message
from mesh.errors import ConfigError, LocalProtocolError
from mesh.keys.decree import POLICY, Authority, Decree, Signer
from mesh.keys.signed_token import TokenRight, sign_token
from mesh.keys.signing_key import SigningKey
from mesh.membership.model.messages import DecreesInForce
from peers.crawler.parsing.parser_port import ReadStored
from peers.gateway.http_port import (
    COSTLY_IN_FLIGHT_MAX,
    SEARCHES_IN_FLIGHT_MAX,
    SEARCHES_WAITING_MAX,
    Http,
    listen,
    url_of,
)
from peers.gateway.model.messages import ChangeGateway, FindPage, PageFound, RequestRefused, SearchPages
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.model.status import PeerStatus
from peers.policy.rules import EVERYTHING, Inside, Policy, policy_bytes
from peers.storage.archive.warc import response_record
from tests.helpers import seen
from tests.patience import PATIENCE_S
from tests.peers.gateway.fake_searcher import HEAD, FakeSearcher, answer_to

pytestmark = pytest.mark.live

UNLIMITED = GatewaySettings(
    admin_token="t" * 16,
    client_connections_max=0,
    client_requests_max=0,
    client_queries_per_s=0,
    client_bytes_per_s=0,
)
STATUS = PeerStatus(id="ann", pages_fetched=7)
STORED_CHARS = 3_900_000  # more than the socket buffers of both sides hold


@asynccontextmanager
async def running(
    searcher: FakeSearcher,
    settings: GatewaySettings = UNLIMITED,
    authority: Authority | None = None,
    read_stored: ReadStored | None = None,
) -> AsyncIterator[Http]:
    """A gateway on a free port of loopback."""
    statistics = {"searcher": {"searches": 3}}
    listener = listen("127.0.0.1", 0)
    http = Http(
        "ann",
        listener,
        lambda: statistics,
        lambda: STATUS,
        settings,
        read_stored=read_stored,
        authority=authority,
    )
    searcher.http = http
    async with trio.open_nursery() as nursery:
        nursery.start_soon(http.run, searcher.deliver)
        yield http
        nursery.cancel_scope.cancel()


async def exchange(port: int, request: str, address: str = "127.0.0.1") -> bytes:
    """Send a request that asks to close, and read to the end."""
    stream = await trio.open_tcp_stream("127.0.0.1", port, local_address=address)
    async with stream:
        parts: list[bytes | bytearray] = []
        try:
            await stream.send_all(request.encode())
            parts += [part async for part in stream]
        except trio.BrokenResourceError:
            pass  # the server has heard enough
        return b"".join(parts)


async def get(port: int, target: str, address: str = "127.0.0.1") -> bytes:
    request = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    return await exchange(port, request, address)


async def until_waiting(http: Http, requests: int) -> None:
    """Wait until so many requests wait for an answer."""
    while True:
        own = http.statistics()["http"]
        assert isinstance(own, dict)
        if own["waiting"] == requests:
            return
        await trio.lowlevel.checkpoint()


def body_of(reply: bytes) -> object:
    return json.loads(reply.partition(b"\r\n\r\n")[2])


async def test_search_is_answered_over_the_wire() -> None:
    searcher = FakeSearcher()
    async with running(searcher) as http:
        reply = await get(http.port, "/api/search?q=crawler&k=5")
    assert reply.startswith(b"HTTP/1.1 200")
    assert b"server:" not in reply.lower()
    found = body_of(reply)
    assert isinstance(found, dict)
    assert found["total"] == 2
    assert found["took_ms"] < 1_000
    assert searcher.orders == [SearchPages(1, "crawler", 5, 0)]


async def test_one_connection_carries_many_requests() -> None:
    async with running(FakeSearcher()) as http:
        stream = await trio.open_tcp_stream("127.0.0.1", http.port)
        async with stream:
            for _ in range(5):
                await stream.send_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                reply = await stream.receive_some()
                while b'{"status":"ok"}' not in reply:
                    reply += await stream.receive_some()
                assert reply.startswith(b"HTTP/1.1 200")


async def test_metrics_count_the_answers() -> None:
    async with running(FakeSearcher()) as http:
        await get(http.port, "/api/search?q=crawler")
        await get(http.port, "/api/search")
        request = f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {'t' * 16}\r\n"
        text = (await exchange(http.port, request + "Connection: close\r\n\r\n")).decode()
    assert 'tianmesh_http_requests{key="2xx"} 1\n' in text
    assert 'tianmesh_http_requests{key="4xx"} 1\n' in text
    assert "tianmesh_searcher_searches 3\n" in text
    assert "tianmesh_pages_fetched_total 7\n" in text
    assert 'tianmesh_http_requests_total{class="4xx"} 1\n' in text
    assert 'tianmesh_search_duration_seconds_bucket{le="+Inf"} 1\n' in text


async def test_stored_copy_is_unpacked_in_a_thread() -> None:
    async with running(FakeSearcher()) as http:
        reply = await get(http.port, "/page?url=http://zh.docs.test/%25E7%2588%25AC/")
        assert reply.startswith(b"HTTP/1.1 404")
        reply = await get(http.port, "/page?url=http%3A%2F%2Fdocs.test%2Fguide%2Fcrawling.html")
        assert b"image/png" in reply


async def test_refusal_of_the_searcher_is_told() -> None:
    def refuse(order: Message) -> Message:
        assert isinstance(order, SearchPages)
        return RequestRefused(order.ticket, "this peer is starting")

    async with running(FakeSearcher(refuse)) as http:
        reply = await get(http.port, "/api/search?q=a")
    assert reply.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 1" in reply
    assert body_of(reply) == {"error": "this peer is starting; ask again in a moment"}


async def test_when_too_many_searches_wait_more_are_sent_away() -> None:
    searcher = FakeSearcher(lambda order: None)
    async with running(searcher) as http:
        async with trio.open_nursery() as nursery:
            asked_max = SEARCHES_IN_FLIGHT_MAX + SEARCHES_WAITING_MAX
            for number in range(asked_max):
                nursery.start_soon(get, http.port, "/api/search?q=a", f"127.0.1.{number + 1}")
            await until_waiting(http, asked_max)
            reply = await get(http.port, "/api/search?q=a", "127.0.1.1")
            assert reply.startswith(b"HTTP/1.1 503")
            for number in range(asked_max):
                while len(searcher.orders) <= number:
                    await trio.lowlevel.checkpoint()
                order = searcher.orders[number]
                assert isinstance(order, SearchPages)
                answer = answer_to(order)
                http.receive(Address("ann", "searcher"), answer)
                http.receive(Address("ann", "searcher"), answer)  # twice does no harm
        assert (await get(http.port, "/healthz")).startswith(b"HTTP/1.1 200")


async def test_only_some_searches_are_under_way_and_nothing_else_waits_for_them() -> None:
    def answer_others(order: Message) -> Message | None:
        return None if isinstance(order, SearchPages) else answer_to(order)

    searcher = FakeSearcher(answer_others)
    async with running(searcher) as http, trio.open_nursery() as nursery:
        for number in range(SEARCHES_IN_FLIGHT_MAX + 5):
            nursery.start_soon(get, http.port, "/api/search?q=a", f"127.0.1.{number + 1}")
        await until_waiting(http, SEARCHES_IN_FLIGHT_MAX + 5)
        assert len(searcher.orders) == SEARCHES_IN_FLIGHT_MAX
        assert (await get(http.port, "/api/status")).startswith(b"HTTP/1.1 200")
        nursery.cancel_scope.cancel()


async def test_search_of_who_asks_little_waits_for_none_of_those_who_ask_much() -> None:
    def answer_honest(order: Message) -> Message | None:
        is_hostile = isinstance(order, SearchPages) and order.text == "hostile"
        return None if is_hostile else answer_to(order)

    searcher = FakeSearcher(answer_honest)
    async with running(searcher) as http, trio.open_nursery() as nursery:
        for number in range(8 * 16):
            nursery.start_soon(get, http.port, "/api/search?q=hostile", f"127.0.1.{number % 8 + 1}")
        while True:
            own = http.statistics()["http"]
            assert isinstance(own, dict)
            if own["busy"] + own["waiting"] == 8 * 16:
                break
            await trio.lowlevel.checkpoint()
        for _ in range(3):
            assert (await get(http.port, "/api/search?q=honest")).startswith(b"HTTP/1.1 200")
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "costly", ["q=" + "word+" * 40, "q=a&k=100&offset=500", "q=a&explain=1", "q=" + "%E5%A4%A9" * 60]
)
async def test_searches_that_cost_much_wait_for_turns_of_their_own(costly: str) -> None:
    searcher = FakeSearcher(lambda order: None)
    async with running(searcher) as http, trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(get, http.port, f"/api/search?{costly}", f"127.0.1.{number + 1}")
        await until_waiting(http, 20)
        assert len(searcher.orders) == COSTLY_IN_FLIGHT_MAX
        nursery.start_soon(get, http.port, "/api/search?q=short", "127.0.1.1")
        await until_waiting(http, 21)
        assert len(searcher.orders) == COSTLY_IN_FLIGHT_MAX + 1
        nursery.cancel_scope.cancel()


async def test_waiting_requests_are_answered_when_the_peer_stops() -> None:
    searcher = FakeSearcher(lambda order: None)
    replies: list[bytes] = []

    async def ask(port: int) -> None:
        replies.append(await get(port, "/api/search?q=a"))

    async with trio.open_nursery() as nursery:
        async with running(searcher) as http:
            nursery.start_soon(ask, http.port)
            while not searcher.orders:
                await trio.sleep(0.005)
    assert replies[0].startswith(b"HTTP/1.1 503")


@pytest.mark.parametrize(
    "request_text",
    [
        "\0\0\0\0\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET /" + "a" * 200_000 + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + "a" * 200_000 + "\r\n\r\n",
        "POST /api/seeds HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "POST /api/seeds HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_broken_requests_do_not_disturb_others(request_text: str) -> None:
    async with running(FakeSearcher()) as http:
        with trio.fail_after(PATIENCE_S):
            assert not (await exchange(http.port, request_text)).startswith(b"HTTP/1.1 200")
            assert (await get(http.port, "/healthz")).startswith(b"HTTP/1.1 200")


async def test_client_that_goes_away_while_waiting_does_not_disturb_others() -> None:
    searcher = FakeSearcher(lambda order: None)
    async with running(searcher) as http:
        stream = await trio.open_tcp_stream("127.0.0.1", http.port)
        await stream.send_all(b"GET /api/search?q=a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while not searcher.orders:
            await trio.sleep(0.005)
        await stream.aclose()
        order = searcher.orders[0]
        http.receive(Address("ann", "searcher"), answer_to(order))
        assert (await get(http.port, "/healthz")).startswith(b"HTTP/1.1 200")


async def test_client_that_does_not_read_cannot_keep_the_peer_from_stopping() -> None:
    letters = bytes(Random(1).choices(range(97, 123), k=STORED_CHARS))
    records = response_record("http://a.test/", HEAD % b"utf-8", letters, seen(7.0))

    def send_much(order: Message) -> Message:
        assert isinstance(order, FindPage)
        return PageFound(order.ticket, order.url, 7.0, records)

    with trio.fail_after(PATIENCE_S):
        async with running(FakeSearcher(send_much)) as http:
            client = trio.socket.socket()
            client.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, 4_096)
            await client.connect(("127.0.0.1", http.port))
            await client.send(b"GET /page?url=http://a.test/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert await client.recv(100)  # the answer has begun
    client.close()


def test_port_in_use_is_said_in_one_sentence() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigError, match=rf"127.0.0.1:{port} \(address already in use\): stop the program"
        ):
            listen("127.0.0.1", port)


@pytest.mark.parametrize(("host", "port"), [("no such host", 80), ("192.0.2.1", 0), ("127.0.0.1", 70_000)])
def test_address_that_is_not_ours_is_said_in_one_sentence(host: str, port: int) -> None:
    with pytest.raises(ConfigError, match=r"choose another in gateway\.listen of config.toml"):
        listen(host, port)


@pytest.mark.parametrize("host", ["[::1]", "::1"])
def test_an_address_of_ipv6_is_listened_on_with_brackets_or_without(host: str) -> None:
    with listen(host, 0) as listener:
        assert listener.getsockname()[0] == "::1"
        assert url_of(listener, host) == f"http://[::1]:{listener.getsockname()[1]}"


def test_a_name_stands_in_the_url_of_a_gateway_as_it_is() -> None:
    with listen("localhost", 0) as listener:
        assert url_of(listener, "localhost") == f"http://localhost:{listener.getsockname()[1]}"


async def test_settings_are_replaced_while_it_runs() -> None:
    with listen("127.0.0.1", 0) as listener:
        http = Http("ann", listener, dict, lambda: STATUS, GatewaySettings(admin_token="t" * 16))
        settings = GatewaySettings(names=("search.example",))
        http.receive(Address("ann", "policy"), ChangeGateway(settings))
        assert http.settings == settings


def test_message_that_is_not_for_it_is_refused() -> None:
    with listen("127.0.0.1", 0) as listener, pytest.raises(LocalProtocolError):
        Http("ann", listener, dict, lambda: STATUS).receive(Address("ann", "searcher"), Message())


# --- Quotas ----------------------------------------------------------------------------------


def head_of(reply: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """Status line and headers."""
    first, *lines = reply.partition(b"\r\n\r\n")[0].split(b"\r\n")
    return first, {name.lower(): value for name, _, value in (line.partition(b": ") for line in lines)}


async def test_a_client_that_asks_too_often_is_told_when_to_come_back() -> None:
    settings = GatewaySettings(client_queries_per_s=0.5)  # two at once
    async with running(FakeSearcher(), settings) as http:
        for _ in range(2):
            assert head_of(await get(http.port, "/api/search?q=crawler"))[0].endswith(b" 200 ")
        reply = await get(http.port, "/search?q=crawler")
        status, headers = head_of(reply)
        assert b" 429 " in status
        assert 1 <= int(headers[b"retry-after"]) <= 2
        assert b"200" in head_of(await get(http.port, "/healthz"))[0]
        own = http.statistics()["http"]
        assert isinstance(own, dict)
        assert own["over_quota"] == 1


@pytest.mark.parametrize(("path", "times"), [("/api/suggest?q=crawl", 8), ("/icon?url=http://a.test/", 10)])
async def test_a_suggestion_costs_an_eighth_of_a_query_and_an_icon_a_tenth(path: str, times: int) -> None:
    settings = GatewaySettings(client_queries_per_s=0.5)  # two at once
    async with running(FakeSearcher(), settings) as http:
        for _ in range(times):
            assert b" 429 " not in head_of(await get(http.port, path))[0]
        assert b" 200 " in head_of(await get(http.port, "/search?q=crawler"))[0]
        assert b" 429 " in head_of(await get(http.port, "/search?q=crawler"))[0]


async def test_who_bears_the_token_is_not_counted() -> None:
    settings = GatewaySettings(client_queries_per_s=0.5, admin_token="t" * 16)
    async with running(FakeSearcher(), settings) as http:
        request = (
            f"GET /api/search?q=crawler HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {'t' * 16}\r\n"
        )
        for _ in range(6):
            reply = await exchange(http.port, request + "Connection: close\r\n\r\n")
            assert b" 200 " in head_of(reply)[0]


async def test_pages_that_are_shown_inside_only_are_hidden_from_clients_elsewhere() -> None:
    inside = (
        Inside(domains=("journals.test",), networks=("127.0.0.2", "2001:db8::/48")),
        Inside(domains=("archive.test", "papers.test"), networks=("127.0.0.0/30",)),
    )
    body = policy_bytes(Policy(rules=EVERYTHING.rules, inside=inside))
    decree = Decree(POLICY, "", 1, 0.0, inf, body, b"", b"")
    searcher = FakeSearcher()
    settings = GatewaySettings(admin_token="t" * 16, proxies=("127.0.0.9",))
    async with running(searcher, settings) as http:
        http.receive(Address("ann", "membership"), DecreesInForce(POLICY, (decree,)))

        async def hidden_from(address: str, header: str = "") -> list[tuple[str, ...]]:
            searcher.orders.clear()
            for target in ("/api/search?q=crawler", "/page?url=http%3A%2F%2Fa.test%2F"):
                head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{header}Connection: close\r\n\r\n"
                await exchange(http.port, head, address)
            return [order.hidden for order in searcher.orders if isinstance(order, SearchPages | FindPage)]

        assert await hidden_from("127.0.0.2") == [(), ()]
        assert await hidden_from("127.0.0.1") == [("journals.test",)] * 2
        assert await hidden_from("127.0.0.5") == [("journals.test", "archive.test", "papers.test")] * 2
        assert await hidden_from("127.0.0.5", f"Authorization: Bearer {'t' * 16}\r\n") == [(), ()]
        others = [("archive.test", "papers.test")] * 2
        assert await hidden_from("127.0.0.9", "X-Forwarded-For: 2001:db8:0:7::1\r\n") == others


async def test_who_sends_tokens_that_do_not_count_has_to_wait_and_those_that_count_are_free() -> None:
    """To judge one takes 0.3 ms: without end they would be a way to keep a peer busy."""
    settings = GatewaySettings(client_queries_per_s=0.5)  # two at once
    root = SigningKey.of_secret(b"r" * 32)

    def request(signer: Signer, number: int) -> str:
        right = list(TokenRight)[number % 2]
        token = sign_token(signer, right, f"script {number}", time.time() + 60.0).text()
        head = f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        return f"{head}Connection: close\r\n\r\n"

    async with running(FakeSearcher(), settings, Authority(root.public, b"mesh")) as http:
        for number in range(20):  # all of them new
            reply = await exchange(http.port, request(Signer(root, b"mesh"), number))
            assert b" 200 " in head_of(reply)[0]
        told = [head_of(await exchange(http.port, request(Signer(root, b"other"), n)))[0] for n in range(20)]
        assert any(b" 429 " in each for each in told)
        assert not any(b" 200 " in each for each in told)


async def test_a_client_has_only_so_many_requests_under_way() -> None:
    settings = GatewaySettings(client_requests_max=3)
    async with running(FakeSearcher(lambda _: None), settings) as http, trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(get, http.port, "/api/search?q=crawler")
        await until_waiting(http, 3)
        status, headers = head_of(await get(http.port, "/api/search?q=crawler"))
        assert b" 429 " in status
        assert headers[b"retry-after"] == b"1"
        nursery.cancel_scope.cancel()


async def test_large_answers_are_paid_for_by_who_gets_them() -> None:
    settings = GatewaySettings(client_bytes_per_s=10)
    async with running(FakeSearcher(), settings) as http:
        assert b" 200 " in head_of(await get(http.port, "/api/search?q=crawler"))[0]
        status, headers = head_of(await get(http.port, "/api/search?q=crawler"))
        assert b" 429 " in status
        assert int(headers[b"retry-after"]) > 1
