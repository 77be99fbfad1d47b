"""The nodes of one machine as processes of their own: loaded, started, watched, started again, ended. [io]

It knows folders and processes, and nothing of what a mesh is.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import trio

from bootstrap.provision import BOOTSTRAP
from mesh.errors import TianmeshError
from mesh.tables.disk_space import is_full
from mesh.tables.private_files import make_private_folder

READY_S: Final = 120.0  # a start takes two seconds, on a busy machine many times as long
STOP_S: Final = 30.0  # for finishing the pages in progress
LOG_LINES_SHOWN: Final = 15
SENTENCE_BEGIN: Final = "tianmesh: "  # of what a node that cannot run says last

Say: TypeAlias = Callable[[str], None]


class NodeError(TianmeshError):
    """A node ended or did not work as it should; the text has the end of its log."""


class Nodes:
    """Processes by the name of their node; the caller that makes the object stops it."""

    def __init__(self, folders: Mapping[str, Path], *, is_supervised: bool) -> None:
        """Args: is_supervised: a node that ends by itself is to be started again."""
        self.descriptions: dict[str, dict[str, Any]] = {}  # what each said of itself at its last start
        self.lost: set[str] = set()  # nodes that have ended and are not started again
        self._folders = folders
        self._is_supervised = is_supervised
        self._processes: dict[str, trio.Process] = {}
        self._log_starts: dict[str, int] = {}  # bytes that earlier runs left in a node's log
        self._ended: set[str] = set()  # nodes that have ended on their own, and do not live again
        self._supervision = Supervision()

    async def load_all(self) -> None:
        """Begin the processes of all nodes, which load their modules at the same time."""
        for name in self._folders:
            await self._load(name)

    async def start(self, *names: str) -> None:
        """Start loaded nodes at once, and wait until each has said that it is ready.

        Raises:
          NodeError: one did not start.
        """
        async with trio.open_nursery() as starting:
            for name in names:
                starting.start_soon(self._start, name)

    def check(self) -> None:
        """Raise NodeError when a node has ended on its own."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise NodeError(
                    f"{self._how_it_ended(name)}; start again with the same --data and without seeds to go on"
                )

    def look(self, tell: Say) -> None:
        """Report nodes that have ended since the last look, and whether they are started again."""
        for name, process in self._processes.items():
            if process.poll() is None or name in self._ended:
                continue
            self._ended.add(name)
            pause_s = None
            if self._is_supervised:
                pause_s = self._supervision.ended(name, trio.current_time())
            if pause_s is not None:
                again = f"it is started again in {pause_s:g} s"
            else:
                self.lost.add(name)
                config = self._folders[name] / "config.toml"
                again = f"`tianmesh {kind_of(name)} --config {config}` starts it again"
            tell(f"{self._how_it_ended(name)}; the others go on, and {again}")

    async def start_due(self, tell: Say) -> list[str]:
        """Start nodes again after their pause is over; return the names of those that run again.

        If one ends at once, the next look sees that.
        """
        names = self._supervision.due(trio.current_time())
        return [name for name in names if await self._start_again(name, tell)]

    async def stop(self) -> list[str]:
        """Stop all nodes cleanly, the peers first; kill those that do not end in time.

        Returns:
          What went wrong, in words.
        """
        left = [name for name, process in self._processes.items() if process.poll() is None]
        with trio.CancelScope(shield=True):
            await _terminate([process for name, process in self._processes.items() if name != BOOTSTRAP])
            await _terminate(list(self._processes.values()))
        return [self._how_it_ended(name) for name in left if self._processes[name].returncode]

    def ends_of_logs(self) -> str:
        """Return the last sentence, or the end of the log, of every peer."""
        return "".join(f"\n{name}{self._end_of_log(name)}" for name in self._processes if name != BOOTSTRAP)

    # --- details ---

    async def _load(self, name: str) -> None:
        """Begin the process of a node, which loads its modules and then waits for `_start`."""
        folder = self._folders[name]
        make_private_folder(folder)
        arguments = [sys.executable, "-m", "bootstrap.node", kind_of(name), str(folder / "config.toml")]
        with (folder / "log").open("ab") as log:
            self._log_starts[name] = log.tell()
            # A session of its own: Ctrl-C is for who started them, which then stops its nodes in order.
            self._processes[name] = await trio.lowlevel.open_process(
                arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )

    async def _start(self, name: str) -> None:
        process = self._processes[name]
        assert process.stdin is not None
        line = b""
        with trio.move_on_after(READY_S), suppress(trio.BrokenResourceError):
            await process.stdin.send_all(b"\n")
            line = await _first_line(process)
        if not line:
            raise NodeError(f"{name} did not start" + self._end_of_log(name))
        self.descriptions[name] = json.loads(line)
        self._supervision.began(name, trio.current_time())

    async def _start_again(self, name: str, tell: Say) -> bool:
        await self._load(name)
        self._supervision.began(name, trio.current_time())
        try:
            await self._start(name)
        except NodeError:
            return False
        finally:
            self._ended.discard(name)
        tell(f"{name} is there again")
        return True

    def _how_it_ended(self, name: str) -> str:
        code = self._processes[name].returncode
        how = (
            f"was killed by signal {-code}"
            if code is not None and code < 0
            else f"ended with exit code {code}"
        )
        return f"{name} {how}{self._end_of_log(name)}"

    def _end_of_log(self, name: str) -> str:
        """Return the sentence a node ended with, if there is one, else the end of its log."""
        try:
            log = (self._folders[name] / "log").read_bytes()[self._log_starts.get(name, 0) :]
        except OSError:
            return ""
        lines = log.decode(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        if not lines:
            folder = self._folders[name]
            return f": the disk of {folder} is full, also for its log; free some space" * is_full(folder)
        if lines[-1].startswith(SENTENCE_BEGIN):
            return ": " + lines[-1].removeprefix(SENTENCE_BEGIN)
        return "; the end of its log:\n" + "\n".join(lines) + "\n"


def kind_of(name: str) -> str:
    """Return the command that runs a node of this name."""
    return "bootstrap" if name == BOOTSTRAP else "peer"


async def _first_line(process: trio.Process) -> bytes:
    """The first line of a node's output, empty when it ends before."""
    assert process.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        chunk = await process.stdout.receive_some(4096)
        if not chunk:
            return b""
        line += chunk
    return line


async def _terminate(processes: Sequence[trio.Process]) -> None:
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    with trio.move_on_after(STOP_S):
        async with trio.open_nursery() as nursery:
            for process in processes:
                nursery.start_soon(process.wait)
    for process in processes:
        if process.poll() is None:
            process.kill()
            await process.wait()


PAUSE_S: Final = 1.0  # after the first end
PAUSE_S_MAX: Final = 60.0
FORGIVEN_S: Final = 60.0  # a life as long as this is none of several in a row
ENDS_MAX: Final = 6  # in a row, half a minute of pauses: what is still wrong then does not pass by itself


class _Ends(NamedTuple):
    in_a_row: int
    begun_s: float  # the life that has ended last, or goes on


class Supervision:
    """When a node that has ended by itself is started again; times are of any clock that goes forward.

    It is started after a pause that doubles with every end in a row, so that one that cannot live does not
    keep the machine busy; a longer life forgives. A node that ends again and again is left alone, for a
    person to look at.
    """

    def __init__(self) -> None:
        self._ends: dict[str, _Ends] = {}
        self._due_s: dict[str, float] = {}

    def began(self, name: str, now: float) -> None:
        """Note that a node lives."""
        ends = self._ends.get(name, _Ends(0, now))
        self._ends[name] = ends._replace(begun_s=now)
        self._due_s.pop(name, None)

    def ended(self, name: str, now: float) -> float | None:
        """Note that a node has ended; return after how many seconds it is to be started, None for never."""
        before = self._ends.get(name, _Ends(0, now))
        in_a_row = 1 if now - before.begun_s >= FORGIVEN_S else before.in_a_row + 1
        self._ends[name] = before._replace(in_a_row=in_a_row)
        if in_a_row >= ENDS_MAX:
            return None
        pause_s = min(PAUSE_S * 2.0 ** (in_a_row - 1), PAUSE_S_MAX)
        self._due_s[name] = now + pause_s
        return pause_s

    def due(self, now: float) -> list[str]:
        """Return the nodes to start again now that their pause is over, each until it has begun."""
        return [name for name, due_s in self._due_s.items() if due_s <= now]
