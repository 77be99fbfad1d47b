"""The interfaces that programs for other search engines and web archives know: the same in their forms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from peers.engine.queries.query import Sort
from peers.engine.queries.query_language import Oddity
from peers.gateway.handling import responses
from peers.gateway.handling.backend import Backend
from peers.gateway.handling.requests import Refusal, base_of, body_of, number_in, reader_of
from peers.gateway.model.messages import FindVersions, PagesFound, SearchPages, VersionsFound
from peers.gateway.site.cdx import (
    MEDIA_TYPES,
    PAGES_MAX,
    CdxQuery,
    MatchType,
    NoCdxQuery,
    PagesCounted,
    both_schemes,
    captures_in,
    captures_of,
    cdx_query,
    lines_of,
    listed,
    pages_counted,
)
from peers.gateway.site.elastic_json import INDEX, ElasticRequest, elastic_json, failure_json, order_of
from peers.gateway.site.elastic_query import NotUnderstood, query_of
from peers.gateway.site.feeds import rss
from peers.gateway.site.pages import Wish
from peers.gateway.site.yacy_json import yacy_json
from peers.index.wire_messages import HITS_MAX, SNIPPETS_MAX

ELASTIC_BYTES_MAX: Final = 64 << 10  # of the JSON of a search
RECORDS_MAX: Final = 1_000_000  # more may be asked for as a number, and are not given

# YaCy's modifiers of a query that have their like here.
_YACY_MODIFIER: Final = re.compile(r"(?<!\S)/(?:date|language/(?P<language>[a-z]{2,3}))(?!\S)", re.IGNORECASE)
_YACY_LANGUAGE: Final = re.compile(r"lang_([a-z]{2,3})", re.ASCII | re.IGNORECASE)


# By these the reader of a query has left a condition out, which Elasticsearch would not.
_LEFT_OUT: Final = frozenset(
    (
        *(Oddity.NO_HOST, Oddity.NO_LANGUAGE, Oddity.NO_TYPE, Oddity.NO_DATE, Oddity.NO_SIZE),
        Oddity.ENDS_FIRST,
        *(Oddity.TOO_LONG, Oddity.TOO_COMPLEX, Oddity.TOO_DEEP, Oddity.SENTENCE),
    )
)
_PRODUCT: Final = {"X-Elastic-Product": "Elasticsearch"}  # without it Elastic's clients take no answer
_COMPATIBLE: Final = re.compile(
    r"application/vnd\.elasticsearch\+json;\s*compatible-with=(\d{1,2})", re.ASCII
)
_elastic_decoder: Final = msgspec.json.Decoder(ElasticRequest)


class _YacySearch(NamedTuple):
    """A search in YaCy's manner."""

    query: str  # as it was asked
    narrowed: str  # in our language
    sort: Sort
    start: int
    per_page: int


class CompatibleRoutes:
    """The handlers of the interfaces of other engines and archives."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def yacy_json(self, request: Request) -> Response:
        wanted = _yacy_search(request)
        found = await self._search(wanted.narrowed, wanted.per_page, wanted.start, wanted.sort)
        link = base_of(request) + Wish(wanted.narrowed, order=wanted.sort).link(reader_of(request))
        answer = yacy_json(wanted.query, found, link, start=wanted.start, per_page=wanted.per_page)
        return responses.json(answer)

    async def yacy_rss(self, request: Request) -> Response:
        wanted = _yacy_search(request)
        found = await self._search(wanted.narrowed, wanted.per_page, wanted.start, wanted.sort)
        wish, base = Wish(wanted.narrowed, order=wanted.sort), base_of(request)
        text = rss(reader_of(request), wish, found, base, start=wanted.start, per_page=wanted.per_page)
        return responses.xml(text, "application/rss+xml")

    async def elastic(self, request: Request) -> Response:
        """Answer `_search`, with refusals in Elasticsearch's own form."""
        began = self._backend.now()
        index = request.path_params.get("index", INDEX)
        if index not in (INDEX, "_all", "*"):
            reason = f"no such index [{index[:100]}]: it is called {INDEX}"
            return _elastic(failure_json("index_not_found_exception", reason, 404), 404)
        body = await body_of(request, ELASTIC_BYTES_MAX, "ask for less")
        try:
            wanted = _elastic_decoder.decode(body or b"{}")
            query, sort = query_of(wanted.query or {"match_all": {}}), order_of(wanted.sort)
            if not query or query.startswith("-"):
                raise NotUnderstood("a query has to ask for words or for pages of a kind")
            found = await self._search(query, wanted.size, wanted.from_, sort)
            if left_out := [each for each in found.remarks if each.oddity in _LEFT_OUT]:
                raise NotUnderstood(f"a condition is not understood: {left_out[0].oddity} {left_out[0].text}")
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, NotUnderstood) as error:
            return _elastic(failure_json("parsing_exception", str(error), 400), 400)
        return _elastic(elastic_json(wanted, found, self._backend.now() - began))

    async def cdx(self, request: Request) -> Response:
        """List stored versions as a CDX server does: all of one page, or the newest of each of many pages."""
        try:
            query = cdx_query(request.query_params)
        except NoCdxQuery as error:
            raise Refusal(400, str(error)) from error
        pages = await self._cdx_pages(query)
        if query.counts_pages:
            return responses.json(PagesCounted(1) if pages is None else pages_counted(pages))
        if pages is None:
            found = [await self._versions(url) for url in both_schemes(query.url)]
            captures = [capture for each in found for capture in captures_of(each)]
        else:
            captures = captures_in(query, pages)
        shown = await self._backend.render(partial(listed, query, captures))
        if not shown:
            raise Refusal(404, f"No Captures found for: {query.url}")  # by which clients know it
        text = await self._backend.render(partial(lines_of, query, shown))
        return responses.plain(text, MEDIA_TYPES[query.form])

    async def _cdx_pages(self, query: CdxQuery) -> PagesFound | None:
        """Find the pages whose newest versions are listed; None where one page is asked for."""
        is_exact = query.match is MatchType.EXACT
        if query.page >= (1 if is_exact else PAGES_MAX):
            raise Refusal(400, "there is no such page of this list: ask for a longer prefix instead")
        if is_exact:
            return None
        wishes = (query.pages, SNIPPETS_MAX, query.page * SNIPPETS_MAX)
        return await self._backend.ask(
            lambda ticket: SearchPages(ticket, *wishes, is_verbatim=True), PagesFound
        )

    async def _versions(self, url: str) -> VersionsFound:
        return await self._backend.ask(lambda ticket: FindVersions(ticket, url), VersionsFound)

    async def _search(self, query: str, size: int, start: int, sort: Sort) -> PagesFound:
        k = max(size, 1)  # of none only the total is told
        return await self._backend.ask(lambda ticket: SearchPages(ticket, query, k, start, sort), PagesFound)


def elastic_version(request: Request) -> str:
    """Return the version that a client of Elasticsearch wants to speak; "" for other clients."""
    match = _COMPATIBLE.search(request.headers.get("accept", "")[:1_000])
    return f"{match[1]}.0.0" if match else ""


def elastic_info(number: str) -> Response:
    """Tell a client of Elasticsearch that it may ask here."""
    return _elastic({"name": "tianmesh", "cluster_name": "tianmesh", "version": {"number": number}})


def _elastic(answer: Mapping[str, Any], status_code: int = 200) -> Response:
    response = responses.json(answer, status_code)
    response.headers.update(_PRODUCT)
    return response


def _yacy_search(request: Request) -> _YacySearch:
    """Read YaCy's parameters; as YaCy does, give as many hits as there may be where more are asked for."""
    parameters = request.query_params
    query = (parameters.get("query") or parameters.get("search") or "").strip()
    if not query:
        raise Refusal(400, "give the words to search for in the parameter query")
    if parameters.get("contentdom", "text") not in ("text", "all", ""):
        raise Refusal(400, "contentdom has to be text: pages are all that is searched here")
    counted = parameters.get("maximumRecords") or parameters.get("count") or "10"
    began = parameters.get("startRecord") or parameters.get("offset") or "0"
    modifiers = list(_YACY_MODIFIER.finditer(query))
    languages = [each["language"] for each in modifiers if each["language"]]
    if match := _YACY_LANGUAGE.fullmatch(parameters.get("lr", "")):
        languages.append(match[1])
    is_dated = len(modifiers) > sum(1 for each in modifiers if each["language"])
    words = " ".join(_YACY_MODIFIER.sub(" ", query).split())
    return _YacySearch(
        query,
        " ".join([words, *(f"lang:{language.lower()}" for language in languages[:1])]).strip(),
        Sort.DATE if is_dated else Sort.SCORE,
        number_in(began, "startRecord", 0, HITS_MAX - 1),
        min(number_in(counted, "maximumRecords", 0, RECORDS_MAX), SNIPPETS_MAX),
    )
