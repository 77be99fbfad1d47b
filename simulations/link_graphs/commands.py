"""The commands of `tianmesh graph`. [io]"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mesh.process.collector import relax_collector
from peers.options import JsonOption

if TYPE_CHECKING:
    from simulations.link_graphs.report import GraphReport

app = typer.Typer(
    callback=relax_collector,
    help="Look at graphs of links, as `tianmesh export graph` writes them.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(epilog="Examples: tianmesh graph report graph   tianmesh graph report cnr-2000 --json")
def report(
    path: Annotated[
        Path, typer.Argument(help="Folder of an export, or a graph of WebGraph without its .graph.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Show degrees, bow-tie and depth of a graph of links, and the pages and hosts that rank first in it."""
    from simulations.link_graphs.graph_files import read_named_graph
    from simulations.link_graphs.report import report_of

    found = report_of(read_named_graph(path))
    if as_json:
        print(msgspec.json.encode(found).decode())
    else:
        Console().print(report_table(found))


def report_table(found: GraphReport) -> RenderableType:
    """For people."""
    table = Table(title=f"{found.pages:,} pages, {found.links:,} links")
    for heading in ("of", "mean", "10 %", "median", "90 %", "most"):
        table.add_column(heading, justify="left" if heading == "of" else "right")
    spreads = {
        "page: links": found.outlinks,
        "page: links to it": found.inlinks,
        "page: links from the nearest entrance": found.depth,
        "host: hosts that link to it": found.host_inlinks,
    }
    for name, spread in list(spreads.items())[: 4 if found.hosts else 3]:
        values = (spread.mean, spread.p10, spread.median, spread.p90, spread.max)
        table.add_row(name, *(f"{value:,.1f}" for value in values))
    shape = found.bow_tie
    text = (
        f"{found.strong_components:,} strong components; of the largest {shape.core:.1%} of the pages, "
        f"{shape.into:.1%} lead to it, it leads to {shape.out:.1%}; tubes {shape.tubes:.1%}, "
        f"tendrils {shape.tendrils:.1%}, apart {shape.apart:.1%}\n"
        f"entrances are roots of hosts, and pages that none links to; from them {found.unreached_share:.1%} "
        "of the pages are not reached"
    )
    if found.hosts:
        text = (
            f"{found.hosts:,} hosts; pairs of them with links: {found.host_links:,}; {found.inside_share:.1%}"
            f" of the links stay inside their host; {found.linked_only:,} URLs are only linked to\n{text}"
        )
    parts: list[RenderableType] = [table, Text(text)]
    for title, first in (("pages", found.first_pages), ("hosts", found.first_hosts)):
        if first:
            ranks = Table("PageRank", title, title=f"first {title}")
            for each in first:
                ranks.add_row(f"{each.rank:,.2f}", escape(each.name))
            parts.append(ranks)
    return Group(*parts)
