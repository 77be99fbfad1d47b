"""The command `tianmesh`: one peer, and the clients of any gateway. [io]

Commands of other packages (up, demo, init, bootstrap, sim) join through the entry points of the
group `tianmesh.commands`, so that this package need not know them: each names a function that adds
its commands to the application.
"""

from __future__ import annotations

import sys
import time
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from mesh.errors import ConfigError, TianmeshError
from mesh.gateway_client import GatewayClient, GatewayError, error_count
from peers.commands.search import EPILOG as SEARCH_EPILOG
from peers.commands.search import search
from peers.exporting.command import EPILOG as EXPORT_EPILOG
from peers.exporting.command import export_files
from peers.gateway.status import PeerState
from peers.importing.command import EPILOG as IMPORT_EPILOG
from peers.importing.command import import_files
from peers.options import GATEWAY, GatewayOption, JsonOption, TokenOption, print_json

DRAIN_POLL_S: Final = 0.5
DRAIN_SILENCE_S: Final = 15.0  # a peer that is busy misses a report now and then


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


ConfigOption = Annotated[Path, typer.Option("--config", help="Configuration written by `tianmesh init`.")]
WhileStdinOption = Annotated[bool, typer.Option("--while-stdin", hidden=True)]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Log what happens, not only what goes wrong.")]


@app.command(epilog="Example: tianmesh peer --config mymesh/peer-1/config.toml")
def peer(config: ConfigOption, while_stdin: WhileStdinOption = False, verbose: VerboseOption = False) -> None:
    """Run one peer in the foreground until Ctrl-C."""
    from mesh.process import run_node
    from peers.peer import run_peer

    raise typer.Exit(
        run_node(lambda stop, tell: run_peer(config, stop, tell), while_stdin=while_stdin, verbose=verbose)
    )


@app.command(epilog="Example: tianmesh seed https://www.pku.edu.cn/ https://www.debian.org/")
def seed(
    urls: Annotated[list[str], typer.Argument(help="Pages to start from.")],
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Give the mesh pages to start from."""
    answer = GatewayClient(gateway).add_seeds(urls)
    if as_json:
        print_json(answer)
        return
    Console().print(f"{answer['accepted']} of {len(urls)} seeds accepted")
    for url in answer["invalid"]:
        Console(stderr=True).print(f"refused: {escape(str(url))}")


@app.command(epilog="Example: tianmesh status --gateway http://10.0.0.5:8017 --json")
def status(gateway: GatewayOption = GATEWAY, as_json: JsonOption = False) -> None:
    """Show what every peer of the mesh is doing."""
    report = GatewayClient(gateway).status()
    if as_json:
        print_json(report)
        return
    console = Console(highlight=False)
    console.print(status_table(report))
    console.print(slots_table(report))
    for row in report["peers"]:
        console.print(f"{row['id']}  {escape(row['gateway'])}{'  disk full' if row['disk_full'] else ''}")
    if report["total"]["hot_hosts"]:
        named = ", ".join(f"{host} ({urls:,})" for host, urls in report["total"]["hot_hosts"])
        console.print(f"longest queues: {escape(named)}")


@app.command(epilog="Examples: tianmesh drain k3v2   tianmesh drain k3v2 --cancel")
def drain(
    peer: Annotated[str, typer.Argument(help="Id of the peer, or its first letters.")],
    cancel: Annotated[bool, typer.Option("--cancel", help="Have it take its share again.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until nothing depends on it.")] = True,
    token: TokenOption = "",
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Empty a peer before its machine is taken away: the others take over all that it has.

    A peer that is down for good is struck off instead. Ctrl-C ends the waiting, not the draining.
    """
    client = GatewayClient(gateway)
    answer = client.drain(peer, token, is_draining=not cancel)
    whole = answer["peer"]
    is_waited_for = wait and not cancel and not answer["is_written_off"]
    if is_waited_for:
        _wait_until_drained(client, whole, Console(stderr=True, quiet=as_json))
    if as_json:
        print_json(answer | {"is_drained": is_waited_for or answer["is_written_off"]})
    elif cancel:
        Console().print(f"{whole} takes its share again")
    elif answer["is_written_off"]:
        Console().print(f"{whole} was down and does not belong to the mesh any more")
    elif wait:
        Console().print(f"{whole} is empty: stop it whenever you like")
    else:
        Console().print(f"{whole} gives away what it has; `tianmesh status` says when it is drained")


app.command(epilog=SEARCH_EPILOG)(search)
app.command("import", epilog=IMPORT_EPILOG)(import_files)
app.command("export", epilog=EXPORT_EPILOG)(export_files)


def main() -> None:
    """Entry point of the command: run it, turn errors into one sentence and an exit code."""
    for plugin in sorted(entry_points(group="tianmesh.commands"), key=lambda each: each.name):
        plugin.load()(app)
    try:
        app()
    except TianmeshError as error:
        print(f"tianmesh: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ConfigError) else 1)


def status_table(report: dict[str, Any]) -> Table:
    """A report as a table of 80 columns: a row a peer, a last row for all."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("peer", "pages", "pages/s", "hosts", "queue", "indexed", "errors", "MB RAM"):
        table.add_column(name, justify="left" if name == "peer" else "right", no_wrap=True)
    for row in report["peers"]:
        table.add_row(row["id"], *_cells(row))
    table.add_section()
    table.add_row("all", *_cells(report["total"]), style="bold")
    return table


def slots_table(report: dict[str, Any]) -> Table:
    """Which peer has what of the slots, in 80 columns."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("peer", "crawls", "answers", "copies", "to get", "MB/s", "state"):
        is_text = name in ("peer", "state")
        table.add_column(name, justify="left" if is_text else "right", no_wrap=True)
    for row in report["peers"]:
        table.add_row(row["id"], *_slot_cells(row), row["state"])
    table.add_section()
    table.add_row("all", *_slot_cells(report["total"]), "", style="bold")
    return table


def _slot_cells(row: dict[str, Any]) -> list[str]:
    slots = row["slots"]
    counts = (slots["held"], slots["answered"], slots["complete"], slots["wanted"])
    return [*(f"{count:,}" for count in counts), f"{row['bytes_moved_per_s'] / 1e6:.1f}"]


def _wait_until_drained(client: GatewayClient, peer: str, console: Console) -> None:
    """Show how much is left until nothing depends on the peer.

    Raises:
      GatewayError: it has gone, or drains no more, before that.
    """
    heard_at = time.monotonic()
    most = 1
    with Progress(console=console) as progress:
        bar = progress.add_task("draining", total=None)
        while True:
            row = next((row for row in client.status()["peers"] if row["id"] == peer), None)
            if row is not None:
                heard_at = time.monotonic()
                left = slots_left(row)
                most = max(most, left)
                progress.update(bar, total=most, completed=most - left, description=f"{left:,} slots left")
                if row["state"] == PeerState.DRAINED.value:
                    return
                if not row["is_draining"]:
                    raise GatewayError(f"{peer} drains no more: somebody has cancelled it")
            elif time.monotonic() > heard_at + DRAIN_SILENCE_S:
                raise GatewayError(
                    f"{peer} does not answer any more, and it was not empty yet: start it again to go on; "
                    "if its machine is lost, give the order once more, and it is struck off"
                )
            time.sleep(DRAIN_POLL_S)


def slots_left(row: dict[str, Any]) -> int:
    """How much of a peer that drains is still in use: one for each slot and use."""
    slots = row["slots"]
    return int(slots["owned"] + slots["answered"] + slots["kept"] + slots["strays"])


def _cells(row: dict[str, Any]) -> list[str]:
    frontier = row["frontier"]
    return [
        f"{row['pages_stored']:,}",
        f"{row['pages_per_second']:.1f}",
        f"{frontier['hosts']:,}",
        f"{frontier['queued']:,}",
        f"{row['pages_indexed']:,}",
        f"{error_count(row['fetch_status']):,}",
        f"{row['rss_bytes'] / 1e6:,.0f}",
    ]


if __name__ == "__main__":
    main()
