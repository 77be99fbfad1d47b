"""The command `tianmesh status`: what every peer is doing, as tables. [io]"""

from __future__ import annotations

from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mesh.gateway_client import error_count
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    TokenOption,
    administrator_of,
    print_json,
)

EPILOG: Final = "Example: tianmesh status --gateway http://10.0.0.5:8017 --json"


def status(
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Show what every peer of the mesh is doing; addresses and hosts are for administrators."""
    with administrator_of(gateway, token, data) as client:
        report = client.status()
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
