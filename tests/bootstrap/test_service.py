"""Units for systemd, and what is asked of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bootstrap.provision import create_mesh, write_peer
from bootstrap.service import install, remove, unit_folder, units_of
from mesh.errors import ConfigError
from tests.live.lab_process import tianmesh


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    for name in ("bootstrap", "peer-1"):
        folder = tmp_path / "lab" / name
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text('[storage]\nfolder = "../disk"\n' if name == "peer-1" else "")
    (tmp_path / "lab" / "disk").mkdir()
    return tmp_path / "lab"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """A systemctl that keeps what it is asked, and refuses when a file says so."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "systemctl"
    refuses = f"[ ! -e {tmp_path}/refuses ] || {{ echo no bus >&2; exit 1; }}"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n{refuses}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return lambda: (tmp_path / "asked").read_text().splitlines()


def test_each_node_has_a_unit_that_may_write_where_it_keeps_things(mesh: Path) -> None:
    door, peer = units_of(mesh, user="mesh")
    assert (door.name, peer.name) == ("tianmesh-lab-bootstrap.service", "tianmesh-lab-peer-1.service")
    assert f"-m peers.cli bootstrap --config {mesh}/bootstrap/config.toml\n" in door.text
    assert f"-m peers.cli peer --config {mesh}/peer-1/config.toml\n" in peer.text
    assert f"ReadWritePaths={mesh}/bootstrap\n" in door.text  # its data, which are not there yet, are in it
    assert f"ReadWritePaths={mesh}/disk {mesh}/peer-1\n" in peer.text
    assert "User=mesh\n" in peer.text
    assert f"InaccessiblePaths=-{mesh}/peer-1/root.key -{mesh}/peer-1/admin.key\n" in peer.text
    assert units_of(mesh / "peer-1", user="mesh") == [peer]


def test_a_node_that_is_a_service_cannot_open_the_keys_of_its_mesh(tmp_path: Path) -> None:
    mesh = create_mesh(tmp_path / "lab", "lab", replicas=1)
    write_peer(mesh, 1)
    [unit] = units_of(mesh.folder / "peer-1", user="mesh")
    assert f"InaccessiblePaths=-{mesh.folder}/root.key -{mesh.folder}/admin.key\n" in unit.text


def test_unit_of_a_user_asks_for_nothing_that_only_the_system_can_do(mesh: Path) -> None:
    [unit] = units_of(mesh / "peer-1")
    assert "ProtectSystem" not in unit.text
    assert "User=" not in unit.text
    assert "WantedBy=default.target" in unit.text


@pytest.mark.parametrize("user", ["", "root"])
def test_systemd_understands_the_units(mesh: Path, tmp_path: Path, user: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze on this machine")
    for unit in units_of(mesh, user=user):
        (tmp_path / unit.name).write_text(unit.text)
        done = subprocess.run(
            ["systemd-analyze", "verify", str(tmp_path / unit.name)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert unit.name not in done.stderr, done.stderr


def test_installing_starts_them_and_removing_forgets_them(
    mesh: Path, tmp_path: Path, asked: Callable[[], list[str]]
) -> None:
    units, place = units_of(mesh), tmp_path / "units"
    install(units, place, is_system=False, starts=True)
    assert {file.name: file.read_text() for file in place.iterdir()} == {u.name: u.text for u in units}
    names = " ".join(unit.name for unit in units)
    assert asked() == ["--user daemon-reload", f"--user enable --now {names}"]
    assert remove(units, place, is_system=False) == [unit.name for unit in units]
    assert not list(place.iterdir())
    assert asked()[2:] == [f"--user disable --now {names}", "--user daemon-reload"]
    assert remove(units, place, is_system=False) == []


def test_what_systemd_refuses_is_said(mesh: Path, tmp_path: Path, asked: Callable[[], list[str]]) -> None:
    (tmp_path / "refuses").touch()
    with pytest.raises(ConfigError, match="`systemctl daemon-reload` failed: no bus"):
        install(units_of(mesh), tmp_path / "units", is_system=True, starts=True)
    assert asked()


def test_folder_without_a_node_and_path_that_no_unit_can_have(mesh: Path) -> None:
    with pytest.raises(ConfigError, match="tianmesh init"):
        units_of(mesh / "nowhere")
    odd = mesh.parent / "my mesh"
    odd.mkdir()
    (odd / "config.toml").touch()
    with pytest.raises(ConfigError, match="without spaces"):
        units_of(odd)


def test_machine_without_systemd(mesh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="no systemd here"):
        install(units_of(mesh), tmp_path / "units", is_system=True, starts=True)


def test_units_of_a_user_are_where_systemd_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert unit_folder(is_system=False) == tmp_path / "systemd" / "user"


def test_units_can_be_seen_before_anything_is_changed(mesh: Path) -> None:
    shown = tianmesh("service", "show", mesh, "--run-as", "mesh")
    assert shown.returncode == 0
    assert shown.stdout.count("[Service]") == 2
    refused = tianmesh("service", "show", mesh / "nowhere")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)


def test_a_reload_fails_for_who_asks_for_it_when_the_settings_are_wrong(mesh: Path) -> None:
    lines = units_of(mesh)[-1].text.splitlines()
    reloads = [line for line in lines if line.startswith("ExecReload=")]
    assert [" config check " in reloads[0], reloads[1]] == [True, "ExecReload=/bin/kill -HUP $MAINPID"]
    assert reloads[0].endswith("/config.toml")


@pytest.mark.parametrize(
    ("web", "namespaces"),
    [
        ("", "yes"),
        ("render = []", "yes"),
        ('render = ["app.example.org/*"]', "user pid net"),
        ('render = ["app.example.org/*"]\nrenderer = "chromium --no-sandbox"', "yes"),
    ],
)
def test_a_browser_may_make_its_sandbox_and_nothing_else_may(mesh: Path, web: str, namespaces: str) -> None:
    config = mesh / "peer-1" / "config.toml"
    config.write_text(f"[web]\n{web}\n", encoding="utf-8")
    assert f"RestrictNamespaces={namespaces}\n" in units_of(config.parent, user="li")[0].text
