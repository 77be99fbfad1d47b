"""`tianmesh config`: can configurations be used, and one setting of all peers of a folder, or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bootstrap import config_commands
from bootstrap.provision import MeshFolder, create_mesh, write_bootstrap, write_peer
from mesh.config import load_config
from mesh.errors import ConfigError
from peers.config import PeerConfig


@pytest.fixture
def mesh(tmp_path: Path) -> MeshFolder:
    mesh = create_mesh(tmp_path / "mesh", "test", 2)
    write_bootstrap(mesh)
    write_peer(mesh, 1)
    write_peer(mesh, 2)
    return mesh


def run(*words: str | Path) -> str:
    app = typer.Typer()
    app.add_typer(config_commands.app, name="config")
    result = CliRunner().invoke(app, ["config", "set", *map(str, words)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def config_of(mesh: MeshFolder, number: int) -> PeerConfig:
    return load_config(mesh.folder / f"peer-{number}" / "config.toml", PeerConfig)


def test_a_setting_is_changed_for_all_peers_of_a_mesh_and_nothing_else(mesh: MeshFolder) -> None:
    files = [mesh.folder / f"peer-{number}" / "config.toml" for number in (1, 2)]
    before = [file.read_text() for file in files]
    bootstrap = (mesh.folder / "bootstrap" / "config.toml").read_text()
    told = json.loads(run("crawl.delay_s", "2.5", "--data", mesh.folder, "--json"))
    assert len(told["changed"]) == 2
    assert not told["by_reload"]
    for file, text in zip(files, before, strict=True):
        assert file.read_text() == text.replace("\ndelay_s = 1.0\n", "\ndelay_s = 2.5\n") != text
        assert file.stat().st_mode & 0o777 == 0o600
        assert sorted(each.name for each in file.parent.iterdir()) == [
            "admin.token",
            "config.toml",
            "peer.key",
        ]
    assert (mesh.folder / "bootstrap" / "config.toml").read_text() == bootstrap
    assert json.loads(run("crawl.delay_s", "2.5", "--data", mesh.folder, "--json"))["changed"] == []


def test_one_peer_is_changed_where_its_folder_is_named(mesh: MeshFolder) -> None:
    said = run("crawl.contact", "me@example.org", "--data", mesh.folder / "peer-2")
    assert "from its next start on" in said
    assert config_of(mesh, 2).crawl.contact == "me@example.org"
    assert config_of(mesh, 1).crawl.contact == ""


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("gateway.names", '["a.test", "b.test"]', ("a.test", "b.test")),
        ("gateway.takes_seeds", "true", True),
    ],
)
def test_values_are_toml_or_text_and_those_of_the_gateway_count_at_once(
    mesh: MeshFolder, key: str, value: str, told: object
) -> None:
    assert "SIGHUP" in run(key, value, "--data", mesh.folder)
    assert getattr(config_of(mesh, 1).gateway, key.partition(".")[2]) == told


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("crawl.no_such", "1", "no_such"),
        ("no_such.delay_s", "1", "no_such"),
        ("crawl.delay_s", "soon", "delay_s"),
        ("crawl.delay_s", "-1.0", "delay_s"),
        ("gateway.names", "a.test", "names"),
        ("mesh.replicas", "3", "agree"),
        ("delay_s", "1.0", "table"),
        ("crawl.", "1.0", "table"),
        ("crawl.delay_s.deep", "1", "delay_s"),
    ],
)
def test_what_is_no_setting_or_no_value_changes_nothing(
    mesh: MeshFolder, key: str, value: str, why: str
) -> None:
    before = [file.read_text() for file in sorted(mesh.folder.glob("*/config.toml"))]
    with pytest.raises(ConfigError, match=why):
        run(key, "--data", mesh.folder, "--", value)
    assert [file.read_text() for file in sorted(mesh.folder.glob("*/config.toml"))] == before


def test_where_no_peer_is_nothing_is_set(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no peer in"):
        run("crawl.delay_s", "1.0", "--data", tmp_path)


def test_only_what_a_running_peer_reads_again_counts_at_once() -> None:
    told = [
        config_commands.counts_after_reload(key) for key in ("gateway.names", "gateway.listen", "crawl.hours")
    ]
    assert told == [True, False, False]


def checked(*words: str | Path) -> tuple[int, str]:
    app = typer.Typer()
    app.add_typer(config_commands.app, name="config")
    result = CliRunner().invoke(app, ["config", "check", *map(str, words)])
    return result.exit_code, " ".join(result.output.split())


def test_configurations_that_can_be_used_are_named(mesh: MeshFolder) -> None:
    code, said = checked(mesh.folder)
    assert (code, said.count(": can be used")) == (0, 3)


@pytest.mark.parametrize(
    ("name", "table", "line", "fault"),
    [
        ("peer-1", "[crawl]", "delay_s = -3", ">= 0"),
        ("peer-1", "[crawl]", "no_such = 1", "unknown field `no_such`"),
        ("peer-1", "[crawl]", "delay_s = ", "Invalid"),
        ("bootstrap", "[member]", "no_such = 1", "unknown field `no_such`"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(
    mesh: MeshFolder, name: str, table: str, line: str, fault: str
) -> None:
    config = mesh.folder / name / "config.toml"
    lines = config.read_text(encoding="utf-8").splitlines()
    lines = [each for each in lines if not each.startswith("delay_s")]
    place = lines.index(table) + 1
    lines.insert(place, line)
    config.write_text("\n".join(lines) + "\n", encoding="utf-8")
    code, said = checked(config, mesh.folder / "peer-2")
    assert (code, said.count(": can be used")) == (1, 1)
    assert f"line {place + 1}" in said
    assert fault in said


def test_a_folder_without_configurations_is_no_folder_of_a_mesh(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name a file or a folder"):
        config_commands.check([tmp_path])
