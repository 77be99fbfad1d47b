"""Waiting until a mesh can be asked, for commands that want complete answers. [io]"""

from __future__ import annotations

import time
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from mesh.client.gateway_client import GatewayClient, GatewayUnreachable
from mesh.counts import counted
from mesh.errors import TianmeshError

# After a restart peers compare what they have for some seconds; what died is bridged within five.
WAIT_S: Final = 60.0
# A peer opens its gateway about 3 s after it was started. What nobody starts is not waited for.
UNREACHABLE_S_MAX: Final = 10.0
POLL_S: Final = 0.5

WaitOption = Annotated[
    float, typer.Option("--wait", min=0, help="Seconds to wait at most until the whole mesh answers.")
]
PartialOption = Annotated[
    bool, typer.Option("--partial", help="Take what there is when a part of the mesh does not answer.")
]


class NotReady(TianmeshError):
    """A part of the mesh does not answer; the text says how much, and the reasons."""


def wait_until_ready(
    client: GatewayClient, seconds: float, console: Console, *, poll_s: float = POLL_S
) -> None:
    """Wait until searches speak for every slot, and show how far the mesh is.

    Args:
      seconds: for which to wait at most; it is asked once in any case.
      poll_s: between two questions.

    Raises:
      NotReady: it was not ready by then.
      GatewayUnreachable: nobody was there for `UNREACHABLE_S_MAX`.
    """
    until = time.monotonic() + seconds
    told = _look(client, min(until, time.monotonic() + UNREACHABLE_S_MAX), poll_s)
    if told["status"] == "ready":
        return
    console.print(f"waiting until the whole mesh answers: {escape(_reasons(told))}", soft_wrap=True)
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("slots", total=None)
        while told["status"] != "ready":
            _show(progress, bar, told)
            if time.monotonic() >= until:
                raise NotReady(
                    f"{told['missing']:,} of {counted(told['slots'], 'slot')} without an answer after "
                    f"{seconds:g} s "
                    f"({_reasons(told)}): --wait gives the mesh more time, --partial takes what there is"
                )
            time.sleep(poll_s)
            told = _look(client, min(until, time.monotonic() + UNREACHABLE_S_MAX), poll_s)


def _look(client: GatewayClient, until: float, poll_s: float) -> dict[str, Any]:
    """Ask how ready the mesh is; again while nobody is there."""
    while True:
        try:
            return client.readiness()
        except GatewayUnreachable:
            if time.monotonic() >= until:
                raise
            time.sleep(poll_s)


def _show(progress: Progress, bar: TaskID, told: dict[str, Any]) -> None:
    answered = f"{told['answered']:,} of {counted(told['slots'], 'slot')}"
    progress.update(bar, total=told["slots"] or None, completed=told["answered"], description=answered)


def _reasons(told: dict[str, Any]) -> str:
    return "; ".join(told["waits_for"]) or "it does not say what it waits for"
