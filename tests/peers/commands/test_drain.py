"""`tianmesh drain`, against a gateway that answers from memory."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from typer.testing import CliRunner

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.errors import ConfigError
from mesh.keys.decree import DRAIN, POLICY, WRITE_OFF, Authority, Signer, appoint, number_body
from mesh.keys.key_file import new_signing_key, save_administrator
from mesh.keys.signing_key import SigningKey
from peers.application import app
from peers.commands.drain import wait_until_drained
from peers.gateway.model.status import MemberRow, PeerState, PeerStatus, Report, SlotCounts, report_of
from tests.peers.commands.running import run
from tests.peers.fake_gateway import ME, FakeGateway

ROOT = SigningKey.of_secret(b"r" * 32)


def wait(gateway: FakeGateway, down_s_max: float = 15.0) -> None:
    """Wait as the command does, only more eagerly."""
    with GatewayClient(gateway.url) as client:
        wait_until_drained(client, ME, Console(quiet=True), poll_s=0.0, down_s_max=down_s_max)


def draining(owned: int, state: PeerState = PeerState.DRAINING, *, is_draining: bool = True) -> Report:
    slots = SlotCounts(owned=owned, held=owned, kept=owned, answered=owned)
    return report_of([PeerStatus(id=ME, state=state, is_draining=is_draining, slots=slots)])


def test_drain_waits_until_the_peer_is_empty(gateway: FakeGateway) -> None:
    gateway.reports = [draining(9), draining(4), draining(0, PeerState.DRAINED)]
    wait(gateway)
    assert len(gateway.reports) == 1


def test_drain_gives_the_order_and_says_when_it_is_carried_out(gateway: FakeGateway) -> None:
    gateway.reports = [draining(0, PeerState.DRAINED)]
    assert "is empty: stop it whenever you like" in run(gateway, "drain", "abcd")
    assert gateway.orders == [("/api/drain", {"peer": "abcd", "is_draining": True}, "")]


def test_a_peer_is_named_as_people_call_it_unless_that_begins_the_id_of_another(
    gateway: FakeGateway,
) -> None:
    others = [("k3v2aaaaaaaaaaaa", ME[:4]), ("k3v2bbbbbbbbbbbb", "weir"), ("cccccccccccccccc", "weir")]
    members = [MemberRow(id=peer, name=name, state="alive") for peer, name in [(ME, "m3"), *others]]
    gateway.reports = [msgspec.structs.replace(draining(0, PeerState.DRAINED), members=tuple(members))]
    for name in ("m3", ME[:4]):
        run(gateway, "drain", name)
        assert gateway.orders[-1][1]["peer"] == ME
    for name in ("weir", "k3v2", "m4"):
        with pytest.raises(ConfigError, match=r"k3v2bbbbbbbbbbbb"):
            run(gateway, "drain", name)
    assert len(gateway.orders) == 2


def test_drain_in_json_says_what_was_done(gateway: FakeGateway) -> None:
    gateway.reports = [draining(0, PeerState.DRAINED)]
    assert json.loads(run(gateway, "drain", "abcd", "--json")) == {
        "peer": ME,
        "is_draining": True,
        "is_written_off": False,
        "is_drained": True,
    }


def test_drain_without_waiting_asks_for_no_status(gateway: FakeGateway) -> None:
    assert "gives away what it has" in run(gateway, "drain", "abcd", "--no-wait")
    assert json.loads(run(gateway, "drain", "abcd", "--no-wait", "--json"))["is_drained"] is False


def test_drain_is_cancelled(gateway: FakeGateway) -> None:
    assert "takes its share again" in run(gateway, "drain", "abcd", "--cancel")
    assert gateway.orders[0][1] == {"peer": "abcd", "is_draining": False}


def test_peer_that_is_down_is_written_off_without_waiting(gateway: FakeGateway) -> None:
    gateway.is_written_off = True
    assert "does not belong to the mesh any more" in run(gateway, "drain", "abcd")


def test_order_to_another_peer_is_signed_by_the_administrator(gateway: FakeGateway, tmp_path: Path) -> None:
    administrator = create_mesh_key(tmp_path / "admin.key")
    gateway.to_decree = {"kind": DRAIN, "body": number_body(1).hex()}
    run(gateway, "drain", "abcd", "--no-wait", "--key", str(tmp_path / "admin.key"))
    assert gateway.decrees == [administrator.decree(DRAIN, ME, 7, number_body(1))]
    authority = Authority(ROOT.public, administrator.mesh_id)
    assert authority.refusal_of(gateway.decrees[0]) == ""


def test_without_the_administrators_key_it_is_said_what_is_missing(
    gateway: FakeGateway, tmp_path: Path
) -> None:
    gateway.to_decree = {"kind": DRAIN, "body": number_body(1).hex()}
    with pytest.raises(ConfigError, match=r"admin\.key"):
        run(gateway, "drain", "abcd", "--no-wait", "--key", str(tmp_path / "admin.key"))
    assert gateway.decrees == []


def test_a_gateway_gets_nothing_else_signed(gateway: FakeGateway, tmp_path: Path) -> None:
    create_mesh_key(tmp_path / "admin.key")
    gateway.to_decree = {"kind": POLICY, "body": ""}
    with pytest.raises(GatewayError, match="not the order you gave"):
        run(gateway, "drain", "abcd", "--no-wait", "--key", str(tmp_path / "admin.key"))
    assert gateway.decrees == []


@pytest.mark.parametrize(
    ("order", "kind", "body"),
    [
        (("bcde",), DRAIN, number_body(1)),  # about a peer that was not named
        (("abcd",), DRAIN, number_body(0)),  # the contrary
        (("abcd", "--cancel"), DRAIN, number_body(1)),
        (("abcd", "--cancel", "--yes"), WRITE_OFF, number_body(7)),
    ],
)
def test_a_gateway_gets_no_other_order_signed_than_was_typed(
    gateway: FakeGateway, tmp_path: Path, order: tuple[str, ...], kind: str, body: bytes
) -> None:
    create_mesh_key(tmp_path / "admin.key")
    gateway.to_decree = {"kind": kind, "body": body.hex()}
    with pytest.raises(GatewayError, match="signed, which"):
        run(gateway, "drain", *order, "--no-wait", "--key", str(tmp_path / "admin.key"))
    assert gateway.decrees == []


def create_mesh_key(path: Path) -> Signer:
    key, mesh_id = new_signing_key(), bytes(16)
    administrator = Signer(key, mesh_id, appoint(ROOT, mesh_id, key.public))
    save_administrator(path, administrator)
    return administrator


def test_token_is_sent_from_where_nobody_else_reads_it(
    gateway: FakeGateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = ("drain", "abcd", "--no-wait")
    (tmp_path / "token").write_text("of-a-file\n", encoding="ascii")
    run(gateway, *order, "--token", f"@{tmp_path / 'token'}")
    CliRunner().invoke(app, [*order, "--token", "-", "--gateway", gateway.url], input="of-standard-input\n")
    with pytest.raises(ConfigError, match="other users of this machine could read"):
        run(gateway, *order, "--token", "0123456789abcdef")
    with pytest.raises(ConfigError, match="cannot read the token in"):
        run(gateway, *order, "--token", f"@{tmp_path}")
    monkeypatch.setenv("TIANMESH_ADMIN_TOKEN", "of-the-environment")
    run(gateway, *order)
    sent = [bearer.removeprefix("Bearer ") for _, _, bearer, *_ in gateway.orders]
    assert sent == ["of-a-file", "of-standard-input", "of-the-environment"]


def test_what_the_gateway_refuses_is_said_in_its_words(gateway: FakeGateway) -> None:
    gateway.refusal = (404, "no peer's id begins with 'x'; there are ann, bob")
    with pytest.raises(GatewayError, match="there are ann, bob"):
        run(gateway, "drain", "xxxx")


def test_drain_that_somebody_cancels_ends_the_waiting(gateway: FakeGateway) -> None:
    gateway.reports = [draining(9), draining(9, PeerState.STEADY, is_draining=False)]
    with pytest.raises(GatewayError, match="drains no more"):
        wait(gateway)


@pytest.mark.parametrize("members", [(), (MemberRow(id=ME, state="down"),)])
def test_peer_that_vanishes_while_draining_ends_the_waiting(
    gateway: FakeGateway, members: tuple[MemberRow, ...]
) -> None:
    gateway.reports = [draining(9), report_of([], members)]
    with pytest.raises(GatewayError, match="was not empty yet"):
        wait(gateway, down_s_max=0.0)


@pytest.mark.parametrize("state", ["alive", "suspect"])
def test_peer_that_is_too_busy_to_answer_is_waited_for(gateway: FakeGateway, state: str) -> None:
    busy = report_of([], [MemberRow(id=ME, state=state)])
    gateway.reports = [draining(9), busy, busy, draining(0, PeerState.DRAINED)]
    wait(gateway, down_s_max=0.0)
    assert len(gateway.reports) == 1
