"""One client of the gateway: HTTP/1.1 over one TCP connection. [io]

Theory of operation
===================
h11 knows the protocol; this reads for it, has each request answered and writes the answer, one after the
other: a client that sends many requests at once (pipelining) has the next one read when the last is answered.
So of a client at most a head, the body that the application has asked for and an answer are in memory;
bodies, and answers of more than a piece, only as far as all clients together stay within a budget.

A client is given a time for each step, by one cancel scope whose deadline is moved: `HEAD_S_MAX` from the end
of an answer until the next head is there, `REQUEST_S_MAX` for the rest of the request and to make the answer,
`UNREAD_S_MAX` to take each piece of it and `WRITE_S_MAX` for all; one that is made while it is written has
`REQUEST_S_MAX` for each part. When it runs out the connection is closed
without a word.

What is no HTTP is answered by 400, and why, where an answer can still be given, and then the connection is
closed, as it is after a request whose body nobody has read, or that came in chunks, whose ends and trailers
others may read otherwise: where the next one begins is not known. One thing that is no HTTP is taken all the
same, as other servers do: a request line with raw bytes above 0x7F, as curl sends what a person types. They
are percent-encoded before h11 sees them. And what h11 takes, but a proxy before us may read otherwise, is
refused, so that no request is hidden in another: lines of a head that end in LF alone or go on in the next, a
length beside a transfer coding (RFC 9112, 6.1), a target whose host is not that of `Host`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from time import time
from typing import Final, TypeAlias

import h11
import trio

from peers.gateway.http.asgi import Header, ReadBody, Request, Response
from peers.gateway.http.memory_budget import MemoryBudget

logger = logging.getLogger(__name__)

HEAD_BYTES_MAX: Final = 16 << 10  # as node.js; a query of 500 Chinese characters has 4,500 bytes
HEAD_S_MAX: Final = 20.0  # also how long a connection without a request is kept
REQUEST_S_MAX: Final = 30.0  # from its head to its answer, so that a slow body cannot stay
UNREAD_S_MAX: Final = 10.0  # for `PIECE_BYTES`: 6.5 kB/s at least
WRITE_S_MAX: Final = 60.0  # for a whole answer; the largest, 4 MB, at 0.5 Mbit/s
PIECE_BYTES: Final = 64 << 10
# After a refusal what the client still sends is thrown away for a while: closed at once, its own system would
# throw away the answer that it has not read (RFC 9112, 9.6).
LINGER_S_MAX: Final = 2.0
LINGER_BYTES_MAX: Final = 8 << 20

WHY_CHARS_MAX: Final = 200  # of what h11 says of a malformed request
_BARE_LF: Final = re.compile(rb"(?<!\r)\n")
_FOLDED: Final = re.compile(rb"\r\n[ \t]")  # RFC 9112, 5.2: a server refuses it
_HEAD_END: Final = b"\r\n\r\n"
_RAW: Final = re.compile(rb"[\x80-\xff]")

BODILESS: Final = frozenset((HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED))

Respond: TypeAlias = Callable[[Request, ReadBody], Awaitable[Response]]


class NoRoom(Exception):
    """All clients together have too much in memory."""


class HttpConnection:
    """Answers the requests of one client until it or we close.

    Attributes:
      is_waiting: for its client, which has not sent all of a request or not read all of an answer: it can be
        closed without anything that we do being lost.
      waits_since: trio's clock; when the step began in which it is: the next head, the body, the answer.
      is_malformed: it was closed because what came was no HTTP.
      is_slow: it was closed because a step took too long, apart from waiting for a head.
    """

    def __init__(
        self,
        stream: trio.abc.HalfCloseableStream,
        client: tuple[str, int],
        server: tuple[str, int],
        respond: Respond,
        budget: MemoryBudget,
    ) -> None:
        """Take over a stream; `serve` or `decline` closes it.

        Args:
          client: address and port of that end.
          server: of ours.
          respond: makes the answers.
          budget: of all clients.
        """
        self.is_malformed = False
        self.is_slow = False
        self._is_idle = True  # there is no head of a request yet
        self._is_turned_out = False
        self._is_to_head = False  # the request under way wants no body in its answer
        self._is_last = False  # the answer under way ends the connection
        self._stream = stream
        self._respond = respond
        self._budget = budget
        self._held_bytes = 0  # of the budget
        self._client = client
        self._server = server
        self._protocol = _new_protocol()
        self._is_request_line = True  # what comes next is, or goes on with, one
        self._is_head = True  # likewise
        self._head_tail = b""  # the last bytes of what has come of it
        self._time = trio.CancelScope()
        self._rest()

    async def serve(self) -> None:
        """Answer request after request."""
        await self._carry_out(self._serve())

    async def decline(self, status: HTTPStatus, come_back_s: int) -> None:
        """Answer before anything has been read, and close."""
        await self._carry_out(self._refuse(status, [(b"retry-after", b"%d" % come_back_s)]))

    def close(self) -> None:
        """Close as soon as the request under way is answered, if there is one."""
        self._is_last = True
        if self._is_idle:
            self._time.cancel()

    def turn_out(self) -> None:
        """Close at once, even in the middle of a request."""
        self._is_turned_out = True
        self._time.cancel()

    async def _carry_out(self, steps: Coroutine[None, None, None]) -> None:
        try:
            with self._time:
                await steps
            self.is_slow = self._time.cancelled_caught and not (self._is_idle or self._is_turned_out)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the client has gone
        except h11.LocalProtocolError:
            # An answer that is none is a mistake of ours: whoever knows it must not end the peer by it.
            logger.exception("answer broken off")
        finally:
            self._release()
            await trio.aclose_forcefully(self._stream)

    async def _serve(self) -> None:
        try:
            while await self._answer_next():
                self._begin_next()
        except h11.RemoteProtocolError as error:
            self.is_malformed = True
            await self._refuse(HTTPStatus(error.error_status_hint), why=str(error))
            await self._linger()
        except NoRoom:
            await self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            await self._linger()

    async def _refuse(self, status: HTTPStatus, more_headers: Sequence[Header] = (), why: str = "") -> None:
        """Refuse any request, with the reason, if an answer can still be sent."""
        if self._protocol.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._is_last = True
            reason = f": {why[:WHY_CHARS_MAX]}" if why else ""
            body = f"{status} {status.phrase.lower()}{reason}\n".encode("ascii", "backslashreplace")
            headers = [(b"content-type", b"text/plain"), *more_headers]
            await self._write(Response(status, headers, body))

    async def _answer_next(self) -> bool:
        """Answer a request; tell whether there may be another."""
        self._rest()
        self._limit(HEAD_S_MAX)
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return False  # the client has closed
        self._is_idle = self.is_waiting = False
        self._is_to_head = head.method == b"HEAD"
        _check_head(head)
        self._is_last = self._is_last or any(name == b"transfer-encoding" for name, _ in head.headers)
        self.waits_since = trio.current_time()
        self._limit(REQUEST_S_MAX)
        request = Request(head.method.decode(), head.target, list(head.headers), self._client, self._server)
        response = await self._respond(request, self._read_body)
        if len(response.body) > PIECE_BYTES:
            self._hold(len(response.body))
        is_read = self._is_body_over()
        self._is_last = self._is_last or not is_read
        await self._write(response)
        self._release()
        if not is_read:
            await self._linger()
        return self._protocol.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}

    # --- Reading ---------------------------------------------------------------------------------

    async def _read_body(self) -> bytes:
        """The next part of the body, b"" at its end."""
        if self._protocol.their_state is not h11.SEND_BODY:
            return b""
        event = await self._next_event()
        if not isinstance(event, h11.Data):
            return b""
        self._hold(len(event.data))
        return bytes(event.data)

    def _is_body_over(self) -> bool:
        """Has all of the request arrived? The rest of a body that nobody wanted is thrown away."""
        while self._protocol.their_state is h11.SEND_BODY:
            if self._protocol.next_event() is h11.NEED_DATA:
                return False
        return True

    async def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next one that is there, or comes."""
        while (event := self._protocol.next_event()) is h11.NEED_DATA:
            if self._protocol.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=HTTPStatus.CONTINUE, headers=[])
                await self._send(self._protocol.send(go_on) or b"")
            self._take_in(await self._receive())
        return event

    def _take_in(self, data: bytes) -> None:
        if self._is_head:
            self._check_lines(data)
        if self._is_request_line:
            line, newline, rest = data.partition(b"\n")
            data = _RAW.sub(_percent_encoded, line) + newline + rest
            self._is_request_line = not newline
        self._protocol.receive_data(data)

    def _check_lines(self, data: bytes) -> None:
        begun = self._head_tail + data
        end = begun.find(_HEAD_END)
        head = begun if end < 0 else begun[: end + len(_HEAD_END)]
        if _BARE_LF.search(head, 1 if self._head_tail else 0):  # the first of the tail was looked at
            raise h11.RemoteProtocolError("a line ends in LF without CR")
        if _FOLDED.search(head):
            raise h11.RemoteProtocolError("a line of the head goes on in the next")
        self._is_head = end < 0
        self._head_tail = begun[1 - len(_HEAD_END) :] if self._is_head else b""

    def _begin_next(self) -> None:
        """Go on with the next request, of which something may have come with the one before."""
        self._protocol.start_next_cycle()
        self._is_request_line = self._is_head = True
        self._is_to_head = False  # should it be refused before its method is known
        begun, is_over = self._protocol.trailing_data
        if begun:
            self._protocol = _new_protocol()  # the one before cannot be given again what it holds
            self._take_in(begun)
            if is_over:
                self._protocol.receive_data(b"")

    async def _receive(self) -> bytes:
        self.is_waiting = True
        data = bytes(await self._stream.receive_some(PIECE_BYTES))
        self.is_waiting = False
        return data

    # --- Writing ---------------------------------------------------------------------------------

    async def _write(self, response: Response) -> None:
        self.waits_since = trio.current_time()
        write_until = self.waits_since + WRITE_S_MAX
        head = h11.Response(status_code=response.status, headers=self._headers(response))
        data = self._protocol.send(head) or b""
        if response.parts is not None:
            await self._write_parts(data, response.parts)
            return
        is_bodiless = self._is_to_head or response.status in BODILESS
        body = b"" if is_bodiless else response.body
        for start in range(0, len(body), PIECE_BYTES):
            data += self._protocol.send(h11.Data(data=body[start : start + PIECE_BYTES])) or b""
            await self._send_until(write_until, data)
            data = b""
        data += self._protocol.send(h11.EndOfMessage()) or b""
        if data:
            await self._send_until(write_until, data)

    async def _write_parts(self, head: bytes, parts: AsyncGenerator[bytes]) -> None:
        """Write an answer while it is made; each part has its time, to be made and to be taken."""
        async with aclosing(parts):
            await self._send_part(head)
            async for part in parts:
                await self._send_part(self._protocol.send(h11.Data(data=part)) or b"")
            await self._send_part(self._protocol.send(h11.EndOfMessage()) or b"")

    async def _send_part(self, data: bytes) -> None:
        if data:
            self._limit(UNREAD_S_MAX)
            await self._send(data)
        self._limit(REQUEST_S_MAX)

    def _headers(self, response: Response) -> list[tuple[bytes, bytes]]:
        headers = [*response.headers, (b"date", _date(int(time())))]
        is_told = any(name == b"content-length" for name, _ in headers)
        if not is_told and response.parts is None and response.status not in BODILESS:
            headers.append((b"content-length", b"%d" % len(response.body)))
        if self._is_last:
            headers.append((b"connection", b"close"))
        return headers

    async def _send_until(self, write_until: float, piece: bytes) -> None:
        self._limit(min(UNREAD_S_MAX, write_until - trio.current_time()))
        await self._send(piece)

    async def _send(self, piece: bytes) -> None:
        self.is_waiting = True
        await self._stream.send_all(piece)
        self.is_waiting = False

    async def _linger(self) -> None:
        self._rest()
        self._limit(LINGER_S_MAX)
        await self._stream.send_eof()
        thrown_away = 0
        while thrown_away < LINGER_BYTES_MAX:
            data = await self._receive()
            if not data:
                return
            thrown_away += len(data)

    # --- Limits ----------------------------------------------------------------------------------

    def _hold(self, byte_count: int) -> None:
        """Take from the budget until the request is over. NoRoom."""
        if not self._budget.take(byte_count):
            raise NoRoom
        self._held_bytes += byte_count

    def _release(self) -> None:
        self._budget.give_back(self._held_bytes)
        self._held_bytes = 0

    def _rest(self) -> None:
        self._is_idle = True
        self.is_waiting = True
        self.waits_since = trio.current_time()

    def _limit(self, seconds: float) -> None:
        self._time.deadline = trio.current_time() + seconds


def _new_protocol() -> h11.Connection:
    return h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)


def _check_head(head: h11.Request) -> None:
    """Refuse a head that might be read in two ways.

    Raises:
      RemoteProtocolError: it is so.
    """
    told = dict(head.headers)
    if b"content-length" in told and b"transfer-encoding" in told:
        raise h11.RemoteProtocolError("Content-Length beside Transfer-Encoding")
    scheme, is_absolute, rest = head.target.partition(b"://")
    if is_absolute and scheme.isalpha():
        authority = re.split(rb"[/?#]", rest, maxsplit=1)[0]
        if authority.lower() != told.get(b"host", b"").lower():
            raise h11.RemoteProtocolError("the host of the target is not that of Host")


def _percent_encoded(raw: re.Match[bytes]) -> bytes:
    return b"%%%02X" % raw[0][0]


@lru_cache(maxsize=1)
def _date(seconds: int) -> bytes:
    """RFC 9110, 6.6.1: an origin server with a clock sends it."""
    return formatdate(seconds, usegmt=True).encode()
