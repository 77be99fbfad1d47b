"""A node as a process of its own: signals, log, its word to the service manager, exit codes. [io]"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final, TextIO, TypeAlias

import trio

from mesh.actors.allowance import Allowance
from mesh.counts import counted
from mesh.errors import INTERRUPTED, TianmeshError
from mesh.process.allocator import settle_allocator
from mesh.process.collector import relax_collector
from mesh.tables.disk_space import NO_SPACE
from mesh.transport.descriptors import SHORTAGES, keep_reserve

BEATS: Final = 3  # in the time that the watchdog waits for one


class ServiceManager:
    """The program that started this process, where that is one that wants to be told of its state.

    The protocol is systemd's (sd_notify(3)): datagrams of lines NAME=VALUE to the socket in NOTIFY_SOCKET.
    With a watchdog (WATCHDOG_USEC) the manager restarts a node whose event loop does not come round any more.

    Attributes:
      beat_s: seconds between two signs of life; None where nobody waits for them.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        """Find it by the environment; without one all calls do nothing."""
        address = environment.get("NOTIFY_SOCKET", "")
        # An address that begins with @ is of the abstract namespace (unix(7)).
        self._address = "\0" + address[1:] if address.startswith("@") else address
        patience_us = environment.get("WATCHDOG_USEC", "")
        is_for_us = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        has_watchdog = bool(address) and patience_us.isdecimal() and int(patience_us) > 0 and is_for_us
        self.beat_s = int(patience_us) / 1e6 / BEATS if has_watchdog else None

    def say(self, **state: str) -> None:
        """Tell it that, if it listens: `say(READY="1", STATUS="...")`."""
        if not self._address:
            return
        message = "\n".join(f"{name}={value}" for name, value in state.items()).encode()
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as messenger:
                messenger.setblocking(False)
                messenger.sendto(message, self._address)
        except OSError as error:
            logger.warning("service manager not told error=%s", error)

    async def keep_alive(self) -> None:
        """Give signs of life for ever, or none where nobody waits for them."""
        while self.beat_s is not None:
            self.say(WATCHDOG="1")
            await trio.sleep(self.beat_s)


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


class LogHandler(logging.StreamHandler[TextIO]):
    """Leaves out lines that cannot be written, and says how many as soon as one can.

    Python's own handler would write a traceback for each line that it cannot write, into the same log.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._n_missing = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, below any part of another one that a full disk may have left."""
        try:
            text = self.format(record)
        except Exception:
            self.handleError(record)  # ours
            return
        if self._n_missing:
            text = f"\nhere {counted(self._n_missing, 'line')} could not be written\n{text}"
        try:
            self.stream.write(text + self.terminator)
            self.stream.flush()
        except (OSError, ValueError):  # ValueError: the stream is closed
            self._n_missing += 1
        else:
            self._n_missing = 0


LINES_A_MINUTE: Final = 60  # of one kind: from one place in the program, whatever it tells
KINDS_MAX: Final = 1_000  # remembered; texts that are put together before would be kinds without an end


class LogLimit(logging.Filter):
    """A limit to the lines of each kind a minute, so that others cannot fill the disk through the log.

    Leaves out warnings and lesser lines beyond the limit, and says so once; errors are ours and pass.

    That the machine is short of something, which a crowd of strangers can cause, is no error of ours: whoever
    logs it, it is a warning without a traceback.
    """

    def __init__(self, lines_a_minute: int = LINES_A_MINUTE) -> None:
        super().__init__()
        self._lines_a_minute = lines_a_minute
        self._lines = Allowance()
        self._kinds: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        if _is_shortage(record):
            record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
            record.exc_info = record.exc_text = None
        if record.levelno >= logging.ERROR:
            return True
        kind = f"{record.name} {record.msg}"
        if not self._lines.spend(self._noted(kind), 1.0, self._lines_a_minute, record.created):
            return False
        if not self._lines.may_spend(kind, 1.0, self._lines_a_minute, record.created):
            record.msg = f"{record.msg}; more lines of this kind are left out for a while"
        return True

    def _noted(self, kind: str) -> str:
        if len(self._kinds) >= KINDS_MAX:
            self._kinds.clear()
            self._lines = Allowance()
        self._kinds.add(kind)
        return kind


def _is_shortage(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return isinstance(error, OSError) and error.errno in SHORTAGES
