"""Hubs and authorities around the first results of a search, for people and programs."""

from __future__ import annotations

from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from peers.gateway.asked_pages import asked_pages
from peers.gateway.handling import responses
from peers.gateway.handling.backend import Backend, Busy
from peers.gateway.handling.requests import Refusal, number_in, query_in, reader_of
from peers.gateway.hubs.hits import hubs_and_authorities
from peers.gateway.hubs.hubs_json import HubsJson, hubs_json
from peers.gateway.hubs.hubs_page import hubs_page
from peers.gateway.hubs.neighbourhood import Neighbourhood
from peers.gateway.model.messages import GatherNeighbours, NeighboursGathered, PagesFound, SearchPages
from peers.gateway.site.pages import message_page
from peers.gateway.stored_routes import NO_GRAPH_HINT
from peers.link_graph.wire_messages import NEIGHBOURS_OF_MAX, MarkedPage

SHOWN: Final = 15  # of each list
LISTED_MAX: Final = 100


class HubRoutes:
    """The handlers of hubs and authorities."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def page(self, request: Request) -> Response:
        """Show people both lists."""
        reader, query = reader_of(request), query_in(request)
        if self._backend.policy.link_graph is None:
            return responses.html(message_page(reader, reader.say("backlinks_off"), query), 404)
        if not query:
            return responses.found(reader.link("/"))
        try:
            told = await self._hubs(query, SHOWN)
        except Busy:
            return responses.html(message_page(reader, reader.say("busy"), query), 503)
        return responses.html(await self._backend.render(partial(hubs_page, reader, told)))

    async def told(self, request: Request) -> Response:
        """Return both lists."""
        query = query_in(request)
        if self._backend.policy.link_graph is None:
            raise Refusal(404, NO_GRAPH_HINT)
        if not query:
            raise Refusal(400, "give the words to search for in the parameter q")
        most = number_in(request.query_params.get("limit", str(SHOWN)), "limit", 1, LISTED_MAX)
        return responses.json(await self._hubs(query, most))

    async def _hubs(self, query: str, most: int) -> HubsJson:
        """Search, ask for the pages around the results, and for the addresses of those they link to. Busy."""
        asked = await asked_pages(self._backend, query)
        found = await self._backend.ask(
            lambda ticket: SearchPages(ticket, asked.query, NEIGHBOURS_OF_MAX, page_words=asked.words),
            PagesFound,
        )
        titles = {hit.url: hit.title for hit in found.hits}
        around = await self._gathered(urls=tuple(titles))
        pages = Neighbourhood(titles, around)
        named = await self._gathered(marks=pages.unnamed())
        silent = {*around.silent, *named.silent}

        def made() -> HubsJson:
            scored = hubs_and_authorities(pages.links(named), most)
            return hubs_json(query, titles.keys(), pages.titles, found.coverage, silent, scored)

        return await self._backend.render(made)

    async def _gathered(
        self, urls: tuple[str, ...] = (), marks: tuple[MarkedPage, ...] = ()
    ) -> NeighboursGathered:
        """Ask for the pages around some, and for the URLs of others, if there are any. Busy."""
        if not (urls or marks):
            return NeighboursGathered(0, (), ())
        return await self._backend.ask(
            lambda ticket: GatherNeighbours(ticket, urls, marks), NeighboursGathered
        )
