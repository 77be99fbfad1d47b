"""Who has much under way leaves something for others."""

from __future__ import annotations

from collections import Counter

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from peers.gateway.http.fair_limiter import FairLimiter, LimiterFull


class Busy:
    """Clients that hold their turns until they are told to let go."""

    def __init__(self, turns: FairLimiter, nursery: trio.Nursery) -> None:
        self.holding: Counter[str] = Counter()
        self.sent_away: Counter[str] = Counter()
        self.order: list[str] = []
        self._turns = turns
        self._nursery = nursery
        self._ends: dict[str, list[trio.CancelScope]] = {}

    async def ask(self, client: str, times: int = 1) -> None:
        for _ in range(times):
            self._nursery.start_soon(self._hold, client)
            await wait_all_tasks_blocked()

    async def let_go(self, client: str) -> None:
        self._ends[client].pop(0).cancel()
        await wait_all_tasks_blocked()

    async def _hold(self, client: str) -> None:
        try:
            async with self._turns.turn(client):
                self.holding[client] += 1
                self.order.append(client)
                with trio.CancelScope() as scope:
                    self._ends.setdefault(client, []).append(scope)
                    await trio.sleep_forever()
                self.holding[client] -= 1
        except LimiterFull:
            self.sent_away[client] += 1


@pytest.fixture
def turns() -> FairLimiter:
    return FairLimiter(16, 20)


async def test_one_client_alone_has_a_part_of_all_turns(turns: FairLimiter) -> None:
    async with trio.open_nursery() as nursery:
        busy = Busy(turns, nursery)
        await busy.ask("a", 10)
        assert busy.holding == {"a": 4}
        assert len(turns) == 6
        await busy.let_go("a")
        assert busy.holding == {"a": 4}
        nursery.cancel_scope.cancel()
    assert len(turns) == 0
    async with turns.turn("a"):
        pass


async def test_eight_that_want_much_leave_turns_for_who_wants_one(turns: FairLimiter) -> None:
    async with trio.open_nursery() as nursery:
        busy = Busy(turns, nursery)
        for _ in range(3):
            for number in range(8):
                await busy.ask(f"hostile {number}")
        await busy.ask("honest")
        assert busy.holding["honest"] == 1
        nursery.cancel_scope.cancel()


async def test_of_those_that_wait_who_holds_least_is_first(turns: FairLimiter) -> None:
    async with trio.open_nursery() as nursery:
        busy = Busy(turns, nursery)
        for number in range(16):
            await busy.ask(f"hostile {number}")
        await busy.ask("hostile 0", 3)
        await busy.ask("honest")
        assert busy.holding["honest"] == 0
        await busy.let_go("hostile 7")
        assert busy.holding["honest"] == 1
        nursery.cancel_scope.cancel()


async def test_waiting_clients_are_called_by_turns(turns: FairLimiter) -> None:
    async with trio.open_nursery() as nursery:
        busy = Busy(turns, nursery)
        for number in range(16):
            await busy.ask(f"first {number}")
        for client in ("a", "a", "b", "b", "c"):
            await busy.ask(client)
        for number in range(16):
            await busy.let_go(f"first {number}")
        assert busy.order[16:] == ["a", "b", "c", "a", "b"]
        nursery.cancel_scope.cancel()


async def test_when_too_many_wait_who_has_most_of_them_loses_the_last(turns: FairLimiter) -> None:
    async with trio.open_nursery() as nursery:
        busy = Busy(turns, nursery)
        await busy.ask("much", 24)
        assert busy.sent_away == {}
        for number in range(12):
            await busy.ask(f"other {number}")
        assert busy.holding.total() == 16
        assert busy.sent_away == {}
        await busy.ask("honest")
        assert busy.sent_away == {"much": 1}
        await busy.ask("much")
        assert busy.sent_away == {"much": 2}
        nursery.cancel_scope.cancel()


async def test_who_gives_up_while_waiting_leaves_nothing_behind(turns: FairLimiter) -> None:
    async with trio.open_nursery() as nursery:
        busy = Busy(turns, nursery)
        for number in range(16):
            await busy.ask(f"first {number}")
        with trio.move_on_after(0):
            async with turns.turn("impatient"):
                raise AssertionError
        assert len(turns) == 0
        await busy.let_go("first 3")
        async with turns.turn("impatient"):
            pass
        nursery.cancel_scope.cancel()
