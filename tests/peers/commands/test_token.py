"""`tianmesh token`: what it signs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from mesh.errors import ConfigError
from mesh.keys.decree import Authority, Signer, appoint
from mesh.keys.key_file import new_signing_key, save_administrator
from mesh.keys.signed_token import SignedToken, TokenJudge, TokenRight
from peers import application

MESH_ID = b"m" * 16
DAY_S = 86_400


@pytest.fixture
def mesh(tmp_path: Path) -> Authority:
    root, key = new_signing_key(), new_signing_key()
    signer = Signer(key, MESH_ID, appoint(root, MESH_ID, key.public))
    save_administrator(tmp_path / "mesh" / "admin.key", signer)
    return Authority(root.public, MESH_ID)


def result_of(*words: str | Path) -> Result:
    result = CliRunner().invoke(application.app, ["token", *map(str, words)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def judged(mesh: Authority, text: str) -> SignedToken:
    token = TokenJudge(mesh).judge(text.strip().encode(), time.time()).token
    assert token is not None
    return token


def test_it_prints_one_to_read_for_a_week_and_nothing_else(mesh: Authority, tmp_path: Path) -> None:
    result = result_of("--for", "Prometheus 2", "--data", tmp_path / "mesh")
    token = judged(mesh, result.stdout)
    assert (token.right, token.holder) == (TokenRight.READ, "Prometheus 2")
    assert abs(token.not_after - time.time() - 7 * DAY_S) < 60
    assert "order nothing" in result.stderr


def test_it_prints_one_for_orders_by_a_key_that_is_named(mesh: Authority, tmp_path: Path) -> None:
    key = tmp_path / "mesh" / "admin.key"
    words = ("--for", "night-crawl", "--rights", "orders", "--days", "0.5", "--key", key, "--json")
    told: dict[str, Any] = json.loads(result_of(*words).stdout)
    token = judged(mesh, told["token"])
    assert (token.right, token.holder) == (TokenRight.ORDERS, told["for"])
    assert abs(token.not_after - time.time() - DAY_S / 2) < 60


@pytest.mark.parametrize("holder", ["", "a\nb", "é", "x" * 65])
def test_a_name_that_a_log_minds_is_refused(mesh: Authority, tmp_path: Path, holder: str) -> None:
    with pytest.raises(ConfigError, match="--for"):
        result_of("--for", holder, "--data", tmp_path / "mesh")


def test_without_a_key_it_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"admin\.key: give the folder of the mesh"):
        result_of("--for", "ann", "--data", tmp_path)


def test_it_is_for_a_year_at_most(mesh: Authority, tmp_path: Path) -> None:
    assert result_of("--for", "ann", "--days", "400", "--data", tmp_path / "mesh").exit_code == 2
