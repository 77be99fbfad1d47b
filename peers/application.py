"""The commands of `tianmesh`, put together. [io]

A command is loaded when it is called for, so that none waits for what the others need; a table tells where
each one is, and what the list of all says of it. Commands of other packages (up, demo, init, start, sim) join
through the entry points of the group `tianmesh.commands`, so that this package need not know them: each names
a function that adds their rows to the table.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points, version
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from mesh.errors import ConfigError, TianmeshError


class LateCommand(NamedTuple):
    """A command that is not loaded yet."""

    place: str  # module, function, and what stands below its help; or the application with those below it
    sentence: str  # how its help begins


BUILT_IN: Final = {
    "peer": LateCommand(
        "peers.commands.peer:peer:EPILOG",
        "Run one peer in the foreground until Ctrl-C.",
    ),
    "seed": LateCommand(
        "peers.commands.seed:seed:EPILOG",
        "Give the mesh pages to start from; the crawl stays on their domains unless you say otherwise.",
    ),
    "submit": LateCommand(
        "peers.submissions.command:submit:EPILOG",
        "Submit a site to a mesh that takes submissions, or see how one stands.",
    ),
    "submissions": LateCommand(
        "peers.submissions.command:app",
        "The sites that people have submitted: list, accept, refuse",
    ),
    "search": LateCommand(
        "peers.commands.search:search:EPILOG",
        "Search the whole mesh through one gateway.",
    ),
    "backlinks": LateCommand(
        "peers.link_graph.command:backlinks:EPILOG",
        "List the pages of the mesh that link to one.",
    ),
    "status": LateCommand(
        "peers.commands.status:status:EPILOG",
        "Show every member of the mesh, those that are down too, with advice on problems.",
    ),
    "events": LateCommand(
        "peers.commands.events:events:EPILOG",
        "Show the events of the mesh, the last at the end.",
    ),
    "why": LateCommand(
        "peers.commands.why:why:EPILOG",
        "Say how a URL was found, how its visits ended and when it is due; or why so little is fetched.",
    ),
    "drain": LateCommand(
        "peers.commands.drain:drain:EPILOG",
        "Empty a peer before its machine is taken away: the others take over all that it has.",
    ),
    "policy": LateCommand(
        "peers.commands.policy:app",
        "What the mesh crawls, how gently, and what it does not show",
    ),
    "mcp": LateCommand(
        "peers.commands.mcp:mcp:EPILOG",
        "Serve the tools search, page, site and why to an assistant, until it is stopped.",
    ),
    "webhook": LateCommand(
        "peers.webhooks.command:webhook:EPILOG",
        "Post new hits of searches to a URL, until it is stopped.",
    ),
    "watch": LateCommand(
        "peers.watch.commands:watch_app",
        "Tell administrators when a page that is new to the mesh has a word of a list.",
    ),
    "topic": LateCommand(
        "peers.commands.topic:topic_app",
        "Count how strongly topics are written about, day by day.",
    ),
    "entities": LateCommand(
        "peers.entities.commands:entities_app",
        "People and organisations that you follow: pages of the mesh about them, scored, with their tone.",
    ),
    "token": LateCommand(
        "peers.commands.token:token:EPILOG",
        "Print a token that every gateway of the mesh takes, for browsers and scripts.",
    ),
    "audit": LateCommand(
        "peers.commands.audit:app",
        "Prove that promises to others were kept, or list the word of one member.",
    ),
    "takedown": LateCommand(
        "peers.commands.policy:takedown:TAKEDOWN_EPILOG",
        "Take pages out of all answers, stored copies and exports of the whole mesh, and crawl them no more.",
    ),
    "pause": LateCommand(
        "peers.commands.policy:pause:PAUSE_EPILOG",
        "Stop all requests to a host, or to every host; known URLs stay queued, and searches go on.",
    ),
    "resume": LateCommand(
        "peers.commands.policy:resume:RESUME_EPILOG",
        "Take a pause back.",
    ),
    "import": LateCommand(
        "peers.importing.command:import_files:EPILOG",
        "Bring pages of archives and collections into the mesh, without fetching them.",
    ),
    "export": LateCommand(
        "peers.exporting.command:export_files:EPILOG",
        "Write the data of peers on this machine into files that other engines, Spark or DuckDB read.",
    ),
    "backup": LateCommand(
        "peers.backup.commands:backup:BACKUP_EPILOG",
        "Copy peers of this machine, with keys and settings, into a folder; they may run meanwhile.",
    ),
    "restore": LateCommand(
        "peers.backup.commands:restore:RESTORE_EPILOG",
        "Make the peers of a backup anew, in a folder that is empty or not there.",
    ),
}


_LINE_BREAK: Final = re.compile(r"(?<!\n)\n(?![\n ])")  # within a paragraph
_NEXT_EXAMPLE: Final = re.compile(r" {3}(?!\()")


class LateGroup(TyperGroup):
    """All commands, each of which is loaded when somebody asks for it."""

    _is_listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, None if there is none of this name."""
        late = _late_commands()
        if self._is_listing:
            return TyperCommand(cmd_name, help=late[cmd_name].sentence)
        if cmd_name not in self.commands and cmd_name in late:
            self.commands[cmd_name] = _loaded(cmd_name, late[cmd_name])
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return all names, those of this package first."""
        return list(_late_commands())

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called for, or fail with those of like names, loaded or not."""
        if args[0] not in (late := _late_commands()):
            self.commands = {name: TyperCommand(name) for name in late}
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List the commands by their sentences: none is loaded for it."""
        self._is_listing = True
        super().format_help(ctx, formatter)
        self._is_listing = False


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
    except PermissionError as error:
        where = f" for {error.filename}" if error.filename else ""
        print(f"tianmesh: no permission{where}: give it to this user, or name another place", file=sys.stderr)
        sys.exit(2)


@cache
def _late_commands() -> dict[str, LateCommand]:
    """The table of all commands, those of other packages in the order of their names."""
    commands = dict(BUILT_IN)
    for each in sorted(entry_points(group="tianmesh.commands"), key=lambda each: each.name):
        try:
            register = each.load()
        except ImportError as error:
            why = f"the commands of {each.name} are missing ({error}): install it again, or remove it"
            print(f"tianmesh: {why}", file=sys.stderr)
        else:
            register(commands)
    return commands


def _loaded(name: str, late: LateCommand) -> Any:
    module_name, attribute, *epilog = late.place.split(":")
    module = import_module(module_name)
    found = getattr(module, attribute)
    adding = typer.Typer(add_completion=False)
    adding.callback()(lambda: None)
    if isinstance(found, typer.Typer):
        adding.add_typer(found, name=name)
    else:
        adding.command(name, epilog=getattr(module, epilog[0]))(found)
    command = typer.main.get_group(adding).commands[name]
    _break_lines(command)
    return command


def _break_lines(command: Any) -> None:
    """Have the help of a command, and of those below it, flow in paragraphs, with a line for each example.

    In an epilog three spaces stand before the next one; only a remark on the one before is in parentheses.
    """
    if command.help:
        command.help = _LINE_BREAK.sub(" ", command.help)
    if command.epilog:
        command.epilog = _NEXT_EXAMPLE.sub("\n\n", command.epilog.replace("Examples: ", "Examples:\n\n", 1))
    for below in getattr(command, "commands", {}).values():
        _break_lines(below)
