"""Steps that hold the event loop, so that nothing else of the process can happen meanwhile. [io]

A member that does not answer is suspected by others, so no step of a task should take longer than
`HELD_S_MAX`. The watchdog measures every step, and what was done in it is told by who drives the node
(`runtime`). A step can be long because much was computed in it, or because the thread did not run: other
threads had the interpreter, or other processes the machine. The two are told apart by the processor time of
the thread. To ask for it takes 3 us, fifty times as long as for the time: it is done every `CPU_LOOK_S` only.
"""

from __future__ import annotations

import gc
import logging
import threading
from collections import Counter
from time import perf_counter, thread_time
from typing import Final, Self

import trio
from trio.abc import Instrument

from mesh.actors.actor import Statistics

HELD_S_MAX: Final = 0.05  # a twentieth of a second: a fifth of what the failure detector calls a stall
CPU_LOOK_S: Final = 0.005  # so much processor time of the steps before may count for a long one
NAMES_MAX: Final = 100  # distinct ones that are counted by name; what comes after them is "other"
LOG_S: Final = 10.0  # at most one line in the log for so long

logger = logging.getLogger(__name__)


class LoopStatistics(Statistics, frozen=True):
    """Counts since the start."""

    held: dict[str, int]  # steps that computed for longer than `HELD_S_MAX`, by what they did
    held_longest_s: dict[str, float]  # processor time of the longest of them
    starved: int  # steps that took as long, but mostly waited for the interpreter or the machine
    starved_longest_s: float  # wall time


class Watchdog(Instrument):
    """Measures the steps of all tasks of the trio loop that runs while it is entered."""

    def __init__(self) -> None:
        self._began_s = self._looked_s = self._looked_cpu_s = 0.0
        self._name, self._longest_s = "", 0.0  # what took the longest in this step, as far as it was told
        self._held: Counter[str] = Counter()
        self._held_longest_s: dict[str, float] = {}
        self._starved = 0
        self._starved_longest_s = 0.0
        self._logged_s = -LOG_S
        self._collecting_since_s = 0.0

    def __enter__(self) -> Self:
        """Watch the loop that runs now, and the garbage collector, which holds it too."""
        self._began_s = self._looked_s = perf_counter()
        self._looked_cpu_s = thread_time()
        trio.lowlevel.add_instrument(self)
        gc.callbacks.append(self._note_collection)
        return self

    def __exit__(self, *exception: object) -> None:
        gc.callbacks.remove(self._note_collection)
        trio.lowlevel.remove_instrument(self)

    def after_io_wait(self, timeout: float) -> None:
        self._begin(perf_counter())

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """One step ends and the next one begins, unless the loop waits: half the calls of telling both."""
        ended_s = perf_counter()
        if ended_s - self._began_s > HELD_S_MAX:
            self._note_long(task.name, ended_s - self._began_s, thread_time() - self._looked_cpu_s)
        # As `_begin`, without a call: there are a thousand steps a second.
        if self._longest_s:
            self._name, self._longest_s = "", 0.0
        self._began_s = ended_s
        if ended_s > self._looked_s + CPU_LOOK_S:
            self._looked_s, self._looked_cpu_s = ended_s, thread_time()

    def _begin(self, began_s: float) -> None:
        if self._longest_s:
            self._name, self._longest_s = "", 0.0
        self._began_s = began_s
        if began_s > self._looked_s + CPU_LOOK_S:
            self._looked_s, self._looked_cpu_s = began_s, thread_time()

    def note(self, name: str, seconds: float) -> None:
        """Note the name and the duration of a part of the step that is under way."""
        if seconds > self._longest_s:
            self._name, self._longest_s = name, seconds

    def observe(self) -> LoopStatistics:
        return LoopStatistics(
            dict(self._held), dict(self._held_longest_s), self._starved, self._starved_longest_s
        )

    def _note_collection(self, phase: str, info: dict[str, int]) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # a collection in a thread lets the loop wait, as whatever has the interpreter
        if phase == "start":
            self._collecting_since_s = perf_counter()
        else:
            self.note(
                f"collection of generation {info['generation']}", perf_counter() - self._collecting_since_s
            )

    def _note_long(self, task: str, seconds: float, cpu_s: float) -> None:
        if cpu_s <= HELD_S_MAX:
            self._starved += 1
            self._starved_longest_s = max(self._starved_longest_s, seconds)
            return
        # Many short things in one step are blamed on the task that did not pause between them.
        name = self._name if 2 * self._longest_s > seconds else f"{task}, mostly {self._name or 'untold'}"
        if name not in self._held and len(self._held) >= NAMES_MAX:
            name = "other"
        self._held[name] += 1
        self._held_longest_s[name] = max(self._held_longest_s.get(name, 0.0), cpu_s)
        if self._began_s >= self._logged_s + LOG_S:
            self._logged_s = self._began_s
            logger.warning("event loop held what=%s seconds=%.3f cpu_seconds=%.3f", name, seconds, cpu_s)
