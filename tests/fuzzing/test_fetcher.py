"""A web server may say anything, in any pieces: it costs that URL, and nothing of it stays."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Final

import pytest
import trio

from peers.crawler.addresses.address_queues import AddressQueues
from peers.crawler.addresses.addresses import ALLOW_ALL
from peers.crawler.fetching.connection import FetchLimits
from peers.crawler.fetching.fetcher import Fetcher
from peers.crawler.fetching.resolver import FixedEndpoint, FixedResolver
from peers.crawler.model.robots import ROBOTS_BYTES_MAX, beginning_of, rules_for_status
from peers.crawler.model.web_request import (
    FailureReason,
    FetchFailed,
    FetchPage,
    FetchResult,
    location_of,
    response_head,
    retry_after_s,
)
from tests.fuzzing.harness import Fuzzer, unharmed
from tests.patience import PATIENCE_S

HOSTS: Final = 8  # that are asked at a time, each at a loopback address of its own
LIMITS: Final = FetchLimits(connect_s=5.0, total_s=0.1, keep_alive_s=1.0, body_bytes_max=1 << 20)
HTML: Final = b"<!doctype html><title>a page</title><p>" + b"some text " * 50
ROBOTS: Final = b"User-agent: *\nDisallow: /private\nCrawl-delay: 3\nSitemap: http://a.test/s\n"
HONEST: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n%b"
    % (len(HTML), HTML)
)


def answers() -> list[bytes]:
    """Answers of all kinds that honest servers give."""
    packed = gzip.compress(HTML)
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (HTML[:7], HTML[7:300], HTML[300:]))
    robots = b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (len(ROBOTS), ROBOTS)
    return [
        HONEST,
        HONEST + HONEST,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nX-Trailer: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed,
        b"HTTP/1.0 200 OK\nContent-type: text/html\n\n" + HTML,
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + HONEST,
        b"HTTP/1.1 301 Moved\r\nLocation: http://\xe4\xb8\xad.test/%zz?a=b#c\r\nContent-Length: 0\r\n\r\n",
        (
            b"HTTP/1.1 429 Slow down\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n"
            b"Date: Fri, 31 Dec 1999 23:59:00 GMT\r\nConnection: close\r\n\r\n"
        ),
        b"HTTP/1.1 200 OK\r\n" + robots,
    ]


class Server:
    """Answers every request by the next input, in one piece or in many, and closes or does not."""

    def __init__(self, fuzzer: Fuzzer) -> None:
        self._random = fuzzer.random
        self.answer = HONEST
        self.open_count = 0

    async def serve(self, stream: trio.SocketStream) -> None:
        self.open_count += 1
        try:
            async with stream:
                while await stream.receive_some():
                    await self._say(stream, self.answer)
                    if self._random.random() < 0.8:
                        return
        except trio.BrokenResourceError:
            pass  # hung up on, as it deserves
        finally:
            self.open_count -= 1

    async def _say(self, stream: trio.SocketStream, answer: bytes) -> None:
        pieces = self._random.choice((1, 1, 3, 30))
        step = max(1, -(-len(answer) // pieces))
        for start in range(0, len(answer), step):
            await stream.send_all(answer[start : start + step])
            await trio.sleep(0)


@pytest.mark.inputs(800)
async def test_no_answer_of_a_server_harms_the_fetcher(fuzzer: Fuzzer, nursery: trio.Nursery) -> None:
    servers = [Server(fuzzer) for _ in range(HOSTS)]
    endpoints = {}
    for number, server in enumerate(servers):
        address = f"127.0.{fuzzer.random.randrange(256)}.{number + 1}"
        listeners = await nursery.start(partial(trio.serve_tcp, server.serve, 0, host=address))
        port = listeners[0].socket.getsockname()[1]
        endpoints[f"h{number}.test"] = FixedEndpoint(address, port, port)
    turns = AddressQueues(lambda address: True)
    resolver = FixedResolver(endpoints)
    patient = replace(LIMITS, total_s=PATIENCE_S)  # on a busy machine an honest answer takes its time
    with closing(Fetcher(resolver, limits=patient, addresses=ALLOW_ALL, turns=turns)) as fetcher:
        for server, host in zip(servers, endpoints, strict=True):
            server.answer = HONEST
            assert not isinstance(await fetcher.fetch(FetchPage(f"http://{host}/")), FetchFailed)
    await trio.testing.wait_all_tasks_blocked()
    with closing(Fetcher(resolver, limits=LIMITS, addresses=ALLOW_ALL, turns=turns)) as fetcher:
        with unharmed():
            inputs = fuzzer.inputs(answers())
            async with trio.open_nursery() as asking:
                for server, host in zip(servers, endpoints, strict=True):
                    asking.start_soon(_ask, fetcher, server, host, inputs)
            fetcher.close()
            with trio.fail_after(PATIENCE_S):
                while any(server.open_count for server in servers):
                    await trio.sleep(0.01)
        assert fetcher.observe().connections_idle == fetcher.observe().bytes_coming_in == 0


async def _ask(fetcher: Fetcher, server: Server, host: str, inputs: Iterator[bytes]) -> None:
    """Ask one host for one thing after the other; pages and robots.txts in turn."""
    for number, data in enumerate(inputs):
        server.answer = data
        url = f"http://{host}/robots.txt"
        request = FetchPage(url, (), ROBOTS_BYTES_MAX + 1) if number % 3 == 0 else FetchPage(f"{url}?")
        _use(await fetcher.fetch(request))


def _use(result: FetchResult) -> None:
    """Do with an answer what the controller and the archive do."""
    if isinstance(result, FetchFailed):
        assert result.reason not in (FailureReason.FETCHER, FailureReason.ADDRESS_BUSY), result
        assert len(result.detail) <= 300
        return
    assert len(result.body) <= LIMITS.body_bytes_max
    assert 0.0 <= retry_after_s(result) < float("inf")
    location_of(result)
    head = response_head(result)
    assert head.endswith(b"\r\n\r\n")
    assert head.count(b"\r\n\r\n") == 1, "or the archive would take the rest for the body"
    rules_for_status(result.status, beginning_of(result.body), "tianmesh").allows(result.url)
