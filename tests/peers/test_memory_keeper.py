"""Memory that was freed goes back to the system while a peer runs."""

from __future__ import annotations

import gc
import sys
import time
from itertools import pairwise

import pytest
import trio

from peers.memory_keeper import MemoryKeeper, giver_back


async def test_memory_is_given_back_after_every_pause() -> None:
    times: list[float] = []
    with trio.fail_after(10), trio.CancelScope() as scope:

        def note() -> None:
            times.append(time.monotonic())
            if len(times) == 3:
                trio.from_thread.run_sync(scope.cancel)

        await MemoryKeeper(note, pause_s=0.01).run(lambda source, actor, message: None)
    assert all(after - before >= 0.01 for before, after in pairwise(times))
    assert len(times) == 3


async def test_without_such_a_call_the_port_ends() -> None:
    await MemoryKeeper(None).run(lambda source, actor, message: None)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and needs glibc's malloc_trim")
def test_freed_pieces_leave_the_process() -> None:
    give_back = giver_back()
    if give_back is None:
        pytest.skip("this C library has no malloc_trim")
    pieces = [bytearray(20_000) for _ in range(5_000)]
    kept = pieces[::100]  # between what is freed, so that the top of the heap stays where it is
    before = _resident_bytes()
    del pieces
    gc.collect()
    give_back()
    assert len(kept) == 50
    assert before - _resident_bytes() > 50_000_000


def _resident_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096
