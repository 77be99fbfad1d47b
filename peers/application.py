"""The commands of `tianmesh`, put together. [io]

A command is loaded when it is called for, so that none waits for what the others need. Commands of other
packages (up, demo, init, start, sim) join through the entry points of the group `tianmesh.commands`, so that
this package need not know them: each names a function that adds its commands to an application.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import entry_points, version
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from mesh.errors import ConfigError, TianmeshError

# Where each command of this package is: module, function, and what stands below its help; or the application
# with those below it.
BUILT_IN: Final = {
    "peer": "peers.commands.peer:peer:EPILOG",
    "seed": "peers.commands.seed:seed:EPILOG",
    "search": "peers.commands.search:search:EPILOG",
    "status": "peers.commands.status:status:EPILOG",
    "events": "peers.commands.events:events:EPILOG",
    "why": "peers.commands.why:why:EPILOG",
    "drain": "peers.commands.drain:drain:EPILOG",
    "policy": "peers.commands.policy:app",
    "mcp": "peers.commands.mcp:mcp:EPILOG",
    "token": "peers.commands.token:token:EPILOG",
    "audit": "peers.commands.audit:app",
    "takedown": "peers.commands.policy:takedown:TAKEDOWN_EPILOG",
    "pause": "peers.commands.policy:pause:PAUSE_EPILOG",
    "resume": "peers.commands.policy:resume:RESUME_EPILOG",
    "import": "peers.importing.command:import_files:EPILOG",
    "export": "peers.exporting.command:export_files:EPILOG",
    "backup": "peers.backup.commands:backup:BACKUP_EPILOG",
    "restore": "peers.backup.commands:restore:RESTORE_EPILOG",
}


class LateGroup(TyperGroup):
    """All commands, each of which is loaded when somebody asks for it."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, None if there is none of this name."""
        if cmd_name not in self.commands and cmd_name in BUILT_IN:
            self.commands.update(_loaded(cmd_name))
        plugins = sorted(entry_points(group="tianmesh.commands"), key=lambda each: each.name)
        while cmd_name not in self.commands and plugins:
            self.commands.update(_commands_of(plugins.pop(0).load()))
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Load all, and return their names: those of this package first."""
        for name in (*BUILT_IN, ""):  # nothing is called so: no package is left out
            self.get_command(ctx, name)
        return sorted(self.commands, key=lambda name: name not in BUILT_IN)


app = typer.Typer(
    cls=LateGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"tianmesh {version('tianmesh')}")
        raise typer.Exit


@app.callback()
def tianmesh(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A search engine made of ordinary machines: peers crawl, keep, index and answer, without a master."""


def run() -> None:
    """Run the command line; an error becomes one sentence and an exit code."""
    try:
        app()
    except TianmeshError as error:
        print(f"tianmesh: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ConfigError) else 1)


def _loaded(name: str) -> dict[str, Any]:
    """Load the command of this name that this package has."""
    module_name, attribute, *epilog = BUILT_IN[name].split(":")
    module = import_module(module_name)
    found = getattr(module, attribute)

    def register(adding: typer.Typer) -> None:
        if isinstance(found, typer.Typer):
            adding.add_typer(found, name=name)
        else:
            adding.command(name, epilog=getattr(module, epilog[0]))(found)

    return _commands_of(register)


def _commands_of(register: Any) -> dict[str, Any]:
    """The commands that a function adds to an application."""
    adding = typer.Typer(add_completion=False)
    adding.callback()(lambda: None)
    register(adding)
    return dict(typer.main.get_group(adding).commands)
