from __future__ import annotations

import time
from pathlib import Path

import pytest

from mesh.client.admin_token import (
    COMMAND_S,
    KEY_FILE,
    TOKEN_FILE,
    key_in,
    make_token,
    mesh_folder_of,
    signer_in,
    token_in,
    tokens_by,
    tokens_for,
)
from mesh.config import MeshConfig, load_config
from mesh.errors import ConfigError
from mesh.keys.decree import Authority, Signer, appoint
from mesh.keys.key_file import new_signing_key, save_administrator, save_root_key
from mesh.keys.signed_token import TokenJudge, TokenRight


def test_a_token_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    token = make_token(tmp_path / "peer-1")
    file = tmp_path / "peer-1" / TOKEN_FILE
    assert len(token) >= 32
    assert file.stat().st_mode & 0o777 == 0o600
    assert make_token(tmp_path / "peer-1") == token == token_in(tmp_path / "peer-1")
    assert make_token(tmp_path / "peer-2") != token


def test_a_folder_without_a_token_gives_none(tmp_path: Path) -> None:
    assert token_in(tmp_path) == ""
    assert token_in(tmp_path / "nowhere") == ""


def test_a_token_that_others_may_read_is_none(tmp_path: Path) -> None:
    make_token(tmp_path)
    (tmp_path / TOKEN_FILE).chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        token_in(tmp_path)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """A mesh in `mesh`, with its root's key and an administrator's."""
    root, folder = new_signing_key(), tmp_path / "mesh"
    save_root_key(folder / "root.key", root)
    (folder / "mesh.toml").write_text(f'name = "m"\nroot_key = "{root.public.hex()}"\nanalysis_version = 6\n')
    mesh_id = load_config(folder / "mesh.toml", MeshConfig).digest()
    key = new_signing_key()
    save_administrator(folder / KEY_FILE, Signer(key, mesh_id, appoint(root, mesh_id, key.public)))
    return Authority(root.public, mesh_id)


def write_peer(folder: Path, authority: Authority) -> Path:
    folder.mkdir(parents=True)
    text = f'[mesh]\nname = "m"\nroot_key = "{authority.root_public.hex()}"\nanalysis_version = 6\n'
    (folder / "config.toml").write_text(text)
    make_token(folder)
    return folder


def test_the_keys_of_a_mesh_are_found_from_its_folder_and_from_that_of_a_peer(
    tmp_path: Path, authority: Authority
) -> None:
    mesh = tmp_path / "mesh"
    inside = write_peer(mesh / "peer-1", authority)
    beside = write_peer(tmp_path / "peer", authority)
    for folder in (mesh, inside, beside):
        assert mesh_folder_of(folder).resolve() == mesh.resolve()
        judged = TokenJudge(authority).judge(tokens_for(folder)().encode(), time.time())
        assert judged.token is not None
        assert judged.token.right is TokenRight.ORDERS


def test_a_peer_of_another_mesh_or_alone_has_its_own_token(tmp_path: Path, authority: Authority) -> None:
    alone = write_peer(tmp_path / "elsewhere" / "peer", authority)
    stranger = write_peer(tmp_path / "peer", Authority(b"x" * 32, b"other"))
    for folder in (alone, stranger):
        assert mesh_folder_of(folder) == folder
        assert not key_in(folder).exists()
        assert tokens_for(folder)() == token_in(folder) != ""
    assert tokens_for(tmp_path)() == ""


def test_the_key_that_is_named_signs(tmp_path: Path, authority: Authority) -> None:
    peer = write_peer(tmp_path / "elsewhere" / "peer", authority)
    signer = signer_in(peer, tmp_path / "mesh" / KEY_FILE)
    assert signer == signer_in(tmp_path / "mesh")


def test_where_no_administrator_is_the_root_signs(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "mesh" / KEY_FILE).unlink()
    signer = signer_in(tmp_path / "mesh")
    assert signer is not None
    assert signer.key.public == authority.root_public
    text = tokens_for(tmp_path / "mesh")().encode()
    assert TokenJudge(authority).judge(text, time.time()).token is not None


def test_a_long_command_signs_anew_before_its_token_ends(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_700_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)
    tokens, judge = tokens_by(Signer(new_signing_key(), authority.mesh_id)), TokenJudge(authority)
    first = tokens()
    assert tokens() == first
    for _ in range(20):
        now += COMMAND_S / 3
        assert "no administrator" in judge.judge(tokens().encode(), now).why  # and not that it has ended
    assert tokens() != first


def test_a_key_that_is_named_and_not_there_is_replaced_by_no_other(
    authority: Authority, tmp_path: Path
) -> None:
    assert signer_in(tmp_path / "mesh") is not None
    with pytest.raises(ConfigError, match="there is no administrator's key at"):
        signer_in(tmp_path / "mesh", tmp_path / "wrong.key")
