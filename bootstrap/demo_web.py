"""Serve the bundled demo web on loopback under its real host names. [io]

`demo_web.warc.gz` holds real documentation pages (see DEMO_WEB.md) as recorded HTTP responses;
this file answers with exactly these and with 404 for everything else. It is not a general web
server: no ranges, no conditions, no TLS. `make_demo_web.py` built the file.

The pages link to each other under their real names and without a port, so the crawler must find
them by its resolver table: `{host: {"ip": ip, "http": port, "https": None}}` says that connections
to `host:80` go to `ip:port`. Nothing else about a URL changes, the Host header included.
"""

from __future__ import annotations

import argparse
import errno
import gzip
import http
import json
import signal
import tempfile
import zlib
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypedDict
from urllib.parse import urlsplit

import h11
import trio

from mesh.errors import ConfigError

DEMO_WARC = Path(__file__).with_name("demo_web.warc.gz")

REQUEST_HEAD_BYTES_MAX = 16 * 1024  # as h11 takes; larger heads are answered with 431
REQUEST_S_MAX = 30.0  # for a request to arrive, idle time before it included; then the connection is closed
RESPONSE_S_MAX = 30.0  # for a client to take a response
CONNECTIONS_MAX = 512  # a crawler opens one per host; more are closed at once
ACCESSES_MAX = 100_000  # of the access log in memory; the oldest go first
PORT_ATTEMPTS_MAX = 20  # a port that is free on one address may be taken on the next


class ResolverEntry(TypedDict):
    """Where the crawler connects to for the default port of each scheme; None refuses the scheme."""

    ip: str
    http: int
    https: int | None


@dataclass(frozen=True, slots=True)
class StoredResponse:
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One line of the access log."""

    at_s: float  # trio's clock when the request was complete
    host: str
    target: str
    status: int


class DemoWeb:
    """The recorded responses of all hosts, in memory (about 10 MB)."""

    def __init__(self, responses: dict[tuple[str, str], StoredResponse]) -> None:
        self._responses = responses
        self.hosts = list(dict.fromkeys(host for host, _ in responses))

    @classmethod
    def load(cls, path: Path = DEMO_WARC) -> DemoWeb:
        """Read all response records of a WARC file (60 ms for the bundled one).

        Raises:
          ConfigError: the file is damaged, or is no WARC file.
        """
        try:
            return cls(dict(read_responses(gzip.decompress(path.read_bytes()))))
        except (EOFError, ValueError, KeyError, gzip.BadGzipFile, zlib.error) as error:
            raise ConfigError(f"{path} is damaged: install tianmesh again") from error

    @property
    def seeds(self) -> list[str]:
        """The start page of every host; links lead from these to all pages."""
        return [f"http://{host}/" for host in self.hosts]

    def responses_of(self, host: str) -> dict[str, StoredResponse]:
        """Return all that is recorded of a host, by path."""
        return {path: response for (of, path), response in self._responses.items() if of == host}

    def find(self, host: str, target: str) -> StoredResponse | None:
        """Return the response recorded for a path (with its query, if any) of a host."""
        return self._responses.get((host, target))


@dataclass(frozen=True, slots=True)
class ServedDemoWeb:
    """A demo web being served, with the resolver entries and seeds by which a crawler finds it."""

    resolver: dict[str, ResolverEntry]
    seeds: list[str]
    accesses: deque[ServedRequest]  # the latest ACCESSES_MAX, oldest first


@asynccontextmanager
async def serve_demo_web(web: DemoWeb | None = None) -> AsyncIterator[ServedDemoWeb]:
    """Serve the demo web on free loopback addresses until the block is left.

    Every host has an address of its own, and all share one port. Where the system has no loopback
    address but 127.0.0.1 (macOS), all hosts share that.

    Raises:
      ConfigError: the bundled file is damaged.
      OSError: no port could be opened.
    """
    web = web or DemoWeb.load()
    listeners = await open_listeners([f"127.0.0.{2 + index}" for index in range(len(web.hosts))])
    names = [listener.socket.getsockname() for listener in listeners]
    places = names if len(names) > 1 else names * len(web.hosts)
    resolver = {
        host: ResolverEntry(ip=ip, http=port, https=None)
        for host, (ip, port) in zip(web.hosts, places, strict=True)
    }
    served = ServedDemoWeb(resolver, web.seeds, deque(maxlen=ACCESSES_MAX))
    raised: Exception | None = None
    async with trio.open_nursery() as nursery:
        handler = ConnectionHandler(web, served.accesses)
        nursery.start_soon(partial(trio.serve_listeners, handler.serve, listeners))
        try:
            yield served
        except Exception as error:  # raised again below, where the nursery cannot wrap it in a group
            raised = error
        nursery.cancel_scope.cancel()
    if raised is not None:
        raise raised


def read_responses(data: bytes) -> Iterator[tuple[tuple[str, str], StoredResponse]]:
    """Yield (host, target) and response of every response record in unpacked WARC data."""
    position = 0
    while position < len(data):
        head_end = data.index(b"\r\n\r\n", position) + 4
        headers = read_headers(data[position:head_end])
        position = head_end + int(headers[b"content-length"])
        if headers[b"warc-type"] == b"response":
            url = urlsplit(headers[b"warc-target-uri"].decode())
            target = url.path + ("?" + url.query if url.query else "")
            yield (url.netloc, target), read_response(data[head_end:position])
        position += len(b"\r\n\r\n")


def read_response(block: bytes) -> StoredResponse:
    head, _, body = block.partition(b"\r\n\r\n")
    status = int(head.split(maxsplit=2)[1])
    return StoredResponse(status, list(read_headers(head).items()), body)


def read_headers(head: bytes) -> dict[bytes, bytes]:
    """Return the header lines under the first line, names in lower case."""
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:] if line)
    return {name.lower(): value.strip() for name, _, value in lines}


async def open_listeners(addresses: list[str]) -> list[trio.SocketListener]:
    """Listen on a port that is free on all addresses, or on 127.0.0.1 alone if it is the only one."""
    for _ in range(PORT_ATTEMPTS_MAX):
        try:
            return await open_one_port(addresses)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                addresses = ["127.0.0.1"]
            elif error.errno != errno.EADDRINUSE:
                raise
    raise OSError(errno.EADDRINUSE, "no port is free on all loopback addresses of the demo web")


async def open_one_port(addresses: list[str]) -> list[trio.SocketListener]:
    listeners: list[trio.SocketListener] = []
    try:
        for address in addresses:
            port = listeners[0].socket.getsockname()[1] if listeners else 0
            listeners += await trio.open_tcp_listeners(port, host=address)
    except OSError:
        for listener in listeners:
            listener.socket.close()
        raise
    return listeners


class ConnectionHandler:
    """Answers the requests of one connection after the other; shared by all connections."""

    def __init__(self, web: DemoWeb, accesses: deque[ServedRequest]) -> None:
        self._web = web
        self._accesses = accesses
        self._connections = trio.CapacityLimiter(CONNECTIONS_MAX)

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve until the client closes, is silent too long or breaks the protocol."""
        async with stream:
            try:
                self._connections.acquire_on_behalf_of_nowait(stream)
            except trio.WouldBlock:
                return
            try:
                await self._serve_requests(stream)
            except (trio.BrokenResourceError, trio.TooSlowError):
                pass  # the client went away or stalls: nobody is left to be told
            finally:
                self._connections.release_on_behalf_of(stream)

    async def _serve_requests(self, stream: trio.SocketStream) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=REQUEST_HEAD_BYTES_MAX)
        while True:
            try:
                with trio.fail_after(REQUEST_S_MAX):
                    request = await next_request(stream, connection)
            except h11.RemoteProtocolError as error:
                # Without a body, for the method may be HEAD or not be known.
                await send(stream, connection, plain_response(error.error_status_hint, b""), b"HEAD")
                return
            if request is None:
                return
            await send(stream, connection, self._answer(request), request.method)
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return
            connection.start_next_cycle()

    def _answer(self, request: h11.Request) -> StoredResponse:
        host, target = requested_page(request)
        if request.method not in (b"GET", b"HEAD"):
            response = plain_response(405, b"only GET and HEAD", (b"allow", b"GET, HEAD"))
        else:
            response = self._web.find(host, target) or plain_response(404, b"not in the demo web")
        self._accesses.append(ServedRequest(trio.current_time(), host, target, response.status))
        return response


async def next_request(stream: trio.SocketStream, connection: h11.Connection) -> h11.Request | None:
    """Return the next request without its body, None when the client has closed."""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await stream.receive_some())
        elif isinstance(event, h11.Request):
            connection.next_event()  # the end of the request, unless a body follows: then we close after it
            return event
        else:
            return None


def requested_page(request: h11.Request) -> tuple[str, str]:
    """Return the host, without port, and the path of a request; the host is empty if none was sent."""
    target = request.target.decode("latin-1")
    host = next((value for name, value in request.headers if name == b"host"), b"").decode("latin-1")
    return host.partition(":")[0].rstrip(".").lower(), target


def plain_response(status: int, text: bytes, *headers: tuple[bytes, bytes]) -> StoredResponse:
    size = str(len(text)).encode()
    return StoredResponse(
        status, [(b"content-type", b"text/plain"), (b"content-length", size), *headers], text
    )


async def send(
    stream: trio.SocketStream, connection: h11.Connection, response: StoredResponse, method: bytes
) -> None:
    """Send the response, without its body if the method is HEAD.

    Raises:
      trio.TooSlowError: the client did not take it in time.
    """
    reason = http.HTTPStatus(response.status).phrase.encode()
    event = h11.Response(status_code=response.status, headers=response.headers, reason=reason)
    parts = [connection.send(event)]
    if method != b"HEAD":
        parts.append(connection.send(h11.Data(data=response.body)))
    parts.append(connection.send(h11.EndOfMessage()))
    with trio.fail_after(RESPONSE_S_MAX):
        await stream.send_all(b"".join(part for part in parts if part))


async def run(folder: Path) -> None:
    """Serve until SIGINT or SIGTERM; print where resolver and seeds were written."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with serve_demo_web() as served:
            (folder / "resolver.json").write_text(json.dumps(served.resolver, indent=1))
            (folder / "seeds.txt").write_text("".join(f"{url}\n" for url in served.seeds))
            print(folder / "resolver.json", folder / "seeds.txt", sep="\n", flush=True)
            async for _ in signals:
                return


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bootstrap.demo_web",
        description="Serve the demo web; print the paths of its resolver table and of its list of seeds.",
    )
    parser.add_argument("--folder", type=Path, help="where to write both files (default: a temporary one)")
    folder: Path | None = parser.parse_args().folder
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="tianmesh-demo-web-") as temporary:
            trio.run(run, Path(temporary))
    else:
        folder.mkdir(parents=True, exist_ok=True)
        trio.run(run, folder)


if __name__ == "__main__":
    main()
