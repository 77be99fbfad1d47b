"""What is said of a node of this machine, before it runs and while something is wrong with it."""

from __future__ import annotations

import socket
from math import inf
from pathlib import Path

import pytest
from msgspec.structs import replace

from bootstrap.doctor.finding import DoctorFinding, Grade
from bootstrap.doctor.node import (
    FREE_MIN,
    address_finding,
    certificate_finding,
    door_findings,
    node_findings,
    space_finding,
    sync_finding,
)
from bootstrap.provision import create_mesh, ports_from, write_bootstrap, write_peer
from bootstrap.toml_edit import with_settings
from mesh.config import DoorConfig, MemberConfig, MeshConfig
from mesh.keys.certificate import Grant, issue
from mesh.keys.identity import z85_of
from mesh.keys.key_file import new_identity, new_signing_key
from mesh.reach import Reach
from peers.options import gateway_in

DAY_S = 86_400.0
KEY = z85_of(bytes(range(32))).decode()
FAR = DoorConfig(endpoint="tcp://192.0.2.7:7402", key=KEY)
NEAR = DoorConfig(endpoint="tcp://127.0.0.1:7402", key=KEY)


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def peer(tmp_path: Path, free_port: int) -> Path:
    """The configuration of a peer that has been founded and does not run."""
    mesh = create_mesh(tmp_path / "lab", "lab", 2)
    settings = {**ports_from(0), "gateway.listen": f"127.0.0.1:{free_port}"}
    write_bootstrap(mesh)
    write_peer(mesh, 1, settings)
    return tmp_path / "lab" / "peer-1" / "config.toml"


def _found(config: Path) -> dict[str, DoctorFinding]:
    return {finding.subject: finding for finding in node_findings(config)}


def _changed(config: Path, **settings: object) -> None:
    named = {name.replace("__", "."): value for name, value in settings.items()}
    text = config.read_text(encoding="utf-8")
    config.write_text(with_settings(text, named, str(config)), encoding="utf-8")


def test_a_founded_peer_lacks_nothing_but_a_start(peer: Path) -> None:
    found = _found(peer)
    wrong = {subject: each.grade for subject, each in found.items() if each.grade is not Grade.GOOD}
    assert wrong == {"process": Grade.WARNING}
    assert f"tianmesh peer --config {peer}" in found["process"].advice
    assert {"configuration", "certificate", "disk", "disk speed", "address", "doors"} <= found.keys()
    assert not list(peer.parent.glob("**/.doctor*"))  # what was tried is gone


def test_a_bootstrap_node_is_looked_at_by_its_own_settings(peer: Path) -> None:
    config = peer.parent.parent / "bootstrap" / "config.toml"
    found = _found(config)
    assert found["certificate"].grade is Grade.GOOD
    assert "tianmesh bootstrap --config" in found["process"].advice
    assert gateway_in(config) == ""


def test_who_answers_runs(peer: Path, free_port: int) -> None:
    with socket.create_server(("127.0.0.1", free_port)):
        assert _found(peer)["process"].grade is Grade.GOOD
    assert gateway_in(peer) == f"http://127.0.0.1:{free_port}"


def test_a_port_that_a_relay_shall_lend_is_to_be_free(peer: Path, free_port: int) -> None:
    config = peer.parent.parent / "bootstrap" / "config.toml"
    with socket.create_server(("127.0.0.1", free_port)):
        _changed(config, member__relay_ports=f"{free_port}-{free_port + 2}")
        finding = _found(config)["port"]
    assert finding.grade is Grade.FAULT
    assert "member.relay_ports" in finding.advice


def test_a_slip_in_the_configuration_is_told_with_the_line(peer: Path) -> None:
    peer.write_text(peer.read_text(encoding="utf-8").replace("[crawl]", "[crawl]\nspeed = 3", 1))
    (finding,) = node_findings(peer)
    assert finding.grade is Grade.FAULT
    assert "speed" in finding.said


def test_a_key_that_others_may_read_is_a_fault(peer: Path) -> None:
    (peer.parent / "peer.key").chmod(0o644)
    finding = _found(peer)["key"]
    assert finding.grade is Grade.FAULT
    assert "chmod 600" in finding.said


def test_a_key_of_another_node_does_not_fit_the_certificate(peer: Path) -> None:
    (peer.parent / "peer.key").unlink()
    (peer.parent.parent / "bootstrap" / "peer.key").rename(peer.parent / "peer.key")
    assert _found(peer)["certificate"].grade is Grade.FAULT


def test_a_folder_that_is_not_there_is_a_fault_of_the_disk(peer: Path) -> None:
    _changed(peer, storage__folder="/no/such/disk/data")
    finding = _found(peer)["disk"]
    assert finding.grade is Grade.FAULT
    assert "mkdir -p /no/such/disk" in finding.said


def test_a_port_that_another_program_has_is_named(peer: Path, free_port: int) -> None:
    _changed(peer, member__multicast_port=free_port)
    with socket.socket() as other:
        other.bind(("127.0.0.1", free_port))  # and listens to nobody: else it could be the peer itself
        finding = _found(peer)["port"]
    assert finding.grade is Grade.FAULT
    assert "member.multicast_port" in finding.advice


def _certificate_days(days: float) -> DoctorFinding:
    root, identity = new_signing_key(), new_identity()
    mesh = MeshConfig(name="lab", root_key=root.public.hex(), analysis_version=6)
    keys = identity.curve_public, identity.signing_public
    certificate = issue(root, mesh.digest(), *keys, Grant("a" * 16, days * DAY_S))
    return certificate_finding("peer-1", certificate, mesh, now=0.0)


@pytest.mark.parametrize(
    ("days", "grade"),
    [(inf, Grade.GOOD), (400.0, Grade.GOOD), (12.0, Grade.WARNING), (-3.0, Grade.FAULT)],
)
def test_a_certificate_is_renewed_in_time(days: float, grade: Grade) -> None:
    finding = _certificate_days(days)
    assert finding.grade is grade
    assert (grade is Grade.GOOD) == (not finding.advice)


def test_a_certificate_of_another_root_is_a_fault() -> None:
    mesh = MeshConfig(name="lab", root_key=new_signing_key().public.hex(), analysis_version=6)
    assert certificate_finding("peer-1", None, mesh, now=0.0).grade is Grade.FAULT


@pytest.mark.parametrize(
    ("free", "total", "grade"),
    [
        (100 * FREE_MIN, 400 * FREE_MIN, Grade.GOOD),
        (10 * FREE_MIN, 400 * FREE_MIN, Grade.WARNING),
        (FREE_MIN // 2, FREE_MIN, Grade.WARNING),
    ],
)
def test_a_disk_is_to_have_space(free: int, total: int, grade: Grade) -> None:
    assert space_finding("peer-1", free, total).grade is grade


def test_a_slow_disk_is_a_warning() -> None:
    assert sync_finding("peer-1", 0.004).grade is Grade.GOOD
    assert sync_finding("peer-1", 0.3).grade is Grade.WARNING


@pytest.mark.parametrize(
    ("changes", "grade"),
    [
        ({}, Grade.GOOD),  # a mesh of one machine
        ({"doors": (NEAR,)}, Grade.GOOD),
        ({"doors": (FAR,)}, Grade.FAULT),  # nobody there finds it
        ({"doors": (FAR,), "listen": "0.0.0.0"}, Grade.FAULT),
        ({"doors": (FAR,), "listen": "0.0.0.0", "announce": "192.0.2.9"}, Grade.GOOD),
        ({"doors": (FAR,), "announce": "no-such-machine.invalid"}, Grade.FAULT),
        ({"doors": (FAR,), "relay": Reach.ALWAYS}, Grade.GOOD),  # nobody needs its address
    ],
)
def test_others_must_find_a_node_where_it_says(changes: dict[str, object], grade: Grade) -> None:
    finding = address_finding("peer-1", replace(MemberConfig(), **changes))
    assert finding.grade is grade
    assert (grade is Grade.GOOD) == (not finding.advice)


def test_one_open_door_is_enough_and_none_is_a_fault() -> None:
    some = list(door_findings("peer-1", [FAR, NEAR], ["nobody listens there", ""]))
    assert [finding.grade for finding in some] == [Grade.GOOD, Grade.WARNING]
    (none,) = door_findings("peer-1", [FAR], ["nobody listens there"])
    assert none.grade is Grade.FAULT
    assert "192.0.2.7" in none.advice
    (own,) = door_findings("peer-1", [], [])
    assert own.grade is Grade.GOOD
