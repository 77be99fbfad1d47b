"""Threads that give way: work for which others should not wait, at a lower priority of the system. [io]

A thread of this process that computes for long takes its share of the processors like any other, so on a
busy machine the event loop, which has to answer others in time, waits for it. On Linux a thread has a
priority of its own, which it can lower and never raise again: so each such work has a thread for itself.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

import trio

Result = TypeVar("Result")

NICENESS: Final = 10  # below that of the process; whatever works on pages is 5 below (`workshop_process`)
_NICENESS_MAX: Final = 19


async def run_in_background(work: Callable[[], Result], *, abandon_on_cancel: bool = False) -> Result:
    """Work in a thread of low priority, and return the result, or raise the error of the work.

    Args:
      abandon_on_cancel: if cancelled, go on without waiting for the thread; else it is waited for.
    """
    return await trio.to_thread.run_sync(_carry_out, work, abandon_on_cancel=abandon_on_cancel)


def _carry_out(work: Callable[[], Result]) -> Result:
    future: Future[Result] = Future()
    threading.Thread(target=_work, args=(work, future), name="background", daemon=True).start()
    return future.result()


def _work(work: Callable[[], Result], future: Future[Result]) -> None:
    _give_way()
    try:
        future.set_result(work())
    except BaseException as error:  # for the one that waits
        future.set_exception(error)


def _give_way() -> None:
    """Lower the priority of this thread; elsewhere than on Linux it would be that of the process."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        niceness = os.getpriority(os.PRIO_PROCESS, thread) + NICENESS
        os.setpriority(os.PRIO_PROCESS, thread, min(niceness, _NICENESS_MAX))
