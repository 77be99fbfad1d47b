"""Making a backup, beside peers that run: data that the last one has already is not copied again. [io]"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import lmdb

from mesh.errors import ConfigError, CorruptionError, StorageError, StorageFull
from mesh.tables.disk_space import NO_SPACE
from mesh.tables.layout import LAYOUT, check_layout
from mesh.tables.lmdb_reader import LmdbReader
from mesh.tables.private_files import FILE_MODE, make_private_folder, sync_folder
from mesh.tables.table import TableSection
from mesh.tables.table_check import DATA_FILE, check_table
from peers.actors import CELL_SECTION
from peers.backup.checked_files import append, begins_like, piece_of, store
from peers.backup.contents import DATA, NodeFolder, files_of_mesh, nodes_in
from peers.backup.manifest import (
    MANIFEST,
    UNFINISHED,
    BackupManifest,
    SavedNode,
    StoredFile,
    read_manifest,
    write_manifest,
)
from peers.storage.archive.archive import segment_path
from peers.storage.ledger.ledger import last_extent
from peers.storage.ledger.segment_counts import live_segments

LOCK: Final = "lock"
ARCHIVE: Final = "archive"
STATE: Final = re.compile(r"state-(\d{6,})")
TRIES_MAX: Final = 5  # of a table whose segments are removed while they are copied

OnProgress = Callable[[int, int], None]  # bytes done, and about how many there are


@dataclass
class Saved:
    """The outcome of a backup: its manifest, and how much was copied."""

    manifest: BackupManifest
    n_bytes: int = 0  # copied
    seconds: float = 0.0
    kept_bytes: int = field(init=False)  # that were there already

    def __post_init__(self) -> None:
        self.kept_bytes = self.manifest.byte_count - self.n_bytes

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        manifest = self.manifest
        return {
            "number": manifest.number,
            "peers": [node.peer for node in manifest.nodes],
            "files": len(manifest.files),
            "bytes": manifest.byte_count,
            "bytes_copied": self.n_bytes,
            "seconds": round(self.seconds, 3),
        }


def save(folder: Path, out: Path, on_progress: OnProgress) -> Saved:
    """Make a backup of the peers in a folder, or add new data to it.

    Raises:
      ConfigError: there is no peer, `out` holds something else, or another backup is being made there.
      StorageError: something cannot be read or written. The backup before is as good as it was.
    """
    began = time.perf_counter()
    nodes = nodes_in(folder)
    with locked(out):
        before = read_manifest(out)
        try:
            saving = _Saving(folder, out, before, nodes, on_progress)
            manifest = saving.run()
        except OSError as error:
            raise _refusal(out, before, error) from error
    return Saved(manifest, saving.n_bytes, time.perf_counter() - began)


@contextmanager
def locked(out: Path, *, is_made: bool = True) -> Iterator[None]:
    """Have the folder of a backup for ourselves.

    Raises:
      ConfigError: somebody else has it, it holds something else, or it cannot be opened.
    """
    try:
        if is_made:
            make_private_folder(out)
        is_other = out.is_dir() and any(out.iterdir()) and not _is_backup(out)
        if is_other or not out.is_dir():
            raise ConfigError(f"{out} is no folder of a backup: name another one")
        descriptor = os.open(out / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    except OSError as error:
        raise ConfigError(f"cannot use {out}: {error.strerror}; name another folder") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise ConfigError(f"the backup in {out} is in use: wait for the other command") from error
    finally:
        os.close(descriptor)


def _is_backup(out: Path) -> bool:
    return any((out / name).exists() for name in (MANIFEST, UNFINISHED, LOCK))


class _Saving:
    """One backup on its way."""

    def __init__(
        self,
        folder: Path,
        out: Path,
        before: BackupManifest | None,
        nodes: list[NodeFolder],
        on_progress: OnProgress,
    ) -> None:
        self.n_bytes = 0  # copied
        self._folder = folder
        self._out = out
        self._before = before
        self._nodes = nodes
        self._on_progress = on_progress
        self._total = 0
        unfinished = _unfinished_in(out)
        self._known = {
            file.path: file
            for manifest in (before, unfinished)
            if manifest is not None
            for file in manifest.files
            if file.stored.startswith(f"{ARCHIVE}/")
        }
        numbers = [int(match[1]) for entry in out.iterdir() if (match := STATE.fullmatch(entry.name))]
        known_numbers = [each.number for each in (before, unfinished) if each is not None]
        self._number = 1 + max((*numbers, *known_numbers), default=0)
        self._state = f"state-{self._number:06d}"
        self._files: dict[str, StoredFile] = {}

    def run(self) -> BackupManifest:
        """Copy all that is new; only the last step makes it count."""
        began_at = time.time()
        if self._before is not None:
            self._remove_needless(self._before)  # of a backup that was cut off
        make_private_folder(self._out / ARCHIVE)
        try:
            saved = [self._save_node(node) for node in self._nodes]
            for path, file in files_of_mesh(self._folder):
                self._store(path, file)
            for folder in (self._out / ARCHIVE, *_folders_in(self._out / self._state), self._out):
                sync_folder(folder)
            manifest = BackupManifest(
                number=self._number,
                made_at=began_at,
                program=version("tianmesh"),
                layout=LAYOUT,
                nodes=tuple(saved),
                files=tuple(self._files[path] for path in sorted(self._files)),
            )
            write_manifest(self._out, manifest)
        except BaseException:
            shutil.rmtree(self._out / self._state, ignore_errors=True)
            raise
        self._remove_needless(manifest)
        return manifest

    def _save_node(self, node: NodeFolder) -> SavedNode:
        for name, file in node.files.items():
            self._store(node.path(name), file)
        has_pages = (node.data / ARCHIVE).is_dir()
        if (node.data / "table" / DATA_FILE).exists():
            for _ in range(TRIES_MAX):
                with self._copied_table(node) as table:
                    if not has_pages or self._copy_segments(node, table):
                        break
            else:
                raise StorageError(f"{node.data} changes too fast to be copied: try again")
        return SavedNode(node.folder, node.peer, has_pages)

    # --- Tables

    @contextmanager
    def _copied_table(self, node: NodeFolder) -> Iterator[LmdbReader]:
        """Copy the table as the last commit has left it, look it through, and read the copy.

        Raises:
          CorruptionError: it is damaged. StorageError: another version of this program wrote it.
        """
        path = node.path(f"{DATA}/table/{DATA_FILE}")
        stored = f"{self._state}/{path}"
        folder = (self._out / stored).parent
        make_private_folder(folder)
        _copy_table(node.data / "table", self._out / stored)
        damage = check_table(folder)
        if damage is not None:
            raise CorruptionError(
                f"the table in {node.data} is damaged ({damage}): start its peer again, it will set its data"
                " aside, and what other peers have they bring back"
            )
        with LmdbReader(folder) as table:
            check_layout(table)
            yield table
        (folder / "lock.mdb").unlink(missing_ok=True)
        self._files[path] = StoredFile(path, stored, (piece_of(self._out / stored),))
        self._count(self._files[path].length)

    # --- Archives

    def _copy_segments(self, node: NodeFolder, table: LmdbReader) -> bool:
        """Copy the segments that a table refers to; False when some were removed since it was copied."""
        section = TableSection(table, CELL_SECTION)
        last = last_extent(section)
        if last is None:
            return True
        source = node.data / ARCHIVE
        segments = sorted({*live_segments(section), last.segment})
        files = {number: segment_path(source, node.peer, number) for number in segments}
        try:
            ends = {number: path.stat().st_size for number, path in files.items()}
            ends[last.segment] = last.end  # behind it may be what is not whole so far
            self._expect({node.path(_segment(path)): ends[number] for number, path in files.items()})
            for number, path in files.items():
                self._copy_segment(node.path(_segment(path)), path, ends[number])
        except FileNotFoundError:
            return False
        return True

    def _copy_segment(self, path: str, source: Path, end: int) -> None:
        known = self._known.get(path)
        if known is None or known.length > end or not begins_like(source, self._at(known), known.length):
            known = StoredFile(path, self._free_name(source.name), ())
        if known.length < end:
            piece = append(source, self._at(known), known.length, end, self._count)
            known = StoredFile(path, known.stored, (*known.pieces, piece))
            self._known[path] = known
            unfinished = BackupManifest(number=self._number, files=tuple(self._known.values()))
            write_manifest(self._out, unfinished, UNFINISHED)
        self._files[path] = known

    def _free_name(self, name: str) -> str:
        """Where a segment is stored that no backup has, beside others that had this name."""
        taken = {file.stored for file in self._known.values()}
        before = self._before.files if self._before is not None else ()
        taken |= {file.stored for file in before}
        plain = f"{ARCHIVE}/{name}"
        return plain if plain not in taken else f"{plain}.{self._number}"

    def _at(self, file: StoredFile) -> Path:
        return self._out / file.stored

    # --- All else

    def _store(self, path: str, file: Path) -> None:
        stored = f"{self._state}/{path}"
        target = self._out / stored
        make_private_folder(target.parent)
        piece = store(file.read_bytes(), target)
        self._count(piece.length)
        self._files[path] = StoredFile(path, stored, (piece,))

    def _expect(self, ends: dict[str, int]) -> None:
        """Foresee how much of an archive is to be copied."""
        known = {path: self._known[path].length for path in ends if path in self._known}
        self._total = self.n_bytes + sum(max(0, end - known.get(path, 0)) for path, end in ends.items())

    def _count(self, n_bytes: int) -> None:
        self.n_bytes += n_bytes
        self._on_progress(self.n_bytes, max(self._total, self.n_bytes))

    def _remove_needless(self, manifest: BackupManifest) -> None:
        """Delete the files that no manifest lists any more."""
        used = {Path(file.stored).parts[0] for file in manifest.files}
        for entry in self._out.iterdir():
            if STATE.fullmatch(entry.name) and entry.name not in used:
                shutil.rmtree(entry)
        if manifest.number == self._number:
            stored = {file.stored for file in manifest.files}
            for file in (self._out / ARCHIVE).iterdir():
                if f"{ARCHIVE}/{file.name}" not in stored:
                    file.unlink()
            (self._out / UNFINISHED).unlink(missing_ok=True)


def _copy_table(folder: Path, target: Path) -> None:
    """Copy an LMDB file as of its last commit, while it may be written.

    Page by page, unused ones too: who would leave those out has to walk through the file, and a damaged one
    would end this process.
    """
    descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
    try:
        with lmdb.open(str(folder), readonly=True, create=False) as env:
            env.copyfd(descriptor, compact=False)
        os.fsync(descriptor)
    except lmdb.Error as error:
        if isinstance(error, lmdb.DiskError) or error.code in NO_SPACE:
            raise OSError(error.code, os.strerror(error.code)) from error
        raise StorageError(f"the table in {folder} cannot be copied: {error}") from error
    finally:
        os.close(descriptor)


def _segment(path: Path) -> str:
    return f"{DATA}/{ARCHIVE}/{path.name}"


def _unfinished_in(out: Path) -> BackupManifest | None:
    """Return the manifest of a backup that was cut off; None when it cannot be read."""
    try:
        return read_manifest(out, UNFINISHED)
    except (CorruptionError, ConfigError):
        return None


def _folders_in(folder: Path) -> Iterator[Path]:
    yield folder
    yield from (path for path in folder.rglob("*") if path.is_dir())


def _refusal(out: Path, before: BackupManifest | None, error: OSError) -> StorageError:
    when = "" if before is None else time.strftime(" %Y-%m-%d %H:%M", time.localtime(before.made_at))
    good = "there is no backup so far" if before is None else f"the backup of{when} is as good as it was"
    if error.errno in NO_SPACE:
        return StorageFull(f"no space is left for the backup in {out}: free some and try again; {good}")
    return StorageError(f"the backup in {out} was not finished ({error.strerror or error}): {good}")
