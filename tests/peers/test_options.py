"""Where commands find a mesh that nobody has named."""

from __future__ import annotations

from pathlib import Path

import pytest

from peers.options import DATA, LAB_PEER, data_here


def test_on_a_machine_of_a_lab_its_peer_is_meant_unless_there_is_another_or_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(elsewhere)
    assert data_here(DATA) == DATA
    (home / LAB_PEER).mkdir(parents=True)
    assert data_here(DATA) == DATA
    (home / LAB_PEER / "config.toml").touch()
    assert data_here(DATA) == home / LAB_PEER
    assert data_here(Path("mymesh")) == Path("mymesh")
    DATA.mkdir()
    assert data_here(DATA) == DATA
