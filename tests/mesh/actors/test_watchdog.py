"""Steps that hold the event loop are counted by what they did; those that only waited are told apart."""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable

import pytest
import trio

from mesh.actors.watchdog import CPU_LOOK_S, HELD_S_MAX, NAMES_MAX, Watchdog


def compute(seconds: float) -> None:
    ends_at = time.thread_time() + seconds
    while time.thread_time() < ends_at:
        pass


@pytest.fixture
def watchdog() -> Watchdog:
    return Watchdog()


async def watched_step(watchdog: Watchdog, *parts: tuple[str, float]) -> None:
    """Compute in one step of a task, telling what."""

    async def work() -> None:
        for name, seconds in parts:
            began_s = time.perf_counter()
            compute(seconds)
            watchdog.note(name, time.perf_counter() - began_s)

    await watched(watchdog, work)


async def watched(watchdog: Watchdog, work: Callable[[], Awaitable[None]]) -> None:
    with watchdog:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work, name="worker")


async def test_what_computes_too_long_is_counted_by_its_name(watchdog: Watchdog) -> None:
    await watched_step(watchdog, ("controller LinksFound", 2 * HELD_S_MAX), ("cell StorePage", 0.001))
    seen = watchdog.observe()
    assert seen.held == {"controller LinksFound": 1}
    assert seen.held_longest_s["controller LinksFound"] >= 2 * HELD_S_MAX


async def test_many_short_things_in_one_step_are_blamed_on_the_task(watchdog: Watchdog) -> None:
    async def work() -> None:
        for number in range(8):
            compute(HELD_S_MAX / 4)
            watchdog.note(f"part {number}", HELD_S_MAX / 4)  # not longer because others had the core

    await watched(watchdog, work)
    (name,) = watchdog.observe().held
    assert "worker, mostly part" in name


async def test_short_steps_are_not_counted(watchdog: Watchdog) -> None:
    await watched_step(watchdog, ("short", 0.0))
    assert watchdog.observe().held == {}


async def test_a_step_that_waits_is_starved_and_blamed_on_nobody(watchdog: Watchdog) -> None:
    async def wait() -> None:
        time.sleep(2 * HELD_S_MAX)  # as another process that has the core would have it

    with watchdog:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
    seen = watchdog.observe()
    assert seen.starved >= 1
    assert seen.starved_longest_s >= 2 * HELD_S_MAX
    assert seen.held == {}


async def test_a_long_collection_of_garbage_is_called_so(watchdog: Watchdog) -> None:
    async def litter() -> None:
        rings: list[list[object]] = [[] for _ in range(600_000)]
        for ring in rings:
            ring.append(ring)
        del ring, rings
        gc.collect()

    with watchdog:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(litter)
    assert any("collection of generation 2" in name for name in watchdog.observe().held)


async def test_names_are_bounded(watchdog: Watchdog) -> None:
    for n in range(NAMES_MAX + 5):
        watchdog._note_long(f"task {n}", 1.0, 1.0)
    assert len(watchdog.observe().held) == NAMES_MAX + 1
    assert watchdog.observe().held["other"] == 5


async def test_short_steps_do_not_ask_for_the_processor_time(
    watchdog: Watchdog, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def ask() -> float:
        asked.append(time.perf_counter())
        return time.thread_time()

    monkeypatch.setattr("mesh.actors.watchdog.thread_time", ask)
    with watchdog:
        for _ in range(1_000):
            await trio.lowlevel.checkpoint()
    assert len(asked) <= 2 + (asked[-1] - asked[0]) / CPU_LOOK_S
