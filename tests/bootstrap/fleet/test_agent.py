"""What is done on a machine, here on this one."""

from __future__ import annotations

import base64
import os
import socket
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bootstrap.fleet import agent
from tests.live.lab_process import wait_for
from tests.patience import PATIENCE_S

NODE = """#!/bin/sh
case "$1" in
  --version) echo tianmesh 9.9; exit;;
  peer) trap 'echo ended; exit 0' TERM; trap 'echo read again' HUP; echo begun; while :; do sleep 0.1; done;;
esac
"""


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """Something that runs as a node does."""
    file = tmp_path / "tianmesh"
    file.write_text(NODE, encoding="utf-8")
    file.chmod(0o755)
    return file


@pytest.fixture
def folder(tmp_path: Path, command: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """That of a machine with a peer, which does not run afterwards."""
    monkeypatch.setattr(agent, "_has_systemd", lambda: False)
    config = tmp_path / "lab" / "peer" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        '[mesh]\nname = "campus"\n\n[member]\nname = "mill"\n'
        'certificate = "92"\nlisten = "0.0.0.0"\nannounce = "10.0.0.1"\ninbox_port = 7430\n'
        'weight = 50\n\n[gateway]\n# where\nlisten = "127.0.0.1:8018"\n'
        '\n[crawl]\nname = "no"\ncontact = "li@a.test"\n',
        encoding="utf-8",
    )
    yield str(tmp_path / "lab")
    agent.do_stop(str(tmp_path / "lab"), str(command))


def test_a_machine_without_anything_says_so(tmp_path: Path) -> None:
    told = agent.do_facts(str(tmp_path / "none" / "below"), "", [])
    assert told["python"] == list(sys.version_info[:3])
    assert (told["version"], told["has"], told["running"], told["is_founder"]) == ("", [], [], False)
    assert isinstance(told["free_bytes"], int)


def test_a_machine_tells_the_settings_of_its_peer(folder: str, command: Path) -> None:
    told = agent.do_facts(folder, str(command), [])
    assert told["version"] == "9.9"
    assert told["has"] == ["peer"]
    assert told["settings"] == {
        "certificate": "92",
        "name": "mill",
        "announce": "10.0.0.1",
        "weight": "50",
        "inbox_port": "7430",
        "gateway": "127.0.0.1:8018",
        "contact": "li@a.test",
    }


def test_a_node_is_started_once_and_stopped_in_good_order(folder: str, command: Path) -> None:
    assert agent.do_start(folder, str(command)) == {"started": ["peer"]}
    assert agent.do_start(folder, str(command)) == {"started": []}
    assert agent.do_facts(folder, str(command), [])["running"] == ["peer"]
    wait_for(lambda: agent.do_logs(folder, 5) == {"lines": {"peer": ["begun"]}}, "first line of the log")
    assert agent.do_reload(folder) == {"reloaded": True}
    wait_for(lambda: agent.do_logs(folder, 1) == {"lines": {"peer": ["read again"]}}, "settings read again")
    assert agent.do_stop(folder, str(command)) == {"stopped": ["peer"]}
    assert agent.do_reload(folder) == {"reloaded": False}
    assert agent.do_stop(folder, str(command)) == {"stopped": []}
    assert agent.do_logs(folder, 1) == {"lines": {"peer": ["ended"]}}
    assert agent.do_facts(folder, str(command), [])["last_words"] == {
        "bootstrap": [],
        "peer": ["begun", "read again", "ended"],
    }


def test_a_process_that_has_the_number_of_a_dead_node_is_not_taken_for_it(folder: str, command: Path) -> None:
    os.makedirs(Path(folder) / "log")
    (Path(folder) / "log" / "peer.pid").write_text(str(os.getpid()), encoding="ascii")
    assert agent.do_facts(folder, str(command), [])["running"] == []


def test_a_port_is_reached_while_somebody_listens(tmp_path: Path) -> None:
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
        assert agent.do_facts(str(tmp_path), "", [port])["taken"] == [port]
        assert agent.do_listen([port]) == {"pid": 0}  # a node of ours has it
    begun = agent.do_listen([port])
    assert agent.do_reach([["127.0.0.1", port]]) == {"why": [""]}
    agent.do_listen_no_more(int(str(begun["pid"])))
    os.waitpid(int(str(begun["pid"])), 0)  # elsewhere it is no child of who ends it
    assert agent.do_reach([["127.0.0.1", port]]) == {"why": ["Connection refused"]}


def test_places_that_do_not_answer_are_waited_for_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(3)

    def connect(place: tuple[str, int], timeout: float) -> socket.socket:
        together.wait(PATIENCE_S)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", connect)
    places: list[list[object]] = [["192.0.2.1", port] for port in (1, 2, 3)]
    assert agent.do_reach(places) == {"why": ["no answer"] * 3}


def test_a_wheel_that_is_sent_along_is_installed(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path)
    done = agent.do_install(str(tmp_path / "lab"), sys.executable, "", "tianmesh-9.8-py3-none-any.whl", wheel)
    assert done == {"version": "9.8"}


def test_what_pip_does_not_find_is_told(tmp_path: Path) -> None:
    (tmp_path / "lab" / "venv" / "bin").mkdir(parents=True)
    pip = tmp_path / "lab" / "venv" / "bin" / "pip"
    pip.write_text("#!/bin/sh\necho ERROR: No matching distribution found >&2\nexit 1\n", encoding="utf-8")
    pip.chmod(0o755)
    done = agent.do_install(str(tmp_path / "lab"), sys.executable, "tianmesh==0", "", "")
    assert "No matching distribution" in str(done["error"])


def test_only_what_the_lab_has_made_is_removed(tmp_path: Path, folder: str) -> None:
    other = tmp_path / "photographs"
    other.mkdir()
    assert agent.do_remove(str(other)) == {"removed": False}
    assert other.is_dir()
    assert agent.do_remove(folder) == {"removed": True}
    assert not os.path.exists(folder)


def _wheel(folder: Path) -> str:
    """The smallest package with a command, base64."""
    path = folder / "made.whl"
    info = "tianmesh-9.8.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tianmesh_test.py", "def main():\n    print('tianmesh 9.8')\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tianmesh\nVersion: 9.8\n")
        tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{info}/WHEEL", tags)
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\ntianmesh = tianmesh_test:main\n")
        wheel.writestr(f"{info}/RECORD", "")
    return base64.b64encode(path.read_bytes()).decode()
