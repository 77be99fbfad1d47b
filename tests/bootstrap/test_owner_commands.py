"""`tianmesh expel`, `renew`, `invite`, `join`: what they sign, and what they leave on disk."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from bootstrap.provision import (
    MeshFolder,
    certificate_of,
    create_mesh,
    make_administrator,
    write_bootstrap,
    write_peer,
)
from mesh.client.gateway_client import GatewayError
from mesh.config import load_config
from mesh.errors import ConfigError
from mesh.keys.certificate import peer_in, read_certificate
from mesh.keys.decree import POLICY, RENEWAL, REVOCATION, Authority
from mesh.keys.key_file import load_administrator
from mesh.keys.signed_token import TokenJudge
from mesh.membership.model.decrees import Decrees
from mesh.tables.memory_table import MemoryTable
from peers.application import app
from peers.config import PeerConfig
from peers.gateway.model.status import MemberRow, report_of
from peers.policy.rules import policy_in
from tests.peers.fake_gateway import FakeGateway, fake_gateway

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


def test_expel_has_what_it_has_visited_since_visited_again_and_lists_that(
    gateway: FakeGateway, mesh: MeshFolder
) -> None:
    options = ("--data", str(mesh.folder), "--undo-since", "2026-11-01T08:00", "--json")
    told = json.loads(run("expel", "--gateway", gateway.url, peer_of(mesh, 1), *options))
    found = {"visits": 2, "examples": ["http://a.test/1", "http://a.test/2"], "is_done": True}
    assert {name: told["undone"]["ann"][name] for name in found} == found
    revocation, decree = gateway.decrees
    assert revocation.kind == REVOCATION
    assert authority_of(mesh).refusal_of(decree) == ""
    [undone] = policy_in(decree.body).undo
    assert undone.since == datetime(2026, 11, 1, 8, tzinfo=UTC) < datetime.now(UTC) < undone.until
    assert undone.peer == peer_of(mesh, 1)
    assert "was expelled" in undone.reason


def test_expel_takes_the_key_of_an_administrator_whom_another_follows(
    gateway: FakeGateway, mesh: MeshFolder
) -> None:
    admin = mesh.folder / "admin.key"
    key = load_administrator(admin).key.public.hex()
    assert key in admin.read_text().splitlines()[0]
    run("expel", "--gateway", gateway.url, key.upper(), "--data", str(mesh.folder))
    [decree] = gateway.decrees
    assert (decree.kind, decree.subject) == (REVOCATION, key)
    decrees = Decrees(MemoryTable())
    assert decrees.add(load_administrator(admin).decree(POLICY, "", 1, b""), 0.0)
    assert decrees.add(decree, 0.0)
    assert decrees.in_force(POLICY, 0.0) == {}
    make_administrator(mesh)
    assert load_administrator(admin).key.public.hex() == key, "a key that is there stays"
    admin.unlink()
    make_administrator(mesh)
    successor = load_administrator(admin).decree(POLICY, "", 1, b"")
    assert authority_of(mesh).refusal_of(successor) == ""
    assert decrees.add(successor, 0.0)


@pytest.mark.parametrize("folder", [".", "peer-1"])
@pytest.mark.parametrize("key", [[], ["--key", "admin.key"]])
def test_expel_finds_the_keys_from_the_mesh_and_from_a_peer_and_signs_what_opens_the_gateway(
    gateway: FakeGateway, mesh: MeshFolder, folder: str, key: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mesh.folder)
    peer = peer_of(mesh, 2)
    told = json.loads(run("expel", peer, "--gateway", gateway.url, "--data", folder, "--json", *key))
    assert told == {"expelled": peer, "number": 7}
    assert [decree.subject for decree in gateway.decrees] == [peer]
    assert authority_of(mesh).refusal_of(gateway.decrees[0]) == ""
    (text,) = gateway.tokens
    token = TokenJudge(authority_of(mesh)).judge(text.encode(), time.time()).token
    assert token is not None
    assert (token.signer == mesh.root.public) == (not key)  # an administrator may be expelled itself


def test_the_root_key_expels_not_itself(gateway: FakeGateway, mesh: MeshFolder) -> None:
    with pytest.raises(ConfigError, match="nobody can expel"):
        run("expel", "--gateway", gateway.url, mesh.mesh.root_key, "--data", str(mesh.folder))
    assert gateway.decrees == []


def test_a_member_is_expelled_and_renewed_by_its_name(gateway: FakeGateway, mesh: MeshFolder) -> None:
    members = (MemberRow(id=peer_of(mesh, 1), name="mill", state="down"),)
    gateway.reports = [msgspec.structs.replace(report_of([]), members=members)]
    for command in ("renew", "expel"):
        run(command, "--gateway", gateway.url, "mill", "--data", str(mesh.folder))
        assert gateway.decrees[-1].subject == peer_of(mesh, 1)


def test_nobody_is_expelled_by_a_name_that_is_not_clear(gateway: FakeGateway, mesh: MeshFolder) -> None:
    for name in ("", "nobody", "*"):
        with pytest.raises(ConfigError, match=r"has to be the beginning|names no peer"):
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
        "4000",
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
    assert abs(new.grant.valid_until - time.time() - 4000 * DAY_S) < 60
    assert certificate_of(mesh, peer) == new


def test_a_renewal_that_would_shorten_a_membership_is_refused_and_tells_what_to_do(
    gateway: FakeGateway, mesh: MeshFolder
) -> None:
    before = certificate_of(mesh, peer_of(mesh, 1))
    for whom in ("--all", peer_of(mesh, 1)):
        with pytest.raises(ConfigError, match=r"a member for 3650 days more.*--days.*tianmesh expel"):
            run("renew", "--gateway", gateway.url, whom, "--days", "365", "--data", str(mesh.folder))
    assert gateway.decrees == []
    assert certificate_of(mesh, peer_of(mesh, 1)) == before


def test_a_renewal_that_did_not_reach_the_mesh_is_not_in_the_list(mesh: MeshFolder) -> None:
    before = certificate_of(mesh, peer_of(mesh, 1))
    with pytest.raises(GatewayError):
        run("renew", "--gateway", "http://127.0.0.1:9", peer_of(mesh, 1), "--data", str(mesh.folder))
    assert certificate_of(mesh, peer_of(mesh, 1)) == before


def test_the_commands_find_the_folder_of_the_mesh_in_the_environment(
    gateway: FakeGateway, mesh: MeshFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIANMESH_DATA", str(mesh.folder))
    run("expel", "--gateway", gateway.url, peer_of(mesh, 1))
    assert len(gateway.decrees) == 1


def test_renew_all_renews_the_bootstrap_node_too(gateway: FakeGateway, mesh: MeshFolder) -> None:
    run("renew", "--gateway", gateway.url, "--all", "--data", str(mesh.folder))
    assert len({decree.subject for decree in gateway.decrees}) == 3
