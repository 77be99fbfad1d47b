"""`tianmesh expel`, `renew`, `invite`, `join`: what they sign, and what they leave on disk."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bootstrap import governing
from bootstrap.invitation import accept
from bootstrap.provision import (
    MeshFolder,
    certificate_of,
    create_mesh,
    open_mesh,
    write_bootstrap,
    write_peer,
)
from mesh.certificate import peer_in, read_certificate
from mesh.config import load_config
from mesh.decree import RENEWAL, REVOCATION, Authority
from mesh.errors import ConfigError
from mesh.key_file import load_identity
from peers.config import PeerConfig
from tests.peers.fake_gateway import FakeGateway, fake_gateway

DOOR = "tcp://192.0.2.7:7402=" + "x" * 40
DAY_S = 86_400


@pytest.fixture
def gateway() -> Iterator[FakeGateway]:
    with fake_gateway() as gateway:
        yield gateway


@pytest.fixture
def mesh(tmp_path: Path) -> MeshFolder:
    mesh = create_mesh(tmp_path / "mesh", "test", 2)
    write_bootstrap(mesh)
    write_peer(mesh, 1)
    write_peer(mesh, 2)
    return mesh


def run(*arguments: str | Path) -> str:
    """What a command that goes well writes; raises what it raises."""
    app = typer.Typer()
    governing.register(app)
    result = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def peer_of(mesh: MeshFolder, number: int) -> str:
    config = load_config(mesh.folder / f"peer-{number}" / "config.toml", PeerConfig)
    return peer_in(config.member.certificate)


def authority_of(mesh: MeshFolder) -> Authority:
    return Authority(mesh.root.public, mesh.mesh.digest())


def test_expel_publishes_a_revocation_that_the_root_has_signed(
    gateway: FakeGateway, mesh: MeshFolder
) -> None:
    peer = peer_of(mesh, 1)
    said = run("expel", "--gateway", gateway.url, peer[:6], "--data", str(mesh.folder), "--reason", "it lies")
    assert f"{peer} is expelled" in said.replace("\n", " ")
    [decree] = gateway.decrees
    assert (decree.kind, decree.subject, decree.number, decree.body) == (REVOCATION, peer, 7, b"it lies")
    assert authority_of(mesh).refusal_of(decree) == ""


def test_nobody_is_expelled_by_a_name_that_is_not_clear(gateway: FakeGateway, mesh: MeshFolder) -> None:
    for name in ("", "nobody", "*"):
        with pytest.raises(ConfigError, match="has to be the beginning of the id of one member"):
            run("expel", "--gateway", gateway.url, name, "--data", str(mesh.folder))
    assert gateway.decrees == []


def test_renew_publishes_a_certificate_for_the_same_keys_and_id(
    gateway: FakeGateway, mesh: MeshFolder
) -> None:
    peer = peer_of(mesh, 1)
    before = certificate_of(mesh, peer)
    run(
        "renew",
        "--gateway",
        gateway.url,
        peer,
        "--days",
        "10",
        "--weight-max",
        "50",
        "--data",
        str(mesh.folder),
    )
    [decree] = gateway.decrees
    assert (decree.kind, decree.subject) == (RENEWAL, peer)
    assert authority_of(mesh).refusal_of(decree) == ""
    keys = before.curve_public, before.signing_public
    new = read_certificate(mesh.mesh.digest(), *keys, decree.body)
    assert new is not None
    assert new.is_valid(mesh.root.public)
    assert (new.grant.serial, new.grant.weight_allowed) == (peer, 50)
    assert abs(new.grant.valid_until - time.time() - 10 * DAY_S) < 60
    assert certificate_of(mesh, peer) == new


def test_renew_all_renews_the_bootstrap_node_too(gateway: FakeGateway, mesh: MeshFolder) -> None:
    run("renew", "--gateway", gateway.url, "--all", "--data", str(mesh.folder))
    assert len({decree.subject for decree in gateway.decrees}) == 3


def test_an_invitation_makes_a_peer_that_the_mesh_would_let_in(mesh: MeshFolder, tmp_path: Path) -> None:
    file, home = tmp_path / "guest.invitation", tmp_path / "guest"
    run("invite", str(file), "--door", DOOR, "--weight-max", "30", "--data", str(mesh.folder))
    assert file.stat().st_mode & 0o077 == 0
    run("join", str(file), "--folder", str(home), "--host", "192.0.2.9")
    config = load_config(home / "config.toml", PeerConfig)
    assert config.mesh == mesh.mesh
    assert (config.member.announce, config.member.weight) == ("192.0.2.9", 30)
    assert config.member.doors[0].endpoint == "tcp://192.0.2.7:7402"
    identity = load_identity(home / "peer.key")
    keys = identity.curve_public, identity.signing_public
    certificate = read_certificate(mesh.mesh.digest(), *keys, bytes.fromhex(config.member.certificate))
    assert certificate is not None
    assert certificate.is_valid(mesh.root.public)
    assert certificate.grant.weight_allowed == 30
    assert abs(certificate.grant.valid_until - time.time() - 7 * DAY_S) < 60
    assert certificate_of(open_mesh(mesh.folder), certificate.grant.serial) == certificate


def test_an_invitation_is_not_used_twice_in_one_place_nor_after_its_end(
    mesh: MeshFolder, tmp_path: Path
) -> None:
    run("invite", str(tmp_path / "one"), "--door", DOOR, "--data", str(mesh.folder))
    accept(tmp_path / "one", tmp_path / "guest", "127.0.0.1")
    with pytest.raises(ConfigError, match="exists already"):
        accept(tmp_path / "one", tmp_path / "guest", "127.0.0.1")
    run("invite", str(tmp_path / "two"), "--door", DOOR, "--days", "0", "--data", str(mesh.folder))
    with pytest.raises(ConfigError, match="has ended"):
        accept(tmp_path / "two", tmp_path / "late", "127.0.0.1")
    assert not (tmp_path / "late").exists()


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff"])
def test_what_is_no_invitation_is_said(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ConfigError, match="is no invitation"):
        accept(tmp_path / "file", tmp_path / "guest", "127.0.0.1")
