"""What a person does wrong ends in one sentence that says what to do, and an exit code."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bootstrap.toml_edit import with_settings
from mesh.config import DoorConfig
from tests.live.lab_process import node, setting, tianmesh, with_free_ports

pytestmark = pytest.mark.live


@pytest.fixture
def peer(tmp_path: Path) -> Path:
    """The folder of a peer that could be started."""
    return _founded(tmp_path / "mesh")


def _founded(mesh: Path) -> Path:
    assert tianmesh("init", mesh).returncode == 0
    with_free_ports(mesh)
    return mesh / "peer-1"


def _refusal(code: int, *arguments: str | Path) -> str:
    """Run a command that must fail so; return the one sentence that it says."""
    done = tianmesh(*arguments)
    assert done.returncode == code, done.stderr
    said = done.stderr.strip().splitlines()
    assert len(said) == 1, done.stderr
    assert said[0].startswith("tianmesh: ")
    return said[0]


def _change(peer: Path, old: str, new: str) -> None:
    config = peer / "config.toml"
    text = config.read_text()
    assert old in text
    config.write_text(text.replace(old, new))


@contextmanager
def _port_in_use() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def _start(peer: Path) -> tuple[str | Path, ...]:
    return "peer", "--config", peer / "config.toml"


def test_unknown_key(peer: Path) -> None:
    _change(peer, "[gateway]", '[gateway]\ncolour = "red"')
    assert "colour" in _refusal(1, *_start(peer))


def test_value_of_the_wrong_type(peer: Path) -> None:
    _change(peer, "delay_s = 1.0", 'delay_s = "soon"')
    assert "delay_s" in _refusal(1, *_start(peer))


def test_value_out_of_its_range(peer: Path) -> None:
    _change(peer, "delay_s = 1.0", "delay_s = -1.0")
    assert "delay_s" in _refusal(1, *_start(peer))


def test_configuration_that_is_not_there(tmp_path: Path) -> None:
    assert "tianmesh init" in _refusal(1, "peer", "--config", tmp_path / "none.toml")


def test_key_file_that_is_not_there(peer: Path) -> None:
    (peer / "peer.key").unlink()
    assert "peer.key" in _refusal(1, *_start(peer))


def test_key_that_others_can_read(peer: Path) -> None:
    (peer / "peer.key").chmod(0o644)
    assert "chmod 600" in _refusal(1, *_start(peer))


def test_key_of_another_mesh(peer: Path, tmp_path: Path) -> None:
    other = _founded(tmp_path / "other")
    (peer / "peer.key").unlink()
    (other / "peer.key").rename(peer / "peer.key")
    assert "is not for this peer.key" in _refusal(1, *_start(peer))


def test_gateway_port_in_use(peer: Path) -> None:
    with _port_in_use() as port:
        _change(peer, "127.0.0.1:0", f"127.0.0.1:{port}")
        assert f"127.0.0.1:{port}" in _refusal(1, *_start(peer))


def test_inbox_port_in_use(peer: Path) -> None:
    with _port_in_use() as port:
        _change(peer, "inbox_port = 0", f"inbox_port = {port}")
        assert str(port) in _refusal(1, *_start(peer))


def test_door_of_another_mesh(peer: Path, tmp_path: Path) -> None:
    other = _founded(tmp_path / "other")
    with node("bootstrap", other.parent / "bootstrap" / "config.toml") as door:
        config = peer / "config.toml"
        doors = (DoorConfig(endpoint=door["door"], key=door["key"]),)
        config.write_text(with_settings(config.read_text(), {"member.doors": doors}, str(config)))
        assert "the mesh refused this peer" in _refusal(1, *_start(peer))


def test_data_folder_that_cannot_be_made(peer: Path) -> None:
    (peer / "data").write_text("a file where a folder should be")
    assert str(peer / "data") in _refusal(1, *_start(peer))


def test_lab_in_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    _refusal(
        2,
        "up",
        "http://a.test/",
        "--data",
        tmp_path / "data",
        *setting("gateway.listen", "127.0.0.1:0"),
        "--json",
    )


def test_lab_whose_gateway_port_is_in_use(tmp_path: Path) -> None:
    with _port_in_use() as port:
        options = [
            "--data",
            str(tmp_path / "mesh"),
            *setting("gateway.listen", f"127.0.0.1:{port}"),
            "--json",
        ]
        said = _refusal(1, "up", "http://a.test/", *options)
    assert f"peer-1 did not start: the gateway cannot listen on 127.0.0.1:{port}" in said


def test_search_where_no_gateway_is() -> None:
    with _port_in_use() as port:
        pass
    assert f"127.0.0.1:{port}" in _refusal(1, "search", "word", "--gateway", f"http://127.0.0.1:{port}")


def test_gateway_that_is_no_address() -> None:
    assert "http://host:port" in _refusal(2, "status", "--gateway", "nonsense")


def test_public_seeds_without_a_contact(tmp_path: Path) -> None:
    said = _refusal(2, "up", "https://www.debian.org/", "--data", tmp_path / "new")
    assert "--contact you@example.org" in said


def test_nothing_to_crawl(tmp_path: Path) -> None:
    assert "seed" in _refusal(2, "up", "--once", "--data", tmp_path / "new")


def test_seed_that_is_no_url(tmp_path: Path) -> None:
    assert "www.example.org" in _refusal(2, "up", "www.example.org", "--data", tmp_path / "new")


def test_seeds_file_that_is_not_there(tmp_path: Path) -> None:
    assert "none.txt" in _refusal(2, "up", "--seeds", tmp_path / "none.txt", "--data", tmp_path / "new")


def test_report_that_cannot_be_written(tmp_path: Path) -> None:
    report = tmp_path / "no" / "report.json"
    data = tmp_path / "new"
    assert str(report) in _refusal(2, "up", "http://a.test/", "--data", data, "--report", report)


def test_resolver_table_that_is_none(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    table.write_text("[]")
    options = ["--data", str(tmp_path / "new"), *setting("gateway.listen", "127.0.0.1:0"), "--json"]
    assert str(table) in _refusal(1, "up", "http://a.test/", *options, *setting("web.resolver", table))


@pytest.mark.parametrize(
    "arguments",
    [["--colour"], ["colour"], ["search"], ["up", "--peers", "none"], ["peer", "x"], ["demo", "x"]],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    done = tianmesh(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["up", "peer", "bootstrap", "init", "seed", "search", "status", "demo"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    done = tianmesh(command, "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout
