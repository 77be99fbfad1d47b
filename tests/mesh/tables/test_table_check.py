"""A damaged table: found before a peer starts, or by the read that meets it, and never read as sound."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import pytest

from mesh.errors import CorruptionError, StorageError
from mesh.tables import table_check
from mesh.tables.lmdb_reader import LmdbReader
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.sealed_rows import all_sealed, opened
from mesh.tables.table_check import DATA_FILE, check_table

COMMITS, ROWS = 5, 200
FLIPS, CUTS, HEADER_FLIPS = 40, 8, 12
PAGE_BYTES = 4_096


@pytest.fixture(scope="module")
def rows() -> dict[bytes, bytes]:
    chance = random.Random(1)
    return {
        chance.randbytes(16): chance.randbytes(chance.choice([10, 100, 3_000])) for _ in range(COMMITS * ROWS)
    }


@pytest.fixture(scope="module")
def written(rows: dict[bytes, bytes], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a table with these rows."""
    folder = tmp_path_factory.mktemp("sound")
    table = LmdbTable(folder)
    for number, (key, value) in enumerate(rows.items()):
        table.put(key, value)
        if number % ROWS == ROWS - 1:
            table.commit()
    table.close()
    assert check_table(folder) is None
    return (folder / DATA_FILE).read_bytes()


def flipped(data: bytes, at: int, bit: int) -> bytes:
    return data[:at] + bytes((data[at] ^ 1 << bit,)) + data[at + 1 :]


def damages(data: bytes) -> list[bytes]:
    chance = random.Random(2)
    places = [chance.randrange(len(data)) for _ in range(FLIPS)]
    places += [chance.randrange(2 * PAGE_BYTES) for _ in range(HEADER_FLIPS)]
    flips = [flipped(data, place, chance.randrange(8)) for place in places]
    # Where the numbers of pages and transactions stand.
    flips += [flipped(data, page * PAGE_BYTES + 136 + byte, 0) for page in (0, 1) for byte in (0, 1, 8, 9)]
    cuts = [data[: chance.randrange(len(data))] for _ in range(CUTS)]
    return [*flips, *cuts, data[: len(data) // 2], data[:100], b""]


def test_no_damage_changes_what_is_read_unnoticed(
    written: bytes, rows: dict[bytes, bytes], tmp_path: Path
) -> None:
    n_found = 0
    for number, damaged in enumerate(damages(written)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / DATA_FILE).write_bytes(damaged)
        if check_table(folder) is not None:
            n_found += 1
            continue
        table = LmdbTable(folder)  # what was not found is in no row
        assert dict(table.scan(b"")) == rows, f"damage {number}"
        table.close()
    assert n_found > FLIPS // 2 + CUTS


def test_a_row_that_was_damaged_meanwhile_is_found_by_who_reads_it(tmp_path: Path) -> None:
    table = LmdbTable(tmp_path)
    table.put(b"key", b"a value of this row")
    table.put(b"other", b"sound")
    table.commit()
    data = (tmp_path / DATA_FILE).read_bytes()
    at = data.index(b"a value of this row")
    with (tmp_path / DATA_FILE).open("r+b") as file:
        file.seek(at)
        file.write(b"A")
    assert table.get(b"other") == b"sound"
    with pytest.raises(CorruptionError, match="start the peer again"):
        table.get(b"key")
    with pytest.raises(CorruptionError):
        list(table.scan(b""))
    table.close()
    with LmdbReader(tmp_path) as reader:
        assert reader.get(b"other") == b"sound"
        with pytest.raises(CorruptionError):
            reader.get(b"key")
        with pytest.raises(CorruptionError):
            list(reader.scan(b""))
    assert check_table(tmp_path) is not None


def test_a_row_is_sealed_with_its_key() -> None:
    (_, row), (_, empty) = all_sealed([(b"key", b"value"), (b"key", b"")])
    assert opened(b"key", row) == b"value"
    assert opened(b"key", empty) == b""
    for key, damaged in ((b"kex", row), (b"key", row[:-1]), (b"key", b""), (b"key", b"w" + row[1:])):
        with pytest.raises(CorruptionError):
            opened(key, damaged)


def test_no_table_is_sound(tmp_path: Path) -> None:
    assert check_table(tmp_path / "nothing") is None
    LmdbTable(tmp_path / "new").close()
    assert check_table(tmp_path / "new") is None


def test_a_table_that_another_process_has_open_can_be_looked_through(tmp_path: Path) -> None:
    table = LmdbTable(tmp_path)
    table.put(b"key", b"value")
    table.commit()
    assert check_table(tmp_path) is None
    table.close()


def test_what_the_machine_cannot_do_is_no_damage(
    written: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / DATA_FILE).write_bytes(written)
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(StorageError, match="cannot be looked through"):
        check_table(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no such program"))
    with pytest.raises(StorageError, match="cannot be looked through"):
        check_table(tmp_path)
    assert table_check.DAMAGED not in (0, 1, 2)  # which Python itself ends with
