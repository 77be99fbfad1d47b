"""The first results of a search in groups, for people and programs."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from peers.gateway.asked_pages import asked_pages
from peers.gateway.grouping.groups import GROUPED_MAX, GroupedBy
from peers.gateway.grouping.groups_json import groups_json
from peers.gateway.grouping.groups_page import groups_page
from peers.gateway.handling import responses
from peers.gateway.handling.backend import Backend, Busy
from peers.gateway.handling.requests import Refusal, query_in, reader_of
from peers.gateway.model.messages import PagesFound, SearchPages
from peers.gateway.site.pages import message_page


class GroupRoutes:
    """The handlers of groups."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def page(self, request: Request) -> Response:
        """Show people the groups."""
        reader, query = reader_of(request), query_in(request)
        if not query:
            return responses.found(reader.link("/"))
        wanted = request.query_params.get("by", "")
        by = next((each for each in GroupedBy if each.value == wanted), GroupedBy.WORDS)
        try:
            found = await self._found(query, by)
        except Busy:
            return responses.html(message_page(reader, reader.say("busy"), query), 503)
        return responses.html(await self._backend.render(partial(groups_page, reader, query, by, found)))

    async def told(self, request: Request) -> Response:
        """Return the groups."""
        query, wanted = query_in(request), request.query_params.get("by", GroupedBy.WORDS)
        if not query:
            raise Refusal(400, "give the words to search for in the parameter q")
        if wanted not in tuple(GroupedBy):
            raise Refusal(400, f"by has to be one of {', '.join(GroupedBy)}")
        by = GroupedBy(wanted)
        found = await self._found(query, by)
        return responses.json(await self._backend.render(partial(groups_json, query, by, found)))

    async def _found(self, query: str, by: GroupedBy) -> PagesFound:
        """Search for the results to be grouped. Busy."""
        asked = await asked_pages(self._backend, query)
        order = SearchPages(
            0, asked.query, GROUPED_MAX, page_words=asked.words, wants_words=by is GroupedBy.WORDS
        )
        found = await self._backend.ask(lambda ticket: replace(order, ticket=ticket), PagesFound)
        return asked.remarked(found)
