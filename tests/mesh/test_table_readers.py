"""Other processes that read a table: what they leave behind costs no disk for long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb
import pytest

from mesh.tables import table_compaction
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.table_check import DATA_FILE
from mesh.tables.table_compaction import FOLDER, compact_if_sparse

ROWS = 200
VALUE = 1_000
READING = """
import sys, time
from pathlib import Path
from mesh.tables.lmdb_reader import LmdbReader
with LmdbReader(Path(sys.argv[1])) as table:
    walk = table.scan(b"\\0")
    next(walk)
    print("reading", flush=True)
    time.sleep(900)
"""


@contextmanager
def reader_of(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that reads the table as it is now, and goes on doing so."""
    with subprocess.Popen([sys.executable, "-c", READING, str(folder)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"reading\n"
            yield process
        finally:
            process.kill()


def write(table: LmdbTable, commits: int, first: int = 0) -> None:
    """Write all rows anew, so many times."""
    for commit in range(first, first + commits):
        for row in range(ROWS):
            table.put(b"%d" % row, bytes([commit % 256]) * VALUE)
        table.commit()


def size_of(folder: Path) -> int:
    return (folder / DATA_FILE).stat().st_size


def test_a_reader_that_was_killed_costs_no_room_from_the_next_commit_on(tmp_path: Path) -> None:
    table = LmdbTable(tmp_path)
    write(table, 5)
    steady = size_of(tmp_path)
    with reader_of(tmp_path) as process:
        write(table, 5)
        held_up = size_of(tmp_path)
        assert held_up > steady + 4 * ROWS * VALUE, "it keeps all that was freed"
        process.send_signal(signal.SIGKILL)
        process.wait()
    write(table, 50)
    assert size_of(tmp_path) < held_up + 3 * ROWS * VALUE
    table.close()


@pytest.fixture
def sparse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a table that takes far more than it holds."""
    monkeypatch.setattr(table_compaction, "SPARE_BYTES", 1 << 20)
    table = LmdbTable(tmp_path)
    write(table, 2)
    with reader_of(tmp_path):
        write(table, 20)
    table.close()
    assert size_of(tmp_path) > 15 * ROWS * VALUE
    return tmp_path


def assert_whole(folder: Path) -> None:
    table = LmdbTable(folder)
    assert dict(table.scan(b"\0")) == {b"%d" % row: bytes([19]) * VALUE for row in range(ROWS)}
    write(table, 3)
    table.close()


def test_a_table_far_larger_than_its_rows_is_made_smaller_when_it_is_opened(
    sparse: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert_whole(sparse)
    assert size_of(sparse) < 6 * ROWS * VALUE
    assert "it is made smaller, which may take a while" in caplog.text
    assert (sparse / DATA_FILE).stat().st_mode & 0o777 == 0o600
    assert not (sparse / FOLDER).exists()
    assert not compact_if_sparse(sparse)


def test_it_stays_as_it_is_while_others_read_it(sparse: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = size_of(sparse)
    with reader_of(sparse) as process:
        process.send_signal(signal.SIGSTOP)
        assert not compact_if_sparse(sparse)
        assert "another process reads it" in caplog.text
        assert size_of(sparse) == before
    assert_whole(sparse)


@pytest.mark.parametrize("step", ["mkdir", "chmod", "unlink", "replace", "rmdir"])
def test_killed_between_any_two_steps_it_has_lost_nothing(sparse: Path, step: str) -> None:
    killing = f"""
import os, sys
from pathlib import Path
from mesh.tables import table_compaction
table_compaction.SPARE_BYTES = 1 << 20
Path.{step} = lambda *arguments, **options: os.kill(os.getpid(), 9)
table_compaction.compact_if_sparse(Path(sys.argv[1]))
"""
    done = subprocess.run([sys.executable, "-c", killing, str(sparse)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert_whole(sparse)
    assert size_of(sparse) < 6 * ROWS * VALUE
    assert not (sparse / FOLDER).exists()


def test_without_room_for_the_new_file_the_old_one_stays(
    sparse: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_room(made: Path, folder: Path) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(table_compaction, "_put_in_place", no_room)
    assert not compact_if_sparse(sparse)
    assert "No space left on device" in caplog.text
    monkeypatch.undo()
    with lmdb.open(str(sparse), readonly=True) as env:
        assert env.stat()["entries"] == ROWS
    assert not (sparse / FOLDER).exists()
