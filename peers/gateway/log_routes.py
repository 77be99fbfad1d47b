"""The log of searches at a gateway: clicks on results, and the log itself for administrators."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from mesh.keys.signed_token import TokenRight
from mesh.urls import is_canonical
from peers.gateway.handling import responses
from peers.gateway.handling.access import ClientAccess
from peers.gateway.handling.backend import Backend
from peers.gateway.handling.requests import (
    COMPARE_COOKIE,
    MEMBER_CHARS_MAX,
    Refusal,
    body_of,
    fields_in,
    is_encrypted,
    may_compare,
    reader_of,
)
from peers.gateway.model.log_json import log_json
from peers.gateway.model.messages import LogFound, ReadLog
from peers.gateway.site.click_links import Click
from peers.gateway.site.pages import Wish, message_page
from peers.query_log.wire_messages import PLACE_BYTES_MAX

COMPARE_S: Final = 30 * 86_400
COMPARE_BYTES_MAX: Final = 4_096
_DIGITS_MAX: Final = 7


class LogRoutes:
    """The handlers of the log."""

    def __init__(self, backend: Backend, access: ClientAccess) -> None:
        self._backend = backend
        self._access = access

    async def go(self, request: Request) -> Response:
        """Send a reader to a result, and note that; without a valid signature only back to the results."""
        given = request.query_params
        url, query = given.get("url", ""), given.get("q", "")
        click = Click(query, _number(given.get("rank", "")), url, _number(given.get("day", "")))
        client = self._access.client_of(request)
        mac, credit = given.get("mac", ""), given.get("credit", "") if may_compare(request) else ""
        if is_canonical(url) and self._backend.shown_log.note_click(client, click, mac, credit):
            return responses.found(url)
        reader = reader_of(request)
        again = Wish(query).link(reader) if query else ""
        return responses.html(message_page(reader, reader.say("link_expired"), query, again), 404)

    async def compare(self, request: Request) -> Response:
        """Let a reader agree to see results of two rankings, or take that back: a cookie, for 30 days."""
        reader, rules = reader_of(request), self._backend.policy.query_log
        if rules is None or rules.second is None:
            return responses.html(message_page(reader, reader.say("compare_off")), 404)
        if request.method != "POST":
            # Loaded where rankings are compared.
            from peers.gateway.judging.compare_page import compare_page

            return responses.form(compare_page(reader, has_agreed=may_compare(request)))
        self._access.check_is_ours(request)
        fields = fields_in(await body_of(request, COMPARE_BYTES_MAX, "post one field"))
        agrees = fields.get("agree", "")
        if agrees not in ("yes", "no"):
            return responses.html(message_page(reader, reader.say("compare_bad")), 400)
        seconds = COMPARE_S if agrees == "yes" else 0
        secure = "; Secure" if is_encrypted(request) else ""
        said = f"{COMPARE_COOKIE}={agrees}; Max-Age={seconds}; Path=/; HttpOnly; SameSite=Lax{secure}"
        return responses.see_other(reader.link("/compare"), said)

    async def log(self, request: Request) -> Response:
        """Return a part of the log of one peer, for administrators."""
        self._access.check_admin(request, TokenRight.READ)
        peer, after = request.query_params.get("peer", ""), request.query_params.get("after", "")
        try:
            place = bytes.fromhex(after)
        except ValueError:
            place = b"\0" * (PLACE_BYTES_MAX + 1)
        if len(peer) > MEMBER_CHARS_MAX or len(place) > PLACE_BYTES_MAX:
            raise Refusal(400, "give the id of a peer, and after as `next` of its last answer says")
        found = await self._backend.ask(lambda ticket: ReadLog(ticket, peer, place), LogFound)
        return responses.json(log_json(found))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX else 0
