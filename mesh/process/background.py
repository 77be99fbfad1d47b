"""Threads that give way: work for which others should not wait, at a lower priority of the system. [io]

A thread of this process that computes for long takes its share of the processors like any other, so on a
busy machine the event loop, which has to answer others in time, waits for it. On Linux a thread has a
priority of its own, which it can lower and never raise again: so each such work has a thread for itself.

`Background` is the port by which actors have such work done.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from math import inf
from typing import ClassVar, Final, TypeVar

import trio

from mesh.actors.actor import Address, Message
from mesh.actors.port import BACKGROUND, CarriedOut, CarryOut, Deliver
from mesh.errors import LocalProtocolError

Result = TypeVar("Result")

NICENESS: Final = 10  # below that of the process; whatever works on pages is 5 below (`workshop_process`)
_NICENESS_MAX: Final = 19


async def run_in_background(work: Callable[[], Result], *, abandon_on_cancel: bool = False) -> Result:
    """Work in a thread of low priority, and return the result, or raise the error of the work.

    Args:
      abandon_on_cancel: if cancelled, go on without waiting for the thread; else it is waited for.
    """
    return await trio.to_thread.run_sync(_carry_out, work, abandon_on_cancel=abandon_on_cancel)


class Background:
    """The port `background`: carries out the work of actors, one after the other."""

    name: ClassVar[str] = BACKGROUND

    def __init__(self, me: str) -> None:
        self._here = Address(me, self.name)
        self._orders, self._waiting = trio.open_memory_channel[tuple[Address, CarryOut]](inf)

    def receive(self, source: Address, message: Message) -> None:
        if not isinstance(message, CarryOut):
            raise LocalProtocolError(f"{source} sent a {type(message).__name__} to the background")
        self._orders.send_nowait((source, message))

    async def run(self, deliver: Deliver) -> None:
        """Carry out work until cancelled; the work that is under way then is left to itself."""
        async for source, order in self._waiting:
            result = await run_in_background(order.work, abandon_on_cancel=True)
            deliver(self._here, source.actor, CarriedOut(order.ticket, result))


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
