"""The command `tianmesh export`: files of the data of peers, for other engines and tools. [io]"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from mesh.counts import counted
from mesh.errors import INTERRUPTED, ConfigError, StorageFull
from mesh.tables.disk_space import NO_SPACE
from peers.options import JsonOption, print_json

if TYPE_CHECKING:
    from peers.exporting.export_run import ExportSummary

EPILOG: Final = (
    "Examples: tianmesh export warc --config mymesh/peer-1/config.toml   "
    "tianmesh export parquet --config mymesh --out tables   (every peer below that folder)   "
    "tianmesh export jsonl --config mymesh --site debian.org --out - | head   "
    "tianmesh export graph --config mymesh --out graph"
)


class ExportFormat(StrEnum):
    """The formats that can be written."""

    WARC = "warc"  # records as they are stored, all versions
    JSONL = "jsonl"  # url, title, text, headings, language, type, date, fetched_at
    LINKS = "links"  # source, target and text, by tabs
    ARCHIVE_LINKS = "archive-links"  # to pictures, scripts and the like: source, target and element, by tabs
    SYNTAX = "syntax"  # errors in the markup of each page, by tabs, see `parser.SyntaxErrors`
    PARQUET = "parquet"  # the columns of jsonl
    GRAPH = "graph"  # vertices and edges of the pages, and of their hosts, by tabs
    GRAPH_PARQUET = "graph-parquet"  # the same as tables
    WEBGRAPH = "webgraph"  # the text form of WebGraph
    TIANWANG = "tianwang"  # Tianwang's raw store 1.0, all versions
    WEBOBJECTS = "webobjects"  # packages of web objects (.webop, with .desc; .spf has both), likewise
    SOIF = "soif"  # what jsonl says, keywords and links, as Harvest and Tianwang exchanged it


def export_files(
    form: Annotated[
        ExportFormat,
        typer.Argument(
            metavar="FORMAT",
            help="warc, jsonl, links, archive-links, syntax, parquet, graph, graph-parquet, webgraph, "
            "tianwang, webobjects or soif.",
        ),
    ],
    config: Annotated[
        list[Path],
        typer.Option(help="Configuration of a peer, or a folder with peers; more than one is fine."),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder for the files, or one file such as pages.jsonl.gz; - writes to stdout."),
    ] = Path("export"),
    site: Annotated[
        list[str] | None, typer.Option(help="Only this host and those below it; more than one is fine.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=0, max=256, help="Processes that take pages apart; 0: as many as cores.")
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Write the data of peers on this machine into files that other engines, Spark or DuckDB read.

    The peers may run meanwhile; what is exported is what they have on disk. A peer has the pages of its own
    slots and those it keeps for others; with all peers of a mesh pages are there once, and ranks are right.
    """
    # Here, so that other commands need not wait for the parser to be loaded.
    from peers.exporting.export_run import ExportPlan, run
    from peers.exporting.writers import STDOUT

    plan = ExportPlan(form.value, configs_in(config), out, site or [], workers)
    if out == STDOUT and as_json:
        raise ConfigError("--json and the export itself cannot both go to stdout: name a folder with --out")
    console = Console(stderr=True, quiet=as_json, highlight=False)
    try:
        with Progress(console=console) as progress:
            bar = progress.add_task("exporting", total=None)
            summary = run(
                plan, lambda done, total: progress.update(bar, completed=done, total=max(done, total))
            )
    except KeyboardInterrupt:
        console.print("interrupted; files that are not whole end in .part")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # whoever read our stdout has enough
        sys.exit(0)
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        raise StorageFull(
            f"no space is left for the export in {out}: free some and begin again; files that are not whole "
            "end in .part"
        ) from error
    if as_json:
        print_json(summary.as_json())
        return
    _tell(summary, form, console)


def _tell(summary: ExportSummary, form: ExportFormat, console: Console) -> None:
    console.print(
        f"{counted(summary.pages, 'page')} in {summary.seconds:.1f} s, {summary.bytes / 1e6:,.1f} MB"
    )
    if form is ExportFormat.LINKS:
        console.print(counted(summary.links, "link"))
    if form is ExportFormat.ARCHIVE_LINKS:
        console.print(
            f"{counted(summary.archive_links, 'link')} to pictures, scripts, style sheets and the like"
        )
    if summary.revisits:
        console.print(f"{counted(summary.revisits, 'visit')} that found a page as it was, as revisit records")
    if summary.no_pages:
        console.print(
            f"{counted(summary.no_pages, 'answer')} without a page, as 404 and redirects: only in WARC"
        )
    if summary.not_indexed:
        console.print(f"{counted(summary.not_indexed, 'page')} asked not to be indexed: only in WARC")
    if summary.damaged:
        console.print(
            f"{counted(summary.damaged, 'version')} could not be read; peers repair such by themselves"
        )
    for file in summary.files:
        console.print(escape(file))


def configs_in(given: list[Path]) -> list[Path]:
    """The configurations of peers: files as they are, of a folder those in it and one below.

    Raises:
      ConfigError: there is none.
    """
    found: dict[Path, None] = {}
    for path in given:
        if path.is_dir():
            inside = [path / "config.toml", *sorted(path.glob("*/config.toml"))]
            found |= dict.fromkeys(each for each in inside if each.is_file() and _has_data(each))
        else:
            found[path] = None
    if not found:
        raise ConfigError(f"there is no peer in {', '.join(map(str, given))}: name its config.toml")
    return list(found)


def _has_data(config: Path) -> bool:
    """Does a configuration belong to a peer, and not to a bootstrap node, which keeps nothing?"""
    return "[storage]" in config.read_text(encoding="utf-8", errors="replace")
