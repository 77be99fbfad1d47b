"""Backups of peers on disk, and peers made from them: what comes back, what is refused, what is left."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from bootstrap.provision import MeshFolder, create_mesh, write_bootstrap, write_peer
from mesh.config import load_config
from mesh.errors import ConfigError, CorruptionError, StorageError, StorageFull
from mesh.keys.key_file import load_identity
from mesh.membership.model.credentials import PeerCredentials
from mesh.membership.model.memory import Memory
from mesh.membership.model.wire_messages import MemberRecord
from mesh.process.member import MEMBERSHIP_SECTION
from mesh.tables.lives import begin_life
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.table import TableSection
from mesh.tables.table_check import check_table
from peers.backup import backup_writer, checked_files
from peers.backup.backup_writer import Saved, locked, save
from peers.backup.manifest import (
    MANIFEST,
    UNFINISHED,
    BackupManifest,
    StoredFile,
    read_manifest,
    write_manifest,
)
from peers.backup.restoration import check, restore
from peers.cli import main
from peers.config import PeerConfig
from peers.crawler.model.wire_messages import LinkUse
from peers.engine.index import Index
from peers.exporting.peer_files import PeerFiles
from peers.importing.json_lines import LineEntry
from peers.importing.page import page_of_entry
from peers.storage.archive.archive import segment_path
from tests.peers.exporting.test_export import Shelf

AT = 1_700_000_000.0


class Told(NamedTuple):
    """The end of a command."""

    code: object
    stdout: str
    stderr: str


class Lab:
    """A mesh of two peers and a bootstrap node on disk."""

    def __init__(self, folder: Path) -> None:
        self.mesh: MeshFolder = create_mesh(folder, "test", 2)
        write_bootstrap(self.mesh)
        for number in (1, 2):
            write_peer(self.mesh, number)
        self.shelves = [Shelf(home) for home in self.mesh.peers]
        self.folder = folder

    def keep(self, *numbers: int) -> None:
        """Have the first peer keep pages."""
        pages = [LineEntry(f"http://host{number}.test/", "A page", f"word{number}") for number in numbers]
        self.shelves[0].keep(*(page_of_entry(page, AT, LinkUse.FETCH) for page in pages))

    @property
    def archive(self) -> Path:
        shelf = self.shelves[0]
        return segment_path(shelf.data / "archive", shelf.peer, 1)

    def save(self, out: Path) -> Saved:
        return save(self.folder, out, quiet)


def quiet(done: int, total: int) -> None:
    assert 0 <= done <= total


def pages_in(home: Path) -> dict[str, bytes]:
    """The records of all pages of a peer, by URL."""
    with closing(PeerFiles(home / "config.toml")) as files:
        return {version.place.url: files.read(version.place) for version in files.versions()}


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab(tmp_path / "mesh")
    lab.keep(1, 2, 3)
    return lab


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "backup"


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return tmp_path / "new"


# --- What comes back


def test_a_restored_mesh_has_all_pages_keys_and_settings(lab: Lab, out: Path, new: Path) -> None:
    saved = lab.save(out)
    assert check(out, quiet) == restore(out, new, quiet) == saved.manifest
    assert pages_in(new / "peer-1") == pages_in(lab.folder / "peer-1")
    assert len(pages_in(new / "peer-1")) == 3
    assert all(pages_in(new / "peer-1").values())
    for name, content in files_in(lab.folder).items():
        if "/data/" not in name:
            assert (new / name).read_bytes() == content, name
    assert not list(new.rglob(".restoring"))


def test_one_peer_is_saved_and_restored_by_itself(lab: Lab, out: Path, new: Path) -> None:
    save(lab.folder / "peer-1", out, quiet)
    restore(out, new, quiet)
    assert pages_in(new) == pages_in(lab.folder / "peer-1")
    assert load_identity(new / "peer.key").secret == load_identity(lab.folder / "peer-1" / "peer.key").secret
    assert not (new / "root.key").exists()


def test_what_is_saved_and_restored_is_for_its_user_alone(lab: Lab, out: Path, new: Path) -> None:
    os.umask(0o022)
    lab.save(out)
    restore(out, new, quiet)
    for folder in (out, new):
        for path in (folder, *folder.rglob("*")):
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_a_restored_peer_uses_no_number_again_and_is_believed(lab: Lab, out: Path, new: Path) -> None:
    shelf = lab.shelves[0]
    with closing(LmdbTable(shelf.data / "table")) as table:
        life = begin_life(table, Random(1))
        keys = load_identity(lab.folder / "peer-1" / "peer.key")
        certificate = bytes.fromhex(load_config(shelf.config, PeerConfig).member.certificate)
        public = keys.curve_public, keys.signing_public
        record = MemberRecord(shelf.peer, "", "", "", "", *public, certificate, 7, 100)
        Memory(TableSection(table, MEMBERSHIP_SECTION)).keep_own(record)
        table.commit()
    lab.save(out)
    lives = set()
    for number in range(3):
        restore(out, new / str(number), quiet)
        with closing(LmdbTable(new / str(number) / "peer-1" / "data" / "table")) as table:
            lives.add(begin_life(table, Random(1)))
            own = Memory(TableSection(table, MEMBERSHIP_SECTION)).own_record(shelf.peer)
            assert own is not None
            assert own.incarnation > 1_700_000_000
            assert PeerCredentials(keys, lab.mesh.mesh).is_genuine(own)
    assert len(lives) == 3
    assert min(lives) > life + 1


def test_a_restored_index_says_that_it_has_lost_everything(lab: Lab, out: Path, new: Path) -> None:
    lab.save(out)
    restore(out, new, quiet)
    with Index.open(new / "peer-1" / "data" / "index") as index:
        assert index.damaged.all()


def test_a_peer_with_its_data_elsewhere_is_restored_into_its_own_folder(
    lab: Lab, out: Path, new: Path, tmp_path: Path
) -> None:
    home = lab.folder / "peer-1"
    (home / "data").rename(tmp_path / "elsewhere")
    text = (home / "config.toml").read_text()
    text += f'[storage]\nfolder = "{tmp_path}/elsewhere"\n' if "[storage]" not in text else ""
    (home / "config.toml").write_text(text.replace('folder = "data"', f'folder = "{tmp_path}/elsewhere"'))
    lab.save(out)
    restore(out, new, quiet)
    assert (new / "peer-1" / "peer.key").read_bytes() == (home / "peer.key").read_bytes()
    assert len(pages_in(new / "peer-1")) == 3


# --- Again, and beside a peer that runs


def test_again_only_what_is_new_is_copied(lab: Lab, out: Path, new: Path) -> None:
    lab.keep(*range(4, 300))
    first = lab.save(out)
    archive_bytes = lab.archive.stat().st_size
    lab.keep(300)
    again = lab.save(out)
    copied = again.n_bytes - sum(file.length for file in again.manifest.files if "/archive/" not in file.path)
    assert 0 < copied < archive_bytes / 100
    assert again.manifest.number == first.manifest.number + 1
    assert again.kept_bytes == archive_bytes
    restore(out, new, quiet)
    assert len(pages_in(new / "peer-1")) == 300
    assert [entry.name for entry in out.glob("state-*")] == [f"state-{again.manifest.number:06d}"]


def test_a_backup_beside_a_peer_that_writes_has_whatever_its_table_names(
    lab: Lab, out: Path, tmp_path: Path
) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(lab.folder / "peer-1")], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    try:
        for number in range(6):
            acknowledged = int(writer.stdout.readline())
            lab.save(out)
            restore(out, tmp_path / str(number), quiet)
            pages = pages_in(tmp_path / str(number) / "peer-1")
            assert all(pages.values())
            assert len(pages) >= 3 + acknowledged
    finally:
        writer.kill()
        writer.communicate()


WRITER = """
import sys
from itertools import count
from pathlib import Path
from peers.crawler.model.wire_messages import LinkUse
from peers.importing.json_lines import LineEntry
from peers.importing.page import page_of_entry
from tests.peers.exporting.test_export import Shelf

shelf = Shelf(Path(sys.argv[1]))
for number in count(1):
    shelf.keep(page_of_entry(LineEntry(f"http://new{number}.test/", "", "a word"), 1e9, LinkUse.FETCH))
    print(number, flush=True)
"""


def test_a_segment_that_is_gone_when_it_is_to_be_copied_has_the_table_copied_again(
    lab: Lab, out: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside = lab.archive.with_suffix(".aside")
    moves = iter([(lab.archive, aside), (aside, lab.archive)])
    look_through = check_table

    def look_while_the_archive_changes(folder: Path) -> str | None:
        if "peer-1" in str(folder):
            old, to = next(moves)
            old.rename(to)
        return look_through(folder)

    monkeypatch.setattr("peers.backup.backup_writer.check_table", look_while_the_archive_changes)
    lab.save(out)
    restore(out, new, quiet)
    assert all(pages_in(new / "peer-1").values())


def test_an_archive_that_was_begun_anew_is_copied_beside_the_old_one_and_then_replaces_it(
    lab: Lab, out: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.save(out)
    shelf = lab.shelves[0]
    shelf.data.rename(shelf.data.with_name("data.damaged-1"))
    lab.keep(7, 8, 9, 10)
    monkeypatch.setattr(backup_writer, "write_manifest", failing_for(MANIFEST))
    with pytest.raises(StorageFull):
        lab.save(out)
    monkeypatch.undo()
    restore(out, new / "old", quiet)
    assert len(pages_in(new / "old" / "peer-1")) == 3

    lab.save(out)
    restore(out, new / "anew", quiet)
    assert len(pages_in(new / "anew" / "peer-1")) == 4
    assert len(list((out / "archive").iterdir())) == 1


# --- What is cut off


def failing_for(name: str) -> object:
    """A disk that is full when this manifest is written."""

    def write(folder: Path, manifest: BackupManifest, name_now: str = MANIFEST) -> None:
        if name_now == name:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_manifest(folder, manifest, name_now)

    return write


def test_a_full_disk_leaves_the_backup_before_and_is_told(
    lab: Lab, out: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.save(out)
    lab.keep(4, 5)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checked_files, "sync", full)
    with pytest.raises(StorageFull, match=r"no space is left .*; the backup of 20.* is as good as it was"):
        lab.save(out)
    monkeypatch.undo()
    assert len(list(out.glob("state-*"))) == 1
    restore(out, new, quiet)
    assert len(pages_in(new / "peer-1")) == 3


def test_a_backup_that_was_cut_off_leaves_the_one_before_and_goes_on_with_what_it_had(
    lab: Lab, out: Path, new: Path
) -> None:
    lab.save(out)
    lab.keep(*range(4, 300))

    def interrupt(done: int, total: int) -> None:
        if done >= total > 100_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save(lab.folder, out, interrupt)
    restore(out, new / "before", quiet)
    assert len(pages_in(new / "before" / "peer-1")) == 3
    lab.save(out)
    restore(out, new / "after", quiet)
    assert len(pages_in(new / "after" / "peer-1")) == 299


def test_segments_of_a_first_backup_that_was_cut_off_are_not_copied_again(
    lab: Lab, out: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_writer, "write_manifest", failing_for(MANIFEST))
    with pytest.raises(StorageFull, match="there is no backup so far"):
        lab.save(out)
    monkeypatch.undo()
    with pytest.raises(ConfigError, match="there is no whole backup"):
        restore(out, new, quiet)
    assert lab.save(out).kept_bytes == lab.archive.stat().st_size
    assert not (out / UNFINISHED).exists()
    restore(out, new, quiet)


# --- What is refused


def damages(out: Path) -> Iterator[Path]:
    yield out / MANIFEST
    manifest = read_manifest(out)
    assert manifest is not None
    yield from (out / file.stored for file in manifest.files)


@pytest.mark.parametrize("damage", ["flipped", "cut short", "missing"])
def test_a_damaged_backup_is_refused_and_leaves_nothing(lab: Lab, out: Path, new: Path, damage: str) -> None:
    lab.save(out)
    for path in list(damages(out)):
        content = path.read_bytes()
        if damage == "missing":
            path.unlink()
        else:
            half = len(content) // 2
            path.write_bytes(
                content[:half]
                if damage == "cut short"
                else content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :]
            )
        with pytest.raises((CorruptionError, ConfigError)):
            check(out, quiet)
        with pytest.raises((CorruptionError, ConfigError)):
            restore(out, new, quiet)
        assert not new.exists() or not list(new.iterdir())
        path.write_bytes(content)
    restore(out, new, quiet)


def test_a_damaged_table_is_not_taken_for_a_backup(lab: Lab, out: Path) -> None:
    table = lab.shelves[0].data / "table" / "data.mdb"
    content = bytearray(table.read_bytes())
    for at in range(8_192 + 100, len(content), 256):
        content[at] ^= 1
    table.write_bytes(content)
    with pytest.raises(StorageError):
        lab.save(out)
    assert read_manifest(out) is None


def test_nothing_is_restored_over_what_is_there(lab: Lab, out: Path, new: Path) -> None:
    lab.save(out)
    new.mkdir()
    (new / "note").write_text("mine")
    with pytest.raises(ConfigError, match="not empty"):
        restore(out, new, quiet)
    assert files_in(new) == {"note": b"mine"}


def test_what_a_restoring_that_was_killed_has_left_is_cleared_away(lab: Lab, out: Path, new: Path) -> None:
    lab.save(out)
    (new / ".restoring" / "peer-1").mkdir(parents=True)
    (new / ".restoring" / "peer-1" / "half").write_text("x")
    restore(out, new, quiet)
    assert "half" not in {path.name for path in new.rglob("*")}


def test_a_folder_with_other_things_is_no_folder_for_a_backup(lab: Lab, out: Path) -> None:
    out.mkdir()
    (out / "note").write_text("mine")
    with pytest.raises(ConfigError, match="no folder of a backup"):
        lab.save(out)
    assert files_in(out) == {"note": b"mine"}


def test_a_folder_without_peers_is_told(tmp_path: Path, out: Path) -> None:
    with pytest.raises(ConfigError, match="no peer in"):
        save(tmp_path, out, quiet)


def test_a_peer_without_its_key_is_told(lab: Lab, out: Path) -> None:
    (lab.folder / "peer-2" / "peer.key").unlink()
    with pytest.raises(ConfigError, match="without which a copy"):
        lab.save(out)


def test_two_commands_do_not_use_a_backup_at_once(lab: Lab, out: Path, new: Path) -> None:
    lab.save(out)
    with locked(out):
        with pytest.raises(ConfigError, match="in use"):
            lab.save(out)
        with pytest.raises(ConfigError, match="in use"):
            restore(out, new, quiet)


def test_a_backup_of_another_layout_is_restored_by_its_own_version(lab: Lab, out: Path, new: Path) -> None:
    manifest = lab.save(out).manifest
    write_manifest(out, replace(manifest, layout=1))
    with pytest.raises(ConfigError, match=f"tianmesh {manifest.program} made the backup"):
        restore(out, new, quiet)


@pytest.mark.parametrize("path", ["../a", "/a", "a/../../b", "", "a\0b"])
def test_a_manifest_leads_out_of_no_folder(lab: Lab, out: Path, path: str) -> None:
    with pytest.raises(ValueError, match="leads out"):
        StoredFile(path, "a", ())
    with pytest.raises(ValueError, match="leads out"):
        StoredFile("a", path, ())


def test_the_commands_tell_what_they_did(
    lab: Lab, out: Path, new: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*arguments: object) -> Told:
        monkeypatch.setattr(sys, "argv", ["tianmesh", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Told(ended.value.code, *capsys.readouterr())

    saved = told("backup", out, "--data", lab.folder)
    assert not saved.code, saved.stderr
    assert "backup 1 of 3 nodes" in saved.stderr
    assert "it holds secret keys" in saved.stderr
    again = json.loads(told("backup", out, "--data", lab.folder, "--json").stdout)
    assert (again["number"], len(again["peers"])) == (2, 3)
    assert again["bytes_copied"] < again["bytes"]
    assert "whole" in told("restore", out, "--check").stderr
    restored = told("restore", out, "--data", new)
    assert not restored.code, restored.stderr
    assert f"tianmesh up --data {new}" in restored.stderr.replace("\n", "")
    refused = told("restore", out, "--data", new)
    assert (refused.code, "not empty" in refused.stderr) == (2, True)
