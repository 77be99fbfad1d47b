"""Fetch pages over HTTP, and listings over FTP: look up, check the address, connect or reuse, ask. [io]

Bodies stay in their content codings, but for beginnings, as of a robots.txt. Follows no redirects, keeps no
cookies, sends none but one that it is given, and knows no robots.txt or politeness: the controller decides
what is fetched when. It keeps at most one idle connection per host, to the origin that was asked last, and
asks each public address one thing at a time (`address_queues`): only here it is known which hosts share one.
"""

from __future__ import annotations

import logging
import ssl
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import h11
import trio

from mesh.actors.actor import Statistics
from mesh.urls import FTP, host_of, hostname_of, origin_of
from peers.crawler.addresses.address_queues import AddressQueues
from peers.crawler.addresses.addresses import BAD_PORTS, AddressPolicy, advice_on, is_among, is_own_name
from peers.crawler.fetching.body_budget import BodyBudget
from peers.crawler.fetching.connection import (
    AnyConnection,
    ExchangeError,
    FetchLimits,
    RawResponse,
    StaleConnection,
    TlsWish,
    WantedBody,
    connect,
    connection_over,
)
from peers.crawler.fetching.contact import ADVICE
from peers.crawler.fetching.content_encoding import Decoded, Undecodable, decode_beginning
from peers.crawler.fetching.resolver import (
    LOOK_AGAIN_S,
    Endpoints,
    LookupFailed,
    NoSuchName,
    Resolver,
    StillOpen,
    is_address,
)
from peers.crawler.fetching.tls_sessions import TlsSessions
from peers.crawler.model.address_rules import AddressVerdict
from peers.crawler.model.web_request import FailureReason, FetchFailed, FetchPage, FetchResult, PageFetched
from peers.documents.formats import (
    DOCUMENT_MEDIA_TYPES,
    UNKNOWN_MEDIA_TYPES,
    may_be_document,
    named_media_type,
)

if TYPE_CHECKING:
    from peers.crawler.fetching.proxy import Proxy

ACCEPT: Final = "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1"
ACCEPT_ENCODING: Final = "gzip, br, zstd"
FTP_PORT: Final = 21
_DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ftp": FTP_PORT}
LOOK_UP_S: Final = 3.0  # that names are looked up for somebody who waits
LOOKED_UP_MAX: Final = 64  # of them

logger = logging.getLogger(__name__)

# decode_beginning(body, codings, n_bytes), see `content_encoding`
DecodeBeginning: TypeAlias = Callable[[bytes, str, int], Awaitable[Decoded]]


class FetcherStatistics(Statistics, frozen=True):
    """The idle connections and the memory of incoming bodies at present."""

    connections_idle: int
    bytes_coming_in: int  # memory of bodies that are not complete


class RuledOut(Exception):
    """The policy of the mesh lets a host not be asked at any of its addresses, or not now."""

    def __init__(self, address: str, verdict: AddressVerdict) -> None:
        super().__init__(verdict.reason)
        self.address = address
        self.pause_s = 0.0 if verdict.reason else verdict.pause_s


class AddressBusy(Exception):
    """All addresses of a host have their turns with others."""

    def __init__(self, pause_s: float) -> None:
        super().__init__(f"its turn is in {pause_s:.1f} s")
        self.pause_s = pause_s


class Fetcher:
    """Fetches for any number of tasks at once; the caller sees to one fetch per host at a time."""

    def __init__(
        self,
        resolver: Resolver,
        *,
        limits: FetchLimits | None = None,
        addresses: AddressPolicy | None = None,
        tls: ssl.SSLContext | None = None,
        decode_beginning: DecodeBeginning | None = None,
        turns: AddressQueues | None = None,
        proxy: Proxy | None = None,
    ) -> None:
        """Make a fetcher.

        Args:
          proxy: to ask all through; then the resolver is not asked, and policies know no addresses.
          tls: as from `tls_context`, by default with the system's authorities.
          decode_beginning: does what `content_encoding.decode_beginning` does, where that holds nobody up; by
            default in a thread.
        """
        self._resolver = resolver
        self._limits = limits or FetchLimits()
        self._addresses = addresses or AddressPolicy()
        self._tls = tls or tls_context()
        self._decode_beginning = decode_beginning or _decode_in_a_thread
        self._bodies = BodyBudget(self._limits.bodies_bytes_max)
        self.turns = turns or AddressQueues()
        self._proxy = proxy
        self._sessions = TlsSessions()
        self._has_warned = False  # once is enough
        self._idle: OrderedDict[str, AnyConnection] = OrderedDict()  # by host, longest idle first

    async def fetch(self, request: FetchPage) -> FetchResult:
        """Fetch one URL; every fault of the world is a `FetchFailed`, none is raised."""
        started_at, started = time.time(), trio.current_time()
        try:
            with trio.fail_after(self._limits.total_s):
                message = self._message(request)
                connection, answer = await self._exchange(request, message)
            codings = _codings_of(answer)
            body, is_whole = answer.body, answer.is_whole
            if codings and request.beginning_bytes:
                body, is_whole = await self._beginning_of(body, codings, request.beginning_bytes)
                codings = ""
        except AddressBusy as busy:
            return FetchFailed(request.url, FailureReason.ADDRESS_BUSY, str(busy), busy.pause_s)
        except StillOpen as question:
            return FetchFailed(request.url, FailureReason.DNS_OPEN, str(question), LOOK_AGAIN_S)
        except RuledOut as ruled:
            return FetchFailed(request.url, FailureReason.POLICY, str(ruled), ruled.pause_s, ip=ruled.address)
        except trio.TooSlowError:
            return FetchFailed(request.url, FailureReason.TIMEOUT, f"not done in {self._limits.total_s:g} s")
        except ExchangeError as error:
            return FetchFailed(request.url, error.reason, error.detail)
        except Undecodable as error:
            return FetchFailed(request.url, FailureReason.DECODING, str(error))
        return PageFetched(
            url=request.url,
            status=answer.status,
            reason_phrase=answer.reason_phrase,
            http_version=answer.http_version,
            headers=answer.headers,
            body=body,
            request_head=_head(message),
            ip=connection.ip,
            started_at=round(started_at, 6),  # as its WARC record says, so that it is the same version
            seconds=trio.current_time() - started,
            bytes_received=answer.bytes_received,
            is_whole=is_whole,
            codings=codings,
        )

    async def private_among(self, urls: Iterable[str], decreed: tuple[str, ...] = ()) -> dict[str, str]:
        """Return the host names of canonical URLs that lead to private addresses, and the advice on each.

        Names that are not looked up in time are none of them: all are decided on before they are asked.

        Args:
          decreed: names and networks that the policy of the mesh allows.
        """
        found: dict[str, str] = {}

        async def look(hostname: str, port: int) -> None:
            with suppress(NoSuchName, LookupFailed, StillOpen):
                addresses = (await self._resolver.resolve(hostname, port)).addresses
                refusal = self._addresses.refusal(hostname, addresses, decreed)
                if refusal is not None:
                    found[hostname] = f"{refusal}: {advice_on(hostname, addresses)}"

        origins = {hostname_of(origin): origin for origin in map(origin_of, urls)}
        with trio.move_on_after(LOOK_UP_S):
            async with trio.open_nursery() as nursery:
                for hostname, origin in list(origins.items())[:LOOKED_UP_MAX]:
                    if self._proxy is None or is_address(hostname):
                        port = _port_of(origin, _DEFAULT_PORTS[origin.partition(":")[0]])
                        nursery.start_soon(look, hostname, port)
        return found

    async def _beginning_of(self, body: bytes, codings: str, n_bytes: int) -> Decoded:
        """Undo content codings, in a time of its own: the server has done its part."""
        seconds = self._limits.decoding_s
        try:
            with trio.fail_after(seconds):
                return await self._decode_beginning(body, codings, n_bytes)
        except trio.TooSlowError as error:
            raise Undecodable(f"not decoded in {seconds:g} s") from error

    @property
    def idle_connections(self) -> int:
        """How many connections are kept open for a next request."""
        return len(self._idle)

    def observe(self) -> FetcherStatistics:
        return FetcherStatistics(len(self._idle), self._bodies.n_bytes)

    def close_idle(self, seconds: float | None = None) -> None:
        """Close the connections that are idle for so long; by default for `FetchLimits.keep_alive_s`.

        Every fetch does it; call it now and then when nothing is fetched.
        """
        patience = self._limits.keep_alive_s if seconds is None else seconds
        latest = trio.current_time() - patience
        while self._idle and next(iter(self._idle.values())).idle_since <= latest:
            self._idle.popitem(last=False)[1].close()

    def close(self) -> None:
        """Close all idle connections; those in use close with their fetch."""
        self.close_idle(0.0)

    async def _exchange(self, request: FetchPage, message: h11.Request) -> tuple[AnyConnection, RawResponse]:
        host, origin = host_of(request.url), origin_of(request.url)
        self.close_idle()
        connection = self._idle_to(host, origin, request)
        if connection is not None:
            if not self._take(connection.ip, hostname_of(origin), request):
                self._keep(host, connection)
                raise self._busy((connection.ip,), hostname_of(origin), request)
            try:
                return connection, await self._ask(connection, host, request, message)
            except StaleConnection:
                pass  # closed by the server while idle: its right, and no fault
        connection = await self._connect(origin, request)
        connection.origin = origin
        return connection, await self._ask(connection, host, request, message)

    def _idle_to(self, host: str, origin: str, request: FetchPage) -> AnyConnection | None:
        """Take the idle connection of a host, to be used or closed before another one is opened.

        It is of no use when it leads to another origin, or to where the policy does not want to ask any more,
        or when the server has said anything on it.
        """
        connection = self._idle.pop(host, None)
        if connection is None:
            return None
        rules = request.address_rules
        is_wanted = rules is None or rules.at(connection.ip).is_to_ask
        if connection.origin != origin or not is_wanted or not connection.is_quiet():
            connection.close()
            return None
        return connection

    async def _ask(
        self, connection: AnyConnection, host: str, request: FetchPage, message: h11.Request
    ) -> RawResponse:
        try:
            cut_bytes = self._limits.body_bytes_max if request.may_be_cut else 0
            answer = await connection.ask(
                message, self._body_check(request), self._bodies, request.beginning_bytes or cut_bytes
            )
        except BaseException as error:
            connection.close()
            if isinstance(error, StaleConnection):
                self.turns.give_back(connection.ip)
            raise
        finally:
            self.turns.release(connection.ip, trio.current_time())
        self._sessions.keep(connection.origin, connection.tls_session)
        if connection.rearm():
            self._keep(host, connection)
        else:
            connection.close()
        return answer

    def _keep(self, host: str, connection: AnyConnection) -> None:
        earlier = self._idle.pop(host, None)
        if earlier is not None:
            earlier.close()
        connection.idle_since = trio.current_time()
        self._idle[host] = connection
        if len(self._idle) > self._limits.connections_idle_max:
            self._idle.popitem(last=False)[1].close()

    async def _connect(self, origin: str, request: FetchPage) -> AnyConnection:
        """Open a connection to an origin, with the turn of its address."""
        hostname = hostname_of(origin)
        is_secure = origin.startswith("https:")
        is_ftp = origin.startswith(FTP)
        port = _port_of(origin, _DEFAULT_PORTS[origin.partition(":")[0]])
        if port in BAD_PORTS and not (is_ftp and port == FTP_PORT):
            raise ExchangeError(FailureReason.URL, f"port {port} belongs to another protocol")
        tls = TlsWish(self._tls, hostname, self._sessions.take(origin)) if is_secure else None
        if self._proxy is not None and is_ftp:
            raise ExchangeError(FailureReason.URL, "FTP servers are not asked through a proxy")
        if self._proxy is not None:
            return await self._connect_through(self._proxy, request, hostname, port, tls)
        try:
            endpoints = await self._resolver.resolve(hostname, port)
        except NoSuchName as error:
            raise ExchangeError(FailureReason.DNS, str(error)) from error
        except LookupFailed as error:
            raise ExchangeError(FailureReason.DNS_TEMPORARY, str(error)) from error
        refusal = self._addresses.refusal(hostname, endpoints.addresses, request.allow_private)
        if refusal is not None:
            raise ExchangeError(FailureReason.PRIVATE_ADDRESS, refusal)
        self._check_contact(hostname, endpoints.addresses)
        if request.address_rules is not None:
            wanted = request.address_rules.to_ask(endpoints.addresses)
            if not wanted:
                raise RuledOut(*request.address_rules.refusal(endpoints.addresses))
            endpoints = endpoints._replace(addresses=wanted)
        return await self._connect_in_turn(endpoints, tls, hostname, request, is_ftp=is_ftp)

    def _check_contact(self, hostname: str, addresses: Sequence[str]) -> None:
        if not self._addresses.needs_contact(hostname, addresses):
            return
        if not self._has_warned:
            logger.warning("not asked host=%s: %s", hostname, ADVICE)
            self._has_warned = True
        raise ExchangeError(FailureReason.NO_CONTACT, ADVICE)

    async def _connect_through(
        self, proxy: Proxy, request: FetchPage, hostname: str, port: int, tls: TlsWish | None
    ) -> AnyConnection:
        """Open a connection by way of a proxy, which alone knows the address of the host."""
        literal = (hostname,) if is_address(hostname) else ()
        refusal = self._addresses.refusal(hostname, literal, request.allow_private)
        if (
            refusal is None
            and is_own_name(hostname)
            and not is_among(hostname, self._addresses.allowed_names)
        ):
            refusal = f"{hostname} is the machine of the proxy"
        if refusal is not None:
            raise ExchangeError(FailureReason.PRIVATE_ADDRESS, refusal)
        self._check_contact(hostname, literal)
        rules = request.address_rules
        if rules is not None and not rules.at("").is_to_ask:
            raise RuledOut("", rules.at(""))
        connected = await proxy.connect(request.url, hostname, port, self._limits.connect_s)
        try:
            return await connection_over(connected, "", self._limits, tls)
        except OSError as error:
            raise ExchangeError(FailureReason.RESET, str(error)) from error

    async def _connect_in_turn(
        self, endpoints: Endpoints, tls: TlsWish | None, hostname: str, request: FetchPage, *, is_ftp: bool
    ) -> AnyConnection:
        """Open a connection to the first of the addresses that takes one and has no turn with others.

        As long as others have their turn at one of them, nobody knows that the host cannot be asked.
        """
        busy: list[str] = []
        failure: ExchangeError | None = None
        addresses = endpoints.addresses[: self._limits.addresses_tried_max]
        for index, address in enumerate(addresses):
            if not self._take(address, hostname, request):
                busy.append(address)
                continue
            self._close_idle_at(address)
            has_other_family = any((":" in other) != (":" in address) for other in addresses[index + 1 :])
            seconds = self._limits.fallback_s if has_other_family else self._limits.connect_s
            try:
                if is_ftp:
                    return await _connect_by_ftp(address, endpoints.port, self._limits, seconds)
                return await connect(address, endpoints.port, self._limits, seconds, tls)
            except BaseException as error:
                self.turns.release(address, trio.current_time())
                if not isinstance(error, ExchangeError) or error.reason is FailureReason.TLS:
                    raise
                failure = error
        if busy or failure is None:
            raise self._busy(tuple(busy), hostname, request)
        raise failure

    def _close_idle_at(self, address: str) -> None:
        """Close the idle connections to an address to which another one is going to be opened."""
        if self.turns.is_shared(address):
            for host in [host for host, connection in self._idle.items() if connection.ip == address]:
                self._idle.pop(host).close()

    def _take(self, address: str, host: str, request: FetchPage) -> bool:
        """Begin the turn of a host at an address, if it has it now."""
        delay_s = _delay_s(request, address)
        return self.turns.take(address, host, delay_s, trio.current_time())

    def _busy(self, addresses: tuple[str, ...], host: str, request: FetchPage) -> AddressBusy:
        now = trio.current_time()
        delay_s = min((_delay_s(request, address) for address in addresses), default=request.delay_s)
        return AddressBusy(self.turns.book(addresses, host, delay_s, now))

    def _message(self, request: FetchPage) -> h11.Request:
        scheme, separator, rest = request.url.partition("://")
        authority, slash, path = rest.partition("/")
        if scheme not in ("http", "https", "ftp") or not separator or not slash:
            raise ExchangeError(FailureReason.URL, "not a canonical URL of http(s) or ftp")
        headers = [
            ("Host", authority),
            ("User-Agent", request.user_agent),
            ("Accept", ACCEPT),
            ("Accept-Encoding", ACCEPT_ENCODING),
        ]
        if request.etag:
            headers.append(("If-None-Match", request.etag))
        if request.cookie:
            headers.append(("Cookie", request.cookie))
        if request.last_modified:
            headers.append(("If-Modified-Since", request.last_modified))
        target = f"/{path}"
        if self._proxy is not None and self._proxy.takes_whole_urls(request.url):
            target = request.url
            headers += self._proxy.headers()
        try:
            return h11.Request(method="GET", target=target, headers=headers)
        except (h11.LocalProtocolError, UnicodeEncodeError) as error:
            raise ExchangeError(FailureReason.URL, str(error)) from error

    def _body_check(self, request: FetchPage) -> Callable[[h11.Response], WantedBody]:
        def check(response: h11.Response) -> WantedBody:
            fields = reversed(response.headers.raw_items())  # of repeated ones the first counts
            heads = {name.lower(): value for name, value in fields}
            media_type = named_media_type(heads.get(b"content-type", b"").decode("latin-1"))
            length = int(heads.get(b"content-length", b"0"))
            if response.status_code == 407 and self._proxy is not None:
                raise ExchangeError(FailureReason.LOCAL, "the proxy wants a password")
            wanted = self._wanted_of(media_type, is_coded=b"content-encoding" in heads)
            may_be_cut = request.may_be_cut or request.beginning_bytes
            if response.status_code == 304:  # RFC 9110, 15.4.5: its length is of a body left out
                return wanted
            if length > wanted.bytes_max and not may_be_cut:
                raise ExchangeError(FailureReason.BODY_TOO_LARGE, f"{length} bytes announced")
            is_page = 200 <= response.status_code < 300
            if is_page and request.media_types and media_type not in ("", *request.media_types):
                raise ExchangeError(FailureReason.NOT_HTML, media_type[:100])
            # Lists of pages come packed, and by their names more is known of them.
            is_sniffed = is_page and request.media_types and not may_be_cut
            return wanted if is_sniffed else wanted._replace(is_wanted=None)

        return check

    def _wanted_of(self, media_type: str, *, is_coded: bool) -> WantedBody:
        limits = self._limits
        if media_type in UNKNOWN_MEDIA_TYPES:
            return WantedBody(limits.document_bytes_max, None if is_coded else may_be_document)
        is_document = media_type in DOCUMENT_MEDIA_TYPES
        return WantedBody(limits.document_bytes_max if is_document else limits.body_bytes_max)


def tls_context(authorities: Path | None = None) -> ssl.SSLContext:
    """Make a context that checks certificates and names, against a file of authorities or the system's."""
    context = ssl.create_default_context(cafile=authorities)
    context.set_alpn_protocols(["http/1.1"])
    return context


async def _connect_by_ftp(address: str, port: int, limits: FetchLimits, seconds: float) -> AnyConnection:
    """Open a session of FTP, whose module is loaded with the first."""
    from peers.crawler.fetching.ftp_connection import connect as connect_by_ftp

    return await connect_by_ftp(address, port, limits, seconds)


async def _decode_in_a_thread(body: bytes, codings: str, n_bytes: int) -> Decoded:
    return await trio.to_thread.run_sync(decode_beginning, body, codings, n_bytes, abandon_on_cancel=True)


def _delay_s(request: FetchPage, address: str) -> float:
    rules = request.address_rules
    return request.delay_s if rules is None else rules.at(address).delay_s


def _codings_of(answer: RawResponse) -> str:
    return ",".join([value for name, value in answer.headers if name.lower() == "content-encoding"])


def _port_of(origin: str, default: int) -> int:
    _, _, port = origin.rpartition(":")
    return int(port) if port.isdigit() else default


def _head(message: h11.Request) -> bytes:
    lines = [b"%s %s HTTP/1.1" % (message.method, message.target)]
    lines += [b"%s: %s" % (name, value) for name, value in message.headers.raw_items()]
    return b"\r\n".join(lines) + b"\r\n\r\n"
