"""What a node writes is for its user alone."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.private_files import make_private_folder, put_in_place, write_private_text


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_folders_are_private_and_one_that_was_there_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path / "a" / "b")
    make_private_folder(tmp_path)
    assert mode_of(tmp_path) == 0o755
    assert [mode_of(tmp_path / "a"), mode_of(tmp_path / "a" / "b")] == [0o700, 0o700]


def test_a_private_text_is_closed_to_others_even_if_it_was_open(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("token = 1")
    path.chmod(0o644)
    write_private_text(path, "token = 2")
    assert mode_of(path) == 0o600
    assert path.read_text() == "token = 2"


def test_a_full_disk_leaves_a_text_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "config.toml"
    write_private_text(path, "token = 1")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_private_text(path, "token = 2")
    assert path.read_text() == "token = 1"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_to_a_text_stays_one(tmp_path: Path) -> None:
    path, link = tmp_path / "config.toml", tmp_path / "link"
    path.write_text("token = 1")
    link.symlink_to(path)
    write_private_text(link, "token = 2")
    assert link.is_symlink()
    assert path.read_text() == "token = 2"


def test_the_files_of_a_table_are_private(tmp_path: Path) -> None:
    LmdbTable(tmp_path / "table").close()
    files = list((tmp_path / "table").iterdir())
    assert len(files) >= 3
    assert {mode_of(path) for path in files} == {0o600}
    assert mode_of(tmp_path / "table") == 0o700


def test_a_file_that_takes_a_place_is_on_the_disk_before_its_name_and_its_name_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a machine that loses its power has the name, and nothing in the file."""
    done: list[str] = []

    def fsync(descriptor: int) -> None:
        name = os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))
        done.append(f"{name} {'new' if (tmp_path / 'a.new').exists() else 'moved'}")

    monkeypatch.setattr(os, "fsync", fsync)
    (tmp_path / "a.new").write_bytes(b"1")
    put_in_place(tmp_path / "a.new", tmp_path / "a")
    assert done == ["a.new new", f"{tmp_path.name} moved"]
    assert (tmp_path / "a").read_bytes() == b"1"
