"""Processes that work on content of strangers, so that none of it can hold up or end the peer. [io]

Theory of operation. A thread that takes a page apart has the interpreter's lock while the event loop wants
it, and a thread that loops in a library cannot be ended. A process can. The processes of a workshop are
begun when there is work and ended when there was none for a while. They share nothing with the peer: they
are started anew, not forked, and load only what their work needs. Orders and answers travel as bytes over a
pair of sockets and are checked when they are decoded, so that a process that was taken over by what it read
has no more to say than any stranger (pickle, which `multiprocessing` and trio-parallel use, would let it
run code in the peer).

A process gets the orders of one trip at once, carries them out in turn and answers some of them together:
to wake for each would cost the loop more than to understand it. When a process has ended in the middle of a
trip, its orders are carried out one by one, so that the one that ends processes is known. If it took too much
processor time it is given up at once. Otherwise it is tried twice: somebody else may have ended the process.
"""

from __future__ import annotations

import logging
import socket
import subprocess
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from itertools import islice
from typing import Final, Self, TypeAlias

import trio

from mesh.actors.actor import Statistics
from mesh.process.memory import MemoryUsed
from mesh.process.workshop_process import COUNT, LENGTH, OUT_OF_TIME, READY, USED

START_S_MAX: Final = 60.0  # loading takes 0.2 s; a machine that is busy may take a hundred times as long
START_RETRY_S: Final = 5.0  # after a process could not be begun: no memory, no descriptors
# A process that says nothing for so long is ended, though it may have used little processor time: it may be
# stopped. Far above what a process waits on a busy machine for its turn.
SILENCE_S_MAX: Final = 120.0
TRIES_MAX: Final = 2  # of an order that ended a process
TURN_S: Final = 0.005  # answers are taken for so long before the rest of the loop has its turn
IDLE_S: Final = 30.0  # a process without work is ended after so long
IDLE_LOOK_S: Final = 5.0
RETIRED_BYTES: Final = 192 << 20  # a process that has more memory after a trip is replaced
ANSWER_BYTES_MAX: Final = 64 << 20  # no honest one has more: the body, text and links of a page are bounded
BUFFER_BYTES: Final = 1 << 20  # of the sockets, as far as the system allows
RECEIVE_BYTES: Final = 1 << 18

logger = logging.getLogger(__name__)


class WorkshopFault(StrEnum):
    """Why there is no answer."""

    TIME = "time"  # it took more processor time than an order may, or was silent for too long
    CRASH = "crash"  # the process ended, twice


Answer: TypeAlias = bytes | WorkshopFault


class WorkshopStatistics(Statistics, frozen=True):
    """Counters since the start, and gauges of processes and memory."""

    processes: int  # now
    begun: int
    orders: int  # answered, or given up
    faults: dict[str, int]  # orders that were given up, by `WorkshopFault`
    cpu_seconds: float  # of all processes
    private_bytes: int  # of those there are now, after their last trip; see `MemoryUsed`
    rss_bytes: int  # likewise


class Workshop:
    """A few processes of one kind, and the orders that wait for them."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        processes_max: int = 1,
        idle_s: float = IDLE_S,
        silence_s_max: float = SILENCE_S_MAX,
        start_retry_s: float = START_RETRY_S,
    ) -> None:
        """Begin no process so far; `command` starts a program that calls `workshop_process.serve`."""
        self.processes_max = processes_max
        self._command = command
        self._idle_s = idle_s
        self._silence_s_max = silence_s_max
        self._start_retry_s = start_retry_s
        self._turns = trio.Semaphore(processes_max)
        self._idle: list[_Process] = []  # the one that worked last at the end
        self._processes: set[_Process] = set()  # those at work too
        self._begun = self._orders = 0
        self._faults: Counter[str] = Counter()
        self._ended_cpu_s = 0.0

    async def run(self) -> None:
        """End the processes that have nothing to do for long; when cancelled, all that do nothing."""
        try:
            while True:
                await trio.sleep(min(IDLE_LOOK_S, self._idle_s))
                latest = trio.current_time() - self._idle_s
                while self._idle and self._idle[0].idle_since <= latest:
                    await self._end(self._idle.pop(0))
        finally:
            while self._idle:
                await self._end(self._idle.pop())

    async def carry_out(self, orders: Iterable[bytes], take: Callable[[Answer], None]) -> None:
        """Have one process carry out orders in turn; `take` gets the answers in the same order."""
        async with self._turns:
            waiting = deque(orders)
            n, tries = len(waiting), 0  # how many go together; how often the next one has gone alone
            while waiting:
                fault = await self._trip(waiting, n, take)
                was_alone, n = n == 1, 1
                if fault is None or not was_alone:
                    tries = 0
                elif fault is WorkshopFault.CRASH and tries + 1 < TRIES_MAX:
                    tries += 1
                else:
                    tries = 0
                    waiting.popleft()
                    self._orders += 1
                    self._faults[fault] += 1
                    take(fault)

    def observe(self) -> WorkshopStatistics:
        return WorkshopStatistics(
            processes=len(self._processes),
            begun=self._begun,
            orders=self._orders,
            faults=dict(self._faults),
            cpu_seconds=self._ended_cpu_s + sum(process.cpu_s for process in self._processes),
            private_bytes=sum(process.memory.private_bytes for process in self._processes),
            rss_bytes=sum(process.memory.rss_bytes for process in self._processes),
        )

    async def _trip(
        self, waiting: deque[bytes], n: int, take: Callable[[Answer], None]
    ) -> WorkshopFault | None:
        """Have a process carry out the first `n` of the waiting orders; answered orders wait no more.

        Returns: why the process has ended before it had answered all.
        """
        process = self._idle.pop() if self._idle else await self._begin()
        fault: WorkshopFault | None = WorkshopFault.CRASH
        try:
            with trio.move_on_after(self._silence_s_max) as patience:
                await process.send(list(islice(waiting, n)))
                for _ in range(n):
                    answer = await process.answer()
                    waiting.popleft()
                    self._orders += 1
                    take(answer)
                    patience.deadline = trio.current_time() + self._silence_s_max
                await process.note_used()
            fault = WorkshopFault.TIME if patience.cancelled_caught else None
        except (OSError, trio.BrokenResourceError, EOFError):
            pass
        finally:
            if fault is None and process.memory.rss_bytes <= RETIRED_BYTES:
                process.idle_since = trio.current_time()
                self._idle.append(process)
            else:
                await self._end(process)
        return WorkshopFault.TIME if fault and process.is_out_of_time else fault

    async def _begin(self) -> _Process:
        while True:
            try:
                process = await _Process.start(self._command)
            except OSError as error:  # of this machine: no memory or descriptors, or too busy to load it
                logger.error(
                    "no process to work in, tried again seconds=%g error=%s", self._start_retry_s, error
                )
                await trio.sleep(self._start_retry_s)
            else:
                self._processes.add(process)
                self._begun += 1
                return process

    async def _end(self, process: _Process) -> None:
        await process.end()
        self._processes.discard(process)
        self._ended_cpu_s += process.cpu_s


class _Process:
    """One process, and the socket between it and us."""

    def __init__(self, process: trio.Process, stream: trio.SocketStream) -> None:
        self._process = process
        self._stream = stream
        self._received = bytearray()
        self._turn_ends_at = 0.0  # trio time
        self.idle_since = 0.0  # trio time, as
        self.cpu_s = 0.0  # and
        self.memory = MemoryUsed(0, 0)  # it told after its last trip

    @classmethod
    async def start(cls, command: Sequence[str]) -> Self:
        """Start a process, and wait until it can work.

        Raises:
          OSError: there is no memory, no descriptor or no such program, or it does not get ready.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
            for end in (ours, theirs):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
            try:
                process = await trio.lowlevel.open_process(
                    command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL
                )
            except BaseException:
                ours.close()
                raise
        started = cls(process, stream)
        try:
            with trio.fail_after(START_S_MAX):
                await started._receive(len(READY))
        except BaseException as error:
            await started.end()
            if isinstance(error, EOFError | trio.BrokenResourceError | trio.TooSlowError):
                raise OSError(f"{' '.join(command)} ended with {process.returncode}") from error
            raise
        return started

    async def send(self, orders: Sequence[bytes]) -> None:
        pieces = [COUNT.pack(len(orders))]
        for order in orders:
            pieces += (LENGTH.pack(len(order)), order)
        await self._stream.send_all(b"".join(pieces))

    async def answer(self) -> bytes:
        """Return the next answer.

        Raises:
          EOFError, OSError, trio.BrokenResourceError: the process has ended, or talks nonsense.
        """
        (length,) = LENGTH.unpack(await self._receive(LENGTH.size))
        if length > ANSWER_BYTES_MAX:
            raise EOFError(f"an answer of {length} bytes")
        return await self._receive(length)

    async def note_used(self) -> None:
        """Read the processor time and memory that follow the answers of a trip; raises as `answer`."""
        self.cpu_s, private, resident = USED.unpack(await self._receive(USED.size))
        self.memory = MemoryUsed(private, resident)

    async def end(self) -> None:
        """End the process at once and wait until it is gone."""
        with trio.CancelScope(shield=True):
            self._process.kill()
            await trio.aclose_forcefully(self._stream)
            await self._process.wait()

    @property
    def is_out_of_time(self) -> bool:
        """Has it ended because an order took too much processor time?"""
        return self._process.returncode == -OUT_OF_TIME

    async def _receive(self, n_bytes: int) -> bytes:
        if trio.current_time() > self._turn_ends_at:  # what has come at once is not taken at once
            await trio.lowlevel.checkpoint()
            self._turn_ends_at = trio.current_time() + TURN_S
        while len(self._received) < n_bytes:
            data = await self._stream.receive_some(RECEIVE_BYTES)
            if not data:
                raise EOFError("the process has ended")
            self._received += data
            self._turn_ends_at = trio.current_time() + TURN_S
        received = bytes(self._received[:n_bytes])
        del self._received[:n_bytes]
        return received
