"""The watch at a gateway, for administrators alone: list and counts, notices as they come, a feed, a page."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from mesh.keys.signed_token import TokenRight
from peers.gateway.handling import responses
from peers.gateway.handling.access import ClientAccess
from peers.gateway.handling.backend import Backend, Busy
from peers.gateway.handling.requests import Refusal, base_of, reader_of
from peers.gateway.model.messages import GatherNotices, NoticesGathered
from peers.gateway.notices.notice_stream import (
    StreamedNotice,
    id_of,
    last_places,
    places_in,
    read_to,
    streamed,
)
from peers.gateway.notices.watch_json import SHOWN_MAX, WatchJson, watch_json
from peers.gateway.site.pages import message_page
from peers.gateway.why.why_page import sign_in_page

FOLLOWERS_MAX: Final = 8  # at a time: each asks all peers once a second
_encoder: Final = msgspec.json.Encoder()


class WatchRoutes:
    """The handlers of the watch."""

    def __init__(self, backend: Backend, access: ClientAccess) -> None:
        self._backend = backend
        self._access = access
        self._followers = 0

    async def told(self, request: Request) -> Response:
        """Return the list with its counts, and the last notices, or those behind a place."""
        self._check(request)
        places = _places_in(request.query_params.get("after", ""))
        if not places:
            return responses.json(await self._told())
        gathered = await self._gather_after(places, wants_counts=True)
        after = id_of(read_to(places, gathered))
        return responses.json(await self._summed(gathered, after, are_last=False))

    async def events(self, request: Request) -> Response:
        """Send notices as they come, behind the one that is named, else from now on."""
        self._check(request)
        if self._followers >= FOLLOWERS_MAX:
            raise Busy("too many follow the watch at this gateway")
        places = _places_in(request.headers.get("last-event-id") or request.query_params.get("after", ""))
        if not places:
            places = last_places(await self._gather_last(0))
        return responses.events(self._events(places))

    async def page(self, request: Request) -> Response:
        """Show the watch, or a feed of it; to others only where to sign in."""
        reader = reader_of(request)
        if not self._access.may_see(request):
            return responses.form(sign_in_page(reader, is_wrong=False, is_known=False), 403)
        try:
            told = await self._told()
        except Busy:
            return responses.html(message_page(reader, reader.say("busy")), 503)
        if request.query_params.get("format") == "atom":
            from peers.gateway.notices.notice_feed import notice_feed

            return responses.xml(notice_feed(reader, told.notices, base_of(request)), "application/atom+xml")
        # With the first: most gateways are never asked for it.
        from peers.gateway.notices.watch_page import SCRIPT, watch_page

        page = await self._backend.render(lambda: watch_page(reader, told))
        return responses.html(page, policy=responses.policy_with(SCRIPT.source))

    def _check(self, request: Request) -> None:
        if not self._access.may_see(request):
            self._access.check_admin(request, TokenRight.READ)

    async def _told(self) -> WatchJson:
        gathered = await self._gather_last(SHOWN_MAX)
        return await self._summed(gathered, id_of(last_places(gathered)), are_last=True)

    async def _summed(self, gathered: NoticesGathered, after: str, *, are_last: bool) -> WatchJson:
        """Add up the counts of all peers, 10,000 of each, where that holds nobody up."""
        watch_list = self._backend.watch_list
        return await self._backend.render(lambda: watch_json(watch_list, gathered, after, are_last=are_last))

    async def _gather_last(self, most: int) -> NoticesGathered:
        return await self._backend.ask(
            lambda ticket: GatherNotices(ticket, most=most, wants_counts=bool(most)), NoticesGathered
        )

    async def _gather_after(
        self, places: Mapping[str, int], *, wants_counts: bool = False
    ) -> NoticesGathered:
        after = tuple(places.items())
        return await self._backend.ask(
            lambda ticket: GatherNotices(ticket, after, wants_counts=wants_counts, is_from_oldest=True),
            NoticesGathered,
        )

    async def _events(self, places: Mapping[str, int]) -> AsyncGenerator[bytes]:
        """Write each notice as a server-sent event (HTML standard, 9.2.6); an id alone is no event."""
        self._followers += 1
        try:
            async with aclosing(streamed(self._gather_after, places)) as notices:
                async for each in notices:
                    yield _event(each)
        except Busy:
            pass  # who follows comes back, with the last id
        finally:
            self._followers -= 1


def _places_in(text: str) -> dict[str, int]:
    try:
        return places_in(text)
    except ValueError as error:
        raise Refusal(400, "give the id of an event in Last-Event-ID or `after`, or nothing") from error


def _event(each: StreamedNotice) -> bytes:
    place = f"id: {each.after}\n".encode("ascii", "replace")
    data = b"" if each.notice is None else b"data: " + _encoder.encode(each.notice) + b"\n"
    return place + data + b"\n"
