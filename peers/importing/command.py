"""The command `tianmesh import`: pages of files into the mesh, without fetching them. [io]"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Never

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from mesh.client.admin_token import tokens_for
from mesh.client.gateway_client import GatewayClient
from mesh.counts import counted
from mesh.errors import INTERRUPTED, ConfigError
from peers.mesh_readiness import WAIT_S, NotReady, WaitOption, wait_until_ready
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    TokenOption,
    client_with,
    print_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from peers.importing.checkpoint import Checkpoint
    from peers.importing.folder import Seen
    from peers.importing.import_run import ImportPlan, ImportSummary

SHOWN_MAX: Final = 10  # damages that are told; --json has more

EPILOG: Final = (
    "Examples: tianmesh import crawl-*.warc.gz   tianmesh import pages.jsonl.gz --json   "
    "tianmesh import site.warc --follow   (crawl on from its links)   "
    "tianmesh import archive/*.warc.gz --own   tianmesh import ~/papers --watch 60"
)


FilesArgument = Annotated[
    list[Path],
    typer.Argument(
        help="WARC, ARC, JSON lines: plain, .gz or .zst; Tianwang, .webop, SOIF; folders of any files."
    ),
]
FollowOption = Annotated[
    bool, typer.Option("--follow/--no-follow", help="Fetch what the pages link to, as if they were crawled.")
]
OwnOption = Annotated[
    bool, typer.Option("--own", help="Exports of this mesh: which visit saw a page is believed.")
]
SiteOption = Annotated[
    str, typer.Option("--as", metavar="URL", help="Of the site that a folder is a copy of.")
]
WatchOption = Annotated[
    float, typer.Option(min=0.0, metavar="SECONDS", help="Look again so often what has changed in folders.")
]
WorkersOption = Annotated[
    int, typer.Option(min=0, max=256, help="Processes that take pages apart; 0: as many as cores.")
]
CheckpointOption = Annotated[
    Path | None, typer.Option(help="Where to keep how far it is. Default: in your state folder.")
]


def import_files(
    files: FilesArgument,
    follow: FollowOption = False,
    own: OwnOption = False,
    as_url: SiteOption = "",
    watch: WatchOption = 0.0,
    workers: WorkersOption = 0,
    checkpoint: CheckpointOption = None,
    wait: WaitOption = WAIT_S,
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Bring pages of archives and collections into the mesh, without fetching them.

    WARC files of any crawler, and JSON lines with url, title and text
    (and, where there are, language, date, headings, links, type and fetched_at).
    Of a folder each file becomes a page, which all who search the mesh can find.

    Each page goes to the peers that own its host, and is found when they have indexed it.
    Interrupted or killed, the same command goes on where it was; no page is stored twice.
    """
    # Here, so that other commands need not wait for the parser to be loaded.
    from peers.crawler.model.wire_messages import LinkUse
    from peers.importing.batch import encode
    from peers.importing.checkpoint import Checkpoint, checkpoint_path
    from peers.importing.import_run import ImportPlan
    from peers.importing.inventory import FolderInventory

    files = [file.absolute() for file in files]
    sites = _sites_of(files, as_url)
    console = Console(stderr=True, quiet=as_json, highlight=False)
    tokens = token or tokens_for(data)
    with client_with(gateway, tokens) as client:
        _wait(client, wait, console)
        # Asks for leave before anything is read, and who it is that would take the pages.
        peer = str(client.import_pages(encode([]))["peer"])
    kept = Checkpoint(checkpoint or checkpoint_path(files, gateway), peer)
    use = LinkUse.FETCH if follow else LinkUse.TEXT
    inventories = {each: FolderInventory(checkpoint_path([each], gateway, "folder")) for each in sites}
    seen: dict[Path, Seen] | None = {} if watch else None
    plan = ImportPlan(
        files, gateway, tokens, use, workers, is_own=own, sites=sites, seen=seen, inventories=inventories
    )
    for folder, site in sites.items():
        console.print(f"files of {escape(str(folder))} become pages below {site}")
    try:
        summary = _run(plan, kept, console)
        if watch:
            _watch(plan._replace(files=list(sites)), lambda: Checkpoint(kept.path, peer), watch, console)
    except KeyboardInterrupt:
        console.print("interrupted; the same command goes on where it was")
        sys.exit(INTERRUPTED)
    if as_json:
        print_json(summary.as_json())
    else:
        _show(summary)
    if summary.unreadable or (summary.n_damaged and not summary.pages):
        raise typer.Exit(1)


def _wait(client: GatewayClient, seconds: float, console: Console) -> None:
    """Give the mesh time to become whole. Parts missing then need not keep pages from their owners."""
    try:
        wait_until_ready(client, seconds, console)
    except NotReady as error:
        console.print(f"[yellow]importing all the same: {escape(str(error))}[/yellow]", soft_wrap=True)


def _sites_of(files: list[Path], as_url: str) -> dict[Path, str]:
    """The URLs below which the files of folders are pages.

    Raises:
      ConfigError: something is not there, or it is not said which folder the URL is of.
    """
    from peers.importing.folder import site_of

    for file in files:
        if not file.is_file() and not file.is_dir():
            raise ConfigError(f"there is no file {file}")
    folders = [file for file in files if file.is_dir()]
    if as_url and len(folders) != 1:
        raise ConfigError("--as is the URL of one folder")
    return {folder: site_of(folder, as_url) for folder in folders}


def _watch(plan: ImportPlan, checkpoint: Callable[[], Checkpoint], pause_s: float, console: Console) -> Never:
    """Import changed files of folders until the process is interrupted."""
    while True:
        time.sleep(pause_s)
        changed = _run(plan, checkpoint(), Console(quiet=True))
        if changed.pages:
            gone = f", {changed.gone:,} of them deleted" if changed.gone else ""
            console.print(
                f"{counted(changed.pages, 'changed file')}{gone}, {counted(changed.stored, 'new version')}"
            )


def _run(plan: ImportPlan, kept: Checkpoint, console: Console) -> ImportSummary:
    """Run under a bar that counts bytes of the files."""
    from peers.importing.import_run import run, size_of

    sizes = [size_of(file) for file in plan.files]
    before = dict(zip(plan.files, (sum(sizes[:n]) for n in range(len(sizes))), strict=True))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[pages]:,} pages"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("importing", total=sum(sizes), pages=0)

        def show(file: Path, done: int, summary: ImportSummary) -> None:
            stored = summary.stored + summary.known
            progress.update(bar, completed=before[file] + done, pages=stored, description=escape(file.name))

        return run(plan, kept, show)


def _show(summary: ImportSummary) -> None:
    console = Console(highlight=False)
    told = summary.as_json()
    console.print(
        f"{counted(summary.stored, 'page')} stored in {summary.seconds:.1f} s, "
        f"{told['pages_per_second']:,.0f} a "
        f"second; {summary.known:,} were there already; {counted(summary.read, 'record')} read"
    )
    for reason, count in summary.refused.most_common():
        example = summary.examples.get(reason, "")
        console.print(f"refused: {count:,} {escape(reason)}{escape(f', as {example}') if example else ''}")
    if summary.gone:
        console.print(f"{counted(summary.gone, 'file')} gone, and found no more")
    if summary.not_indexed:
        console.print(f"{counted(summary.not_indexed, 'page')} asked not to be indexed: kept and not found")
    if summary.private_hosts:
        console.print(
            f"{counted(summary.private_hosts, 'page')} of private addresses: kept, but never fetched"
        )
    for damage in summary.damaged[:SHOWN_MAX]:
        console.print(
            f"damaged: {escape(damage['file'])} at byte {damage['offset']:,}: {escape(damage['what'])}"
        )
    if summary.n_damaged > SHOWN_MAX:
        console.print(f"damaged: {summary.n_damaged - SHOWN_MAX:,} more places")
