"""The live searches under way at a gateway, and those that people may still look at. [io]"""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Final

from peers.gateway.handling.backend import Backend, Busy
from peers.gateway.live.live_json import LiveJson
from peers.gateway.live.live_search import LiveRequest
from peers.gateway.live_rounds import live_rounds

logger = logging.getLogger(__name__)

RUNNING_MAX: Final = 4  # at a time: each asks some ten searches and reads up to eight pages a round
KEPT_MAX: Final = 64  # for people to look at; the oldest goes


class LiveRuns:
    """Begins live searches, few at a time; those of people go on while nobody looks, until they end."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._running = 0
        self._told: dict[str, LiveJson] = {}  # by what only the one who began it knows, the oldest first

    def check_room(self) -> None:
        """Refuse one that is too many. Busy."""
        if self._running >= RUNNING_MAX:
            raise Busy("too many live searches at once")

    async def rounds(self, wish: LiveRequest) -> AsyncGenerator[LiveJson]:
        """Carry a live search out; see `live_rounds`. Busy."""
        self.check_room()
        self._running += 1
        try:
            async with aclosing(live_rounds(self._backend, wish)) as rounds:
                async for told in rounds:
                    yield told
        finally:
            self._running -= 1

    async def begin(self, wish: LiveRequest) -> str:
        """Begin one that goes on by itself, and return the name to look at it by. Busy."""
        rounds = self.rounds(wish)
        told = await anext(rounds)
        number = secrets.token_urlsafe(12)
        if len(self._told) == KEPT_MAX:
            del self._told[next(iter(self._told))]
        self._told[number] = told
        self._backend.start(partial(self._go_on, number, rounds))
        return number

    def find(self, number: str) -> LiveJson | None:
        """Return the last state of one that was begun; None for one that is not known any more."""
        return self._told.get(number)

    async def _go_on(self, number: str, rounds: AsyncGenerator[LiveJson]) -> None:
        try:
            async with aclosing(rounds):
                async for told in rounds:
                    if number in self._told:
                        self._told[number] = told
        except Exception:  # one that fails must not end the gateway
            logger.exception("a live search failed")
            self._told.pop(number, None)
