"""Live searches for programs, streamed, and for people, on a page that loads itself again."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from peers.engine.queries.query_parser import QUERY_CHARS_MAX
from peers.gateway.handling import responses
from peers.gateway.handling.access import ClientAccess
from peers.gateway.handling.backend import Backend, Busy
from peers.gateway.handling.requests import Refusal, body_of, fields_in, query_in, reader_of
from peers.gateway.live.live_json import LiveJson
from peers.gateway.live.live_page import SCRIPT, live_form_page, live_page
from peers.gateway.live.live_search import LiveRequest
from peers.gateway.live_runs import LiveRuns
from peers.gateway.site.command_json import Failure
from peers.gateway.site.pages import message_page
from peers.gateway.why.why_page import sign_in_page

logger = logging.getLogger(__name__)

LIVE_BYTES_MAX: Final = 64 << 10  # of a request: more than the longest query is read of
_decoder: Final = msgspec.json.Decoder(LiveRequest)
_encoder: Final = msgspec.json.Encoder()


class LiveRoutes:
    """The handlers of live searches."""

    def __init__(self, backend: Backend, access: ClientAccess) -> None:
        self._backend = backend
        self._access = access
        self._runs = LiveRuns(backend)

    async def search(self, request: Request) -> Response:
        """Search, and send the state after each round as an event; it ends when the client goes away."""
        self._access.check_live(request)
        wish = _wish_in(await body_of(request, LIVE_BYTES_MAX, "ask for less"))
        self._access.count_seeds(request, wish.pages)
        self._runs.check_room()
        return responses.events(_events(self._runs.rounds(wish)))

    async def page(self, request: Request) -> Response:
        """Show a form, begin a live search, or show how one is going on."""
        reader = reader_of(request)
        if request.method == "POST":
            self._access.check_is_ours(request)
        if not self._access.may_search_live(request):
            return responses.form(sign_in_page(reader, is_wrong=False, is_known=False), 403)
        number = request.query_params.get("id", "")
        if request.method != "POST" and not number:
            return responses.form(live_form_page(reader, query_in(request)[:QUERY_CHARS_MAX]))
        if request.method != "POST":
            told = self._runs.find(number)
            if told is None:
                return responses.html(message_page(reader, reader.say("live_gone")), 404)
            page = await self._backend.render(lambda: live_page(reader, told, number))
            return responses.html(page, policy=responses.policy_with(SCRIPT.source))
        wish = _wish_of_form(await body_of(request, LIVE_BYTES_MAX, "ask for less"))
        self._access.count_seeds(request, wish.pages)
        try:
            return responses.see_other(reader.link("/live", id=await self._runs.begin(wish)))
        except Busy:
            again = reader.link("/live", q=wish.q)
            return responses.html(message_page(reader, reader.say("busy"), wish.q, again), 503)


async def _events(rounds: AsyncGenerator[LiveJson]) -> AsyncGenerator[bytes]:
    """Write each state as a server-sent event (HTML standard, 9.2.6)."""
    async with aclosing(rounds):
        try:
            async for told in rounds:
                yield _event(told)
        except Busy as error:
            yield _event(Failure(f"{error}; ask again in a moment"))
        except Exception:  # the head has left: who reads is told by what comes
            logger.exception("a live search failed")
            yield _event(Failure("something went wrong here; see the log of this peer"))


def _event(told: LiveJson | Failure) -> bytes:
    return b"data: " + _encoder.encode(told) + b"\n\n"


def _wish_in(body: bytes) -> LiveRequest:
    try:
        return _checked(_decoder.decode(body))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        hint = 'post {"q": "the words"}, with any of k, pages, seconds, enough, fish, width and steps'
        raise Refusal(400, f"the JSON is not understood ({error}); {hint}") from error


def _wish_of_form(body: bytes) -> LiveRequest:
    fields = fields_in(body)
    return _checked(LiveRequest(q=fields.get("q", ""), fish="fish" in fields))


def _checked(wish: LiveRequest) -> LiveRequest:
    if not wish.q.strip():
        raise Refusal(400, "give the words to search for in q")
    return msgspec.structs.replace(wish, q=wish.q.strip())
