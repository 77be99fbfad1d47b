"""The command `tianmesh status`: the state of every peer, as tables. [io]"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mesh.client.gateway_client import GatewayClient, error_count
from peers.gateway.model.member_lines import (
    MemberLine,
    Presence,
    advice,
    doors,
    member_lines,
    printable,
    searched_words,
)
from peers.gateway.model.quantity import text_of
from peers.gateway.model.readiness_json import ReadinessJson
from peers.gateway.model.status import PeerStatus, Report, Total
from peers.gateway.site.texts import text_in
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    TokenOption,
    print_json,
    read_told,
    reader_of,
)

EPILOG: Final = (
    "Examples: tianmesh status --watch   tianmesh status --gateway http://10.0.0.5:8017 --json   "
    "TIANMESH_DATA=mymesh tianmesh status"
)
WATCH_S: Final = 2.0
DOORS_SHOWN: Final = 4  # one that answers is enough
NAME_CHARS: Final = 14
DOOR: Final = "bootstrap"  # state of a node that is nothing else
# The quantities of each table by the heads of their columns, short enough for 80 columns together.
_OF_MEMBERS: Final = {
    "documents": "pages_indexed",
    "pages/s": "pages_per_second_now",
    "queue": "frontier.queued",
}
_SINCE_START: Final = {
    "pages": "pages_stored",
    "pages/s": "pages_per_second",
    "hosts": "frontier.hosts",
    "queue": "frontier.queued",
}
_OF_SLOTS: Final = {
    "crawls": "slots.held",
    "answers": "slots.answered",
    "copies": "slots.complete",
    "to get": "slots.wanted",
    "MB/s": "bytes_moved_per_s",
}
_say: Final = partial(text_in, "en")


def status(
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    watch: Annotated[bool, typer.Option("--watch", help="Show it anew until Ctrl-C.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show every member of the mesh, those that are down too, with advice on problems.

    Documents are what searches find now, each once over all members. Addresses, names and hosts are for
    administrators.
    """
    with reader_of(gateway, token, data) as client:
        if as_json:
            print_json(client.status())
            return
        console = Console(highlight=False)
        if not watch:
            console.print(_asked(client))
            return
        with Live(console=console, auto_refresh=False) as live:
            while True:
                live.update(_asked(client), refresh=True)
                time.sleep(WATCH_S)


def _asked(client: GatewayClient) -> Group:
    report = read_told(client.status(), Report)
    return shown(report, read_told(client.readiness(), ReadinessJson))


def shown(report: Report, readiness: ReadinessJson) -> Group:
    """A report for people: tables, and a line for everything that is wrong."""
    knockable = (f"door {door}" for door in doors(report.members, DOORS_SHOWN))
    lines = [*advice(report, readiness, _say), *_lines_of(report.peers), *knockable]
    if report.total.hot_hosts:
        named = ", ".join(f"{host} ({urls:,})" for host, urls in report.total.hot_hosts)
        lines.append(f"longest queues: {named}")
    if words := searched_words(report):
        lines.append(f"guide words of searches: {', '.join(words)}")
    return Group(members_table(report), status_table(report), slots_table(report), *map(Text, lines))


def members_table(report: Report) -> Table:
    """A row a member, whether it answers or not, in 80 columns."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("member", "name", "state", *_OF_MEMBERS):
        is_text = name not in _OF_MEMBERS
        table.add_column(name, justify="left" if is_text else "right", no_wrap=True)
    for line in member_lines(report, _say):
        row = line.status
        if row is None:
            style = "" if line.presence is Presence.DOOR else "red"
            table.add_row(line.peer, escape(line.name[:NAME_CHARS]), _state_of(line), "", "", "", style=style)
            continue
        table.add_row(line.peer, escape(line.name[:NAME_CHARS]), _state_of(line), *_cells(row, _OF_MEMBERS))
    table.add_section()
    table.add_row("all", "", "", *_cells(report.total, _OF_MEMBERS), style="bold")
    return table


def _state_of(line: MemberLine) -> str:
    match line.presence:
        case Presence.DOWN:
            return _say("member_down", since=line.since).strip()
        case Presence.DOOR:
            return DOOR
        case Presence.SILENT:
            return _say("member_silent")
    assert line.status is not None, "who answers has a status"
    return line.status.state.value


def _lines_of(rows: Iterable[PeerStatus]) -> list[str]:
    """Where each peer answers, which version it is, and whether a relay is in between."""
    told = ((row.id, row.gateway, row.version, "disk full" * row.disk_full, *_relay_of(row)) for row in rows)
    return ["  ".join(filter(None, map(printable, each))) for each in told]


def _relay_of(row: PeerStatus) -> tuple[str, str]:
    over = _say("over_relay", relay=row.relay) if row.relay else ""
    return over, f"relay of {row.relayed}" if row.relayed else ""


def status_table(report: Report) -> Table:
    """A report as a table of 80 columns: a row a peer, a last row for all."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("since its start", *_SINCE_START, "errors", "MB RAM"):
        table.add_column(name, justify="right" if table.columns else "left", no_wrap=True)
    for row in report.peers:
        table.add_row(row.id, *_work_cells(row))
    table.add_section()
    table.add_row("all", *_work_cells(report.total), style="bold")
    return table


def slots_table(report: Report) -> Table:
    """The slots that each peer crawls, answers for and keeps, in 80 columns."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("peer", *_OF_SLOTS, "state"):
        is_text = name in ("peer", "state")
        table.add_column(name, justify="left" if is_text else "right", no_wrap=True)
    for row in report.peers:
        table.add_row(row.id, *_cells(row, _OF_SLOTS), row.state.value)
    table.add_section()
    table.add_row("all", *_cells(report.total, _OF_SLOTS), "", style="bold")
    return table


def _work_cells(row: Total) -> list[str]:
    errors = f"{error_count(row.fetch_status):,}"
    return [*_cells(row, _SINCE_START), errors, text_of(row, "private_bytes")]


def _cells(row: Total, columns: Mapping[str, str]) -> list[str]:
    return [text_of(row, path) for path in columns.values()]
