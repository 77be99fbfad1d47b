"""A peer whose table is damaged sets its data aside, says so once, and begins anew."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from mesh.errors import ConfigError
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.table_check import DATA_FILE
from peers.damaged_data import set_aside_if_damaged


def filled(data: Path) -> Path:
    table = LmdbTable(data / "table")
    table.put(b"key", b"value")
    table.commit()
    table.close()
    (data / "archive").mkdir(exist_ok=True)
    return data / "table" / DATA_FILE


async def test_sound_data_stay_where_they_are(tmp_path: Path) -> None:
    assert await set_aside_if_damaged(tmp_path / "data") is None
    filled(tmp_path / "data")
    assert await set_aside_if_damaged(tmp_path / "data") is None
    assert (tmp_path / "data" / "table").exists()


async def test_damaged_data_are_set_aside_whole_with_one_sentence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "data"
    for number in (1, 2):
        file = filled(data)
        file.write_bytes(file.read_bytes().replace(b"value", b"valuf"))
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            aside = await set_aside_if_damaged(data)
        assert aside == tmp_path / f"data.damaged-{number}"
        assert sorted(path.name for path in aside.iterdir()) == ["archive", "table"]
        assert not data.exists()
        (record,) = caplog.records
        assert f"tianmesh import {aside}/archive/*.warc.gz" in record.getMessage()


async def test_a_table_that_is_in_use_is_not_set_aside_by_a_second_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    file = filled(data)
    table = LmdbTable(data / "table")
    file.write_bytes(file.read_bytes().replace(b"value", b"valuf"))
    with pytest.raises(ConfigError, match="is in use"):
        await set_aside_if_damaged(data)
    assert file.exists()
    table.close()
    assert await set_aside_if_damaged(data) == tmp_path / "data.damaged-1"


async def test_a_folder_that_cannot_be_renamed_is_for_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = filled(tmp_path / "data")
    file.write_bytes(file.read_bytes()[:5_000])

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(ConfigError, match=r"move .* away"):
        await set_aside_if_damaged(tmp_path / "data")
