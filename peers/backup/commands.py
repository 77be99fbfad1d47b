"""The commands `tianmesh backup` and `tianmesh restore`. [io]"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from mesh.counts import counted
from mesh.errors import INTERRUPTED
from peers.options import DATA, DataOption, JsonOption, print_json

if TYPE_CHECKING:
    from peers.backup.manifest import BackupManifest

PATIENCE_S: Final = 2.0  # before a bar is worth a look
BACKUP_EPILOG: Final = (
    "Examples: tianmesh backup /mnt/disk/mesh   (all peers below tianmesh-data; again: only what is new)   "
    "tianmesh backup /mnt/disk/peer-2 --data mymesh/peer-2   (one peer, on its machine)"
)
RESTORE_EPILOG: Final = (
    "Examples: tianmesh restore /mnt/disk/mesh --data tianmesh-data   "
    "tianmesh restore /mnt/disk/peer-2 --data mymesh/peer-2   "
    "tianmesh restore /mnt/disk/mesh --check   (reads all of it and writes nothing)"
)

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the backup.")]


def backup(folder: FolderArgument, data: DataOption = DATA, as_json: JsonOption = False) -> None:
    """Copy peers of this machine, with keys and settings, into a folder; they may run meanwhile.

    Run again it copies only what is new. The backup before stays as good as it was until that is through.

    The index is not copied: restored peers make it from their pages.

    The folder then holds the secret keys: who can read it can pose as these peers.
    """
    # Here and below, so that other commands need not wait for the index to be loaded.
    from peers.backup.backup_writer import save

    console = Console(stderr=True, quiet=as_json, highlight=False)
    with _bar(console, "backing up") as on_progress:
        saved = save(data, folder, on_progress)
    if as_json:
        print_json(saved.as_json())
        return
    console.print(
        f"backup {saved.manifest.number} of {_peers(saved.manifest)} in {escape(str(folder))}: "
        f"{_size(saved.manifest.byte_count)}, of which {_size(saved.n_bytes)} copied in {saved.seconds:.1f} s"
    )
    console.print(
        f"[bold]it holds secret keys ({_keys(saved.manifest)}): keep it as safe as the peers[/bold]"
    )


def restore(
    folder: FolderArgument,
    data: DataOption = DATA,
    only_check: Annotated[
        bool, typer.Option("--check", help="Read the backup and say whether it is whole, nothing else.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make the peers of a backup anew, in a folder that is empty or not there.

    They are the same peers as of the backup; what has come since then, other peers bring back.

    Never let one run beside the peer that it is a copy of.
    """
    from peers.backup.restoration import check as check_backup
    from peers.backup.restoration import restore as restore_backup

    console = Console(stderr=True, quiet=as_json, highlight=False)
    began = time.perf_counter()
    with _bar(console, "checking" if only_check else "restoring") as on_progress:
        manifest = (
            check_backup(folder, on_progress) if only_check else restore_backup(folder, data, on_progress)
        )
    seconds = time.perf_counter() - began
    if as_json:
        peers = [node.peer for node in manifest.nodes]
        told = {"number": manifest.number, "made_at": manifest.made_at, "peers": peers}
        print_json({**told, "bytes": manifest.byte_count, "seconds": round(seconds, 3)})
        return
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(manifest.made_at))
    console.print(
        f"backup {manifest.number} of {made}, {_peers(manifest)}, {_size(manifest.byte_count)}: "
        f"{'whole' if only_check else 'restored'} in {seconds:.1f} s"
    )
    if not only_check:
        console.print("start it as before:")
        for command in _commands(manifest, data):
            console.print(f"  {escape(command)}")
        console.print("searches say what is missing until the pages are indexed again; /readyz tells when")


@contextmanager
def _bar(console: Console, what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far it is when it takes long; Ctrl-C ends the command with a word."""
    began = time.monotonic()
    try:
        with Progress(console=console, transient=True) as progress:
            bar = progress.add_task(what, total=None, visible=False)

            def show(done: int, total: int) -> None:
                is_visible = time.monotonic() - began > PATIENCE_S
                progress.update(bar, completed=done, total=max(done, total), visible=is_visible)

            yield show
    except KeyboardInterrupt:
        console.print("interrupted: nothing that was there before has changed, the same command goes on")
        sys.exit(INTERRUPTED)


def _commands(manifest: BackupManifest, data: Path) -> list[str]:
    """Return the commands that start the restored nodes, all on this machine or each on its own."""
    from peers.backup.contents import BOOTSTRAP, CONFIG, OF_MESH

    nodes = sorted(manifest.nodes, key=lambda node: node.has_pages)
    kinds = ["bootstrap" if node.folder == BOOTSTRAP else "peer" for node in nodes]
    configs = [data / node.folder / CONFIG for node in nodes]
    by_hand = [f"tianmesh {kind} --config {file}" for kind, file in zip(kinds, configs, strict=True)]
    is_mesh = any(file.path == OF_MESH[0] for file in manifest.files)
    return [f"tianmesh up --data {data}", "or, one by one:", *by_hand] if is_mesh else by_hand


def _peers(manifest: BackupManifest) -> str:
    return counted(len(manifest.nodes), "node")


def _keys(manifest: BackupManifest) -> str:
    names = dict.fromkeys(Path(file.path).name for file in manifest.files if file.path.endswith(".key"))
    return ", ".join(escape(name) for name in names)


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.1f} MB"
