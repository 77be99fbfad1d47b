"""The commands of `tianmesh report`. [io]"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer
from rich.console import Console
from rich.progress import Progress

from mesh.errors import INTERRUPTED, ConfigError
from mesh.process.collector import relax_collector
from peers.options import JsonOption

if TYPE_CHECKING:
    from simulations.web_reports.sources import GatheredPages, ReportPlan

PROGRESS_AFTER_S: Final = 2.0
OTHERS_SHOWN: Final = 3
PAGES_MAX: Final = 2_000_000  # 200 MB, with links 300, and some 2 GB when they are counted

app = typer.Typer(
    callback=relax_collector,
    help="Look at crawls: their pages, texts, titles, elements, links and duplicates.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _app() -> None:
    """Report on crawls."""


@app.command(
    epilog="Examples: tianmesh report web --config mymesh   (every peer below that folder)   "
    "tianmesh report web --config mymesh --site debian.org --json   tianmesh report web crawl-*.warc.gz"
)
def web(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Archives or collections, as `tianmesh import` reads them.")
    ] = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(help="Configuration of a peer, or a folder with peers; more than one is fine."),
    ] = None,
    site: Annotated[
        list[str] | None, typer.Option(help="Only this host and those below it; more than one is fine.")
    ] = None,
    pages_max: Annotated[
        int, typer.Option(min=1, help="The most pages looked at; a million take 1.6 GB in the end.")
    ] = PAGES_MAX,
    workers: Annotated[
        int, typer.Option(min=0, max=256, help="Processes that take pages apart; 0: as many as cores.")
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Show figures of a crawl beside those of the book: pages, texts, titles, elements, links, duplicates.

    Reads the pages of peers on this machine, which may run meanwhile, or files, and changes nothing.
    Ctrl-C ends it with the report of the pages so far.
    """
    # Here, so that other commands need not wait for the parser to be loaded.
    from peers.exporting.command import configs_in
    from simulations.web_reports.sources import INTERRUPTED_PART, ReportPlan
    from simulations.web_reports.web_report import report_of_web
    from simulations.web_reports.web_tables import web_tables

    if bool(files) == bool(config):
        raise ConfigError("name the peers with --config, or files: one of the two")
    for file in files or ():
        if not file.is_file():
            raise ConfigError(f"there is no file {file}; folders of peers are named with --config")
    plan = ReportPlan(configs_in(config) if config else [], files or [], site or [], workers, pages_max)
    gathered = _gathered(plan, Console(stderr=True, quiet=as_json, highlight=False))
    is_ended = gathered.part == INTERRUPTED_PART
    if not len(gathered.pages):
        if is_ended:
            print("tianmesh: stopped before the first page", file=sys.stderr)
            sys.exit(INTERRUPTED)
        raise ConfigError("there are no pages" + _others_text(gathered.answers, gathered.damaged))
    found = report_of_web(gathered.pages, gathered.answers, gathered.damaged, gathered.part)
    if as_json:
        print(msgspec.json.encode(found).decode())
    else:
        Console(highlight=False).print(web_tables(found))
    if is_ended:
        sys.exit(INTERRUPTED)


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
