"""The commands of `tianmesh trace`. [io]"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from mesh.counts import counted
from mesh.errors import ConfigError
from mesh.process.collector import relax_collector
from peers.options import JsonOption
from simulations.traces.statistics import QuantitySpread, TraceInfo

if TYPE_CHECKING:
    from mesh.trace import TracedPage
    from mesh.trace_blocks import TraceDamage
    from simulations.traces.query_statistics import QueryStatistics

DAMAGES_SHOWN: Final = 5

app = typer.Typer(
    callback=relax_collector,
    help="Look at recorded crawls, cut and merge them, grow them, make them of other files.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

TraceArgument = Annotated[Path, typer.Argument(help="File that `up --record` or `sim crawl --record` wrote.")]
OutOption = Annotated[Path, typer.Option(help="Trace to write.")]
PartialOption = Annotated[
    bool, typer.Option("--partial", help="Say what is damaged or cut off, and go on with the rest.")
]
SeedOption = Annotated[int, typer.Option(help="Decides everything that is drawn.")]


def load(path: Path, is_partial: bool) -> list[TracedPage]:
    """Read a trace that has pages; damage in one that may be partial is reported on stderr.

    Raises:
      ConfigError: it has none, or is damaged and may not be.
    """
    from mesh.trace import read_trace

    damages: list[TraceDamage] = []
    pages = list(read_trace(path, damages if is_partial else None))
    warn([f"the trace {path} {damage}" for damage in damages])
    if not pages:
        raise ConfigError(f"the trace {path} has no pages; record a crawl that fetches some")
    if damages:
        print(f"tianmesh: going on with {counted(len(pages), 'page')}", file=sys.stderr)
    return pages


def warn(damages: list[str]) -> None:
    """Report the damaged parts on stderr, the first ones of many."""
    for damage in damages[:DAMAGES_SHOWN]:
        print(f"tianmesh: {damage}", file=sys.stderr)
    if len(damages) > DAMAGES_SHOWN:
        print(f"tianmesh: and {len(damages) - DAMAGES_SHOWN:,} more like these", file=sys.stderr)


@app.command(epilog="Example: tianmesh trace info web.trace")
def info(
    trace: TraceArgument,
    is_partial: PartialOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the contents of a trace: hosts, links, sizes, latencies, and the distributions that fit."""
    from simulations.traces.statistics import info_of

    found = info_of(load(trace, is_partial))
    if as_json:
        print(msgspec.json.encode(found).decode())
    else:
        Console().print(info_table(found))


@app.command(epilog="Example: tianmesh trace cut web.trace part.trace --hosts 20 --pages 10000")
def cut(
    trace: TraceArgument,
    out: Annotated[Path, typer.Argument(help="Trace to write.")],
    hosts: Annotated[int | None, typer.Option(min=1, help="Only the hosts with the most pages.")] = None,
    pages: Annotated[int | None, typer.Option(min=1, help="Only the first pages.")] = None,
    from_s: Annotated[float, typer.Option("--from", min=0, help="Seconds after the first page.")] = 0.0,
    to_s: Annotated[float | None, typer.Option("--to", min=0, help="Seconds after the first page.")] = None,
    is_partial: PartialOption = False,
) -> None:
    """Write a part of a trace."""
    from simulations.traces import trace_part

    chosen = trace_part.cut(
        load(trace, is_partial), hosts_max=hosts, pages_max=pages, from_s=from_s, to_s=to_s
    )
    _write(out, chosen, f"cut from {trace.name}")


@app.command(epilog="Example: tianmesh trace merge peer-1/trace peer-2/trace --out web.trace")
def merge(
    traces: Annotated[list[Path], typer.Argument(help="Traces of the peers of one crawl.")],
    out: OutOption,
    is_partial: PartialOption = False,
) -> None:
    """Write the traces of several peers as one, in the order in which pages were fetched."""
    from mesh.trace import merge_traces

    damages: list[TraceDamage] | None = [] if is_partial else None
    count = merge_traces(traces, out, damages)
    warn([f"a trace {damage}" for damage in damages or ()])
    print(f"{counted(count, 'page')} in {out}")


@app.command(epilog="Example: tianmesh trace synthesise web.trace big.trace --pages 1000000")
def synthesise(
    trace: TraceArgument,
    out: Annotated[Path, typer.Argument(help="Trace to write.")],
    pages: Annotated[int, typer.Option(min=1, max=100_000_000, help="Of the new web.")] = 100_000,
    seed: SeedOption = 7,
    is_partial: PartialOption = False,
) -> None:
    """Write the trace of a larger (or smaller) web that is alike: hosts, links, sizes, latencies."""
    from simulations.traces.columns import columns_of
    from simulations.traces.synthesis import synthesise

    columns = columns_of(load(trace, is_partial))
    _write(out, synthesise(columns, pages, seed), f"modelled on {trace.name}, seed {seed}")


@app.command("from-warc", epilog="Example: tianmesh trace from-warc crawl-*.warc.gz --out web.trace")
def from_warc(
    archives: Annotated[list[Path], typer.Argument(help="WARC files, plain, .gz or .zst.")],
    out: OutOption,
    seconds: Annotated[float, typer.Option(min=0.001, help="Median of a fetch; drawn log-normal.")] = 0.25,
    seed: SeedOption = 7,
) -> None:
    """Make a trace of the pages in archives of any crawler."""
    from mesh.trace import in_order
    from simulations.traces.warc_pages import pages_of_warc

    damages: list[str] = []
    pages = [
        page
        for number, archive in enumerate(archives)
        for page in pages_of_warc(archive, seconds, seed + number, damages)
    ]
    warn(damages)
    _write(out, in_order(pages), "made of WARC files; seconds are drawn")


@app.command(
    "from-log", epilog="Example: tianmesh trace from-log access.log --site www.example.org --out web.trace"
)
def from_log(
    logs: Annotated[list[Path], typer.Argument(help="Logs in the Common or Combined Log Format.")],
    site: Annotated[str, typer.Option(help="The host they are of, or its origin.")],
    out: OutOption,
    seconds: Annotated[float, typer.Option(min=0.001, help="Of an answer, where a line has none.")] = 0.25,
) -> None:
    """Make a trace of the pages that visitors of a site asked for, with the links they followed."""
    from mesh.trace import in_order
    from simulations.traces.log_pages import pages_of_log

    damages: list[str] = []
    pages = {page.url: page for log in logs for page in pages_of_log(log, site, seconds, damages)}
    warn(damages)
    _write(out, in_order(pages.values()), "made of the log of a web server")


@app.command("from-graph", epilog="Example: tianmesh trace from-graph cnr-2000 --out cnr.trace")
def from_graph(
    basename: Annotated[Path, typer.Argument(help="A graph of WebGraph, without .graph and .properties.")],
    out: OutOption,
    host_pages: Annotated[int, typer.Option(min=1, help="Pages in a row that are a host.")] = 500,
    seconds: Annotated[float, typer.Option(min=0.001, help="Median of a fetch; drawn log-normal.")] = 0.25,
    seed: SeedOption = 7,
) -> None:
    """Make a trace of a public crawl graph (BVGraph): the links are its own, all else is drawn."""
    from simulations.traces.web_graph import pages_of_graph, read_graph

    pages = pages_of_graph(read_graph(basename), host_pages, seconds, seed)
    _write(out, pages, f"made of the graph {basename.name}; seconds are drawn")


@app.command(epilog="Example: tianmesh trace queries SogouQ.sample --book-queries queries.log")
def queries(
    log: Annotated[Path, typer.Argument(help="Query or click log, of any layout that is known.")],
    book_queries: Annotated[
        Path | None, typer.Option(help="Write its requests as the book's query log.")
    ] = None,
    book_clicks: Annotated[
        Path | None, typer.Option(help="Write its clicks as the book's click log.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a query log in the figures of the book's chapter 9; write it in the book's layout, if you like."""
    from peers.query_log.log_files import read_log, write_book_clicks, write_book_queries
    from simulations.traces.query_statistics import statistics_of

    found = statistics_of(read_log(log))
    if book_queries is not None:
        write_book_queries(book_queries, read_log(log).entries)
    if book_clicks is not None:
        write_book_clicks(book_clicks, read_log(log).entries)
    if as_json:
        print(msgspec.json.encode(found).decode())
    else:
        Console().print(queries_table(log.name, found))


def queries_table(name: str, found: QueryStatistics) -> RenderableType:
    """For people."""
    from simulations.traces.query_statistics import figures_of

    table = Table(title=f"{name}: {found.layout}")
    for heading in ("of", "this log", "the book"):
        table.add_column(heading, justify="left" if heading == "of" else "right")
    for figure in figures_of(found):
        cells = (
            ""
            if value is None
            else f"{value:.1%}"
            if figure.is_share
            else f"{value:,.4g}"
            if value < 100
            else f"{value:,.0f}"
            for value in (figure.value, figure.book)
        )
        table.add_row(figure.name, *cells)
    text = counted(found.entries, "entry") + (
        f" of {counted(found.clients, 'client')}" if found.clients else ""
    )
    if found.order is None and found.backwards_share:
        text += (
            f"; {found.backwards_share:.1%} are earlier than the one before: no figures of their order; "
            "sort the log by time for them"
        )
    return Group(table, Text(text))


def _write(out: Path, pages: Iterable[TracedPage], source: str) -> None:
    from mesh.trace import write_trace

    print(f"{counted(write_trace(out, pages, {'source': source}), 'page')} in {out}")


def info_table(info: TraceInfo) -> RenderableType:
    """For people."""
    table = Table(title=f"{counted(info.pages, 'page')} of {counted(info.hosts, 'host')}")
    for heading in ("of", "mean", "10 %", "median", "90 %", "most"):
        table.add_column(heading, justify="left" if heading == "of" else "right")
    for name, spread, digits in (
        ("host: pages", info.host_pages, 0),
        ("host: median seconds of a page", info.host_seconds, 3),
        ("page: seconds", info.page_seconds, 3),
        ("page: bytes", info.page_bytes, 0),
        ("page: links", info.links, 1),
        ("page: links to it", info.linked, 1),
        ("link: characters of its text", info.text_chars, 1),
        ("page: links from the nearest seed", info.depth, 1),
    ):
        table.add_row(name, *_cells(spread, digits))
    statuses = ", ".join(f"{status}: {count:,}" for status, count in info.by_status.items())
    seconds, size = info.page_seconds_fit, info.page_bytes_fit
    shape = info.bow_tie
    text = (
        f"{counted(info.visits, 'visit')} in {info.hours:,.2f} hours, {info.bytes / 1e6:,.1f} MB; "
        f"status {statuses}\n"
        f"{counted(info.domains, 'domain')}, {counted(info.seeds, 'seed')}; "
        f"{info.largest_host} has {info.largest_share:.1%} of the pages\n"
        f"links: {info.inside_share:.1%} inside their host, {info.outside_share:.1%} to other hosts, "
        f"{info.missing_share:.1%} to what is not in the trace\n"
        f"{info.strong_components:,} strong components; of the largest {shape.core:.1%} of the pages, "
        f"{shape.into:.1%} lead to it, it leads to {shape.out:.1%}; tubes {shape.tubes:.1%}, "
        f"tendrils {shape.tendrils:.1%}, apart {shape.apart:.1%}\n"
        f"fits: host pages ~ rank^-{info.host_exponent:.2f}; "
        f"seconds log-normal mu {seconds.mu:.2f} sigma {seconds.sigma:.2f}; "
        f"bytes log-normal mu {size.mu:.2f} sigma {size.sigma:.2f}"
    )
    return Group(table, Text(text))


def _cells(spread: QuantitySpread, digits: int) -> list[str]:
    return [
        f"{value:,.{digits}f}" for value in (spread.mean, spread.p10, spread.median, spread.p90, spread.max)
    ]
