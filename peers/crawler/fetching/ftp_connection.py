"""One FTP session with a host: log in as anonymous, list directories, read /robots.txt. [io]

It is asked as `connection.Connection` is, with GET, and answers as a gateway from HTTP to FTP does: a path
that ends with a slash by the listing of that directory, `/robots.txt` by that file, and any other by nothing,
since no file is fetched. Replies become the statuses of HTTP that mean the same. A listing is handed on as it
came; what it says is read in the processes of the parser.

Data connections are passive, and lead to the address of the session whatever the server says. It may name
another (RFC 2577, 3): a crawler that goes there asks machines that nobody has judged.

Sources: RFC 959; RFC 2389 (FEAT); RFC 2428 (EPSV); RFC 2640 (UTF8); RFC 3659, 7 (MLSD).
"""

from __future__ import annotations

import re
import select
import time
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

import h11
import trio

from peers.crawler.fetching.body_budget import BodyBudget
from peers.crawler.fetching.connection import (
    ExchangeError,
    FetchLimits,
    RawResponse,
    StaleConnection,
    WantedBody,
    connected_by,
)
from peers.crawler.model.ftp_listings import LIST, MLSD, type_of_listing
from peers.crawler.model.web_request import FailureReason

LISTING_BYTES_MAX: Final = 4 << 20  # 10,000 entries are kept of one, and have 100 to 300 bytes
REPLY_BYTES_MAX: Final = 32_768  # greetings and FEAT have a screen of text at most
RECEIVE_BYTES: Final = 65_536
PIECES_MAX: Final = 16_384  # as of a body of HTTP
PORT_MIN: Final = 1_024  # of data: below are the ports of other services
ROBOTS_PATH: Final = b"/robots.txt"

_CODE: Final = re.compile(rb"[1-5][0-9][0-9]")
_PASSIVE: Final = re.compile(rb"\d{1,3},\d{1,3},\d{1,3},\d{1,3},(\d{1,3}),(\d{1,3})")
_EXTENDED: Final = re.compile(rb"\(([!-~])\1\1(\d{1,5})\1\)")
_TOO_LONG: Final = f"a reply of more than {REPLY_BYTES_MAX} bytes"
# Of those that refuse: nobody is let in, there is no such thing. All others are faults of the server, such as
# that it has no passive mode or wants TLS, and tell nothing of the directory.
_STATUSES: Final = {430: 401, 530: 401, 532: 401, 550: 404, 551: 404, 553: 404}


class Reply(NamedTuple):
    """The answer to one command."""

    code: int  # 100 to 599
    lines: tuple[bytes, ...]  # without line ends, the first and the last with the code

    @property
    def kind(self) -> int:
        """Its first digit: 1 begins a transfer, 2 is done, 3 wants more, 4 not now, 5 never."""
        return self.code // 100


class _Refused(Exception):
    """A reply that says no, or not now."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.code)
        self.reply = reply


class FtpConnection:
    """A session, used for one question after another. Not for concurrent use."""

    tls_session: None = None  # it has no TLS

    def __init__(self, raw: trio.SocketStream, ip: str, limits: FetchLimits) -> None:
        self._raw = raw
        self.ip = ip
        self.idle_since = 0.0  # trio time; written by the pool, as
        self.origin = ""  # that it was opened for
        self._limits = limits
        self._come = bytearray()  # of replies, not taken out
        self._features: frozenset[bytes] | None = (
            None  # what the server has beyond RFC 959; None before login
        )
        self._lacks: set[bytes] = set()  # commands that it has not
        self._bytes_received = 0
        self._is_over = False

    async def ask(
        self,
        request: h11.Request,
        wants_body: Callable[[h11.Response], WantedBody],
        budget: BodyBudget,
        beginning_bytes: int = 0,
    ) -> RawResponse:
        """Answer a GET. Bodies are listings, so `wants_body` is not asked how much of one is wanted.

        Raises:
          ExchangeError: what came is no FTP, or too much.
          StaleConnection: used before, and closed before the first byte of this answer.
        """
        self._bytes_received, is_first = 0, self._features is None
        path = unquote_to_bytes(request.target)
        if not path.startswith(b"/") or any(each < 0x20 for each in path):
            raise ExchangeError(FailureReason.URL, "a path that no command of FTP can have")
        try:
            if is_first:
                agent = next(value for name, value in request.headers if name == b"user-agent")
                await self._log_in(agent)
            return await self._answer(path, budget, beginning_bytes)
        except _Refused as refused:
            return self._without_body(refused.reply)
        except (OSError, trio.BrokenResourceError) as error:
            if not is_first and not self._bytes_received:
                raise StaleConnection from error
            raise ExchangeError(FailureReason.RESET, str(error) or "connection broken") from error

    def rearm(self) -> bool:
        """Tell whether another question may follow."""
        return not (self._is_over or self._come)

    def is_quiet(self) -> bool:
        """Tell whether nothing has come since the last answer, not even the end of the session."""
        poll = select.poll()
        poll.register(self._raw.socket.fileno(), select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        """Close at once."""
        self._raw.socket.close()

    async def _log_in(self, agent: bytes) -> None:
        """Log in as anonymous, with our User-Agent for the password: it names a contact (RFC 1635)."""
        _check(await self._reply())
        reply = await self._command(b"USER anonymous")
        if reply.kind == 3:
            reply = await self._command(b"PASS " + agent)
        if reply.kind != 2:
            self._is_over = True
            raise _Refused(reply)
        told = await self._command(b"FEAT")
        lines = told.lines[1:-1] if told.kind == 2 else ()
        self._features = frozenset(line.strip().upper().partition(b" ")[0] for line in lines)
        if b"UTF8" in self._features:
            await self._command(b"OPTS UTF8 ON")  # RFC 2640 has it on; some servers wait to be told
        await self._command(b"TYPE A")

    async def _answer(self, path: bytes, budget: BodyBudget, beginning_bytes: int) -> RawResponse:
        if path == ROBOTS_PATH:
            command, media_type = b"RETR " + path, "text/plain"
        elif path.endswith(b"/"):
            _check(await self._command(b"CWD " + (path[:-1] or path)))
            command, media_type = self._listing_command(), ""
        else:
            raise ExchangeError(FailureReason.URL, "a file, and none is fetched from FTP servers")
        bytes_max = beginning_bytes or LISTING_BYTES_MAX
        try:
            body, is_whole = await self._transferred(command, bytes_max, budget)
        except _Refused as refused:
            if command != MLSD or refused.reply.code not in (500, 501, 502, 504):
                raise
            self._lacks.add(command)
            command = LIST
            body, is_whole = await self._transferred(command, bytes_max, budget)
        if not is_whole and not media_type:
            body = body[: body.rfind(b"\n") + 1]  # of a name that is cut there is no file
        media_type = media_type or type_of_listing(command, time.time())
        headers = (("Content-Type", media_type),)
        return RawResponse(200, "OK", "1.1", headers, body, self._bytes_received, is_whole)

    def _listing_command(self) -> bytes:
        has_mlsd = self._features is not None and not self._features.isdisjoint((b"MLST", b"MLSD"))
        return MLSD if has_mlsd and MLSD not in self._lacks else LIST

    async def _transferred(self, command: bytes, bytes_max: int, budget: BodyBudget) -> tuple[bytes, bool]:
        """Return the data that answer a command, and whether these are all."""
        port = await self._passive_port()
        if not PORT_MIN <= port < 1 << 16:
            raise ExchangeError(FailureReason.PROTOCOL, f"data from port {port}, of another service or none")
        data = await connected_by(self.ip, port, self._limits.connect_s, _stream_over)
        with budget.body() as incoming:
            try:
                reply = await self._command(command)
                if reply.kind != 1:
                    raise _Refused(reply)
                body, is_whole = await self._read(data, bytes_max, partial(budget.count, incoming))
            finally:
                data.socket.close()
        if incoming.scope.cancelled_caught:
            raise ExchangeError(FailureReason.CROWDED, f"the largest, {incoming.n_bytes} bytes had come")
        if not is_whole:
            self._is_over = True  # its last reply would be taken for one to another command
        else:
            await self._end_transfer()
        return body, is_whole

    async def _end_transfer(self) -> None:
        """Wait for the word that all has come, as long as for a connection; some servers send none.

        Where the session stays open, and its server closed the data in order, all has come. One that dies
        closes both: of that nothing is kept.
        """
        with trio.move_on_after(self._limits.connect_s) as waiting:
            if (await self._reply()).kind != 2:
                raise ExchangeError(FailureReason.RESET, "the transfer broke off")
        self._is_over |= waiting.cancelled_caught

    async def _passive_port(self) -> int:
        """Have the server listen, and return on which port; where, is known."""
        if b"EPSV" not in self._lacks:
            reply = await self._command(b"EPSV")
            found = _EXTENDED.search(reply.lines[-1])
            if reply.kind == 2 and found:
                return int(found[2])
            self._lacks.add(b"EPSV")
        if ":" in self.ip:  # RFC 2428, 1: PASV is of IPv4
            raise ExchangeError(FailureReason.PROTOCOL, "no extended passive mode")
        reply = await self._command(b"PASV")
        _check(reply)
        found = _PASSIVE.search(reply.lines[-1])
        if found is None:
            raise ExchangeError(FailureReason.PROTOCOL, "no port in the answer to PASV")
        return int(found[1]) * 256 + int(found[2])

    async def _read(
        self, data: trio.SocketStream, bytes_max: int, count: Callable[[int], None]
    ) -> tuple[bytes, bool]:
        pieces: list[bytes] = []
        size = 0
        while piece := await data.receive_some(RECEIVE_BYTES):
            size += len(piece)
            self._bytes_received += len(piece)
            count(len(piece))
            pieces.append(bytes(piece))
            if size > bytes_max:
                return b"".join(pieces)[:bytes_max], False
            if len(pieces) > PIECES_MAX:
                raise ExchangeError(FailureReason.PROTOCOL, f"a listing in more than {PIECES_MAX} pieces")
        return b"".join(pieces), True

    async def _command(self, command: bytes) -> Reply:
        # An octet of all ones begins a command of Telnet, and is doubled to be none: RFC 854.
        await self._raw.send_all(command.replace(b"\xff", b"\xff\xff") + b"\r\n")
        return await self._reply()

    async def _reply(self) -> Reply:
        """Read a reply, which ends with a line that has its code and a blank: RFC 959, 4.2."""
        lines: list[bytes] = []
        n_bytes = 0
        while not (lines and lines[-1][:3] == lines[0][:3] and lines[-1][3:4] in (b" ", b"")):
            line = await self._line(REPLY_BYTES_MAX - n_bytes)
            n_bytes += len(line) + 2
            lines.append(line)
            if not _CODE.match(lines[0]):
                raise ExchangeError(FailureReason.PROTOCOL, f"not FTP: {lines[0][:40]!r}")
        reply = Reply(int(lines[0][:3]), tuple(lines))
        self._is_over = self._is_over or reply.code == 421
        return reply

    async def _line(self, bytes_max: int) -> bytes:
        searched = 0
        while (end := self._come.find(b"\n", searched)) < 0:
            searched = len(self._come)
            if searched > bytes_max:
                raise ExchangeError(FailureReason.HEADER_TOO_LARGE, _TOO_LONG)
            come = await self._raw.receive_some(RECEIVE_BYTES)
            if not come:
                raise trio.BrokenResourceError("closed before the answer was complete")
            self._bytes_received += len(come)
            self._come += come
        if end > bytes_max:
            raise ExchangeError(FailureReason.HEADER_TOO_LARGE, _TOO_LONG)
        line = bytes(self._come[:end]).rstrip(b"\r")
        del self._come[: end + 1]
        return line

    def _without_body(self, reply: Reply) -> RawResponse:
        """Return the answer of HTTP that means a reply. ExchangeError: it says no more than nonsense does."""
        if reply.kind < 4:
            raise ExchangeError(FailureReason.PROTOCOL, f"{reply.code} where it means nothing")
        status = _STATUSES.get(reply.code, 503)
        return RawResponse(status, f"FTP {reply.code}", "1.1", (), b"", self._bytes_received, is_whole=True)


async def connect(address: str, port: int, limits: FetchLimits, seconds: float) -> FtpConnection:
    """Open a session with an address.

    Raises:
      ExchangeError: it does not take one in that time.
    """
    return FtpConnection(await connected_by(address, port, seconds, _stream_over), address, limits)


async def _stream_over(connected: trio.socket.SocketType) -> trio.SocketStream:
    return trio.SocketStream(connected)


def _check(reply: Reply) -> None:
    if reply.kind != 2:
        raise _Refused(reply)
