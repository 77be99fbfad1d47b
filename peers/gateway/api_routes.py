"""The interface for programs: JSON for searches, seeds, decrees, imports and reasons; health and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from mesh.keys.certificate import why_no_beginning
from mesh.keys.decree import DECREE_BYTES_MAX, POLICY, Decree
from mesh.keys.signed_token import TokenRight
from mesh.membership.model.messages import (
    AskDecrees,
    DecreePublished,
    DecreesHeld,
    DecreesInForce,
    PublishDecree,
)
from mesh.urls import NO_URL, WITH_LOGIN, canonical_with_ftp, has_login, hostname_of, origin_of
from peers.crawler.fetching.contact import ADVICE
from peers.engine.queries.query import Sort
from peers.gateway.asked_pages import asked_pages
from peers.gateway.handling import responses
from peers.gateway.handling.access import ClientAccess
from peers.gateway.handling.backend import Backend
from peers.gateway.handling.requests import (
    Refusal,
    body_of,
    is_foreign,
    is_on,
    member_parameters,
    now_s,
    number_in,
    query_in,
    typed_in,
    url_parameter,
)
from peers.gateway.http.metrics import media_type_for
from peers.gateway.model.messages import (
    AddSeeds,
    AskWhy,
    AskWhyIdle,
    DrainOrder,
    DrainOrdered,
    PagesFound,
    SearchPages,
    SeedsAdded,
    SuggestTexts,
    TextsSuggested,
    WhyAnswered,
    WhyIdleAnswered,
)
from peers.gateway.model.readiness_json import HealthJson
from peers.gateway.model.sentences import Put, sentences_in
from peers.gateway.openapi import openapi
from peers.gateway.related_search import search_and_relate
from peers.gateway.reports import Reports
from peers.gateway.site.command_json import (
    DecreesJson,
    Drained,
    DrainRequest,
    Imported,
    Published,
    RefusedUrl,
    Seeded,
    Seeds,
    ToDecree,
    decree_json,
)
from peers.gateway.site.found_json import SearchRequest, found_json
from peers.gateway.site.history_view import HistorySpan
from peers.gateway.why.why_json import idle_json, url_json
from peers.importing.messages import PAGES_MAX as IMPORTED_PAGES_MAX
from peers.importing.messages import ImportedPage, ImportPages, PagesImported
from peers.index.wire_messages import HITS_MAX, SNIPPETS_MAX, TYPED_CHARS_MAX
from peers.policy.decreed import policy_of

POSTED_DECREE_MAX: Final = DECREE_BYTES_MAX + 1_024  # names, times, keys and signatures have under 600
IMPORT_BYTES_MAX: Final = 32 << 20  # of pages of files: some of the largest
SEARCH_BYTES_MAX: Final = 64 << 10  # of the JSON of a search: more than the longest query is read of
SEEDS_MAX: Final = 10_000  # in one request
INVALID_SHOWN_MAX: Final = 100  # of the seeds that are no URLs


class ApiRoutes:
    """The handlers of the interface for programs."""

    def __init__(self, backend: Backend, access: ClientAccess, reports: Reports) -> None:
        self._backend = backend
        self._access = access
        self._reports = reports

    async def search(self, request: Request) -> Response:
        began = self._backend.now()
        if request.method == "POST":
            wish = _search_in(await body_of(request, SEARCH_BYTES_MAX, "ask for less"))
        else:
            wish = _search_of(request)
        query = wish.q.strip()
        if not query:
            raise Refusal(400, "give the words to search for in the parameter q")
        wishes = (wish.k, wish.offset, wish.sort, wish.cursor, wish.facets, wish.explain)
        asked = await asked_pages(self._backend, query)

        def order(ticket: int) -> SearchPages:
            return SearchPages(
                ticket, asked.query, *wishes, is_verbatim=wish.verbatim, page_words=asked.words
            )

        related: tuple[str, ...] | None = None
        if wish.related:
            found, related = await search_and_relate(self._backend, order, query)
        else:
            found = await self._backend.ask(order, PagesFound)
        found = asked.remarked(found)
        return responses.json(
            found_json(query, found, self._backend.now() - began, related, self._backend.classes)
        )

    async def suggest(self, request: Request) -> Response:
        """Return how a query may go on, as OpenSearch suggestions: [typed, [text, ..]]."""
        typed = typed_in(request)
        texts: tuple[str, ...] = ()
        if 0 < len(typed) <= TYPED_CHARS_MAX:
            suggested = await self._backend.ask(lambda ticket: SuggestTexts(ticket, typed), TextsSuggested)
            texts = suggested.texts
        return responses.suggestions(typed, texts)

    async def status(self, request: Request) -> Response:
        return responses.json(await self._reports.report(request))

    async def history(self, request: Request) -> Response:
        kept = await self._reports.history(_span(request.query_params.get("span", HistorySpan.HOUR)))
        return responses.json(kept.view(is_admin=self._access.may_see(request)))

    async def seeds(self, request: Request) -> Response:
        return await self._take_urls(request, are_changed=False)

    async def changed(self, request: Request) -> Response:
        return await self._take_urls(request, are_changed=True)

    async def _take_urls(self, request: Request, *, are_changed: bool) -> Response:
        if is_foreign(request, self._backend.settings.names):
            raise Refusal(403, "seeds are only taken from pages of this gateway and from programs")
        if not self._backend.settings.takes_seeds:
            self._access.check_admin(request)
        given = _seeds_in(await body_of(request))
        urls: dict[str, None] = {}
        invalid: list[RefusedUrl] = []
        for text in given.urls:
            url = canonical_with_ftp(text)
            if url is None:
                invalid.append(RefusedUrl(text[:200], NO_URL))
            elif has_login(text):
                invalid.append(RefusedUrl(url[:200], WITH_LOGIN))
            else:
                urls[url] = None
        if not urls:
            error = (
                "none of these can be visited: a URL begins with http://, https:// or ftp:// and has no login"
            )
            seeded = Seeded(0, invalid[:INVALID_SHOWN_MAX], error)
            return responses.json(seeded, 400)
        order = tuple(urls)
        if self._backend.visitor.refused(order):
            raise Refusal(409, ADVICE)
        self._access.count_seeds(request, len(order))
        if are_changed:
            self._access.count_changes(request, order)
        private = await self._private_among(order)
        order = tuple(url for url in order if hostname_of(origin_of(url)) not in private)
        if not order:
            return responses.json(Seeded(0, invalid[:INVALID_SHOWN_MAX], private=list(private.values())))
        added = await self._backend.ask(
            lambda ticket: AddSeeds(ticket, order, are_changed, given.levels), SeedsAdded
        )
        left_out = list(added.left_out[:INVALID_SHOWN_MAX])
        seeded = Seeded(
            added.accepted, invalid[:INVALID_SHOWN_MAX], left_out=left_out, private=list(private.values())
        )
        n_late = len(order) - len(added.left_out) - added.accepted
        if n_late:
            error = f"URLs not taken in time: {n_late}; post the same again in a moment"
            return responses.json(msgspec.structs.replace(seeded, error=error), 503)
        return responses.json(seeded)

    async def _private_among(self, urls: Sequence[str]) -> Mapping[str, str]:
        """Find out at once that some would never be asked, rather than have them given up in silence."""
        private = await self._backend.private_among(urls)
        if not private:
            return private
        held = await self._backend.ask(
            lambda ticket: AskDecrees(ticket, POLICY, ""), DecreesHeld, actor="membership"
        )
        now = now_s()
        in_force = [each for each in held.decrees if each.effective_from <= now < each.valid_until]
        policy = policy_of(DecreesInForce(POLICY, tuple(in_force[-1:])))
        return await self._backend.private_among(urls, policy.allow_private) if policy else private

    async def drain(self, request: Request) -> Response:
        self._access.check_admin(request)
        order = _drain_in(await body_of(request))
        done = await self._backend.ask(
            lambda ticket: DrainOrder(ticket, order.peer, order.is_draining), DrainOrdered
        )
        to_decree = ToDecree(done.kind, done.body.hex()) if done.kind else None
        return responses.json(Drained(done.peer, done.is_draining, done.is_written_off, to_decree))

    async def decrees(self, request: Request) -> Response:
        """List the decrees, or take one in MessagePack; its signature decides whether it counts."""
        if request.method == "POST":
            self._access.check_admin(request)
            return await self._publish(_decree_in(await body_of(request, POSTED_DECREE_MAX, "shorten it")))
        self._access.check_admin(request, TokenRight.READ)
        kind, subject = request.query_params.get("kind", ""), request.query_params.get("subject", "")
        held = await self._backend.ask(
            lambda ticket: AskDecrees(ticket, kind, subject), DecreesHeld, actor="membership"
        )
        told = (tuple(map(decree_json, decrees)) for decrees in (held.decrees, held.past))
        return responses.json(DecreesJson(held.next_number, *told))

    async def _publish(self, decree: Decree) -> Response:
        done = await self._backend.ask(
            lambda ticket: PublishDecree(ticket, decree), DecreePublished, actor="membership"
        )
        if done.refusal:
            raise Refusal(409, f"the decree does not count: {done.refusal}")
        return responses.json(Published(decree.kind, decree.subject, decree.number))

    async def import_pages(self, request: Request) -> Response:
        """Take pages that `tianmesh import` has read, in MessagePack; none asks only for leave."""
        self._access.check_admin(request)
        pages = _imported_in(await body_of(request, IMPORT_BYTES_MAX, "post fewer pages at once"))
        done = await self._backend.ask(
            lambda ticket: ImportPages(ticket, pages), PagesImported, actor="importer"
        )
        return responses.json(Imported(done.peer, done.outcomes))

    async def why(self, request: Request) -> Response:
        """Return the facts known of a URL, for administrators: the list of crawled hosts is not public."""
        self._access.check_admin(request, TokenRight.READ)
        url = url_parameter(request)
        if url is None:
            raise Refusal(400, "give a URL with http:// or https:// in the parameter url")
        answered = await self._backend.ask(lambda ticket: AskWhy(ticket, url), WhyAnswered)
        return responses.json(url_json(answered, _sentences_for(request)))

    async def why_idle(self, request: Request) -> Response:
        """Return the fetches of every peer, why the rest waits, and a member's word if wanted."""
        self._access.check_admin(request, TokenRight.READ)
        about = member_parameters(request)
        answered = await self._backend.ask(lambda ticket: AskWhyIdle(ticket, *about), WhyIdleAnswered)
        return responses.json(idle_json(answered, _sentences_for(request)))

    async def healthz(self, request: Request) -> Response:
        """Whether this peer lives; whether the mesh can be asked, `readyz` tells."""
        return responses.json(HealthJson())

    async def readyz(self, request: Request) -> Response:
        """Whether a search speaks for every slot: 503 with the reasons while it does not."""
        readiness = await self._reports.readiness()
        return responses.json(readiness, 200 if readiness.status == "ready" else 503)

    async def robots(self, request: Request) -> Response:
        """Keep crawlers out of pages that are made for each request: they would crawl them for ever."""
        return Response(_ROBOTS, media_type="text/plain", headers=responses.SAFE_HEADERS)

    async def openapi(self, request: Request) -> Response:
        """Describe all this to programs."""
        return Response(openapi(), media_type="application/json", headers=responses.SAFE_HEADERS)

    async def metrics(self, request: Request) -> Response:
        self._access.check_admin(request, TokenRight.READ)
        media_type = media_type_for(request.headers.get("accept", ""))
        headers = {**responses.SAFE_HEADERS, "vary": "accept"}
        return Response(self._backend.metrics(media_type), media_type=media_type, headers=headers)


def _sentences_for(request: Request) -> Put:
    """Return how sentences are made in the language that a program asks for, English if for none."""
    return sentences_in(request.query_params.get("lang", ""))


def _search_of(request: Request) -> SearchRequest:
    """Read the parameters of a search; numbers may be empty, as OpenSearch 1.1 leaves optional ones."""
    parameters = request.query_params
    return SearchRequest(
        q=query_in(request),
        k=number_in(parameters.get("k") or "10", "k", 1, SNIPPETS_MAX),
        offset=number_in(parameters.get("offset") or "0", "offset", 0, HITS_MAX - 1),
        sort=_sort(parameters.get("sort", Sort.SCORE)),
        cursor=parameters.get("cursor", ""),
        facets=is_on(request, "facets"),
        explain=is_on(request, "explain"),
        verbatim=is_on(request, "verbatim"),
        related=is_on(request, "related"),
    )


def _search_in(body: bytes) -> SearchRequest:
    """Read the same from a body."""
    try:
        return _search_decoder.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        fields = "k, offset, sort, cursor, facets, explain, verbatim and related"
        hint = f'post {{"q": "the words"}}, with any of {fields}'
        raise Refusal(400, f"the JSON is not understood ({error}); {hint}") from error


_search_decoder: Final = msgspec.json.Decoder(SearchRequest)


def _sort(text: str) -> Sort:
    try:
        return Sort(text)
    except ValueError as error:
        raise Refusal(400, f"sort has to be one of {', '.join(Sort)}") from error


def _span(text: str) -> HistorySpan:
    try:
        return HistorySpan(text)
    except ValueError as error:
        raise Refusal(400, f"span has to be one of {', '.join(HistorySpan)}") from error


def _seeds_in(body: bytes) -> Seeds:
    """The seeds of a JSON object or of lines; blank lines and lines that begin with # do not count."""
    hint = 'post {"urls": ["http://..."]} or one URL a line, in UTF-8'
    if body.lstrip()[:1] == b"{":
        try:
            seeds = msgspec.json.decode(body, type=Seeds)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise Refusal(400, f"the JSON is not understood ({error}); {hint}") from error
    else:
        try:
            lines = [line.strip() for line in body.decode().splitlines()]
        except UnicodeDecodeError as error:
            raise Refusal(400, f"the body is not UTF-8; {hint}") from error
        seeds = Seeds([line for line in lines if line and not line.startswith("#")])
    if not seeds.urls:
        raise Refusal(400, f"there is no URL in the body; {hint}")
    if len(seeds.urls) > SEEDS_MAX:
        raise Refusal(400, f"URLs here: {len(seeds.urls):,}; post at most {SEEDS_MAX} at once")
    return seeds


def _imported_in(body: bytes) -> tuple[ImportedPage, ...]:
    try:
        pages = _pages_decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Refusal(400, f"these are no pages of this version of `tianmesh import`: {error}") from error
    if len(pages) > IMPORTED_PAGES_MAX:
        raise Refusal(400, f"pages here: {len(pages):,}; post at most {IMPORTED_PAGES_MAX} at once")
    return pages


_pages_decoder: Final = msgspec.msgpack.Decoder(tuple[ImportedPage, ...])


def _drain_in(body: bytes) -> DrainRequest:
    try:
        order = msgspec.json.decode(body, type=DrainRequest)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        hint = 'post {"peer": "the id of a peer, or its beginning", "is_draining": true}'
        raise Refusal(400, f"the JSON is not understood ({error}); {hint}") from error
    if why := why_no_beginning(order.peer):
        raise Refusal(400, why)
    return order


def _decree_in(body: bytes) -> Decree:
    try:
        return msgspec.msgpack.decode(body, type=Decree)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Refusal(400, f"this is no decree of this version of tianmesh: {error}") from error


_ROBOTS: Final = """User-agent: *
Disallow: /search
Disallow: /go
Disallow: /yacysearch
Disallow: /pages/
Disallow: /page
Disallow: /status
Disallow: /history
Disallow: /why
Disallow: /sign-in
Disallow: /submit
Disallow: /topic
Disallow: /bot?
Disallow: /timegate/
Disallow: /timemap/
Disallow: /web/
Disallow: /at/
Disallow: /cdx
Disallow: /api/
Disallow: /metrics
"""
