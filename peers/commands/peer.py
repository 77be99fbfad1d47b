"""The command `tianmesh peer`: one peer in the foreground. [io]"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from peers.options import DATA

EPILOG: Final = "Examples: tianmesh peer   tianmesh peer --config mymesh/peer-1/config.toml"

ConfigOption = Annotated[
    Path,
    typer.Option(
        "--config",
        envvar="TIANMESH_DATA",
        help="Configuration that `tianmesh init` or `join` wrote, or its folder.",
    ),
]
WhileStdinOption = Annotated[bool, typer.Option("--while-stdin", hidden=True)]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Log what happens, not only what goes wrong.")]


def peer(
    config: ConfigOption = DATA, while_stdin: WhileStdinOption = False, verbose: VerboseOption = False
) -> None:
    """Run one peer in the foreground until Ctrl-C."""
    from mesh.process.process import run_node
    from peers.peer import run_peer

    raise typer.Exit(
        run_node(lambda stop, tell: run_peer(config, stop, tell), while_stdin=while_stdin, verbose=verbose)
    )
