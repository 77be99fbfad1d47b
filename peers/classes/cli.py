"""Where the commands `tianmesh classes` are, which are loaded when they are called for."""

from __future__ import annotations

from typing import Final

from peers.application import LateCommand

COMMANDS: Final = {
    "classes": LateCommand(
        "peers.classes.commands:classes_app",
        "Put the pages of the mesh into classes, up to three levels, by samples of each.",
    ),
}


def register(commands: dict[str, LateCommand]) -> None:
    """Add the commands of this package to those of `tianmesh`."""
    commands.update(COMMANDS)
