"""The commands `tianmesh service`: run the nodes of this machine for years. [io]"""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bootstrap.service import ServiceUnit, install, remove, unit_folder, units_of
from peers.options import DATA

app = typer.Typer(
    no_args_is_help=True,
    help="Run the nodes of this machine as services of systemd: they start with it, and again when they end.",
)

FolderArgument = Annotated[
    Path, typer.Argument(help="Of a mesh, whose nodes here are all meant, or of one of them.")
]
UserOption = Annotated[
    bool, typer.Option("--user", help="As services of yours, not of the machine; needs no root.")
]
RunAsOption = Annotated[
    str, typer.Option(help="Who runs them; whose the folder has to be.", show_default="you, before sudo")
]


@app.command(epilog="Example: tianmesh service show mymesh/peer-2")
def show(folder: FolderArgument = DATA, user: UserOption = False, run_as: RunAsOption = "") -> None:
    """Print the units, and change nothing."""
    for unit in _units(folder, user, run_as):
        typer.echo(f"# {unit_folder(is_system=not user) / unit.name}\n{unit.text}")


@app.command(
    "install",
    epilog="Examples: sudo tianmesh service install mymesh/peer-2   tianmesh service install mymesh --user",
)
def install_units(
    folder: FolderArgument = DATA,
    user: UserOption = False,
    run_as: RunAsOption = "",
    start: Annotated[bool, typer.Option(help="Start them now, too.")] = True,
) -> None:
    """Write the units, and have the nodes started now and whenever the machine starts."""
    units = _units(folder, user, run_as)
    install(units, unit_folder(is_system=not user), is_system=not user, starts=start)
    console = Console(highlight=False)
    scope = " --user" if user else ""
    for unit in units:
        console.print(f"{unit.name}  {'runs' if start else 'installed'}", soft_wrap=True)
    console.print(f"what they say: journalctl{scope} -u 'tianmesh-*' -f", soft_wrap=True)
    console.print(f"settings anew: systemctl{scope} reload 'tianmesh-*'", soft_wrap=True)
    if user:
        console.print("to run when you are not logged in: loginctl enable-linger", soft_wrap=True)


@app.command("remove", epilog="Example: sudo tianmesh service remove mymesh/peer-2")
def remove_units(folder: FolderArgument = DATA, user: UserOption = False) -> None:
    """Stop the nodes and remove their units; the nodes' data stay."""
    removed = remove(_units(folder, user, ""), unit_folder(is_system=not user), is_system=not user)
    typer.echo("\n".join(f"{name}  removed" for name in removed) or "none of these nodes is a service here")


def _units(folder: Path, is_of_user: bool, run_as: str) -> list[ServiceUnit]:
    user = "" if is_of_user else run_as or os.environ.get("SUDO_USER", "") or getpass.getuser()
    return units_of(folder, user=user)
