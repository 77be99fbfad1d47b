"""One HTTP/1.1 connection to a web host: connect, ask, read the answer within limits. [io]

Knows nothing of URLs, names or pools; `fetcher.py` does. Every way in which a server or the network can
fail leaves here as `ExchangeError` with a reason, and the connection is to be closed then.
"""

from __future__ import annotations

import errno
import select
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar, cast

import h11
import trio

from peers.crawler.fetching.body_budget import BodyBudget
from peers.crawler.fetching.content_encoding import BODY_BYTES_MAX, DOCUMENT_BYTES_MAX
from peers.crawler.fetching.response_lines import ChunkLines, head_end, readable_head
from peers.crawler.fetching.tls_records import TlsRecords
from peers.crawler.model.web_request import FailureReason
from peers.documents.formats import SIGNATURE_BYTES

RECEIVE_BYTES: Final = 65_536
DETAIL_CHARS_MAX: Final = 200  # errors may quote what the server sent


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """The limits of one fetch. A server that exceeds them gets a failure, and its slot is free again."""

    connect_s: float = 10.0  # per address, TLS included; Nutch and Marginalia
    # The same when an address of the other family is to be tried: a machine whose IPv6 leads nowhere is to
    # come to IPv4 in time. RFC 8305 tries the next one beside it after .25 s, which would be a second
    # connection to a host; a handshake with the far side of the world takes 1 s.
    fallback_s: float = 3.0
    total_s: float = 30.0  # from the look-up to the last byte, a retry included; Marginalia
    # Of a beginning: a process has 10 s of processor time for it, and may have other work before.
    decoding_s: float = 60.0
    addresses_tried_max: int = 3  # a host with many dead addresses must not take the time of all
    header_bytes_max: int = (
        65_536  # h11's default is 16 KiB, curl's 300; the real web needs more than the first
    )
    header_count_max: int = 5_000  # as curl; real sites send 600
    informational_max: int = 8  # 1xx answers before the real one; browsers see one or two
    body_bytes_max: int = BODY_BYTES_MAX  # encoded, and again decoded
    document_bytes_max: int = DOCUMENT_BYTES_MAX  # the same, of formats other than HTML
    # Parsing costs about 10 us per piece whatever its size: bodies in pieces of a byte are an attack.
    body_pieces_max: int = 16_384
    keep_alive_s: float = 15.0  # idle; nginx closes after 75 s, Apache after 5
    bodies_bytes_max: int = 64 << 20  # of all that are coming in; 200 ordinary pages make 20 MB
    connections_idle_max: int = 512  # well below the 1,024 file descriptors a process gets by default


class ExchangeError(Exception):
    """The exchange failed; the connection is of no more use."""

    def __init__(self, reason: FailureReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail[:DETAIL_CHARS_MAX]


class WantedBody(NamedTuple):
    """How much of a body is wanted."""

    bytes_max: int  # one that is longer is none that is wanted
    # Tells by its first `SIGNATURE_BYTES` whether the rest is wanted.
    is_wanted: Callable[[bytes], bool] | None = None


class StaleConnection(Exception):
    """A connection kept alive was closed by the server before it said anything: ask again on a new one."""


class TlsWish(NamedTuple):
    """TLS as it is wished for on a connection."""

    context: ssl.SSLContext
    server_name: str  # that the certificate must be for
    session: ssl.SSLSession | None = None  # to take up


Opened = TypeVar("Opened")


@dataclass(frozen=True, slots=True)
class RawResponse:
    """A response as it came, its body without transfer coding but still in its content coding."""

    status: int
    reason_phrase: str
    http_version: str
    headers: tuple[tuple[str, str], ...]  # Latin-1, original case
    body: bytes
    bytes_received: int
    is_whole: bool  # False: more was coming than was wanted, or less came than the server had announced


class AnyConnection(Protocol):
    """A connection that is asked one thing after another, of HTTP or of FTP; see `Connection`."""

    ip: str
    idle_since: float
    origin: str

    @property
    def tls_session(self) -> ssl.SSLSession | None: ...

    async def ask(
        self,
        request: h11.Request,
        wants_body: Callable[[h11.Response], WantedBody],
        budget: BodyBudget,
        beginning_bytes: int = 0,
    ) -> RawResponse: ...

    def rearm(self) -> bool: ...

    def is_quiet(self) -> bool: ...

    def close(self) -> None: ...


class Connection:
    """An open connection, used for one request after another. Not for concurrent use."""

    def __init__(
        self,
        raw: trio.SocketStream,
        receive_some: Callable[[int], Awaitable[bytes | bytearray]],
        send_all: Callable[[bytes], Awaitable[None]],
        ip: str,
        limits: FetchLimits,
        records: TlsRecords | None = None,
        tls: trio.SSLStream[TlsRecords] | None = None,
    ) -> None:
        self._raw = raw
        self._records = records  # what is between the socket and TLS
        self._tls = tls
        self._receive_some = receive_some
        self._send_all = send_all
        self.ip = ip
        self.idle_since = 0.0  # trio time; written by the pool, as
        self.origin = ""  # that it was opened for
        self._limits = limits
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=limits.header_bytes_max)
        self._head = bytearray()  # what has come and h11 has not seen, until the head is complete
        self._chunk_lines: ChunkLines | None = None  # of the current answer, as
        self._bytes_received = 0
        self._is_used = False  # has carried a complete exchange before
        self._is_at_end = False

    async def ask(
        self,
        request: h11.Request,
        wants_body: Callable[[h11.Response], WantedBody],
        budget: BodyBudget,
        beginning_bytes: int = 0,
    ) -> RawResponse:
        """Send a request without body and return its answer.

        Args:
          wants_body: called with the final response head before the body is read; says how much is wanted,
            raises `ExchangeError` when nothing is.
          budget: of all bodies that are coming in.
          beginning_bytes: so much of the body is wanted, and no more read; 0 wants all, within the limit.

        Raises:
          ExchangeError: the answer is broken, too large, or not wanted.
          StaleConnection: used before, and closed before the first byte of this answer.
        """
        self._bytes_received = 0
        head = self._http.send(request)
        end = self._http.send(h11.EndOfMessage())
        try:
            await self._send_all((head or b"") + (end or b""))
            response = await self._read_head()
            wanted = wants_body(response)
            with budget.body() as incoming:
                count = partial(budget.count, incoming)
                body, is_whole = await self._read_body(wanted, beginning_bytes, count)
            if incoming.scope.cancelled_caught:
                raise ExchangeError(FailureReason.CROWDED, f"the largest, {incoming.n_bytes} bytes had come")
        except h11.RemoteProtocolError as error:
            raise self._translated(error) from error
        except (OSError, trio.BrokenResourceError) as error:
            raise self._broken(error) from error
        self._is_used = True
        return RawResponse(
            response.status_code,
            response.reason.decode("latin-1"),
            response.http_version.decode("ascii"),
            tuple(
                [
                    (name.decode("latin-1"), value.decode("latin-1"))
                    for name, value in response.headers.raw_items()
                ]
            ),
            body,
            self._bytes_received,
            is_whole,
        )

    def rearm(self) -> bool:
        """Get ready for the next request; False when the connection must be closed instead.

        It must be when the server wants so, or sent more than its answer: what belongs to no question
        would be taken for the answer to the next.
        """
        if self._is_at_end or self._http.trailing_data[0]:
            return False
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    @property
    def tls_session(self) -> ssl.SSLSession | None:
        """Return the TLS session to resume at its origin; None without TLS, or before an answer."""
        return None if self._tls is None or not self._is_used else self._tls.session

    def is_quiet(self) -> bool:
        """Tell whether nothing has come since the last answer, not even the end of the connection.

        If something has it must be closed: RFC 9112, 9.2 and 9.6.
        """
        poll = select.poll()
        poll.register(self._raw.socket.fileno(), select.POLLIN)
        return not poll.poll(0) and not (self._records is not None and self._records.has_more)

    def close(self) -> None:
        """Close at once, without the farewell of TLS."""
        self._raw.socket.close()

    async def _read_head(self) -> h11.Response:
        for _ in range(self._limits.informational_max + 1):
            self._http.receive_data(readable_head(await self._receive_head()))
            event = self._http.next_event()
            if isinstance(event, h11.Response):
                if len(event.headers) > self._limits.header_count_max:
                    raise ExchangeError(FailureReason.HEADER_TOO_LARGE, f"{len(event.headers)} headers")
                names = [
                    name.lower() for name, _ in event.headers.raw_items()
                ]  # as a list: h11 walks by calls
                is_chunked = b"transfer-encoding" in names
                has_body = event.status_code not in (204, 304)
                self._chunk_lines = ChunkLines() if is_chunked and has_body else None
                if self._head:  # the body has begun
                    self._take(bytes(self._head))
                    self._head.clear()
                return event
            if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                raise ExchangeError(FailureReason.PROTOCOL, "no response, or protocol switched unasked")
        raise ExchangeError(FailureReason.PROTOCOL, "informational answers only")

    async def _receive_head(self) -> bytes:
        """Return the next head as it comes, empty line included."""
        head, bytes_max = self._head, self._limits.header_bytes_max
        searched = 0
        while True:
            if head.startswith((b"\r", b"\n")):  # RFC 9112, 2.2 has servers forgive it, and browsers do
                head[:] = head.lstrip(b"\r\n")
            if not b"HTTP/".startswith(bytes(head[:5]).upper()):
                raise ExchangeError(FailureReason.PROTOCOL, f"not HTTP: {bytes(head[:40])!r}")
            end = head_end(head, searched)
            searched = len(head)
            if (end or searched) > bytes_max:
                raise ExchangeError(FailureReason.HEADER_TOO_LARGE, f"head of more than {bytes_max} bytes")
            if end:
                whole = bytes(head[:end])
                del head[:end]
                return whole
            data = await self._receive()
            if not data:
                raise ExchangeError(FailureReason.RESET, "closed before the answer was complete")
            head += data

    async def _read_body(
        self, wanted: WantedBody, beginning_bytes: int, count: Callable[[int], None]
    ) -> tuple[bytes, bool]:
        """Return the body and whether it is whole; a body longer than wanted is cut.

        A server that says a wrong Content-Length, or forgets the last chunk, and ends the connection in peace
        has sent its page all the same: browsers show it (WHATWG Fetch leaves that to them).
        """
        bytes_max = beginning_bytes or wanted.bytes_max
        pieces: list[bytes] = []
        size = checked = 0
        while True:
            try:
                event = await self._next_event()
            except h11.RemoteProtocolError:
                if self._is_at_end and size:
                    return b"".join(pieces), False
                raise
            if not isinstance(event, h11.Data):
                break
            size += len(event.data)
            count(len(event.data))
            pieces.append(event.data)
            if wanted.is_wanted is not None and checked < SIGNATURE_BYTES <= size:
                checked = size
                if not wanted.is_wanted(b"".join(pieces)[:SIGNATURE_BYTES]):
                    raise ExchangeError(FailureReason.NOT_HTML, "not of any format that is read")
            if size > bytes_max and beginning_bytes:
                return b"".join(pieces)[:beginning_bytes], False
            if size > bytes_max:
                raise ExchangeError(FailureReason.BODY_TOO_LARGE, f"more than {bytes_max} bytes")
            if len(pieces) > self._limits.body_pieces_max:
                raise ExchangeError(FailureReason.PROTOCOL, f"body in more than {len(pieces) - 1} pieces")
        if not isinstance(event, h11.EndOfMessage):
            raise ExchangeError(FailureReason.PROTOCOL, "protocol switched unasked")
        return b"".join(pieces), True

    async def _next_event(self) -> h11.Event | type[h11.PAUSED]:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return cast(h11.Event | type[h11.PAUSED], event)
            self._take(await self._receive())

    def _take(self, data: bytes) -> None:
        """Have h11 read some of the body, nothing at the end of the connection."""
        mended = self._chunk_lines.mended(data) if self._chunk_lines else data
        if mended or not data:
            self._http.receive_data(mended)

    async def _receive(self) -> bytes:
        """Return the next bytes received, none at the end of the connection."""
        data = await self._receive_some(RECEIVE_BYTES)
        if not data:
            if self._bytes_received == 0:
                raise trio.BrokenResourceError("closed without an answer")
            self._is_at_end = True
        self._bytes_received += len(data)
        return bytes(data)

    def _translated(self, error: h11.RemoteProtocolError) -> ExchangeError:
        if self._is_at_end:
            return ExchangeError(FailureReason.RESET, "closed before the answer was complete")
        if error.error_status_hint == 431:
            return ExchangeError(FailureReason.HEADER_TOO_LARGE, str(error))
        return ExchangeError(FailureReason.PROTOCOL, str(error))

    def _broken(self, error: OSError | trio.BrokenResourceError) -> Exception:
        if self._is_used and self._bytes_received == 0:
            return StaleConnection()
        if isinstance(error.__cause__, ssl.SSLError):
            return ExchangeError(FailureReason.TLS, str(error.__cause__))
        return ExchangeError(FailureReason.RESET, str(error) or "connection broken")


async def connect(
    address: str, port: int, limits: FetchLimits, seconds: float, tls: TlsWish | None = None
) -> Connection:
    """Open a connection to an address, with TLS when that is wished for.

    Args:
      seconds: that it may take.

    Raises:
      ExchangeError: it does not take it; by reason of TLS, another address of the host will hardly do better.
    """
    return await connected_by(
        address, port, seconds, partial(connection_over, address=address, limits=limits, tls=tls)
    )


async def connected_by(
    address: str,
    port: int,
    seconds: float,
    open_over: Callable[[trio.socket.SocketType], Awaitable[Opened]],
) -> Opened:
    """Connect to an address, and open a protocol over the socket.

    Args:
      seconds: that both may take.
      open_over: closes the socket if it fails.

    Raises:
      ExchangeError: it does not take it.
    """
    try:
        with trio.fail_after(seconds):
            return await open_over(await _connected(address, port))
    except trio.TooSlowError as error:
        raise ExchangeError(FailureReason.TIMEOUT, f"no connection in {seconds:g} s") from error
    except OSError as error:
        raise ExchangeError(_reason_of(error), error.strerror or str(error)) from error


async def _connected(address: str, port: int) -> trio.socket.SocketType:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    connecting = trio.socket.socket(family, socket.SOCK_STREAM)
    try:
        await connecting.connect((address, port))
    except BaseException:
        connecting.close()
        raise
    return connecting


async def connection_over(
    connected: trio.socket.SocketType, address: str, limits: FetchLimits, tls: TlsWish | None
) -> Connection:
    """Make a connection of a socket that leads to a web host, and close it if that fails.

    Args:
      address: of the host; "" when it is not known.

    Raises:
      ExchangeError: by reason of TLS.
      OSError: it broke.
    """
    try:
        raw = trio.SocketStream(connected)  # sets TCP_NODELAY
        if tls is None:
            return Connection(raw, connected.recv, raw.send_all, address, limits)
        records = TlsRecords(raw)
        stream = trio.SSLStream(records, tls.context, server_hostname=tls.server_name, https_compatible=True)
        if tls.session is not None:
            stream.session = tls.session
        await stream.do_handshake()
    except ValueError as error:  # a name no certificate can be for, such as one with a leading dot
        connected.close()
        raise ExchangeError(FailureReason.TLS, str(error)) from error
    except trio.BrokenResourceError as error:
        connected.close()
        if isinstance(error.__cause__, ssl.SSLError):
            raise ExchangeError(FailureReason.TLS, _tls_detail(error.__cause__)) from error
        raise ExchangeError(FailureReason.TLS, "closed during the handshake") from error
    except BaseException:
        connected.close()
        raise
    return Connection(raw, stream.receive_some, stream.send_all, address, limits, records, stream)


def _tls_detail(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return str(error.verify_message)
    return error.reason or str(error)


def _reason_of(error: OSError) -> FailureReason:
    return _REASONS.get(error.errno or 0, FailureReason.UNREACHABLE)


_REASONS: Final = {
    errno.ECONNREFUSED: FailureReason.REFUSED,
    errno.ECONNRESET: FailureReason.RESET,
    errno.EPIPE: FailureReason.RESET,
    errno.ETIMEDOUT: FailureReason.TIMEOUT,
    errno.EMFILE: FailureReason.LOCAL,
    errno.ENFILE: FailureReason.LOCAL,
    errno.ENOBUFS: FailureReason.LOCAL,
    errno.ENOMEM: FailureReason.LOCAL,
    errno.EADDRNOTAVAIL: FailureReason.LOCAL,
}
