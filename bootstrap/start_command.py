"""The command `tianmesh start`: all nodes that a folder holds, as children of one process. [io]"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Annotated, Final

import trio
import typer

from bootstrap.nodes import NodeError, Nodes
from bootstrap.provision import BOOTSTRAP
from bootstrap.rendezvous import BootstrapConfig
from bootstrap.service import configs_in
from mesh.config import config_in, load_config
from mesh.errors import ConfigError, TianmeshError
from mesh.process.process import first_error
from peers.options import DATA

EPILOG: Final = "Examples: tianmesh start mymesh   tianmesh start   (what `tianmesh join` has made)"
LOOK_EVERY_S: Final = 0.5


def start(
    folder: Annotated[
        Path, typer.Argument(envvar="TIANMESH_DATA", help="That `tianmesh init` or `tianmesh join` made.")
    ] = DATA,
    restart: Annotated[bool, typer.Option(help="Start nodes again that end by themselves.")] = True,
) -> None:
    """Run the nodes of a folder in the foreground: a founder's door and peers, a joined machine's peer.

    Ctrl-C ends them cleanly with nothing lost. What each has to say is in the file `log` of its folder. The
    exit code is 1 if a node did not start, was given up, or did not end well.
    """
    folders = _folders_in(folder)
    try:
        is_well = trio.run(_run, folders, restart)
    except* TianmeshError as group:
        raise first_error(group) from None
    if not is_well:
        raise typer.Exit(1)


def _folders_in(folder: Path) -> dict[str, Path]:
    """The folder of each node, by its name; the bootstrap node first.

    Raises:
      ConfigError: there is none, or its nodes are those of `tianmesh up`.
    """
    found = {config.parent.name: config.parent for config in configs_in(folder)}
    if not found:
        config_in(folder)  # raises what to do
    if BOOTSTRAP in found and len(found) > 1:
        config = load_config(found[BOOTSTRAP] / "config.toml", BootstrapConfig)
        if not config.member.door_port:
            raise ConfigError(
                f"the door of {folder} has another port at each start, as its peers have to be told: "
                f"`tianmesh up --data {folder}` goes on there"
            )
    return {name: found[name] for name in sorted(found, key=lambda name: name != BOOTSTRAP)}


async def _run(folders: Mapping[str, Path], is_supervised: bool) -> bool:
    """Run nodes until a signal comes; return whether all was well."""
    nodes = Nodes(folders, is_supervised=is_supervised)
    try:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_cancel_at, signals, nursery.cancel_scope)
                await _start(nodes, list(folders))
                await _watch(nodes, set(folders))
    finally:
        wrong = await nodes.stop()
        for each in wrong:
            _say(each)
    _say("stopped, nothing is lost")
    return not wrong and not nodes.lost


async def _start(nodes: Nodes, names: list[str]) -> None:
    """Start the bootstrap node, then all others at once, which join through its door."""
    await nodes.load_all()
    doors = [name for name in names if name == BOOTSTRAP]
    for some in (doors, [name for name in names if name != BOOTSTRAP]):
        await nodes.start(*some)
        for name in some:
            told = nodes.descriptions[name]
            _say(f"{name} runs: " + str(told.get("gateway") or told["door"]))
    _say("Ctrl-C ends all; what they have to say is in the file log of each folder")


async def _watch(nodes: Nodes, names: set[str]) -> None:
    """Look after nodes until cancelled.

    Raises:
      NodeError: the last one that keeps pages has ended, and none is started again.
    """
    while True:
        nodes.look(_say)
        if nodes.lost.issuperset(names - {BOOTSTRAP} or names):
            raise NodeError("all peers have ended; mend what is wrong and start again to go on")
        await nodes.start_due(_say)
        await trio.sleep(LOOK_EVERY_S)


async def _cancel_at(signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
    async for _ in signals:
        scope.cancel()


def _say(text: str) -> None:
    print(text, flush=True)
