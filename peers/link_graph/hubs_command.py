"""The command `tianmesh graph hubs`. [io]"""

from __future__ import annotations

import sys
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from mesh.client.gateway_client import GatewayClient
from mesh.counts import counted
from peers.link_graph.command import NOTHING_YET
from peers.options import DATA, GATEWAY, DataOption, GatewayOption, JsonOption, print_json, printable

EPILOG: Final = "Examples: tianmesh graph hubs 'search engine'   tianmesh graph hubs 搜索引擎 --json"


def hubs(
    query: Annotated[str, typer.Argument(help="Words to search for, as with `tianmesh search`.")],
    limit: Annotated[int, typer.Option(min=1, max=100, help="List so many of each at most.")] = 15,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    r"""List hubs and authorities around the first results of a search.

    The mesh has to keep its links: \[link_graph] in its policy. Links within a domain do not count.
    """
    with GatewayClient(gateway) as client:
        told = client.hubs(query, limit)
    if as_json:
        print_json(told)
        return
    console, coverage = Console(highlight=False), told["coverage"]
    if told["n_links"]:
        console.print(_table("authority", told["authorities"]))
        console.print(_table("hub", told["hubs"]))
    around = f"{counted(told['n_pages'], 'page')} around {counted(told['n_results'], 'result')}"
    print(f"{counted(told['n_links'], 'link')} between domains, of {around}")
    if coverage["missing"]:
        slots = counted(coverage["slots"], "slot")
        print(
            f"{coverage['missing']:,} of {slots} did not answer: their results are missing", file=sys.stderr
        )
    if told["silent"]:
        print(
            f"no answer from {', '.join(map(printable, told['silent']))}: their pages are missing",
            file=sys.stderr,
        )
    if told["n_results"] and not told["n_links"]:
        print(NOTHING_YET, file=sys.stderr)


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(
        Column("score", justify="right"),
        Column("links", justify="right"),
        Column(title, overflow="fold"),
        box=None,
    )
    for row in rows:
        table.add_row(f"{row['score']:.4f}", f"{row['n_links']:,}", Text(printable(row["url"])))
    return table
