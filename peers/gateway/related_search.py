"""A search, and at the same time the queries that are related to it. [io]"""

from __future__ import annotations

from collections.abc import Callable

import trio

from mesh.actors.actor import Message
from peers.gateway.handling.backend import Backend, Busy, Refused
from peers.gateway.model.messages import PagesFound, SearchPages, SuggestTexts, TextsSuggested
from peers.index.wire_messages import TYPED_CHARS_MAX


async def search_and_relate(
    backend: Backend, order: Callable[[int], SearchPages], query: str
) -> tuple[PagesFound, tuple[str, ...]]:
    """Search, and ask for related queries: none are returned where they are not known in time.

    Raises:
      Busy, Refused: as `Backend.ask`, of the search.
    """
    answers: dict[type[Message], Message] = {}
    failures: dict[type[Message], Exception] = {}  # raised below, since a nursery puts them into groups

    async def ask(order: Callable[[int], Message], answer: type[Message]) -> None:
        try:
            answers[answer] = await backend.ask(order, answer)
        except Exception as error:
            failures[answer] = error

    async with trio.open_nursery() as nursery:
        if len(query) < TYPED_CHARS_MAX:
            nursery.start_soon(ask, lambda ticket: SuggestTexts(ticket, query, is_whole=True), TextsSuggested)
        await ask(order, PagesFound)
    if PagesFound in failures:
        raise failures[PagesFound]
    if not isinstance(failures.get(TextsSuggested, Busy()), Busy | Refused):
        raise failures[TextsSuggested]
    found, suggested = answers[PagesFound], answers.get(TextsSuggested)
    assert isinstance(found, PagesFound)
    return found, suggested.texts if isinstance(suggested, TextsSuggested) else ()
