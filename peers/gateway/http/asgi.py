"""The call of an ASGI application: a request in, the whole answer out. [io]

The application reads the body as it wants it and does not see the connection: its answer is gathered and
written by whoever called, and what goes wrong with the connection while a body is read is raised here, after
the application has been told that the client is gone, and not through it.

An answer that is sent while it is made is handed over as an iterator, in `PARTS` of the event with its body:
whoever writes it takes part after part, when the application has long returned.

Left out, because nothing here needs it: lifespan, WebSockets.

Source: ASGI specification, HTTP message format 2.3.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import unquote_to_bytes

import trio

Header: TypeAlias = tuple[bytes, bytes]  # the name in lower case
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]
Application: TypeAlias = Callable[[Event, Receive, Send], Awaitable[None]]
# The next part of a body, b"" at its end. What it raises ends the request.
ReadBody: TypeAlias = Callable[[], Awaitable[bytes]]

logger = logging.getLogger(__name__)


class Request(NamedTuple):
    """The request of a client, without the body."""

    method: str
    target: bytes  # a path with its query, or a whole URL (RFC 9112, 3.2)
    headers: Sequence[Header]
    client: tuple[str, int]
    server: tuple[str, int]


class Response(NamedTuple):
    """The response to a request, with the body."""

    status: int
    headers: Sequence[Header]
    body: bytes
    parts: AsyncGenerator[bytes] | None = None  # that follow while they are made; closed by who writes them


PARTS: Final = "tianmesh.parts"
FAILED: Final = Response(500, [(b"content-type", b"text/plain")], b"something went wrong here\n")


async def respond(application: Application, request: Request, read_body: ReadBody) -> Response:
    """Have the application answer.

    Where it fails, that is logged, and the answer is what it has said of it, or else FAILED.
    """
    call = _Call(read_body)
    scope = _scope(request)
    try:
        await application(scope, call.receive, call.send)
    except Exception:
        if call.failure is None:  # else it was told that the client is gone
            logger.exception("a request failed method=%s path=%s", request.method, scope["path"])
    if call.failure is not None:
        raise call.failure
    return call.response()


class _Call:
    """One request that is handed to the application, and its answer so far."""

    def __init__(self, read_body: ReadBody) -> None:
        self.failure: Exception | None = None
        self._read_body = read_body
        self._has_read_all = False
        self._start: Event | None = None
        self._parts: list[bytes] = []
        self._later: AsyncGenerator[bytes] | None = None
        self._is_whole = False

    async def receive(self) -> Event:
        if self._has_read_all:
            await trio.sleep_forever()  # that a client has gone is seen when it is written to
        try:
            part = await self._read_body()
        except Exception as failure:
            self.failure, self._has_read_all = failure, True
            return {"type": "http.disconnect"}
        self._has_read_all = not part
        return {"type": "http.request", "body": part, "more_body": bool(part)}

    async def send(self, event: Event) -> None:
        match event["type"]:
            case "http.response.start":
                self._start = event
            case "http.response.body":
                self._parts.append(event.get("body", b""))
                self._later = event.get(PARTS)
                self._is_whole = not event.get("more_body", False)

    def response(self) -> Response:
        if self._start is None or not self._is_whole:
            return FAILED
        body = b"".join(self._parts)
        return Response(self._start["status"], list(self._start["headers"]), body, self._later)


def _scope(request: Request) -> Event:
    path, _, query = _origin_form(request.target).partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": request.headers,
        "client": request.client,
        "server": request.server,
    }


def _origin_form(target: bytes) -> bytes:
    """The path and query of a target. RFC 9112, 3.2.2: a server must take whole URLs, too."""
    scheme, separator, rest = target.partition(b"://")
    if scheme.lower() not in (b"http", b"https") or not separator:
        return target
    return b"/" + rest.partition(b"/")[2] if b"/" in rest else b"/"
