"""The pages that people see: search, status, history, reasons, help, and signing in."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from mesh.urls import canonical, host_of, origin_of
from peers.engine.queries.query import Sort
from peers.gateway.asked_pages import asked_pages, linked_alone
from peers.gateway.compatible_routes import elastic_info, elastic_version
from peers.gateway.handling import responses
from peers.gateway.handling.access import ClientAccess
from peers.gateway.handling.backend import Backend, Busy
from peers.gateway.handling.requests import (
    URL_PARAMETER_CHARS_MAX,
    base_of,
    body_of,
    fields_in,
    is_encrypted,
    is_on,
    may_compare,
    now_s,
    query_in,
    reader_of,
    url_parameter,
)
from peers.gateway.http.sign_in import FORM_BYTES_MAX, cookie_of, no_cookie
from peers.gateway.model.messages import (
    AskWhy,
    AskWhyIdle,
    PagesFound,
    SearchPages,
    WhyAnswered,
    WhyIdleAnswered,
)
from peers.gateway.model.sentences import sentences_in
from peers.gateway.related_search import search_and_relate
from peers.gateway.reports import Reports
from peers.gateway.site import pages
from peers.gateway.site.bot_page import bot_page, visits_of
from peers.gateway.site.date_range import dated_query
from peers.gateway.site.feeds import atom, opensearch_description, rss
from peers.gateway.site.history_view import HistorySpan
from peers.gateway.site.pages import HITS_PER_PAGE, PAGES_MAX, Wish
from peers.gateway.why.why_json import idle_json, url_json
from peers.gateway.why.why_page import bad_url_page, sign_in_page, why_idle_page, why_url_page

logger = logging.getLogger(__name__)

Handler = Callable[[Request], Awaitable[Response]]

PAGES_SHOWN_MAX: Final = 1_000_000  # number of a page of results behind a cursor


class PageRoutes:
    """The handlers of pages."""

    def __init__(
        self, backend: Backend, access: ClientAccess, reports: Reports, search_json: Handler
    ) -> None:
        """Begin.

        Args:
          search_json: answers a search that wants no page.
        """
        self._backend = backend
        self._access = access
        self._reports = reports
        self._search_json = search_json

    async def start(self, request: Request) -> Response:
        if number := elastic_version(request):
            return elastic_info(number)
        return responses.html(pages.start_page(reader_of(request), has_classes=self._has_classes))

    async def search(self, request: Request) -> Response:
        reader = reader_of(request)
        parameters = request.query_params
        query = dated_query(query_in(request), parameters.get("from", ""), parameters.get("to", ""))
        form = parameters.get("format", "")
        if form == "json":
            return await self._search_json(request)
        if not query:
            return responses.html(pages.start_page(reader, has_classes=self._has_classes))
        if not form and self._backend.policy.link_graph is not None and (linked := linked_alone(query)):
            return responses.found(reader.link("/backlinks", url=linked))
        wish = _wish(request, query)._replace(
            may_search_live=self._access.may_search_live(request),
            may_compare=self._has_second_ranking,
            has_graph=self._backend.policy.link_graph is not None,
        )
        if form in ("rss", "atom"):  # the newest first, and nothing that only a page shows
            wish = Wish(query, order=Sort.DATE, wants_facets=False)
        cursor = parameters.get("cursor", "")
        began = self._backend.now()
        try:
            asked = await asked_pages(self._backend, wish.query)
            searched = wish._replace(query=asked.query, page_words=asked.words)
            if wish.may_compare and not form and may_compare(request):
                draw = self._backend.shown_log.draw(self._access.client_of(request), asked.query)
                searched = searched._replace(draw=draw)
            related: tuple[str, ...] = ()
            if form or cursor or wish.page > 1:
                found = await self._backend.ask(lambda ticket: _order(ticket, searched, cursor), PagesFound)
            else:
                found, related = await search_and_relate(
                    self._backend, lambda ticket: _order(ticket, searched, ""), query
                )
            found = asked.remarked(found)
        except Busy:
            again = wish.link(reader, page=wish.page, cursor=cursor)
            return responses.html(pages.message_page(reader, reader.say("busy"), query, again), 503)
        if form == "rss":
            return responses.xml(rss(reader, wish, found, base_of(request)), "application/rss+xml")
        if form == "atom":
            return responses.xml(atom(reader, wish, found.hits, base_of(request)), "application/atom+xml")
        took_s = self._backend.now() - began
        today = datetime.now(UTC).date()
        shown_log = self._backend.shown_log
        links = None if searched.page_words else shown_log.links(searched.query, found.teams)
        classes = self._backend.classes
        return responses.html(pages.result_page(reader, wish, found, took_s, today, related, links, classes))

    @property
    def _has_second_ranking(self) -> bool:
        rules = self._backend.policy.query_log
        return rules is not None and rules.second is not None

    @property
    def _has_classes(self) -> bool:
        return self._backend.classes is not None

    async def directory(self, request: Request) -> Response:
        """Show the classes of pages, or those below one, with their counts; or search within one."""
        reader, classes = reader_of(request), self._backend.classes
        if classes is None:
            return responses.html(pages.message_page(reader, reader.say("directory_none")), 404)
        # Loaded where a mesh has classes.
        from peers.gateway.directory import Directory

        directory = Directory(classes, request.query_params.get("class", ""))
        if directory.is_unknown:
            return responses.html(pages.message_page(reader, reader.say("directory_unknown")), 404)
        if query := query_in(request):
            return responses.found(Wish(directory.within(query)).link(reader))
        wish = Wish(directory.everything)
        try:
            found = await self._backend.ask(lambda ticket: _order(ticket, wish, ""), PagesFound)
        except Busy:
            return responses.html(pages.message_page(reader, reader.say("busy")), 503)
        return responses.html(directory.page(reader, found))

    async def help(self, request: Request) -> Response:
        return responses.html(pages.help_page(reader_of(request)))

    async def bot(self, request: Request) -> Response:
        """Show webmasters the name of our crawler and how to stop it; of one host, also our visits to it."""
        reader, visitor = reader_of(request), self._backend.visitor
        takes_sites = self._backend.policy.submissions is not None
        text = request.query_params.get("host", "").strip()[:URL_PARAMETER_CHARS_MAX]
        url = canonical(text if "://" in text else f"http://{text}/") if text else None
        if url is None:
            page = bot_page(reader, visitor, text, is_bad=bool(text), takes_sites=takes_sites)
            return responses.html(page, 400 if text else 200)
        home = f"{origin_of(url)}/"
        try:
            answered = await self._backend.ask(lambda ticket: AskWhy(ticket, home), WhyAnswered)
        except Busy:
            return responses.html(pages.message_page(reader, reader.say("busy")), 503)
        visits = visits_of(answered)
        page = bot_page(reader, visitor, text, host=host_of(home), visits=visits, takes_sites=takes_sites)
        return responses.html(page)

    async def opensearch(self, request: Request) -> Response:
        """Lets a browser take this gateway as one of its search engines."""
        text = opensearch_description(reader_of(request), base_of(request))
        return responses.xml(text, "application/opensearchdescription+xml")

    async def icon(self, request: Request) -> Response:
        headers = {"Cache-Control": "public, max-age=86400", **responses.SAFE_HEADERS}
        return Response(pages.ICON, media_type="image/svg+xml", headers=headers)

    async def status(self, request: Request) -> Response:
        reader = reader_of(request)
        try:
            report = await self._reports.report(request)
        except Busy:
            return responses.html(pages.message_page(reader, reader.say("busy")), 503)
        may_see = self._access.may_see(request)
        readiness = await self._reports.readiness(sentences_in(reader.language))
        return responses.html(pages.status_page(reader, report, readiness, may_see=may_see))

    async def history(self, request: Request) -> Response:
        reader = reader_of(request)
        wanted = request.query_params.get("span", "")
        span = next((each for each in HistorySpan if each.value == wanted), HistorySpan.HOUR)
        try:
            kept, is_admin = await self._reports.history(span), self._access.may_see(request)
        except Busy:
            return responses.html(pages.message_page(reader, reader.say("busy")), 503)
        return responses.html(kept.page(reader, is_admin=is_admin))

    async def why(self, request: Request) -> Response:
        """Show why things are as they are, to administrators."""
        reader = reader_of(request)
        put = sentences_in(reader.language)
        if not self._access.may_see(request):
            return responses.form(sign_in_page(reader, is_wrong=False, is_known=False), 403)
        text = request.query_params.get("url", "").strip()
        url = url_parameter(request)
        if text and url is None:
            return responses.html(bad_url_page(reader, text[:URL_PARAMETER_CHARS_MAX]), 400)
        try:
            if url is None:
                idle = await self._backend.ask(AskWhyIdle, WhyIdleAnswered)
                return responses.html(why_idle_page(reader, idle_json(idle, put)))
            known = await self._backend.ask(lambda ticket: AskWhy(ticket, url), WhyAnswered)
        except Busy:
            return responses.html(pages.message_page(reader, reader.say("busy")), 503)
        return responses.html(why_url_page(reader, url_json(known, put)))

    async def sign_in(self, request: Request) -> Response:
        """Let an administrator see more in this browser from now on."""
        reader, token = reader_of(request), self._backend.settings.admin_token
        if request.method != "POST":
            is_known = self._access.may_see(request)
            return responses.form(sign_in_page(reader, is_wrong=False, is_known=is_known))
        self._access.check_is_ours(request)
        fields = fields_in(await body_of(request, FORM_BYTES_MAX, "post the token alone"))
        given = fields.get("token", "").strip()
        if not given:
            return responses.form(sign_in_page(reader, is_wrong=False, is_known=False), 400)
        judged = self._backend.rights.of(given.encode("utf-8", "replace"), token, now_s())
        if judged.token is None or not token:  # without one of its own there is nothing to make a pass of
            logger.warning("a sign-in was refused client=%s: %s", self._access.client_of(request), judged.why)
            return responses.form(sign_in_page(reader, is_wrong=True, is_known=False), 403)
        cookie = cookie_of(token, now_s(), is_encrypted=is_encrypted(request), given=judged.token)
        return responses.see_other(reader.link("/status"), cookie)

    async def sign_out(self, request: Request) -> Response:
        self._access.check_is_ours(request)
        cookie = no_cookie(self._backend.settings.admin_token, is_encrypted=is_encrypted(request))
        return responses.see_other(reader_of(request).link("/status"), cookie)

    async def style(self, request: Request) -> Response:
        headers = {"Cache-Control": "public, max-age=31536000, immutable", **responses.SAFE_HEADERS}
        # The page around a stored copy is sandboxed: its origin is not ours, but it wants our style.
        headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        return Response(pages.STYLE, media_type="text/css", headers=headers)


def _wish(request: Request, query: str) -> Wish:
    """Read the parameters of a page of results; those that make no sense are ignored."""
    parameters = request.query_params
    is_dated = parameters.get("sort") == Sort.DATE
    # Behind a cursor a page's number is only shown.
    last = PAGES_SHOWN_MAX if parameters.get("cursor") else PAGES_MAX
    return Wish(
        query,
        _page_number(parameters.get("page", ""), last),
        Sort.DATE if is_dated else Sort.SCORE,
        parameters.get("facets", "1") != "0",
        is_on(request, "explain"),
        is_on(request, "verbatim"),
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
        is_verbatim=wish.is_verbatim,
        page_words=wish.page_words,
        draw=wish.draw,
    )


def _page_number(text: str, last: int) -> int:
    """Read the number of a page of results; a text that makes no sense is the first."""
    return min(max(int(text), 1), last) if text.isascii() and text.isdigit() and len(text) < 9 else 1
