"""The commands of `tianmesh graph`. [io]"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from mesh.counts import counted
from mesh.errors import ConfigError
from mesh.process.collector import relax_collector
from mesh.urls import canonical
from peers.link_graph import hubs_command, rank_command
from peers.options import JsonOption

if TYPE_CHECKING:
    from simulations.link_graphs.report import GraphReport, HubReport, MirrorDegrees, RankedName

app = typer.Typer(
    callback=relax_collector,
    help="Look at graphs of links, as `tianmesh export graph` writes them, and at ranks and hubs of a mesh.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.command(epilog=rank_command.EPILOG)(rank_command.ranks)
app.command(epilog=hubs_command.EPILOG)(hubs_command.hubs)

BOOK_REPLICATION: Final = "the book: 2.13 in 2001, some 4 in 2003"  # Li, Yan, Wang 2004, 6.3 and 2.3


@app.command(
    epilog="Examples: tianmesh graph report graph   tianmesh graph report cnr-2000 --json   "
    "tianmesh graph report graph --around https://www.debian.org/doc/   "
    "tianmesh graph report graph --around found.json   (around the pages of `tianmesh search --json`)"
)
def report(
    path: Annotated[
        Path, typer.Argument(help="Folder of an export, or a graph of WebGraph without its .graph.")
    ],
    around: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL|FILE",
            help="Look for hubs and authorities around these pages, or those of a file: a URL a line, or the "
            "answer of `tianmesh search --json`.",
            show_default="all pages",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show degrees, bow-tie, depth and mirrors of a graph of links, and the first by rank.

    Pages, hosts and domains by PageRank; hubs and authorities by the links between hosts.
    """
    from simulations.link_graphs.graph_files import read_named_graph
    from simulations.link_graphs.report import report_of

    named = read_named_graph(path)
    found = report_of(named, _roots(named.urls, around) if around else ())
    if as_json:
        print(msgspec.json.encode(found).decode())
    else:
        Console().print(report_table(found))


def _roots(urls: Sequence[str], given: list[str]) -> list[int]:
    """Return the numbers of pages of a graph that are given as URLs, or in files of them or of a search.

    Raises:
      ConfigError: there is no such file, or none of them is in the graph; of some, stderr tells.
    """
    wanted: list[str] = []
    for each in given:
        try:
            wanted += _urls_in(Path(each).read_text(encoding="utf-8")) if "://" not in each else [each]
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
            raise ConfigError(f"cannot read URLs from {each}: {error}; give a URL, or such a file") from error
    numbers = {url: number for number, url in enumerate(urls)}
    found = [numbers.get(canonical(url) or url) for url in wanted]
    roots = [each for each in found if each is not None]
    if not roots:
        raise ConfigError("none of these pages is in the graph: give URLs as the graph has them")
    if len(roots) < len(wanted):
        print(f"tianmesh: {len(wanted) - len(roots):,} of these pages are not in the graph", file=sys.stderr)
    return roots


class _FoundPage(msgspec.Struct):
    url: str


class _FoundPages(msgspec.Struct):
    """The part of the answer of a search that is read."""

    hits: list[_FoundPage]


def _urls_in(text: str) -> list[str]:
    """Return the URLs of a text, one a word, or those that `tianmesh search --json` has found."""
    if text.lstrip().startswith("{"):
        return [hit.url for hit in msgspec.json.decode(text, type=_FoundPages).hits]
    return text.split()


def report_table(found: GraphReport) -> RenderableType:
    """For people."""
    table = Table(title=f"{counted(found.pages, 'page')}, {counted(found.links, 'link')}")
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
            f"{counted(found.hosts, 'host')}; pairs of them with links: {found.host_links:,}; "
            f"{found.inside_share:.1%}"
            " of the links stay inside their host; only linked to: "
            f"{counted(found.linked_only, 'URL')}\n{text}"
        )
    if found.mirrors is not None:
        text += f"\n{_mirror_text(found.mirrors)}"
    all_hubs = [each for each in (found.hubs, found.hubs_by_hosts) if each is not None]
    text += "".join(f"\n{_hub_text(each)}" for each in all_hubs)
    lists = [
        ("PageRank", "first pages", found.first_pages),
        ("PageRank", "first hosts, by pages that link to them", found.first_hosts),
        ("PageRank", "first domains, likewise", found.first_domains),
    ]
    if found.mirrors is not None:
        lists.append(("pages", "most mirrored", found.mirrors.most))
    for each in all_hubs:
        voices = ", one voice a host" if each.by_hosts else ""
        lists.append(("score", f"authorities{voices}", each.authorities))
        lists.append(("score", f"hubs{voices}", each.hubs))
    ranked = (_ranked(*each) for each in lists if each[2])
    return Group(table, Text(text), *ranked)


def _ranked(measure: str, title: str, first: Sequence[RankedName]) -> Table:
    ranks = Table(measure, Column(overflow="fold"), title=title)
    for each in first:
        figure = f"{each.rank:,.0f}" if measure == "pages" else f"{each.rank:,.{3 if each.rank < 1 else 2}f}"
        ranks.add_row(figure, escape(each.name))
    return ranks


def _mirror_text(mirrors: MirrorDegrees) -> str:
    return (
        f"{counted(mirrors.contents, 'different content')}: {mirrors.replication:.2f} pages for each "
        f"({BOOK_REPLICATION}); "
        f"{mirrors.mirrored_share:.1%} of the pages have mirrors, one at most {mirrors.degree.max - 1:,.0f}"
    )


def _hub_text(hubs: HubReport) -> str:
    what = f"hubs and authorities{', one voice a host' if hubs.by_hosts else ''}"
    if not hubs.links:
        return f"{what}: none, no link between hosts among {counted(hubs.pages, 'page')}"
    outcome = "settled" if hubs.has_settled else "have not settled"
    return (
        f"{what}, by {counted(hubs.links, 'link')} between hosts among {counted(hubs.pages, 'page')}: "
        f"{outcome} after {counted(hubs.rounds, 'round')}, the last of which changed {hubs.change:.1e}"
    )
