"""`tianmesh invite` and `join`: what the token says, who is let in by it, and what is left on disk."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from bootstrap import newcomer
from bootstrap.invitation import PREFIX, Invitation, doors_in, invite_to, is_near, read_token
from bootstrap.newcomer import TAKEN, join_by
from bootstrap.provision import (
    MeshFolder,
    certificate_of,
    create_mesh,
    member_in,
    members_by_key,
    ports_from,
    write_bootstrap,
    write_peer,
)
from mesh.config import DoorConfig, load_config
from mesh.errors import ConfigError
from mesh.keys.certificate import Certificate, issue_by_voucher, read_certificate
from mesh.keys.identity import Identity, z85_of
from mesh.keys.key_file import load_identity, new_identity, new_signing_key
from mesh.keys.voucher import vouch
from mesh.membership.admission import refusal_of
from mesh.membership.model.credentials import PeerCredentials
from mesh.membership.model.members import MemberList, State
from mesh.membership.model.wire_messages import JoinMesh, MemberRecord, Rumour
from mesh.reach import Reach
from peers.config import PeerConfig

DAY_S = 86_400
DOOR = DoorConfig(endpoint="tcp://192.0.2.7:7402", key=z85_of(bytes(range(32))).decode())


@pytest.fixture
def mesh(tmp_path: Path) -> MeshFolder:
    return create_mesh(tmp_path / "mesh", "test", 2)


def invited(mesh: MeshFolder, uses: int = 3, join_days: float = 7.0, weight: int = 30) -> Invitation:
    return invite_to(mesh, (DOOR,), uses, join_days, 100.0, weight)


def certified(invitation: Invitation, identity: Identity, number: int = 0) -> Certificate:
    serial = invitation.voucher.serials()[number]
    keys = identity.curve_public, identity.signing_public
    return issue_by_voucher(invitation.key, invitation.voucher, serial, invitation.mesh.digest(), keys)


def test_a_token_says_all_that_a_machine_needs(mesh: MeshFolder) -> None:
    invitation = invited(mesh)
    read = read_token(f" {invitation.token()[:90]}\n{invitation.token()[90:]} ")  # as a mail breaks it
    assert read == invitation
    assert (read.mesh, read.doors) == (mesh.mesh, (DOOR,))
    assert abs(read.voucher.terms.joins_until - time.time() - 7 * DAY_S) < 60
    assert len(invitation.token()) < 800


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda token: "", "is no invitation, which begins with"),
        (lambda token: "hello", "is no invitation, which begins with"),
        (lambda token: token[:-40], "damaged or cut off"),
        (lambda token: token[:40] + "!" + token[40:], "damaged or cut off"),
        (lambda token: PREFIX, "damaged or cut off"),
        (lambda token: token * 30, "is no invitation"),
    ],
)
def test_what_is_no_token_is_said(spoil: Callable[[str], str], told: str, mesh: MeshFolder) -> None:
    with pytest.raises(ConfigError, match=f"{told}.*: copy all of what `tianmesh invite` printed"):
        read_token(spoil(invited(mesh).token()))


def test_a_token_that_the_root_has_not_signed_or_that_has_ended_is_refused(
    mesh: MeshFolder, tmp_path: Path
) -> None:
    invitation = invited(mesh)
    longer = replace(invitation.voucher.terms, uses=100)
    forged = replace(invitation, voucher=replace(invitation.voucher, terms=longer))
    with pytest.raises(ConfigError, match="has not signed this invitation"):
        read_token(forged.token())
    other = create_mesh(tmp_path / "other", "other", 2)
    with pytest.raises(ConfigError, match="has not signed this invitation"):
        read_token(replace(invitation, mesh=other.mesh).token())
    with pytest.raises(ConfigError, match="has ended: ask for another one"):
        read_token(invited(mesh, join_days=0.0).token())


def test_the_key_of_an_invitation_makes_members_with_the_ids_and_the_weight_that_the_root_signed(
    mesh: MeshFolder,
) -> None:
    invitation, identity, root = invited(mesh), new_identity(), mesh.root.public
    certificate = certified(invitation, identity, 2)
    assert certificate.is_valid(root)
    assert certificate.grant.weight_allowed == 30
    keys = identity.curve_public, identity.signing_public
    assert read_certificate(mesh.mesh.digest(), *keys, certificate.encoded()) == certificate
    assert len(certificate.encoded()) < 320


def test_what_an_invitation_does_not_grant_no_key_can_sign(mesh: MeshFolder) -> None:
    invitation, identity, root = invited(mesh), new_identity(), mesh.root.public
    real = certified(invitation, identity)
    own = new_signing_key()
    keys = identity.curve_public, identity.signing_public
    foreign_voucher = vouch(own, mesh.mesh.digest(), own.public, invitation.voucher.terms)
    serial = foreign_voucher.serials()[0]
    forged = [
        issue_by_voucher(invitation.key, invitation.voucher, "a" * 16, mesh.mesh.digest(), keys),
        issue_by_voucher(own, invitation.voucher, real.grant.serial, mesh.mesh.digest(), keys),
        issue_by_voucher(own, foreign_voucher, serial, mesh.mesh.digest(), keys),
        Certificate(real.mesh_id, *keys, replace(real.grant, weight_max=9_999), real.signature, real.voucher),
        Certificate(real.mesh_id, *keys, real.grant, real.signature),
        Certificate(bytes(16), *keys, real.grant, real.signature, real.voucher),
    ]
    assert [each.is_valid(root) for each in forged] == [False] * len(forged)


def test_certificates_of_the_root_are_encoded_as_they_were(mesh: MeshFolder) -> None:
    write_peer(mesh, 1)
    [certificate] = members_by_key(mesh)
    assert len(certificate.encoded()) < 128
    assert certificate.voucher is None


def record_of(certificate: Certificate, identity: Identity, mesh: MeshFolder) -> MemberRecord:
    keys = identity.curve_public, identity.signing_public
    record = MemberRecord(certificate.grant.serial, "", "", "", "", *keys, certificate.encoded(), 1, 0)
    return PeerCredentials(identity, mesh.mesh).sign(record)


def refusal(record: MemberRecord, mesh: MeshFolder, members: MemberList) -> str:
    digest = mesh.mesh.digest()
    credentials = PeerCredentials(new_identity(), mesh.mesh)
    join = JoinMesh(record, digest)
    return refusal_of(join, record.curve_key, mesh_digest=digest, members=members, credentials=credentials)


def test_a_door_lets_in_who_is_invited_and_tells_the_next_one_which_id_is_taken(mesh: MeshFolder) -> None:
    invitation, first, second, members = invited(mesh), new_identity(), new_identity(), MemberList()
    record = record_of(certified(invitation, first), first, mesh)
    assert refusal(record, mesh, members) == ""
    members.merge(Rumour(record, State.ALIVE))
    keys = second.curve_public, second.signing_public
    answers = [
        refusal(MemberRecord(serial, "", "", "", "", *keys, b"", 0, 0), mesh, members)
        for serial in invitation.voucher.serials()
    ]
    assert [answer.startswith(TAKEN) for answer in answers] == [True, False, False]
    assert all(answers)  # nobody is let in by asking


def test_a_machine_makes_its_own_key_and_is_ready_to_start(
    mesh: MeshFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    invitation = invited(mesh)
    taken = set(invitation.voucher.serials()[:2])
    monkeypatch.setattr(newcomer, "reached", lambda doors: (doors[0], "192.0.2.9"))
    monkeypatch.setattr(newcomer, "_is_taken", lambda *asked: asked[3] in taken)
    home = tmp_path / "home"
    join_by(invitation, home, "")
    config = load_config(home / "config.toml", PeerConfig)
    assert config.mesh == mesh.mesh
    assert (config.member.announce, config.member.listen) == ("192.0.2.9", "0.0.0.0")
    assert (config.member.weight, config.member.doors) == (30, (DOOR,))
    identity = load_identity(home / "peer.key")
    keys = identity.curve_public, identity.signing_public
    own = read_certificate(mesh.mesh.digest(), *keys, bytes.fromhex(config.member.certificate))
    assert own is not None
    assert own.is_valid(mesh.root.public)
    assert own.grant.serial == invitation.voucher.serials()[2]
    assert invitation.secret.hex() not in (home / "config.toml").read_text()
    with pytest.raises(ConfigError, match=r"there is a peer in .* already"):
        join_by(invitation, home, "")
    taken.add(own.grant.serial)
    with pytest.raises(ConfigError, match="used by 3 machines, as many as it is good for"):
        join_by(invitation, tmp_path / "second", "")
    taken.clear()
    join_by(invitation, tmp_path / "second", "", relay=Reach.ALWAYS)  # its key was made: it begins again
    assert config.member.relay is Reach.AUTO
    assert load_config(tmp_path / "second" / "config.toml", PeerConfig).member.relay is Reach.ALWAYS


def test_a_door_that_nobody_opens_is_named(mesh: MeshFolder, tmp_path: Path) -> None:
    closed = DoorConfig(endpoint="tcp://127.0.0.1:9", key=DOOR.key)
    with pytest.raises(ConfigError, match=r"tcp://127\.0\.0\.1:9 \(Connection refused\); are its nodes"):
        join_by(
            replace(invited(mesh), places=invite_to(mesh, (closed,), 1, 1.0, 1.0, 1).places),
            tmp_path / "new",
            "",
        )


@contextmanager
def silent_listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_door_that_says_nothing_is_named(
    mesh: MeshFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newcomer, "ANSWER_S", 0.05)
    with silent_listener() as port:
        door = DoorConfig(endpoint=f"tcp://127.0.0.1:{port}", key=DOOR.key)
        with pytest.raises(ConfigError, match=r"does not answer \(too slow\): try again in a moment"):
            join_by(invite_to(mesh, (door,), 1, 1.0, 1.0, 1), tmp_path / "new", "")


def test_an_invitation_names_the_doors_that_others_reach(mesh: MeshFolder) -> None:
    write_bootstrap(mesh, {"member.listen": "0.0.0.0", "member.announce": "192.0.2.1", **ports_from(7_400)})
    write_peer(mesh, 1, {"member.announce": "192.0.2.2", **ports_from(7_410)})
    write_peer(mesh, 2, ports_from(7_420))  # on loopback
    write_peer(mesh, 3, {"member.announce": "192.0.2.3"})  # at any port
    assert [door.endpoint for door in doors_in(mesh)] == ["tcp://192.0.2.1:7402", "tcp://192.0.2.2:7412"]
    assert not any(map(is_near, doors_in(mesh)))


def test_who_is_invited_is_noted_for_expulsion_and_cannot_be_renewed_here(mesh: MeshFolder) -> None:
    invitation = invited(mesh)
    for serial in invitation.voucher.serials():
        assert member_in(mesh, serial[:6]).stem == serial
        with pytest.raises(ConfigError, match=r"joined by an invitation"):
            certificate_of(mesh, serial)
    assert members_by_key(mesh) == []
