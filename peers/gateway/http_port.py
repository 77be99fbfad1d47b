"""The port that serves the gateway's pages and API over HTTP. [io]"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from hashlib import blake2b
from math import ceil
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, TypeVar

import msgspec
import trio

from mesh.actors.actor import Address, Message
from mesh.actors.port import Deliver
from mesh.errors import ConfigError, LocalProtocolError
from mesh.keys.decree import CLASSES, REVOCATION, TOPICS, WATCH, Authority
from mesh.keys.signed_token import TokenJudge
from mesh.membership.model.messages import DecreePublished, DecreesHeld, DecreesInForce
from peers.crawler.fetching.contact import Visitor, visitor_of
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.parsing.parser_port import ReadStored, StoredText
from peers.gateway.handling.backend import Busy, Refused
from peers.gateway.http.asgi import ReadBody, Request, Response, respond
from peers.gateway.http.fair_limiter import FairLimiter, LimiterFull
from peers.gateway.http.metrics import exposition
from peers.gateway.http.peer_metrics import Family, MetricSample, families_of, histogram_family
from peers.gateway.http.process_metrics import process_families
from peers.gateway.http.quotas import Quotas, client_of
from peers.gateway.http.rights import Rights, borne_by, client_behind
from peers.gateway.http.server import HttpServer
from peers.gateway.http.shown_log import ShownLog
from peers.gateway.model.histogram import Histogram
from peers.gateway.model.messages import (
    BacklinksFound,
    ChangeGateway,
    CheckLinks,
    CountsSummed,
    DrainOrdered,
    DrainRefused,
    FindBacklinks,
    FindPage,
    FindVersions,
    GatherNeighbours,
    GatherRanks,
    HistoryGathered,
    LinksChecked,
    LogFound,
    NeighboursGathered,
    NoticesGathered,
    PageFound,
    PagesFound,
    PagesHastened,
    RanksGathered,
    ReadinessTold,
    RequestRefused,
    RowAnswered,
    RowFound,
    Searched,
    SearchPages,
    SeedsAdded,
    SiteAnswered,
    SitesListed,
    StatusGathered,
    SubmissionFound,
    SuggestTexts,
    TextsSuggested,
    VersionsFound,
    WhyAnswered,
    WhyIdleAnswered,
)
from peers.gateway.model.quantity import Kind
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.model.status import PeerStatus
from peers.gateway.routes import application
from peers.gateway.site.difference import Difference
from peers.gateway.site.stored_page import PageSnapshot
from peers.gateway.site.stored_reader import StoredReader
from peers.importing.messages import ImportDeferred, PagesImported
from peers.policy.decreed import classes_of, policy_of
from peers.policy.rules import OF_SEEDS
from peers.topics.topic_list import TopicsInForce, topics_of
from peers.watch.watch_list import WatchInForce, watch_of

if TYPE_CHECKING:
    from peers.engine.pages.class_model import ClassModel

PrivateAmong: TypeAlias = Callable[[Sequence[str], tuple[str, ...]], Awaitable[Mapping[str, str]]]

logger = logging.getLogger(__name__)

# Searches under way; the others wait for their turn. Under more load than the peers can bear, all that are
# under way become slower, and those that reach their time limit incomplete: of a few at a time none does.
SEARCHES_IN_FLIGHT_MAX: Final = 16
# At 5 ms a search, the last of these waits 320 ms; more would wait longer than they are worth, so they are
# told to come back.
SEARCHES_WAITING_MAX: Final = 48
# Of those that may cost ten times as much as what people type: they have turns of their own, since a few of
# them keep every peer busy.
COSTLY_IN_FLIGHT_MAX: Final = 2
COSTLY_TEXT_BYTES: Final = 160  # some 25 words, or 50 Chinese characters
COSTLY_HITS: Final = 100  # from the first one on
# All else that people ask, as stored pages and the status: as much again.
LOOK_UPS_IN_FLIGHT_MAX: Final = 16
LOOK_UPS_WAITING_MAX: Final = 48
ORDERS_IN_FLIGHT_MAX: Final = 64  # of administrators, who need no turn for anything but searches
ASK_S_MAX: Final = 15.0  # over the sum of the searcher's own limits: only a bug gets here
STORED_READERS_MAX: Final = 2  # threads that unpack stored pages: up to 64 MB each
BACKLOG: Final = 256
# What costs nothing, and what is for administrators alone: others are refused before their body is read.
FREE_PATHS: Final = frozenset(
    (
        *(b"/healthz", b"/static/style.css", b"/robots.txt"),
        *(b"/api/import", b"/api/drain", b"/api/decrees", b"/api/submissions"),
    )
)
# Of a query: for each key that is typed, so that a word of eight letters is one; for the ten icons of a page,
# and its ten links.
SHARES: Final = {b"/api/suggest": 0.125, b"/icon": 0.1, b"/go": 0.1}
PORT_MAX: Final = 65_535

ADMINISTRATOR: Final = "administrator"  # all of them together; no address is like it
# Whose request a task answers. A connection is one task, and answers one request after the other.
_asking_client: Final = ContextVar("_asking_client", default=ADMINISTRATOR)

Answer = TypeVar("Answer", bound=Message)
Made = TypeVar("Made")


def listen(host: str, port: int) -> socket.socket:
    """Bind the gateway's socket.

    Args:
      host: name or address of this machine, one of IPv6 in brackets or not; "" for all.
      port: 0 for any that is free.

    Raises:
      ConfigError: it cannot be bound; the text says what to change.
    """
    host = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        if port > PORT_MAX:  # `create_server` would raise the same, and leave its socket open
            raise OverflowError(f"a port is 0 to {PORT_MAX}")
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        raise ConfigError(
            f"the gateway cannot listen on {_authority(host or '*', port)} ({_reason(error)}): stop the "
            "program that uses it, or choose another in gateway.listen of config.toml, or with `up --set "
            "gateway.listen=HOST:PORT`"
        ) from error


def url_of(listener: socket.socket, host: str) -> str:
    """Return the URL of a gateway that listens on a name or address, as in its configuration."""
    return f"http://{_authority(host.removeprefix('[').removesuffix(']'), listener.getsockname()[1])}"


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Http:
    """Hands requests of clients to the searcher or the importer, and the answers back to the clients."""

    name: ClassVar[str] = "http"

    def __init__(
        self,
        me: str,
        listener: socket.socket,
        statistics: Callable[[], Mapping[str, object]],
        status: Callable[[], PeerStatus],
        settings: GatewaySettings | None = None,
        read_stored: ReadStored | None = None,
        visitor: Visitor | None = None,
        private_among: PrivateAmong | None = None,
        authority: Authority | None = None,
    ) -> None:
        """Take over a bound socket; `run` serves and closes it.

        Args:
          me: id of this peer.
          listener: of `listen`.
          statistics: all counters of this peer by actor or port, for /metrics.
          status: of this peer, likewise.
          settings: until `ChangeGateway`.
          read_stored: reads a stored page where it can do no harm; without it there is nothing to read.
          visitor: how this peer presents itself to the web; by default as without a configuration.
          private_among: tells which hosts are at private addresses; without it none are.
          authority: of the mesh, whose administrators sign tokens; without it none of these counts.
        """
        self.port: int = listener.getsockname()[1]  # the real one, also after binding port 0
        self.address = Address(me, self.name)
        self._server = HttpServer(listener, self._respond, client_limit=self._connections_of)
        self._statistics = statistics
        self._status = status
        self._stored = StoredReader(read_stored or _read_nothing)
        self.settings = settings or GatewaySettings()
        self.visitor = visitor or visitor_of(CrawlSettings(), (), is_closed=True)
        self._private_among = private_among or _none_private
        self.rights = Rights(None if authority is None else TokenJudge(authority))
        self.policy = OF_SEEDS
        self.classes: ClassModel | None = None
        self.watch_list: WatchInForce | None = None
        self.topics: TopicsInForce | None = None
        self.shown_log = ShownLog(self._tell_log, self.settings.admin_token)
        self._quotas = Quotas(self.settings)
        self._under_way: Counter[str] = Counter()  # requests by client
        self._application = application(self)
        self._deliver: Deliver | None = None
        self._nursery: trio.Nursery | None = None  # of what goes on after an answer
        self._waiting: dict[int, _Waiter] = {}
        self._next_ticket = 1
        self._asker_key = os.urandom(16)
        self._reader_turns = FairLimiter(STORED_READERS_MAX, LOOK_UPS_WAITING_MAX)
        self._search_turns = FairLimiter(SEARCHES_IN_FLIGHT_MAX, SEARCHES_WAITING_MAX)
        self._costly_turns = FairLimiter(COSTLY_IN_FLIGHT_MAX, SEARCHES_WAITING_MAX)
        self._look_up_turns = FairLimiter(LOOK_UPS_IN_FLIGHT_MAX, LOOK_UPS_WAITING_MAX)
        self._asks = 0  # under way, and waiting for a turn
        self._orders = 0  # of administrators
        self._requests: dict[str, int] = {}  # by status class: 2xx, ...
        self._seconds = 0.0
        self._search_s = Histogram()
        self._busy = 0

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case PagesFound() | PageFound() | StatusGathered() | SeedsAdded() | RequestRefused():
                self._hand_over(message.ticket, message)
            case DrainOrdered() | DrainRefused() | ReadinessTold() | PagesImported() | ImportDeferred():
                self._hand_over(message.ticket, message)
            case VersionsFound() | LinksChecked() | TextsSuggested() | PagesHastened():
                self._hand_over(message.ticket, message)
            case DecreesHeld() | DecreePublished() | WhyAnswered() | WhyIdleAnswered() | HistoryGathered():
                self._hand_over(message.ticket, message)
            case LogFound() | NoticesGathered() | SiteAnswered() | SubmissionFound() | SitesListed():
                self._hand_over(message.ticket, message)
            case BacklinksFound() | RanksGathered() | RowAnswered() | RowFound() | CountsSummed():
                self._hand_over(message.ticket, message)
            case NeighboursGathered():
                self._hand_over(message.ticket, message)
            case DecreesInForce(kind, decrees) if kind == REVOCATION:
                self.rights.revoke(decree.subject for decree in decrees)
            case DecreesInForce(kind, decrees) if kind == CLASSES:
                self.classes = classes_of(decrees, self.classes)
            case DecreesInForce(kind, decrees) if kind == WATCH:
                self.watch_list = watch_of(decrees, self.watch_list)
            case DecreesInForce(kind, decrees) if kind == TOPICS:
                self.topics = topics_of(decrees, self.topics)
            case DecreesInForce() if (policy := policy_of(message)) is not None:
                self.policy = policy
                self.shown_log.rules = policy.query_log
            case DecreesInForce():
                pass
            case ChangeGateway(settings):
                self.settings = settings
                self._quotas.change_settings(settings)
            case _:
                raise LocalProtocolError(f"the gateway got {type(message).__name__} from {source}")

    def _hand_over(self, ticket: int, answer: Message) -> None:
        waiter = self._waiting.pop(ticket, None)
        if waiter is not None:
            waiter.answer = answer
            waiter.is_answered.set()

    async def run(self, deliver: Deliver) -> None:
        """Serve until cancelled; then let requests under way end for a moment."""
        self._deliver = deliver
        stopping = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._serve, stopping)
            self._nursery = nursery
            try:
                await trio.sleep_forever()
            finally:
                self._deliver = self._nursery = None
                for ticket in list(self._waiting):
                    self.receive(self.address, RequestRefused(ticket, "this peer is stopping"))
                stopping.set()

    # --- What the application needs (routes.Backend) ---------------------------------------------

    async def ask(
        self, order: Callable[[int], Message], answer: type[Answer], actor: str = "searcher"
    ) -> Answer:
        client = _asking_client.get()
        ticket = self._next_ticket
        self._next_ticket += 1
        self._asks += 1
        began, message = trio.current_time(), self._for_client(client, order(ticket))
        try:
            turns = self._turns_for(message, client)
            if turns is None:
                return await self._obey(ticket, message, answer, actor)
            async with self._turn(turns, client):
                found = await self._ask(ticket, message, answer, actor)
        finally:
            self._asks -= 1
        if isinstance(message, SearchPages):
            self._search_s.note(trio.current_time() - began)
            self._tell_searched(client, message, found)
            if self.policy.query_log is not None and client != ADMINISTRATOR:
                assert isinstance(found, PagesFound)
                self.shown_log.note_shown(client, message, found)
        return found

    def _tell_log(self, message: Message) -> None:
        if self._deliver is not None:
            self._deliver(self.address, "query_log", message)

    def _for_client(self, client: str, order: Message) -> Message:
        """Add to an order the domains that the policy hides from a client at this address."""
        if client == ADMINISTRATOR or not isinstance(
            order,
            SearchPages
            | SuggestTexts
            | FindPage
            | FindVersions
            | FindBacklinks
            | GatherRanks
            | GatherNeighbours
            | CheckLinks,
        ):
            return order
        hidden = self.policy.hidden_from(client)
        return msgspec.structs.replace(order, hidden=hidden) if hidden else order

    def _tell_searched(self, client: str, order: SearchPages, found: Message) -> None:
        """Tell the searcher of a query and its answer, and of the client only a digest."""
        if self._deliver is None or not isinstance(found, PagesFound) or order.offset or order.cursor:
            return
        digest = blake2b(client.encode(), digest_size=8, key=self._asker_key).digest()
        self._deliver(self.address, "searcher", Searched(int.from_bytes(digest), order.text, found))

    def _turns_for(self, order: Message, client: str) -> FairLimiter | None:
        """Those that an order waits for; None for one of an administrator."""
        if isinstance(order, SearchPages):
            return self._costly_turns if _is_costly(order) else self._search_turns
        return None if client == ADMINISTRATOR else self._look_up_turns

    @asynccontextmanager
    async def _turn(self, turns: FairLimiter, client: str) -> AsyncIterator[None]:
        """Have a turn of a client. Busy."""
        try:
            async with turns.turn(client):
                yield
        except LimiterFull:
            self._busy += 1
            raise Busy("too many requests at once") from None

    async def _obey(self, ticket: int, order: Message, answer: type[Answer], actor: str) -> Answer:
        if self._orders >= ORDERS_IN_FLIGHT_MAX:
            self._busy += 1
            raise Busy("too many orders at once")
        self._orders += 1
        try:
            return await self._ask(ticket, order, answer, actor)
        finally:
            self._orders -= 1

    async def _ask(self, ticket: int, order: Message, answer: type[Answer], actor: str) -> Answer:
        if self._deliver is None:
            self._busy += 1
            raise Busy("this peer is stopping")
        waiter = self._waiting[ticket] = _Waiter()
        try:
            self._deliver(self.address, actor, order)  # may answer before it returns
            with trio.move_on_after(ASK_S_MAX):
                await waiter.is_answered.wait()
        finally:
            self._waiting.pop(ticket, None)
        match waiter.answer:
            case RequestRefused(reason=reason) | ImportDeferred(reason=reason):
                self._busy += 1
                raise Busy(reason)
            case DrainRefused(reason=reason, is_known=is_known):
                raise Refused(reason, is_known=is_known)
            case None:
                raise Busy("no answer came")
            case found:
                assert isinstance(found, answer)
                return found

    async def read_stored(self, url: str, records: bytes, *, wants_text: bool = True) -> PageSnapshot:
        async with self._turn(self._reader_turns, _asking_client.get()):
            return await self._stored.page(url, records, wants_text=wants_text)

    async def read_difference(self, url: str, before: bytes, after: bytes) -> Difference:
        async with self._turn(self._reader_turns, _asking_client.get()):
            return await self._stored.difference(url, before, after)

    async def render(self, page: Callable[[], Made]) -> Made:
        return await trio.to_thread.run_sync(page)

    async def private_among(self, urls: Sequence[str], decreed: tuple[str, ...] = ()) -> Mapping[str, str]:
        return await self._private_among(urls, decreed)

    def now(self) -> float:
        return trio.current_time()

    def start(self, work: Callable[[], Awaitable[None]]) -> None:
        if self._nursery is None:
            raise Busy("this peer is stopping")
        self._nursery.start_soon(work)

    def take_seeds(self, client: str, count: int) -> float:
        return self._quotas.take_seeds(client, count, self.now())

    def take_changes(self, counts: Mapping[str, int]) -> float:
        return self._quotas.take_changes(counts, self.now())

    def take_submission(self, client: str, day_max: int) -> float:
        return self._quotas.take_submission(client, day_max, self.now())

    def draw(self) -> bytes:
        return os.urandom(16)

    def metrics(self, media_type: str) -> str:
        requests = (MetricSample(count, {"class": kind}) for kind, count in sorted(self._requests.items()))
        of_gateway = (
            Family(
                "tianmesh_http_requests_total",
                Kind.COUNTER,
                "Requests answered by the gateway, by class of status.",
                tuple(requests),
            ),
            histogram_family(
                "tianmesh_search_duration_seconds",
                "Seconds from a question of a person or program to the answer, waiting included.",
                self._search_s,
            ),
        )
        families = (*families_of(self._status()), *of_gateway, *process_families())
        return exposition(families, self.statistics(), media_type)

    def search_classes(self) -> tuple[int, ...]:
        """How many searches took how long, in the classes of `histogram.SEARCH_BOUNDS_S`."""
        return self._search_s.counts

    def statistics(self) -> Mapping[str, object]:
        own = {"requests": self._requests, "seconds": self._seconds, "busy": self._busy}
        server = msgspec.structs.asdict(self._server.observe())
        quotas = {"clients": len(self._quotas), "over_quota": self._quotas.refused}
        return {**self._statistics(), self.name: {**own, "waiting": self._asks, **quotas, **server}}

    # --- The server ------------------------------------------------------------------------------

    async def _serve(self, stopping: trio.Event) -> None:
        with trio.CancelScope(shield=True):  # it is stopped by the event, in order
            await self._server.serve(stopping)

    async def _respond(self, request: Request, read_body: ReadBody) -> Response:
        began = trio.current_time()
        response = await self._respond_within_quota(request, read_body)
        kind = f"{response.status // 100}xx"
        self._requests[kind] = self._requests.get(kind, 0) + 1
        self._seconds += trio.current_time() - began
        return response

    def _connections_of(self, client: str) -> int:
        """How many a client may have; 0 for any number."""
        is_proxy = client in map(client_of, self.settings.proxies)
        return 0 if is_proxy else self.settings.client_connections_max

    async def _respond_within_quota(self, request: Request, read_body: ReadBody) -> Response:
        client = client_behind(request.client[0], request.headers, self.settings.proxies)
        given = borne_by(request.headers)
        is_new = self.rights.is_costly(given)
        if is_new and (wait_s := self._quotas.wait_for_token(client, self.now())):
            return _come_back(wait_s)
        token = self.rights.of(given, self.settings.admin_token, time.time()).token
        if is_new and token is None:
            self._quotas.note_bad_token(client, self.now())
        elif is_new and token is not None:
            logger.info("a token counts for=%r right=%s client=%s", token.holder, token.right, client)
        if token is not None:  # also one to read: who watches a mesh has to see it when it is busiest
            _asking_client.set(ADMINISTRATOR)
            return await respond(self._application, request, read_body)
        _asking_client.set(client)
        path = request.target.partition(b"?")[0]
        if path in FREE_PATHS:
            return await respond(self._application, request, read_body)
        wait_s = self._wait_of(client, SHARES.get(path, 1.0))
        if wait_s:
            return _come_back(wait_s)
        received = 0

        async def read_and_count() -> bytes:
            nonlocal received
            part = await read_body()
            received += len(part)
            return part

        self._under_way[client] += 1
        try:
            response = await respond(self._application, request, read_and_count)
        finally:
            self._under_way[client] -= 1
            self._under_way += Counter()  # forgets who has none
        self._quotas.note_bytes(client, received + len(response.body), self.now())
        return response

    def _wait_of(self, client: str, share: float) -> float:
        """In how many seconds a request of this client can be taken; 0.0 when it was."""
        limit = self.settings.client_requests_max
        if limit and self._under_way[client] >= limit:
            return 1.0
        now = self.now()
        return self._quotas.wait_for_bytes(client, now) or self._quotas.take_query(client, now, share)


async def _none_private(urls: Sequence[str], decreed: tuple[str, ...] = ()) -> Mapping[str, str]:
    return {}


async def _read_nothing(url: str, records: bytes) -> StoredText:
    return StoredText()


class _Waiter:
    """One request that waits for the searcher."""

    def __init__(self) -> None:
        self.is_answered = trio.Event()
        self.answer: Message | None = None


def _is_costly(order: SearchPages) -> bool:
    is_long = len(order.text.encode(errors="replace")) > COSTLY_TEXT_BYTES
    return is_long or order.offset + order.k > COSTLY_HITS or order.wants_explanations


def _come_back(wait_s: float) -> Response:
    """The answer to a client that asks too much. RFC 6585, 4."""
    seconds = b"%d" % ceil(wait_s)
    body = b'{"error":"this client asks too much: come back in %s s"}' % seconds
    return Response(429, [(b"content-type", b"application/json"), (b"retry-after", seconds)], body)


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None) or 0
    # Python adds the address to the text of some errors; name resolution has numbers of its own, below 0.
    text = os.strerror(number) if number > 0 else getattr(error, "strerror", None) or str(error)
    return text.lower()
