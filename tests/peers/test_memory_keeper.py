"""Memory that was freed goes back to the system while a peer runs."""

from __future__ import annotations

import time
from itertools import pairwise

import trio

from peers.memory_keeper import MemoryKeeper
from tests.patience import PATIENCE_S


async def test_memory_is_given_back_after_every_pause() -> None:
    times: list[float] = []
    with trio.fail_after(PATIENCE_S), trio.CancelScope() as scope:

        def note() -> None:
            times.append(time.monotonic())
            if len(times) == 3:
                trio.from_thread.run_sync(scope.cancel)

        await MemoryKeeper(note, pause_s=0.01).run(lambda source, actor, message: None)
    assert all(after - before >= 0.01 for before, after in pairwise(times))
    assert len(times) == 3


async def test_without_such_a_call_the_port_ends() -> None:
    await MemoryKeeper(None).run(lambda source, actor, message: None)
