"""The commands of `tianmesh report`. [io]"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import msgspec
import typer
from rich.console import Console, RenderableType
from rich.progress import Progress

from mesh.errors import INTERRUPTED, ConfigError
from mesh.process.collector import relax_collector
from peers.options import JsonOption

if TYPE_CHECKING:
    from simulations.web_reports.locality import Locality
    from simulations.web_reports.sources import GatheredPages, ReportPlan
    from simulations.web_reports.web_report import WebReport

Found = TypeVar("Found", "WebReport", "Locality")

PROGRESS_AFTER_S: Final = 2.0
OTHERS_SHOWN: Final = 3
PAGES_MAX: Final = 2_000_000  # 200 MB, with links 300, and some 2 GB when they are counted
WORDED_PAGES_MAX: Final = 500_000  # some 1 kB more of each, and as much again when they are compared

app = typer.Typer(
    callback=relax_collector,
    help="Look at crawls: pages, texts, titles, elements, links, duplicates; how alike linked pages are.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _app() -> None:
    """Report on crawls."""


FilesArgument = Annotated[
    list[Path] | None, typer.Argument(help="Archives or collections, as `tianmesh import` reads them.")
]
ConfigOption = Annotated[
    list[Path] | None,
    typer.Option(help="Configuration of a peer, or a folder with peers; more than one is fine."),
]
SiteOption = Annotated[
    list[str] | None, typer.Option(help="Only this host and those below it; more than one is fine.")
]
WorkersOption = Annotated[
    int, typer.Option(min=0, max=256, help="Processes that take pages apart; 0: as many as cores.")
]


@app.command(
    epilog="Examples: tianmesh report web --config mymesh   (every peer below that folder)   "
    "tianmesh report web --config mymesh --site debian.org --json   tianmesh report web crawl-*.warc.gz"
)
def web(
    files: FilesArgument = None,
    config: ConfigOption = None,
    site: SiteOption = None,
    pages_max: Annotated[
        int, typer.Option(min=1, help="The most pages looked at; a million take 1.6 GB in the end.")
    ] = PAGES_MAX,
    workers: WorkersOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Show figures of a crawl beside those of the book: pages, texts, titles, elements, links, duplicates.

    Reads the pages of peers on this machine, which may run meanwhile, or files, and changes nothing.
    Ctrl-C ends it with the report of the pages so far.
    """
    from simulations.web_reports.web_report import report_of_web
    from simulations.web_reports.web_tables import web_tables

    plan = _plan(files or [], config or [])._replace(sites=site or [], workers=workers, pages_max=pages_max)
    gathered = _pages(plan, as_json)
    found = report_of_web(gathered.pages, gathered.answers, gathered.damaged, gathered.part)
    _show(found, web_tables, as_json)


@app.command(
    epilog="Examples: tianmesh report locality --config mymesh   tianmesh report locality a.warc.gz --json"
)
def locality(
    files: FilesArgument = None,
    config: ConfigOption = None,
    site: SiteOption = None,
    pages_max: Annotated[
        int, typer.Option(min=1, help="The most pages looked at; a million take some 3 GB in the end.")
    ] = WORDED_PAGES_MAX,
    workers: WorkersOption = 0,
    seed: Annotated[int, typer.Option(min=0, help="Decides which pairs of pages are drawn.")] = 7,
    as_json: JsonOption = False,
) -> None:
    """Show how alike linked pages are, by their words, beside pages of one parent and any two pages.

    So far as pages a few links apart are more alike than any two, a crawl for a topic may follow links
    (`tianmesh seed --order focused`). Reads what `report web` does.
    """
    from simulations.web_reports.locality import locality_of
    from simulations.web_reports.locality_table import locality_table
    from simulations.web_reports.page_words import WordedPages

    plan = _plan(files or [], config or [])._replace(sites=site or [], workers=workers, pages_max=pages_max)
    gathered = _pages(plan._replace(wants_words=True), as_json)
    assert isinstance(gathered.pages, WordedPages)
    _show(locality_of(gathered.pages, seed, gathered.part), locality_table, as_json)


def _plan(files: list[Path], configs: list[Path]) -> ReportPlan:
    # Here, so that other commands need not wait for the parser to be loaded.
    from peers.exporting.command import configs_in
    from simulations.web_reports.sources import ReportPlan

    if bool(files) == bool(configs):
        raise ConfigError("name the peers with --config, or files: one of the two")
    for file in files:
        if not file.is_file():
            raise ConfigError(f"there is no file {file}; folders of peers are named with --config")
    return ReportPlan(configs_in(configs) if configs else [], files, [], 0, PAGES_MAX)


def _pages(plan: ReportPlan, as_json: bool) -> GatheredPages:
    """Look at all pages, of which there is one at least."""
    gathered = _gathered(plan, Console(stderr=True, quiet=as_json, highlight=False))
    if not len(gathered.pages):
        if _was_interrupted(gathered.part):
            print("tianmesh: stopped before the first page", file=sys.stderr)
            sys.exit(INTERRUPTED)
        raise ConfigError("there are no pages" + _others_text(gathered.answers, gathered.damaged))
    return gathered


def _show(found: Found, tables: Callable[[Found], RenderableType], as_json: bool) -> None:
    if as_json:
        print(msgspec.json.encode(found).decode())
    else:
        Console(highlight=False).print(tables(found))
    if _was_interrupted(found.part):
        sys.exit(INTERRUPTED)


def _was_interrupted(part: str) -> bool:
    from simulations.web_reports.sources import INTERRUPTED_PART

    return part == INTERRUPTED_PART


def _gathered(plan: ReportPlan, console: Console) -> GatheredPages:
    """Look at all pages under a bar, which is shown when it takes long."""
    from simulations.web_reports.sources import gather

    began = time.monotonic()
    progress = Progress(console=console)
    bar = progress.add_task("looking at pages", total=None)

    def show(done: int, total: int) -> None:
        if not progress.live.is_started and time.monotonic() - began > PROGRESS_AFTER_S:
            progress.start()
        progress.update(bar, completed=done, total=max(done, total))

    try:
        return gather(plan, show)
    finally:
        progress.stop()


def _others_text(answers: Mapping[str, int], damaged: int) -> str:
    """Name the most frequent answers that are no pages."""
    most = sorted(answers.items(), key=lambda each: -each[1])[:OTHERS_SHOWN]
    others = ", ".join(f"{count:,} {name}" for name, count in most)
    return (
        f", only {others}"
        if others
        else f", and {damaged:,} of the records could not be read"
        if damaged
        else ""
    )
