"""The topics of a mesh at a gateway: their list, and how strongly one is written about."""

from __future__ import annotations

from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from peers.gateway.handling import responses
from peers.gateway.handling.backend import Backend, Busy
from peers.gateway.handling.requests import Refusal, reader_of
from peers.gateway.model.messages import CountsSummed, CountTopic
from peers.gateway.site.pages import message_page
from peers.gateway.topics.topic_json import TopicStrengthJson, strength_csv, strength_json, topics_json
from peers.gateway.topics.topic_page import topic_page, topics_page

KEPT_S: Final = 60.0  # counts are asked for again after that: each time all peers look through their rows
PARTLY_KEPT_S: Final = 5.0  # those without a silent peer's
_UNKNOWN: Final = (
    "this mesh counts no topic of that name: `tianmesh topic list` and /api/topics show those that it counts"
)


class TopicRoutes:
    """The handlers of topics."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._counted: dict[bytes, tuple[float, CountsSummed]] = {}  # by key, and until when it is told

    async def page(self, request: Request) -> Response:
        """Show people the topics."""
        return responses.html(topics_page(reader_of(request), topics_json(self._backend.topics)))

    async def told(self, request: Request) -> Response:
        """Return the topics."""
        return responses.json(topics_json(self._backend.topics))

    async def topic_page(self, request: Request) -> Response:
        """Show people the strength of a topic."""
        reader = reader_of(request)
        try:
            told = await self._strength(request.path_params["name"])
        except Busy:
            return responses.html(message_page(reader, reader.say("busy")), 503)
        if told is None:
            return responses.html(message_page(reader, reader.say("topic_unknown")), 404)
        return responses.html(await self._backend.render(partial(topic_page, reader, told)))

    async def topic_told(self, request: Request) -> Response:
        """Return the strength of a topic, as JSON or CSV."""
        form = request.query_params.get("format", "json")
        if form not in ("json", "csv"):
            raise Refusal(400, "format has to be one of json, csv")
        told = await self._strength(request.path_params["name"])
        if told is None:
            raise Refusal(404, _UNKNOWN)
        if form == "csv" and (missing := told.left_out + told.silent):  # a table has no place to say so
            raise Refusal(
                503,
                f"without the counts of {', '.join(missing)}, which lie or are silent: JSON has the others",
            )
        return responses.plain(strength_csv(told), "text/csv") if form == "csv" else responses.json(told)

    async def _strength(self, name: str) -> TopicStrengthJson | None:
        """Return the counts of a topic, None where there is none of that name. Busy."""
        topics = self._backend.topics
        found = None if topics is None else topics.named(name)
        if topics is None or found is None:
            return None
        key, topic = found
        kept = self._counted.get(key)
        if kept is None or kept[0] < self._backend.now():
            of_list = topics.list.slice_s, topics.list.starts_s
            counted = await self._backend.ask(
                lambda ticket: CountTopic(ticket, key, *of_list, topic.kept), CountsSummed
            )
            self._counted = {each: kept for each, kept in self._counted.items() if each in topics.by_key}
            kept_s = PARTLY_KEPT_S if counted.silent else KEPT_S
            kept = self._counted[key] = self._backend.now() + min(kept_s, counted.left_s), counted
        return strength_json(topics, topic, kept[1])
