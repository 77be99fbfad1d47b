"""Where the commands `tianmesh eval` are, which are loaded when they are called for."""

from __future__ import annotations

from typing import Final

from peers.application import LateCommand

COMMANDS: Final = {
    "eval": LateCommand(
        "peers.evaluation.commands:eval_app",
        "Judge the answers of a running mesh, or of the engine beside others.",
    ),
}


def register(commands: dict[str, LateCommand]) -> None:
    """Add the commands of this package to those of `tianmesh`."""
    commands.update(COMMANDS)
