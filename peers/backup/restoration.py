"""Peers from a backup: checked while they are copied, and ready to go on as the peers that they were. [io]

Theory of operation. A restored peer has the keys and the id of the one that was saved, and knows less than
the others may have heard of it since. So before it starts, its table is made to say what it cannot know:
lives that began since are left out (`mesh.tables.lives`), so that no number is given twice; and the
incarnation of its record, which goes up far slower than seconds pass, is raised to the time, so that nothing
that is said of a later life beats what it says now. All else needs no care: a peer that starts is complete
in nothing, and compares what it has with the others, slot by slot.

The index says of itself that it has lost everything, so that searches tell what is missing until the pages
are indexed anew. Everything is put together in a folder of its own and moved to its place in the end, the
configuration last: what was cut off is no peer that somebody could start.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import SystemRandom
from typing import Final

from msgspec.structs import replace

from mesh.config import NODE_KEY, load_config
from mesh.errors import ConfigError, StorageError, StorageFull
from mesh.keys.key_file import load_identity
from mesh.membership.model.credentials import Credentials, PeerCredentials
from mesh.membership.model.memory import Memory
from mesh.process.member import MEMBERSHIP_SECTION
from mesh.tables.disk_space import NO_SPACE
from mesh.tables.layout import LAYOUT
from mesh.tables.lives import skip_lives
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.private_files import make_private_folder, sync_folder
from mesh.tables.table import TableSection
from mesh.tables.table_check import DATA_FILE
from peers.backup.backup_writer import OnProgress, locked
from peers.backup.checked_files import fetch, store
from peers.backup.contents import CONFIG, DATA, OF_MESH, settle
from peers.backup.manifest import BackupManifest, SavedNode, read_manifest
from peers.config import PeerConfig
from peers.engine.segments.manifest import MANIFEST_NAME, manifest_of_lost

UNFINISHED: Final = ".restoring"  # in the folder that is restored to


def check(out: Path, on_progress: OnProgress) -> BackupManifest:
    """Read a whole backup and find it as it was written.

    Raises:
      ConfigError: there is none, or another version of this program made it.
      CorruptionError: something of it is damaged or missing.
    """
    with locked(out, is_made=False):
        manifest = _manifest_in(out)
        _fetch_all(out, manifest, None, on_progress)
    return manifest


def restore(out: Path, folder: Path, on_progress: OnProgress) -> BackupManifest:
    """Make the peers of a backup anew in a folder.

    Raises:
      ConfigError: there is no such backup, or the folder is not empty.
      CorruptionError: something of the backup is damaged or missing; nothing is left in the folder.
      StorageError: the folder cannot be written.
    """
    with locked(out, is_made=False):
        manifest = _manifest_in(out)
        try:
            with _emptied(folder) as workplace:
                _fetch_all(out, manifest, workplace, on_progress)
                for node in manifest.nodes:
                    _prepare(workplace / node.folder, node)
                _move_up(workplace, folder)
        except OSError as error:
            if error.errno in NO_SPACE:
                raise StorageFull(f"no space is left in {folder}: free some, or name another one") from error
            raise StorageError(f"cannot write to {folder}: {error.strerror or error}") from error
    return manifest


def _manifest_in(out: Path) -> BackupManifest:
    manifest = read_manifest(out)
    if manifest is None:
        raise ConfigError(f"there is no whole backup in {out}: name the folder given to `tianmesh backup`")
    if manifest.layout != LAYOUT:
        raise ConfigError(
            f"tianmesh {manifest.program} made the backup in {out}, whose tables are laid out otherwise: "
            "restore it with that version"
        )
    return manifest


@contextmanager
def _emptied(folder: Path) -> Iterator[Path]:
    """A place in an empty folder to put things together in; on any failure nothing is left of it."""
    make_private_folder(folder)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise ConfigError(f"{folder} is in use: wait for the other command") from error
    workplace = folder / UNFINISHED
    try:
        if any(entry != workplace for entry in folder.iterdir()):
            raise ConfigError(f"{folder} is not empty: name a new folder with --data, or move that one away")
        shutil.rmtree(workplace, ignore_errors=True)
        make_private_folder(workplace)
        try:
            yield workplace
        finally:
            shutil.rmtree(workplace, ignore_errors=True)
    finally:
        os.close(descriptor)


def _fetch_all(out: Path, manifest: BackupManifest, workplace: Path | None, on_progress: OnProgress) -> None:
    done, total = 0, manifest.byte_count

    def count(n_bytes: int) -> None:
        nonlocal done
        done += n_bytes
        on_progress(done, total)

    for file in manifest.files:
        target = None if workplace is None else workplace / file.path
        if target is not None:
            make_private_folder(target.parent)
        fetch(out / file.stored, file.pieces, target, count)


def _prepare(home: Path, node: SavedNode) -> None:
    """Make a peer that was copied one that can start."""
    settle(home)
    config = load_config(home / CONFIG, PeerConfig)
    if (home / DATA / "table" / DATA_FILE).exists():
        credentials = PeerCredentials(load_identity(home / NODE_KEY), config.mesh)
        table = LmdbTable(home / DATA / "table")
        try:
            _begin_anew(table, node.peer, credentials)
        finally:
            table.close()
    if node.has_pages:
        index = home / DATA / "index"
        make_private_folder(index)
        store(manifest_of_lost(), index / MANIFEST_NAME)


def _begin_anew(table: LmdbTable, peer: str, credentials: Credentials) -> None:
    skip_lives(table, SystemRandom())
    memory = Memory(TableSection(table, MEMBERSHIP_SECTION))
    own = memory.own_record(peer)
    if own is not None:
        memory.keep_own(credentials.sign(replace(own, incarnation=max(own.incarnation, int(time.time())))))
    table.commit()


def _move_up(workplace: Path, folder: Path) -> None:
    """Put everything into its place, durably, the files that make it a peer or a mesh last."""
    for path in (workplace, *workplace.rglob("*")):
        if path.is_dir():
            sync_folder(path)
    last = (OF_MESH[0], CONFIG)
    for entry in sorted(workplace.iterdir(), key=lambda each: (each.name in last, each.name)):
        entry.rename(folder / entry.name)
    sync_folder(folder)
