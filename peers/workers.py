"""Processes for the processor work of a command, beside the one that reads and writes. [io]"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Generic, Self, TypeVar

from mesh.errors import TianmeshError
from mesh.process.collector import relax_collector
from mesh.process.cores import core_count

Order = TypeVar("Order")
Result = TypeVar("Result")


class WorkerLost(TianmeshError):
    """A process was killed in the middle of its work, mostly for want of memory."""


class Workers(Generic[Order, Result]):
    """Carry out orders in processes, or in this one when there are none."""

    def __init__(self, work: Callable[[Order], Result], processes: int, *, is_needed: bool = True) -> None:
        """Start when the first order comes.

        Args:
          work: a function of a module, as it goes to the processes by name.
          processes: how many; 0 for as many as there are cores.
          is_needed: False: there is so little to do that starting processes would take longer.
        """
        self._work = work
        self._pool: ProcessPoolExecutor | None = None
        self._others = set(multiprocessing.active_children())
        n_processes = processes or core_count()
        if is_needed:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(n_processes, context, initializer=_live_with_parent)
        self.most = 2 * n_processes if is_needed else 0  # orders that are worth being under way at a time

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exception: type[BaseException] | None, *details: object) -> None:
        """Wait for the work under way, or end it after an exception: nobody wants it any more."""
        if self._pool is None:
            return
        if exception is not None:
            for process in set(multiprocessing.active_children()) - self._others:
                process.terminate()
        self._pool.shutdown(cancel_futures=True)

    def submit(self, order: Order) -> Future[Result]:
        """Have an order carried out; `result_of` waits for it."""
        if self._pool is not None:
            return self._pool.submit(self._work, order)
        future: Future[Result] = Future()
        future.set_result(self._work(order))
        return future


def result_of(future: Future[Result]) -> Result:
    """Wait for the result of an order.

    Raises:
      WorkerLost
    """
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise WorkerLost("a process that does the work was killed; is there enough memory?") from error


def _live_with_parent() -> None:
    """Begin a worker: Ctrl-C is the parent's business, and without it there is nothing to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    relax_collector()
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)
