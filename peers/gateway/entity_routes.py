"""Sealed rows of entities for the commands of their owners, and their feeds."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from peers.entities.feed import feed_in
from peers.entities.feed import reader_of as feed_reader_of
from peers.entities.sealed_row import KEY_BYTES, SealedRow, is_row
from peers.entities.wire_messages import FULL, OFF, OUTDATED, UNTRUE
from peers.gateway.entities.entity_feed import entity_feed
from peers.gateway.handling import responses
from peers.gateway.handling.access import ClientAccess
from peers.gateway.handling.backend import Backend
from peers.gateway.handling.requests import Refusal, body_of, reader_of
from peers.gateway.model.messages import FindRow, KeepRow, RowAnswered, RowFound
from peers.gateway.site.command_json import EntityRulesJson, RowJson, RowKeptJson
from peers.policy.entity_rules import EntityRules

BODY_BYTES_MAX: Final = 48 << 10
DAY_S: Final = 86_400
AGAIN_S: Final = 10
ATOM: Final = "application/atom+xml"
_OFF_HINT: Final = "this mesh keeps no entities: its owner can add [entities] to the policy"
_SILENT_HINT: Final = "not all peers that may have this entity answer: try again in a moment"
_REFUSALS: Final = {
    OFF: (404, _OFF_HINT),
    UNTRUE: (400, "the row is not signed by the key that it is named by, or its last day is too far or over"),
    FULL: (503, "the peers of this entity have no room for one more; come back later"),
    OUTDATED: (409, "the entity was changed or forgotten meanwhile: read it again"),
}


class EntityRoutes:
    """The handlers of entities."""

    def __init__(self, backend: Backend, access: ClientAccess) -> None:
        self._backend = backend
        self._access = access

    async def rules(self, request: Request) -> Response:
        """Tell for how long entities are kept."""
        return responses.json(EntityRulesJson(self._rules().days))

    async def row(self, request: Request) -> Response:
        """Give the row of a name, or take one."""
        public = _key_in(request.path_params["name"])
        if request.method == "POST":
            return await self._keep(request, public)
        self._rules()
        row = await self._find(public)
        if row is None:
            raise Refusal(404, "the mesh has no entity of this name")
        return responses.json(RowJson(row.number, row.until_day, row.sealed, row.signature))

    async def feed(self, request: Request) -> Response:
        """Give the feed whose secret is in the address."""
        key = feed_reader_of(request.path_params["secret"])
        if key is None or self._backend.policy.entities is None:
            raise Refusal(404, "no feed has this address, or its owner has ended it")
        row = await self._find(key.public)
        try:
            feed = None if row is None or row.is_forgotten else feed_in(key.open(row))
        except ValueError:
            feed = None
        if feed is None:
            raise Refusal(404, "no feed has this address, or its owner has ended it")
        text = await self._backend.render(partial(entity_feed, reader_of(request), feed, key.public.hex()))
        response = responses.xml(text, ATOM)
        response.headers["Cache-Control"] = "no-store"  # its address is a secret
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Robots-Tag"] = "noindex"  # should somebody have put it into a page
        return response

    async def _keep(self, request: Request, public: bytes) -> Response:
        self._access.check_is_ours(request)
        rules = self._rules()
        row = _row_in(await body_of(request, BODY_BYTES_MAX, "an entity is smaller"))
        if not is_row(public, row):
            raise Refusal(*_REFUSALS[UNTRUE])
        if not self._access.may_change_entity(request, rules.per_client):
            hint = "a client may change no more entities today"
            raise Refusal(429, hint, {"Retry-After": str(DAY_S // rules.per_client + 1)})
        answered = await self._backend.ask(lambda ticket: KeepRow(ticket, public, row), RowAnswered)
        if answered.refusal:
            raise Refusal(*_REFUSALS.get(answered.refusal, _REFUSALS[FULL]))
        return responses.json(RowKeptJson(row.number))

    async def _find(self, public: bytes) -> SealedRow | None:
        """Return the row of a name; None where the mesh has none. Refusal: the mesh cannot tell now."""
        found = await self._backend.ask(lambda ticket: FindRow(ticket, public), RowFound)
        if found.row is None and not found.is_complete:
            raise Refusal(503, _SILENT_HINT, {"Retry-After": str(AGAIN_S)})
        return found.row

    def _rules(self) -> EntityRules:
        rules = self._backend.policy.entities
        if rules is None:
            raise Refusal(404, _OFF_HINT)
        return rules


def _key_in(text: str) -> bytes:
    try:
        public = bytes.fromhex(text) if len(text) == 2 * KEY_BYTES else b""
    except ValueError:
        public = b""
    if not public:
        raise Refusal(400, f"the name of an entity has {2 * KEY_BYTES} hexadecimal digits")
    return public


def _row_in(body: bytes) -> SealedRow:
    try:
        told = _decoder.decode(body)
        return msgspec.convert((told.number, told.until_day, told.sealed, told.signature), SealedRow)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Refusal(400, f"that is no sealed row ({error}): `tianmesh entities` makes them") from error


_decoder: Final = msgspec.json.Decoder(RowJson)
