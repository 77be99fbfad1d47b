"""A node as a process of its own: signals, log, the line that says it is ready, exit codes. [io]

SIGHUP is not for whoever runs behind no terminal: it asks for the settings to be read again (`reloading`).
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeAlias

import trio

from mesh.errors import INTERRUPTED, TianmeshError
from mesh.process.allocator import settle_allocator
from mesh.process.collector import relax_collector
from mesh.process.log_handler import LogHandler
from mesh.process.log_limit import LogLimit
from mesh.process.service_manager import ServiceManager
from mesh.tables.disk_space import NO_SPACE
from mesh.transport.descriptors import keep_reserve

Tell: TypeAlias = Callable[[dict[str, object]], None]
Main: TypeAlias = Callable[[trio.Event, Tell], Awaitable[None]]

# A thread that computes gives way to the event loop after this long; Python's 5 ms would add to
# every hop of a message.
SWITCH_INTERVAL_S: Final = 0.0005

PRIVATE: Final = 0o077  # whatever a node writes is for its user alone: folders 0700, files 0600

logger = logging.getLogger(__name__)


def run_node(main: Main, *, while_stdin: bool, verbose: bool) -> int:
    """Run a node until it is told to stop; return the exit code of the process.

    SIGINT and SIGTERM stop it cleanly; a second one at once. When it is ready, one line of JSON
    describes it on stdout. With `while_stdin` it also stops when its standard input closes, so that
    no node outlives the lab that started it.
    """
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
        handlers=[LogHandler(sys.stderr)],
    )
    for handler in logging.getLogger().handlers:
        handler.addFilter(LogLimit())
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    settle_allocator()
    os.umask(PRIVATE)
    keep_reserve()
    if not _has_terminal():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until somebody listens for it
    relax_collector()
    exit_code = 0
    try:
        trio.run(_run, main, while_stdin)
    except* TianmeshError as group:
        _say_last(f"tianmesh: {first_error(group)}")
        exit_code = 1
    except* KeyboardInterrupt:  # before anybody listened for it
        _say_last("tianmesh: stopped")
        exit_code = INTERRUPTED
    return exit_code


def first_error(group: BaseExceptionGroup[TianmeshError]) -> TianmeshError:
    """The first of the errors of several tasks; the others follow from it."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, TianmeshError)
    return error


def _say_last(sentence: str) -> None:
    with suppress(OSError):  # the log may be on a disk that is full: the exit code tells, too
        print(sentence, file=sys.stderr, flush=True)


@asynccontextmanager
async def reloading(reload: Callable[[], None]) -> AsyncIterator[None]:
    """Call `reload` at each SIGHUP meanwhile; its errors go to the log, and the old settings stay."""
    if _has_terminal():  # which goes away then, and the node with it
        yield
        return
    with trio.open_signal_receiver(signal.SIGHUP) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_reload_at, signals, reload)
            yield
            nursery.cancel_scope.cancel()


async def _reload_at(signals: AsyncIterator[int], reload: Callable[[], None]) -> None:
    async for _ in signals:
        try:
            reload()
        except TianmeshError as error:
            logger.error("settings not read again: %s", error)


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


async def _run(main: Main, while_stdin: bool) -> None:
    stop = trio.Event()
    manager = ServiceManager()

    def tell(description: dict[str, object]) -> None:
        try:
            print(json.dumps({"pid": os.getpid()} | description), flush=True)
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            logger.warning("no space for the line that says that this node is ready: %s", error.strerror)
        manager.say(READY="1", STATUS=" ".join(f"{name}={value}" for name, value in description.items()))

    async with trio.open_nursery() as nursery:
        await nursery.start(_stop_on_signal, stop)  # before anybody is told that we are ready
        if while_stdin:
            nursery.start_soon(_stop_on_eof, stop)
        nursery.start_soon(manager.keep_alive)
        nursery.start_soon(_say_stopping, stop, manager)
        await main(stop, tell)
        nursery.cancel_scope.cancel()


async def _say_stopping(stop: trio.Event, manager: ServiceManager) -> None:
    await stop.wait()
    manager.say(STOPPING="1")


async def _stop_on_signal(stop: trio.Event, task_status: trio.TaskStatus[None]) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            if stop.is_set():
                os._exit(1)  # asked twice: what is committed is safe, the rest is repeated
            stop.set()


async def _stop_on_eof(stop: trio.Event) -> None:
    stdin = trio.lowlevel.FdStream(os.dup(0))
    while await stdin.receive_some(1024):
        pass
    stop.set()
