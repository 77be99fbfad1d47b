"""A node is cancelled at one step after the other: nothing stays open, and its store is whole. [io]"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import trio
from trio.abc import Instrument
from trio.lowlevel import Task

from bootstrap.provision import create_mesh, write_bootstrap, write_peer
from bootstrap.rendezvous import run_bootstrap
from mesh.tables.table_check import check_table
from peers.peer import run_peer
from tests.patience import PATIENCE_S

Run: TypeAlias = Callable[[Path, trio.Event, Callable[[dict[str, Any]], None]], Awaitable[None]]

STEPS: Final = 200  # more than any of the two takes to start and to stop
POINTS: Final = range(1, STEPS, 12)


class CancelAt(Instrument):
    """Cancels a scope before a step of some task, once a node runs in it."""

    def __init__(self, scope: trio.CancelScope, step: int) -> None:
        self.n_steps = 0
        self._scope = scope
        self._step = step

    def before_task_step(self, task: Task) -> None:
        self.n_steps += 1
        if self.n_steps == self._step:
            self._scope.cancel()


def peer_in(folder: Path) -> tuple[Run, Path]:
    write_peer(create_mesh(folder, "lab", 1), 1)
    config = folder / "peer-1" / "config.toml"
    text = config.read_text()
    assert "127.0.0.1:8017" in text
    config.write_text(text.replace("127.0.0.1:8017", "127.0.0.1:0"))  # that may be a mesh's of this machine
    return run_peer, folder / "peer-1"


def bootstrap_in(folder: Path) -> tuple[Run, Path]:
    write_bootstrap(create_mesh(folder, "lab", 1))
    return run_bootstrap, folder / "bootstrap"


def descriptors() -> dict[str, str]:
    """Return the files and sockets that are open in this process, by number."""
    opened = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            opened[number] = os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:  # that of the folder itself
            continue
    return opened


def children() -> list[str]:
    threads = Path("/proc/self/task").iterdir()
    return sorted(pid for each in threads for pid in (each / "children").read_text().split())


async def lived(run: Run, home: Path, step: int) -> tuple[int, bool]:
    """Start a node, stop it once it has started, cancel it at a step; how many there were, and was it."""
    stop = trio.Event()
    with trio.fail_after(PATIENCE_S), trio.CancelScope() as scope:
        instrument = CancelAt(scope, step)
        trio.lowlevel.add_instrument(instrument)
        try:
            await run(home / "config.toml", stop, lambda told: stop.set())
        finally:
            trio.lowlevel.remove_instrument(instrument)
    return instrument.n_steps, scope.cancelled_caught


@pytest.mark.parametrize("node_in", [peer_in, bootstrap_in])
def test_who_is_cancelled_at_any_step_leaves_nothing_open_and_starts_again(
    node_in: Callable[[Path], tuple[Run, Path]], tmp_path: Path
) -> None:
    run, home = node_in(tmp_path / "mesh")
    n_steps, _ = trio.run(lived, run, home, STEPS)  # what opens once for all, in a library, is open
    assert n_steps < STEPS, "no step is beyond those tried"
    opened, others = descriptors(), children()
    n_cancelled = 0
    for step in POINTS:
        _, was_cancelled = trio.run(lived, run, home, step)
        n_cancelled += was_cancelled
        assert descriptors() == opened, step
        assert children() == others, step
        if (home / "data" / "table").exists():
            assert check_table(home / "data" / "table") is None, step
    assert n_cancelled >= n_steps // POINTS.step // 2
    _, was_cancelled = trio.run(lived, run, home, STEPS)
    assert not was_cancelled
