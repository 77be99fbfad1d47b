"""The web application of the gateway: an answer for each request, without the server that carries it.

Nothing a client sends is trusted: queries, numbers and bodies have limits, `Host` becomes part of an address
only in feeds, and only when it is ours, and only a page of this gateway itself may post (`_is_foreign`): a
web page somewhere else must not make its reader's peer crawl.

Whoever can reach a gateway under a name of its own (`_HostCheck`) may search. Orders that change the mesh,
pages of files, seeds (where they are not taken from anybody), metrics and all of the status are for
administrators, who send a token that one of them has signed, or that of this peer (`rights`): also on this
machine, for what a proxy there passes on looks the same. In a browser they sign in with it, to see
(`sign_in`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address
from math import ceil, inf
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import unquote

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mesh.actors.actor import Message
from mesh.errors import CorruptionError, RemoteProtocolError
from mesh.keys.certificate import why_no_beginning
from mesh.keys.decree import DECREE_BYTES_MAX, POLICY, Decree
from mesh.keys.signed_token import Judgement, TokenRight
from mesh.membership.messages import AskDecrees, DecreePublished, DecreesHeld, DecreesInForce, PublishDecree
from mesh.urls import canonical, host_of, hostname_of, origin_of
from peers.crawler.fetching.contact import ADVICE, Visitor
from peers.engine.query import Order
from peers.engine.reading import QUERY_CHARS_MAX
from peers.gateway.http.metrics import media_type_for
from peers.gateway.http.rights import Rights, borne_by, client_behind
from peers.gateway.http.sign_in import FORM_BYTES_MAX, cookie_of, has_pass, no_cookie, token_of_form
from peers.gateway.model.messages import (
    AddSeeds,
    AskWhy,
    AskWhyIdle,
    CheckLinks,
    CheckReadiness,
    DrainOrder,
    DrainOrdered,
    FindPage,
    FindVersions,
    GatherHistory,
    GatherStatus,
    HistoryGathered,
    LinksChecked,
    PageFound,
    PagesFound,
    ReadinessTold,
    SearchPages,
    SeedsAdded,
    StatusGathered,
    VersionsFound,
    WhyAnswered,
    WhyIdleAnswered,
)
from peers.gateway.model.readiness_json import HealthJson, ReadinessJson, readiness_json
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.model.status import Report, decode, member_rows, public_part, report_of
from peers.gateway.openapi import openapi
from peers.gateway.site import pages
from peers.gateway.site.bot_page import bot_page, visits_of
from peers.gateway.site.difference import Difference
from peers.gateway.site.feeds import opensearch_description, rss
from peers.gateway.site.found_json import found_json
from peers.gateway.site.history_page import KeptHistory
from peers.gateway.site.history_view import HistorySpan
from peers.gateway.site.memento import (
    LINK_FORMAT,
    chosen,
    http_date,
    latest_in,
    links_of,
    moment_in,
    time_map,
    version_path,
)
from peers.gateway.site.order_json import (
    Decrees,
    Drain,
    Drained,
    Failure,
    Imported,
    Published,
    Seeded,
    Seeds,
    ToDecree,
    decree_json,
)
from peers.gateway.site.pages import HITS_PER_PAGE, PAGES_MAX, Reader, Wish
from peers.gateway.site.stored_page import KeywordsJson, Kind, StoredPage, file_headers, links_in
from peers.gateway.site.texts import language_of
from peers.gateway.site.versions_json import versions_json
from peers.gateway.site.versions_page import difference_page, versions_page
from peers.gateway.why.why_json import idle_json, url_json
from peers.gateway.why.why_page import bad_url_page, sign_in_page, why_idle_page, why_url_page
from peers.importing.messages import PAGES_MAX as IMPORTED_PAGES_MAX
from peers.importing.messages import ImportedPage, ImportPages, PagesImported
from peers.index.wire_messages import HITS_MAX, SNIPPETS_MAX
from peers.policy.decreed import policy_of

logger = logging.getLogger(__name__)

BODY_BYTES_MAX: Final = 1 << 20  # of seeds: 10,000 URLs of 100 characters
POSTED_DECREE_MAX: Final = DECREE_BYTES_MAX + 1_024  # names, times, keys and signatures have under 600
IMPORT_BYTES_MAX: Final = 32 << 20  # of pages of files: some of the largest
SEEDS_MAX: Final = 10_000  # in one request
INVALID_SHOWN_MAX: Final = 100  # of the seeds that are no URLs
PAGES_SHOWN_MAX: Final = 1_000_000  # number of a page of results behind a cursor
URL_PARAMETER_CHARS_MAX: Final = 8_192
HISTORY_FRESH_S: Final = 2.0  # peers themselves look every two seconds

Answer = TypeVar("Answer", bound=Message)
Made = TypeVar("Made")


class Busy(Exception):
    """The searcher cannot take this now; the text says why."""


class Refused(Exception):
    """The order makes no sense as the mesh is now; the text says why."""

    def __init__(self, reason: str, *, is_known: bool) -> None:
        super().__init__(reason)
        self.is_known = is_known


class Backend(Protocol):
    """The services behind the application: the searcher, worker threads, a clock.

    Attributes:
      settings: of now.
      rights: what bearers of tokens may.
      visitor: how this peer presents itself to the web.
    """

    settings: GatewaySettings
    rights: Rights
    visitor: Visitor

    async def ask(
        self, order: Callable[[int], Message], answer: type[Answer], actor: str = "searcher"
    ) -> Answer:
        """Send the order that is made with a ticket to an actor and wait for its answer.

        Raises:
          Busy: too many are waiting, or no answer came.
          Refused: the mesh cannot do what it is ordered.
        """

    async def read_difference(self, url: str, before: bytes, after: bytes) -> Difference:
        """Call `difference` likewise. CorruptionError, Busy."""

    async def render(self, page: Callable[[], Made]) -> Made:
        """Make a page of texts by strangers, which may be of any length, where it holds nobody up.

        Or what goes into one.
        """

    async def private_among(self, urls: Sequence[str], decreed: tuple[str, ...] = ()) -> Mapping[str, str]:
        """Return the hosts of some URLs that are at private addresses, each with the remedy.

        Args:
          decreed: names and networks that the policy of the mesh allows.
        """

    async def read_stored(self, url: str, records: bytes, *, wants_text: bool = True) -> StoredPage:
        """Call `stored_page` where it does not hold up others. CorruptionError, Busy.

        Args:
          wants_text: of documents, too, and not only the file.
        """

    def take_seeds(self, client: str, count: int) -> float:
        """Count seeds of a client (see `quotas`); 0.0, or in how many seconds they can be."""

    def take_changes(self, counts: Mapping[str, int]) -> float:
        """Count changed pages by host (see `quotas`); 0.0, or in how many seconds they can be."""

    def now(self) -> float:
        """Seconds of a clock that only goes forward."""

    def metrics(self, media_type: str) -> str:
        """All that this peer counts, as `metrics.exposition` writes it."""


class _Refusal(Exception):
    """A request that cannot be answered as it is."""

    def __init__(self, status_code: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status_code = status_code
        self.detail = detail
        self.headers = headers or {}


class _Routes:
    """The handlers, over one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._histories: dict[HistorySpan, KeptHistory] = {}

    # --- For people ------------------------------------------------------------------------------

    async def start(self, request: Request) -> Response:
        return _html(pages.start_page(_reader(request)))

    async def search(self, request: Request) -> Response:
        reader = _reader(request)
        query = request.query_params.get("q", "").strip()
        form = request.query_params.get("format", "")
        if form == "json":
            return await self.api_search(request)
        if not query:
            return _html(pages.start_page(reader))
        wish = _wish(request, query)
        if form == "rss":  # the newest first, and nothing that only a page shows
            wish = Wish(query, order=Order.DATE, wants_facets=False)
        cursor = request.query_params.get("cursor", "")
        began = self._backend.now()
        try:
            found = await self._backend.ask(lambda ticket: _order(ticket, wish, cursor), PagesFound)
        except Busy:
            again = wish.link(reader, page=wish.page, cursor=cursor)
            return _html(pages.message_page(reader, reader.say("busy"), query, again), 503)
        if form == "rss":
            return _xml(rss(reader, wish, found.hits, _base(request)), "application/rss+xml")
        took_s = self._backend.now() - began
        return _html(pages.result_page(reader, wish, found, took_s, datetime.now(UTC).date()))

    async def help(self, request: Request) -> Response:
        return _html(pages.help_page(_reader(request)))

    async def bot(self, request: Request) -> Response:
        """Show webmasters the name of our crawler and how to stop it; of one host, also our visits to it."""
        reader, visitor = _reader(request), self._backend.visitor
        text = request.query_params.get("host", "").strip()[:URL_PARAMETER_CHARS_MAX]
        url = canonical(text if "://" in text else f"http://{text}/") if text else None
        if url is None:
            return _html(bot_page(reader, visitor, text, is_bad=bool(text)), 400 if text else 200)
        home = f"{origin_of(url)}/"
        try:
            answered = await self._backend.ask(lambda ticket: AskWhy(ticket, home), WhyAnswered)
        except Busy:
            return _html(pages.message_page(reader, reader.say("busy")), 503)
        return _html(bot_page(reader, visitor, text, host=host_of(home), visits=visits_of(answered)))

    async def opensearch(self, request: Request) -> Response:
        """Lets a browser take this gateway as one of its search engines."""
        text = opensearch_description(_reader(request), _base(request))
        return _xml(text, "application/opensearchdescription+xml")

    async def icon(self, request: Request) -> Response:
        headers = {"Cache-Control": "public, max-age=86400", **_SAFE_HEADERS}
        return Response(pages.ICON, media_type="image/svg+xml", headers=headers)

    async def status(self, request: Request) -> Response:
        reader = _reader(request)
        try:
            report = await self._report(request)
        except Busy:
            return _html(pages.message_page(reader, reader.say("busy")), 503)
        may_see = self._may_see(request)
        return _html(pages.status_page(reader, report, await self._readiness(), may_see=may_see))

    async def history(self, request: Request) -> Response:
        reader = _reader(request)
        wanted = request.query_params.get("span", "")
        span = next((each for each in HistorySpan if each.value == wanted), HistorySpan.HOUR)
        try:
            kept, is_admin = await self._history(span), self._may_see(request)
        except Busy:
            return _html(pages.message_page(reader, reader.say("busy")), 503)
        return _html(kept.page(reader, is_admin=is_admin))

    async def why(self, request: Request) -> Response:
        """Show why things are as they are, to administrators."""
        reader = _reader(request)
        if not self._may_see(request):
            return _form(sign_in_page(reader, is_wrong=False, is_known=False), 403)
        text = request.query_params.get("url", "").strip()
        url = _url_parameter(request)
        if text and url is None:
            return _html(bad_url_page(reader, text[:URL_PARAMETER_CHARS_MAX]), 400)
        try:
            if url is None:
                idle = await self._backend.ask(AskWhyIdle, WhyIdleAnswered)
                return _html(why_idle_page(reader, idle_json(idle)))
            known = await self._backend.ask(lambda ticket: AskWhy(ticket, url), WhyAnswered)
        except Busy:
            return _html(pages.message_page(reader, reader.say("busy")), 503)
        return _html(why_url_page(reader, url_json(known)))

    async def sign_in(self, request: Request) -> Response:
        """Let an administrator see more in this browser from now on."""
        reader, token = _reader(request), self._backend.settings.admin_token
        if request.method != "POST":
            return _form(sign_in_page(reader, is_wrong=False, is_known=self._may_see(request)))
        self._check_is_ours(request)
        given = token_of_form(await _body(request, FORM_BYTES_MAX, "post the token alone"))
        if not given:
            return _form(sign_in_page(reader, is_wrong=False, is_known=False), 400)
        judged = self._backend.rights.of(given.encode("utf-8", "replace"), token, _now_s())
        if judged.token is None or not token:  # without one of its own there is nothing to make a pass of
            logger.warning("a sign-in was refused client=%s: %s", self._client_of(request), judged.why)
            return _form(sign_in_page(reader, is_wrong=True, is_known=False), 403)
        cookie = cookie_of(token, _now_s(), is_encrypted=_is_encrypted(request), given=judged.token)
        return _see_other(reader.link("/status"), cookie)

    async def sign_out(self, request: Request) -> Response:
        self._check_is_ours(request)
        cookie = no_cookie(self._backend.settings.admin_token, is_encrypted=_is_encrypted(request))
        return _see_other(_reader(request).link("/status"), cookie)

    async def style(self, request: Request) -> Response:
        headers = {"Cache-Control": "public, max-age=31536000, immutable", **_SAFE_HEADERS}
        # The page around a stored copy is sandboxed: its origin is not ours, but it wants our style.
        headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        return Response(pages.STYLE, media_type="text/css", headers=headers)

    # --- For programs ----------------------------------------------------------------------------

    async def api_search(self, request: Request) -> Response:
        began = self._backend.now()
        parameters = request.query_params
        query = parameters.get("q", "").strip()
        if not query:
            raise _Refusal(400, "give the words to search for in the parameter q")
        k = _number(parameters.get("k", "10"), "k", 1, SNIPPETS_MAX)
        offset = _number(parameters.get("offset", "0"), "offset", 0, HITS_MAX - 1)
        order = _sort(parameters.get("sort", Order.SCORE))
        cursor = parameters.get("cursor", "")
        has_facets, is_explained = _is_on(request, "facets"), _is_on(request, "explain")
        found = await self._backend.ask(
            lambda ticket: SearchPages(ticket, query, k, offset, order, cursor, has_facets, is_explained),
            PagesFound,
        )
        return _json(found_json(query, found, self._backend.now() - began))

    async def api_status(self, request: Request) -> Response:
        return _json(await self._report(request))

    async def api_history(self, request: Request) -> Response:
        kept = await self._history(_span(request.query_params.get("span", HistorySpan.HOUR)))
        return _json(kept.view(is_admin=self._may_see(request)))

    async def api_seeds(self, request: Request) -> Response:
        return await self._take_urls(request, are_changed=False)

    async def api_changed(self, request: Request) -> Response:
        return await self._take_urls(request, are_changed=True)

    async def _take_urls(self, request: Request, *, are_changed: bool) -> Response:
        if _is_foreign(request, self._backend.settings.names):
            raise _Refusal(403, "seeds are only taken from pages of this gateway and from programs")
        if not self._backend.settings.takes_seeds:
            self._check_admin(request)
        given = _seeds_in(await _body(request))
        urls: dict[str, None] = {}
        invalid: list[str] = []
        for text in given.urls:
            url = canonical(text)
            if url is None:
                invalid.append(text[:200])
            else:
                urls[url] = None
        if not urls:
            seeded = Seeded(
                0, invalid[:INVALID_SHOWN_MAX], "no URL among these begins with http:// or https://"
            )
            return _json(seeded, 400)
        order = tuple(urls)
        if self._backend.visitor.refused(order):
            raise _Refusal(409, ADVICE)
        self._count_seeds(request, len(order))
        if are_changed:
            self._count_changes(request, order)
        private = await self._private_among(order)
        order = tuple(url for url in order if hostname_of(origin_of(url)) not in private)
        if not order:
            return _json(Seeded(0, invalid[:INVALID_SHOWN_MAX], private=list(private.values())))
        added = await self._backend.ask(
            lambda ticket: AddSeeds(ticket, order, are_changed, given.levels), SeedsAdded
        )
        left_out = list(added.left_out[:INVALID_SHOWN_MAX])
        seeded = Seeded(
            added.accepted, invalid[:INVALID_SHOWN_MAX], left_out=left_out, private=list(private.values())
        )
        n_late = len(order) - len(added.left_out) - added.accepted
        if n_late:
            error = f"{n_late} URLs were not taken in time; post them again in a moment"
            return _json(msgspec.structs.replace(seeded, error=error), 503)
        return _json(seeded)

    async def _private_among(self, urls: Sequence[str]) -> Mapping[str, str]:
        """Find out at once that some would never be asked, rather than have them given up in silence."""
        private = await self._backend.private_among(urls)
        if not private:
            return private
        held = await self._backend.ask(
            lambda ticket: AskDecrees(ticket, POLICY, ""), DecreesHeld, actor="membership"
        )
        now = _now_s()
        in_force = [each for each in held.decrees if each.effective_from <= now < each.valid_until]
        policy = policy_of(DecreesInForce(POLICY, tuple(in_force[-1:])))
        return await self._backend.private_among(urls, policy.allow_private) if policy else private

    async def api_drain(self, request: Request) -> Response:
        self._check_admin(request)
        order = _drain_in(await _body(request))
        done = await self._backend.ask(
            lambda ticket: DrainOrder(ticket, order.peer, order.is_draining), DrainOrdered
        )
        to_decree = ToDecree(done.kind, done.body.hex()) if done.kind else None
        return _json(Drained(done.peer, done.is_draining, done.is_written_off, to_decree))

    async def api_decrees(self, request: Request) -> Response:
        """List the decrees, or take one in MessagePack; its signature decides whether it counts."""
        if request.method == "POST":
            self._check_admin(request)
            return await self._publish(_decree_in(await _body(request, POSTED_DECREE_MAX, "shorten it")))
        self._check_admin(request, TokenRight.READ)
        kind, subject = request.query_params.get("kind", ""), request.query_params.get("subject", "")
        held = await self._backend.ask(
            lambda ticket: AskDecrees(ticket, kind, subject), DecreesHeld, actor="membership"
        )
        told = (tuple(map(decree_json, decrees)) for decrees in (held.decrees, held.past))
        return _json(Decrees(held.next_number, *told))

    async def _publish(self, decree: Decree) -> Response:
        done = await self._backend.ask(
            lambda ticket: PublishDecree(ticket, decree), DecreePublished, actor="membership"
        )
        if done.refusal:
            raise _Refusal(409, f"the decree does not count: {done.refusal}")
        return _json(Published(decree.kind, decree.subject, decree.number))

    async def api_import(self, request: Request) -> Response:
        """Take pages that `tianmesh import` has read, in MessagePack; none asks only for leave."""
        self._check_admin(request)
        pages = _imported_in(await _body(request, IMPORT_BYTES_MAX, "post fewer pages at once"))
        done = await self._backend.ask(
            lambda ticket: ImportPages(ticket, pages), PagesImported, actor="importer"
        )
        return _json(Imported(done.peer, done.outcomes))

    async def api_why(self, request: Request) -> Response:
        """Return the facts known of a URL, for administrators: the list of crawled hosts is not public."""
        self._check_admin(request, TokenRight.READ)
        url = _url_parameter(request)
        if url is None:
            raise _Refusal(400, "give a URL with http:// or https:// in the parameter url")
        return _json(url_json(await self._backend.ask(lambda ticket: AskWhy(ticket, url), WhyAnswered)))

    async def api_why_idle(self, request: Request) -> Response:
        """Return the fetches of every peer, and the reasons why the rest waits."""
        self._check_admin(request, TokenRight.READ)
        return _json(idle_json(await self._backend.ask(AskWhyIdle, WhyIdleAnswered)))

    async def healthz(self, request: Request) -> Response:
        """Whether this peer lives; whether the mesh can be asked, `readyz` tells."""
        return _json(HealthJson())

    async def readyz(self, request: Request) -> Response:
        """Whether a search speaks for every slot: 503 with the reasons while it does not."""
        readiness = await self._readiness()
        return _json(readiness, 200 if readiness.status == "ready" else 503)

    async def robots(self, request: Request) -> Response:
        """Keep crawlers out of pages that are made for each request: they would crawl them for ever."""
        return Response(_ROBOTS, media_type="text/plain", headers=_SAFE_HEADERS)

    async def openapi(self, request: Request) -> Response:
        """Describe all this to programs."""
        return Response(openapi(), media_type="application/json", headers=_SAFE_HEADERS)

    async def metrics(self, request: Request) -> Response:
        self._check_admin(request, TokenRight.READ)
        media_type = media_type_for(request.headers.get("accept", ""))
        headers = {**_SAFE_HEADERS, "vary": "accept"}
        return Response(self._backend.metrics(media_type), media_type=media_type, headers=headers)

    def _count_seeds(self, request: Request, count: int) -> None:
        """Let others than administrators give so many and no more."""
        settings = self._backend.settings
        if self._is_admin(request):
            return
        wait_s = self._backend.take_seeds(self._client_of(request), count)
        if wait_s:
            hint = f"a client may give {settings.client_seeds_per_hour:,} seeds an hour here"
            raise _Refusal(429, hint, {"Retry-After": str(ceil(wait_s))})

    def _count_changes(self, request: Request, urls: Sequence[str]) -> None:
        """Let others than administrators say of one host that so many pages have changed, and no more."""
        if self._is_admin(request):
            return
        wait_s = self._backend.take_changes(Counter(map(host_of, urls)))
        if wait_s:
            limit = self._backend.settings.host_changes_per_hour
            hint = f"of one host {limit:,} pages an hour can have changed here"
            raise _Refusal(429, hint, {"Retry-After": str(ceil(wait_s))})

    def _check_admin(self, request: Request, right: TokenRight = TokenRight.ORDERS) -> None:
        """Refuse a request that is for administrators from a client without a token for it."""
        judged = self._judged(request)
        if judged.token is None:
            raise _Refusal(403, f"{judged.why}; {_ADMIN_HINT}" if judged.why else _ADMIN_HINT)
        if right not in (TokenRight.READ, judged.token.right):
            raise _Refusal(403, f"the token of {judged.token.holder} lets read, and order nothing")
        if _is_foreign(request, self._backend.settings.names):
            raise _Refusal(403, "orders are not taken from pages of other sites")

    def _check_is_ours(self, request: Request) -> None:
        """Refuse a request that a page of another site posts."""
        if _is_foreign(request, self._backend.settings.names):
            raise _Refusal(403, "this is only taken from pages of this gateway")

    def _client_of(self, request: Request) -> str:
        address = request.client.host if request.client else ""
        return client_behind(address, request.headers.raw, self._backend.settings.proxies)

    def _judged(self, request: Request) -> Judgement:
        given, own = borne_by(request.headers.raw), self._backend.settings.admin_token
        return self._backend.rights.of(given, own, _now_s())

    def _is_admin(self, request: Request) -> bool:
        """May the client give orders?"""
        token = self._judged(request).token
        return token is not None and token.right is TokenRight.ORDERS

    def _may_see(self, request: Request) -> bool:
        """May the client see pages for administrators, by a token of any right or a pass from signing in?"""
        if self._judged(request).token is not None:
            return True
        own = self._backend.settings.admin_token
        return has_pass(request.headers.raw, own, _now_s(), self._backend.rights)

    async def _readiness(self) -> ReadinessJson:
        try:
            return readiness_json(await self._backend.ask(CheckReadiness, ReadinessTold))
        except Busy as error:
            return ReadinessJson("waiting", waits_for=(str(error),))

    async def _report(self, request: Request) -> Report:
        gathered = await self._backend.ask(GatherStatus, StatusGathered)
        members = member_rows(gathered.members, dict(gathered.down_s))
        report = report_of(map(decode, gathered.statuses), members)
        return report if self._may_see(request) else public_part(report)

    async def _history(self, span: HistorySpan) -> KeptHistory:
        """How the mesh was; the same for a moment, since every peer is asked, and charts take time."""
        now, kept = self._backend.now(), self._histories.get(span)
        if kept is None or now - kept.gathered_at > HISTORY_FRESH_S:
            gathered = await self._backend.ask(
                lambda ticket: GatherHistory(ticket, span.seconds), HistoryGathered
            )
            kept = self._histories[span] = KeptHistory(gathered, span, now)
        return kept


class _StoredPages:
    """The handlers that show stored pages and their versions, over one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def page(self, request: Request) -> Response:
        reader = _reader(request)
        url = _url_parameter(request)
        if url is None:
            return _html(pages.message_page(reader, reader.say("stored_bad_url")), 400)
        parameters = request.query_params
        try:
            if "versions" in parameters:
                told = await self._versions(url)
                is_known = bool(told.versions or told.moved_from)
                view = partial(versions_page, reader, told)
                return _html(await self._backend.render(view), 200 if is_known else 404)
            if "from" in parameters:
                return await self._difference(reader, url, parameters["from"], parameters.get("to", ""))
            return await self._stored(request, reader, url)
        except Busy:
            return _html(pages.message_page(reader, reader.say("busy")), 503)
        except CorruptionError as error:
            logger.warning("stored page unreadable url=%s error=%s", url, error)
            return _html(pages.message_page(reader, reader.say("stored_damaged")), 502)

    async def _stored(self, request: Request, reader: Reader, url: str) -> Response:
        """Show the newest version of a page, or that of a time; or give the file that it is."""
        at = request.query_params.get("at", "")
        is_file = request.query_params.get("format") == "file"
        moment_s = moment_in(at) if at else 0.0
        if moment_s is None:
            return _html(pages.message_page(reader, reader.say("bad_time")), 400)
        found = await self._find(url, moment_s)
        if not found.records:
            return _html(pages.message_page(reader, reader.say("stored_none")), 404)
        stored = await self._backend.read_stored(url, found.records, wants_text=not is_file)
        if stored.is_barred or (moment_s and await self._is_barred(url)):
            return _html(pages.message_page(reader, reader.say("stored_barred")), 403)
        if is_file and not stored.is_partial:
            return _file(url, stored)
        query = request.query_params.get("q", "")[:QUERY_CHARS_MAX]
        wants_links = "links" in request.query_params and stored.kind is Kind.HTML
        marked = await self._stored_links(url, stored) if wants_links else None
        copy = partial(pages.stored_page_view, reader, url, found.fetched_at, found.gone_at, stored)
        view = partial(copy, query, marked)
        response = _html(await self._backend.render(view), policy=_STORED_POLICY)
        response.headers["Memento-Datetime"] = http_date(found.fetched_at)
        response.headers["Link"] = links_of(_base(request), url)
        return response

    async def _stored_links(self, url: str, stored: StoredPage) -> tuple[str, ...]:
        """Return the links of a copy, as they are written there, that lead to pages that are stored, too."""
        links = await self._backend.render(partial(links_in, url, stored))
        wanted = tuple(dict.fromkeys(links.values()))
        if not wanted:
            return ()
        found = await self._backend.ask(lambda ticket: CheckLinks(ticket, url, wanted), LinksChecked)
        return tuple(href for href, target in links.items() if target in found.stored)

    async def _difference(self, reader: Reader, url: str, before: str, after: str) -> Response:
        """Show the changes of a page from one time to another, by default until now."""
        moments = moment_in(before), moment_in(after) if after else 0.0
        if moments[0] is None or moments[1] is None:
            return _html(pages.message_page(reader, reader.say("bad_time")), 400)
        old, new = await self._find(url, moments[0]), await self._find(url, moments[1])
        if not old.records or not new.records:
            return _html(pages.message_page(reader, reader.say("stored_none")), 404)
        found = await self._backend.read_difference(url, old.records, new.records)
        if found.is_barred or await self._is_barred(url):
            return _html(pages.message_page(reader, reader.say("stored_barred")), 403)
        view = partial(difference_page, reader, url, old.fetched_at, new.fetched_at, found)
        return _html(await self._backend.render(view))

    async def _find(self, url: str, moment_s: float) -> PageFound:
        at_s = latest_in(moment_s) if moment_s else 0.0
        return await self._backend.ask(lambda ticket: FindPage(ticket, url, at_s), PageFound)

    async def _is_barred(self, url: str) -> bool:
        """Does its site now ask that no copy be shown, even if earlier versions allowed it?"""
        newest = await self._find(url, 0.0)
        if not newest.records:
            return False
        return (await self._backend.read_stored(url, newest.records, wants_text=False)).is_barred

    async def _versions(self, url: str) -> VersionsFound:
        return await self._backend.ask(lambda ticket: FindVersions(ticket, url), VersionsFound)

    async def time_gate(self, request: Request) -> Response:
        """Lead to the version of a time (RFC 7089, 4.1)."""
        url = _original(request, "/timegate/")
        told = await self._versions(url)
        wanted = request.headers.get("accept-datetime", "")
        moment_s = moment_in(wanted) if wanted else inf
        if moment_s is None:
            raise _Refusal(400, "Accept-Datetime is no date, such as Wed, 25 Nov 2026 12:00:00 GMT")
        version = chosen(told.versions, latest_in(moment_s) if wanted else inf)
        if version is None:
            raise _Refusal(404, "the mesh has no version of this page")
        headers = {
            "Location": version_path(url, version.fetched_at),
            "Vary": "accept-datetime",
            "Link": links_of(_base(request), url),
        }
        return Response(status_code=302, headers=headers | _SAFE_HEADERS)

    async def time_map(self, request: Request) -> Response:
        """List the versions of a page (RFC 7089, 5)."""
        url = _original(request, "/timemap/link/")
        told = await self._versions(url)
        if not (told.moved_from or any(each.has_content for each in told.versions)):
            raise _Refusal(404, "the mesh has no version of this page")
        text = time_map(_base(request), told)
        return Response(text, media_type=LINK_FORMAT, headers=_SAFE_HEADERS)

    async def api_keywords(self, request: Request) -> Response:
        url = _url_parameter(request)
        if url is None:
            raise _Refusal(400, "give a URL with http:// or https:// in the parameter url")
        found = await self._find(url, 0.0)
        if not found.records:
            return _json(KeywordsJson(url, is_stored=False))
        try:
            stored = await self._backend.read_stored(url, found.records)
        except CorruptionError as error:
            logger.warning("stored page unreadable url=%s error=%s", url, error)
            raise _Refusal(502, "the copy of this page is damaged") from error
        return _json(KeywordsJson(url, is_stored=True, keywords=stored.keywords))

    async def api_versions(self, request: Request) -> Response:
        url = _url_parameter(request)
        if url is None:
            raise _Refusal(400, "give a URL with http:// or https:// in the parameter url")
        return _json(versions_json(await self._versions(url)))


def application(backend: Backend) -> Starlette:
    """The ASGI application of a gateway."""
    routes, stored = _Routes(backend), _StoredPages(backend)
    return Starlette(
        routes=[
            Route("/api/search", routes.api_search),
            Route("/search", routes.search),
            Route("/", routes.start),
            Route("/page", stored.page),
            Route("/timegate/{url:path}", stored.time_gate),
            Route("/timemap/link/{url:path}", stored.time_map),
            Route("/api/versions", stored.api_versions),
            Route("/api/keywords", stored.api_keywords),
            Route("/status", routes.status),
            Route("/history", routes.history),
            Route("/why", routes.why),
            Route("/sign-in", routes.sign_in, methods=["GET", "POST"]),
            Route("/sign-out", routes.sign_out, methods=["POST"]),
            Route("/help", routes.help),
            Route("/bot", routes.bot),
            Route("/opensearch.xml", routes.opensearch),
            Route("/favicon.ico", routes.icon),
            Route("/static/style.css", routes.style),
            Route("/api/status", routes.api_status),
            Route("/api/history", routes.api_history),
            Route("/api/seeds", routes.api_seeds, methods=["POST"]),
            Route("/api/changed", routes.api_changed, methods=["POST"]),
            Route("/api/why", routes.api_why),
            Route("/api/why/idle", routes.api_why_idle),
            Route("/api/drain", routes.api_drain, methods=["POST"]),
            Route("/api/decrees", routes.api_decrees, methods=["GET", "POST"]),
            Route("/api/import", routes.api_import, methods=["POST"]),
            Route("/healthz", routes.healthz),
            Route("/readyz", routes.readyz),
            Route("/robots.txt", routes.robots),
            Route("/metrics", routes.metrics),
            Route("/openapi.json", routes.openapi),
        ],
        middleware=[Middleware(_HostCheck, backend=backend)],
        exception_handlers={
            _Refusal: _on_refusal,
            Busy: _on_busy,
            Refused: _on_refused,
            HTTPException: _on_http_exception,
            RemoteProtocolError: _on_remote_error,
            Exception: _on_error,
        },
    )


class _HostCheck:
    """Answers only requests for names that nobody else can own, or that are ours.

    A web page may let its own name point to this machine (DNS rebinding) and have its reader's browser ask
    here: to the browser that is the page's own site, and it may read the answers.
    """

    def __init__(self, app: ASGIApp, backend: Backend) -> None:
        self._app = app
        self._backend = backend

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if _is_ours(headers.get("host", "localhost"), self._backend.settings.names):
            await self._app(scope, receive, send)
            return
        hint = "this gateway has no such name: its owner can add it to gateway.names"
        await _json(Failure(hint), 421)(scope, receive, send)


# --- Requests ------------------------------------------------------------------------------------


def _reader(request: Request) -> Reader:
    chosen = request.query_params.get("lang", "")
    language = language_of(request.headers.get("accept-language", ""), chosen)
    return Reader(language, chosen == language)


def _wish(request: Request, query: str) -> Wish:
    """Read the parameters of a page of results; those that make no sense are ignored."""
    parameters = request.query_params
    is_dated = parameters.get("sort") == Order.DATE
    # Behind a cursor a page's number is only shown.
    last = PAGES_SHOWN_MAX if parameters.get("cursor") else PAGES_MAX
    return Wish(
        query,
        _page_number(parameters.get("page", ""), last),
        Order.DATE if is_dated else Order.SCORE,
        parameters.get("facets", "1") != "0",
        _is_on(request, "explain"),
    )


def _order(ticket: int, wish: Wish, cursor: str) -> SearchPages:
    offset = 0 if cursor else (wish.page - 1) * HITS_PER_PAGE
    return SearchPages(
        ticket,
        wish.query,
        HITS_PER_PAGE,
        offset,
        wish.order,
        cursor,
        wish.wants_facets,
        wish.wants_explanations,
    )


def _base(request: Request) -> str:
    """The address under which the client asks here, with a host name that `_HostCheck` has let pass."""
    scheme = "https" if _is_encrypted(request) else "http"
    return f"{scheme}://{request.headers.get('host', 'localhost')}"


def _is_encrypted(request: Request) -> bool:
    """Has the client come by https, as far as a proxy says?"""
    return request.headers.get("x-forwarded-proto") == "https"


def _now_s() -> float:
    """Seconds since the epoch."""
    return datetime.now(UTC).timestamp()


def _is_on(request: Request, name: str) -> bool:
    return request.query_params.get(name, "") not in ("", "0", "false")


def _sort(text: str) -> Order:
    try:
        return Order(text)
    except ValueError as error:
        raise _Refusal(400, f"sort has to be one of {', '.join(Order)}") from error


def _span(text: str) -> HistorySpan:
    try:
        return HistorySpan(text)
    except ValueError as error:
        raise _Refusal(400, f"span has to be one of {', '.join(HistorySpan)}") from error


def _page_number(text: str, last: int) -> int:
    """Read the number of a page of results; a text that makes no sense is the first."""
    return min(max(int(text), 1), last) if text.isascii() and text.isdigit() and len(text) < 9 else 1


def _number(text: str, name: str, least: int, most: int) -> int:
    if text.isascii() and text.isdigit() and len(text) < 9 and least <= int(text) <= most:
        return int(text)
    raise _Refusal(400, f"{name} has to be a whole number from {least} to {most}")


def _url_parameter(request: Request) -> str | None:
    text = request.query_params.get("url", "").strip()
    return canonical(text) if len(text) <= URL_PARAMETER_CHARS_MAX else None


def _original(request: Request, prefix: str) -> str:
    """The URL behind a path of ours, as it was written there."""
    raw = request.scope.get("raw_path") or request.url.path.encode()
    query = request.scope["query_string"]
    text = raw.decode("latin-1").removeprefix(prefix) + (f"?{query.decode('latin-1')}" if query else "")
    text = unquote(text) if text[:12].lower().startswith(("http%3a", "https%3a")) else text
    url = canonical(text) if len(text) <= URL_PARAMETER_CHARS_MAX else None
    if url is None:
        raise _Refusal(400, f"write a URL with http:// or https:// behind {prefix}")
    return url


def _is_foreign(request: Request, names: Collection[str]) -> bool:
    """Does a page of another site send this?

    Browsers name the site in `Origin`. That it equals `Host` is not enough: a site may let its name point
    to this machine (DNS rebinding). So the name must be one that nobody else can own: an IP address,
    localhost, or one of ours. Programs send no `Origin`.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = request.headers.get("origin")
    if origin is None:
        return False
    scheme, _, authority = origin.partition("://")
    is_same = scheme in ("http", "https") and authority == request.headers.get("host", "")
    return not (is_same and _is_ours(authority, names))


def _is_ours(authority: str, names: Collection[str]) -> bool:
    name = authority.rpartition(":")[0] if authority.rpartition(":")[2].isdigit() else authority
    if name == "localhost" or name in names:
        return True
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


_ADMIN_HINT: Final = (
    "this is for the administrators of the mesh: commands sign a token by the admin.key of --data FOLDER or "
    "--key FILE, or send the admin.token that is in the folder of this peer; programs send what "
    "`tianmesh token` prints (Authorization: Bearer ...)"
)


async def _body(
    request: Request, bytes_max: int = BODY_BYTES_MAX, hint: str = "post the seeds in parts"
) -> bytes:
    too_large = _Refusal(413, f"the body is larger than {bytes_max} bytes; {hint}")
    length = request.headers.get("content-length", "0")
    if length.isascii() and length.isdigit() and int(length[:20]) > bytes_max:
        raise too_large
    body = bytearray()
    async with aclosing(request.stream()) as parts:
        async for part in parts:
            body += part
            if len(body) > bytes_max:
                raise too_large
    return bytes(body)


def _seeds_in(body: bytes) -> Seeds:
    """The seeds of a JSON object or of lines; blank lines and lines that begin with # do not count."""
    hint = 'post {"urls": ["http://..."]} or one URL a line, in UTF-8'
    if body.lstrip()[:1] == b"{":
        try:
            seeds = msgspec.json.decode(body, type=Seeds)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise _Refusal(400, f"the JSON is not understood ({error}); {hint}") from error
    else:
        try:
            lines = [line.strip() for line in body.decode().splitlines()]
        except UnicodeDecodeError as error:
            raise _Refusal(400, f"the body is not UTF-8; {hint}") from error
        seeds = Seeds([line for line in lines if line and not line.startswith("#")])
    if not seeds.urls:
        raise _Refusal(400, f"there is no URL in the body; {hint}")
    if len(seeds.urls) > SEEDS_MAX:
        raise _Refusal(400, f"these are {len(seeds.urls)} URLs; post at most {SEEDS_MAX} at once")
    return seeds


def _imported_in(body: bytes) -> tuple[ImportedPage, ...]:
    try:
        pages = _pages_decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise _Refusal(400, f"these are no pages of this version of `tianmesh import`: {error}") from error
    if len(pages) > IMPORTED_PAGES_MAX:
        raise _Refusal(400, f"these are {len(pages)} pages; post at most {IMPORTED_PAGES_MAX} at once")
    return pages


_pages_decoder: Final = msgspec.msgpack.Decoder(tuple[ImportedPage, ...])


def _drain_in(body: bytes) -> Drain:
    try:
        order = msgspec.json.decode(body, type=Drain)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        hint = 'post {"peer": "the id of a peer, or its beginning", "is_draining": true}'
        raise _Refusal(400, f"the JSON is not understood ({error}); {hint}") from error
    if why := why_no_beginning(order.peer):
        raise _Refusal(400, why)
    return order


def _decree_in(body: bytes) -> Decree:
    try:
        return msgspec.msgpack.decode(body, type=Decree)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise _Refusal(400, f"this is no decree of this version of tianmesh: {error}") from error


_ROBOTS: Final = """User-agent: *
Disallow: /search
Disallow: /page
Disallow: /status
Disallow: /history
Disallow: /why
Disallow: /sign-in
Disallow: /bot?
Disallow: /timegate/
Disallow: /timemap/
Disallow: /api/
Disallow: /metrics
"""

# --- Responses -----------------------------------------------------------------------------------

_SAFE_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # a query is nobody else's business
    "Cross-Origin-Resource-Policy": "same-origin",
}
_PAGE_POLICY: Final = (
    f"default-src 'none'; style-src 'self'; script-src {pages.KEYS_SOURCE}; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# The frame inherits this: no script, no form, nothing loaded, an origin of its own. Its links may open
# the live web in a new tab, which is not sandboxed then.
_STORED_POLICY: Final = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'self' 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'none'"
)
_FILE_POLICY: Final = "sandbox; default-src 'none'; form-action 'none'; frame-ancestors 'none'"
_encoder: Final = msgspec.json.Encoder()


def _form(text: str, status_code: int = 200) -> Response:
    """A page with a form to be posted: without a referrer, browsers do not say which site's it is."""
    response = _html(text, status_code)
    response.headers["Referrer-Policy"] = "same-origin"
    return response


def _html(text: str, status_code: int = 200, policy: str = _PAGE_POLICY) -> Response:
    headers = {
        "Content-Security-Policy": policy,
        "Vary": "Accept-Language",
        "Cache-Control": "private, no-cache",
        **_SAFE_HEADERS,
    }
    if status_code == 503:
        headers["Retry-After"] = "1"
    # A lone surrogate from a hostile title has no UTF-8 form.
    body = text.encode("utf-8", "replace")
    return Response(body, status_code, headers, media_type="text/html; charset=utf-8")


def _see_other(place: str, cookie: str) -> Response:
    """Send a browser on after it has posted something. RFC 9110, 15.4.4."""
    headers = {"Location": place, "Set-Cookie": cookie, "Cache-Control": "no-store", **_SAFE_HEADERS}
    return Response(status_code=303, headers=headers)


def _file(url: str, page: StoredPage) -> Response:
    """The body of a stored page as its server sent it, for the client to save: it is not shown here."""
    headers = {
        "Content-Security-Policy": _FILE_POLICY,
        "Cache-Control": "private, no-cache",
        **_SAFE_HEADERS,
        **file_headers(url, page),
    }
    return Response(page.body, 200, headers)


def _xml(text: str, media_type: str) -> Response:
    headers = {"Cache-Control": "private, no-cache", "Vary": "Accept-Language", **_SAFE_HEADERS}
    return Response(
        text.encode("utf-8", "replace"), media_type=f"{media_type}; charset=utf-8", headers=headers
    )


def _json(value: Any, status_code: int = 200) -> Response:
    headers = {"Cache-Control": "no-store", **_SAFE_HEADERS}
    if status_code == 503:
        headers["Retry-After"] = "1"
    return Response(_encoder.encode(value), status_code, headers, media_type="application/json")


def _error(request: Request, status_code: int, detail: str, key: str) -> Response:
    """An error for a program as JSON, for a person as a page."""
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        return _json(Failure(detail), status_code)
    reader = _reader(request)
    return _html(pages.message_page(reader, reader.say(key)), status_code)


async def _on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, _Refusal)
    response = _json(Failure(error.detail), error.status_code)
    response.headers.update(error.headers)
    return response


async def _on_busy(request: Request, error: Exception) -> Response:
    return _json(Failure(f"{error}; ask again in a moment"), 503)


async def _on_refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return _json(Failure(str(error)), 409 if error.is_known else 404)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _error(request, error.status_code, error.detail.lower(), "not_found")
    response.headers.update(error.headers or {})
    return response


async def _on_remote_error(request: Request, error: Exception) -> Response:
    return _json(Failure(f"another peer sent what is not understood: {error}"), 502)


async def _on_error(request: Request, error: Exception) -> Response:
    """The server logs the error; the client learns no details."""
    return _error(request, 500, "something went wrong here; see the log of this peer", "failed")
