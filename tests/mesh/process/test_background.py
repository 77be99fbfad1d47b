"""Threads that give way: lower in priority than the process, and as good as any other thread."""

from __future__ import annotations

import os
import sys
import threading

import pytest
import trio

from mesh.process.background import NICENESS, run_in_background


def priority() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.skipif(sys.platform != "linux", reason="priorities of threads are a matter of Linux")
async def test_work_has_a_low_priority_and_nothing_else_has() -> None:
    before = priority()
    assert await run_in_background(priority) == min(before + NICENESS, 19)
    assert await trio.to_thread.run_sync(priority) == before
    assert priority() == before


async def test_result_and_error_come_to_who_waits() -> None:
    assert await run_in_background(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await run_in_background(lambda: 1 // 0)


async def test_abandoned_work_is_waited_for_by_nobody() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        may_end.wait()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: run_in_background(work, abandon_on_cancel=True))
        await trio.to_thread.run_sync(begun.wait)
        nursery.cancel_scope.cancel()
    may_end.set()
