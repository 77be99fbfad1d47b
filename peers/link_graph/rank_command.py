"""The command `tianmesh graph ranks`. [io]"""

from __future__ import annotations

import sys
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from mesh.client.gateway_client import GatewayClient
from mesh.counts import counted
from peers.link_graph.wire_messages import RANKED_MAX
from peers.options import DATA, GATEWAY, DataOption, GatewayOption, JsonOption, print_json, printable

EPILOG: Final = "Examples: tianmesh graph ranks   tianmesh graph ranks --limit 1000 --json > ranks.json"

NOTHING_YET: Final = (
    "no page is ranked yet: links of a page are known from its first visit on since the policy has "
    "[link_graph]; `tianmesh policy undo --since` has those visited again that were visited before"
)


def ranks(
    limit: Annotated[int, typer.Option(min=1, max=RANKED_MAX, help="List so many of each at most.")] = 20,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    r"""List the pages and hosts of the mesh with the highest PageRank.

    The mesh has to rank its pages: `ranks = true` in \[link_graph] of its policy. The rank of a page is 1 at
    most in the mean of all pages, that of a host the sum of its pages' ranks.
    """
    with GatewayClient(gateway) as client:
        told = client.ranks(limit)
    if as_json:
        print_json(told)
        return
    console = Console(highlight=False)
    console.print(_table("page", "url", told["pages"]))
    console.print(_table("host", "host", told["hosts"]))
    print(
        f"{counted(told['n_pages'], 'page')} with a "
        f"rank{'' if told['is_settled'] else ', and ranks still change'}"
    )
    if told["n_left_out"]:
        print(
            f"the links of {counted(told['n_left_out'], 'page')} count for nothing: `ranks_links_max` "
            "of the policy "
            "says how many links a peer takes into account",
            file=sys.stderr,
        )
    if told["silent"]:
        print(
            f"no answer from {', '.join(map(printable, told['silent']))}: their pages are missing",
            file=sys.stderr,
        )
    if not told["n_pages"]:
        print(NOTHING_YET, file=sys.stderr)


def _table(title: str, key: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(Column("rank", justify="right"), Column(title, overflow="fold"), box=None)
    for row in rows:
        table.add_row(f"{row['rank']:,.2f}", Text(printable(row[key])))
    return table
