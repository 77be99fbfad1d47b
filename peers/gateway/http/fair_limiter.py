"""Turns of clients at something of which only so much can go on at a time. [io]

A client that has much under way gets no more of it while others might want some: it may hold at most a part
of what is free (dynamic thresholds, Choudhury and Hahne 1998). So alone it gets a good part of all, of many
that want much each gets a little, and something stays free for who comes then with his first. Of those that
wait the one whose client holds least goes first; of these, who came first. When too many wait, one of the
client with most of them is sent away, the last that came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio

FREE_PART: Final = 0.25  # of 16 turns a client has 4 alone, 8 that want more have 12 together


class LimiterFull(Exception):
    """Too many wait, and most of them are of this client."""


class FairLimiter:
    """So many at a time; must be used by tasks of one event loop."""

    def __init__(self, at_once: int, waiting_max: int) -> None:
        self._free = at_once
        self._waiting_max = waiting_max
        self._holding: Counter[str] = Counter()
        self._waiting: dict[str, list[_Waiter]] = {}  # by client, in the order they came
        self._n_waiting = 0

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """Wait for a turn and have it. NoTurn."""
        if self._waiting.get(client) or not self._may_have(client):
            await self._wait(client)
        else:
            self._take(client)
        try:
            yield
        finally:
            self._give_back(client)

    def __len__(self) -> int:
        """How many wait."""
        return self._n_waiting

    def _may_have(self, client: str) -> bool:
        return self._holding[client] < self._free * FREE_PART

    async def _wait(self, client: str) -> None:
        waiter = _Waiter()
        self._waiting.setdefault(client, []).append(waiter)
        self._n_waiting += 1
        if self._n_waiting > self._waiting_max:
            self._send_one_away(newcomer=client)
        try:
            await waiter.is_called.wait()
        except trio.Cancelled:
            if waiter.has_turn:
                self._give_back(client)
            else:
                self._forget(client, waiter)
            raise
        if not waiter.has_turn:
            raise LimiterFull

    def _send_one_away(self, newcomer: str) -> None:
        def wanted(client: str) -> tuple[int, bool]:
            return len(self._waiting[client]) + self._holding[client], client == newcomer

        client = max(self._waiting, key=wanted)
        last = self._waiting[client][-1]
        self._forget(client, last)
        last.is_called.set()

    def _take(self, client: str) -> None:
        self._free -= 1
        self._holding[client] += 1

    def _give_back(self, client: str) -> None:
        self._free += 1
        self._holding[client] -= 1
        self._holding += Counter()  # forgets who holds none
        self._call_next()

    def _call_next(self) -> None:
        while self._waiting:
            # `min` takes the first of equal ones, and clients are in the order of their last turn.
            client = min(self._waiting, key=self._holding.__getitem__)
            if not self._may_have(client):
                return
            waiter = self._waiting[client][0]
            self._forget(client, waiter)
            if client in self._waiting:
                self._waiting[client] = self._waiting.pop(client)
            self._take(client)
            waiter.has_turn = True
            waiter.is_called.set()

    def _forget(self, client: str, waiter: _Waiter) -> None:
        of_client = self._waiting.get(client, [])
        if waiter in of_client:
            of_client.remove(waiter)
            self._n_waiting -= 1
            if not of_client:
                del self._waiting[client]


class _Waiter:
    def __init__(self) -> None:
        self.is_called = trio.Event()
        self.has_turn = False  # called without one: sent away
