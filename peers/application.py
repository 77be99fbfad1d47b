"""The commands of `tianmesh`, put together. [io]

Commands of other packages (up, demo, init, bootstrap, sim) join through the entry points of the
group `tianmesh.commands`, so that this package need not know them: each names a function that adds
its commands to the application.
"""

from __future__ import annotations

import sys
from importlib.metadata import entry_points, version
from typing import Annotated

import typer

from mesh.errors import ConfigError, TianmeshError
from peers.backup import commands as backup
from peers.commands import audit, drain, events, peer, policy, search, seed, status, why
from peers.exporting import command as exporting
from peers.importing import command as importing

app = typer.Typer(
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


app.command(epilog=peer.EPILOG)(peer.peer)
app.command(epilog=seed.EPILOG)(seed.seed)
app.command(epilog=search.EPILOG)(search.search)
app.command(epilog=status.EPILOG)(status.status)
app.command(epilog=events.EPILOG)(events.events)
app.command(epilog=why.EPILOG)(why.why)
app.command(epilog=drain.EPILOG)(drain.drain)
app.add_typer(policy.app, name="policy")
app.add_typer(audit.app, name="audit")
app.command(epilog=policy.TAKEDOWN_EPILOG)(policy.takedown)
app.command(epilog=policy.PAUSE_EPILOG)(policy.pause)
app.command(epilog=policy.RESUME_EPILOG)(policy.resume)
app.command("import", epilog=importing.EPILOG)(importing.import_files)
app.command("export", epilog=exporting.EPILOG)(exporting.export_files)
app.command(epilog=backup.BACKUP_EPILOG)(backup.backup)
app.command(epilog=backup.RESTORE_EPILOG)(backup.restore)


def load_plugins() -> None:
    """Add the commands of other packages."""
    for plugin in sorted(entry_points(group="tianmesh.commands"), key=lambda each: each.name):
        plugin.load()(app)


def run() -> None:
    """Run what the command line says; an error becomes one sentence and an exit code."""
    load_plugins()
    try:
        app()
    except TianmeshError as error:
        print(f"tianmesh: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ConfigError) else 1)
