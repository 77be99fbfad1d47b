from __future__ import annotations

from pathlib import Path

import pytest

from mesh.admin_token import TOKEN_FILE, make_token, token_in
from mesh.errors import ConfigError


def test_a_token_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    token = make_token(tmp_path / "peer-1")
    file = tmp_path / "peer-1" / TOKEN_FILE
    assert len(token) >= 32
    assert file.stat().st_mode & 0o777 == 0o600
    assert make_token(tmp_path / "peer-1") == token == token_in(tmp_path / "peer-1")
    assert make_token(tmp_path / "peer-2") != token


def test_peers_of_a_mesh_have_its_token(tmp_path: Path) -> None:
    token = make_token(tmp_path / "mesh")
    assert make_token(tmp_path / "mesh" / "peer-1", token) == token
    own = make_token(tmp_path / "other")
    assert make_token(tmp_path / "other", token) == own  # what is there stays


def test_a_folder_without_a_token_gives_none(tmp_path: Path) -> None:
    assert token_in(tmp_path) == ""
    assert token_in(tmp_path / "nowhere") == ""


def test_a_token_that_others_may_read_is_none(tmp_path: Path) -> None:
    make_token(tmp_path)
    (tmp_path / TOKEN_FILE).chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        token_in(tmp_path)
