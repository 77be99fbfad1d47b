"""`tianmesh lab`: machines with an sshd each become a mesh by one command, and one that cannot is named.

One of them lets nothing in but ssh, as behind a router: it is a member over the relay of the first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from http.server import HTTPServer
from pathlib import Path
from typing import Any

import pytest

from mesh.keys.certificate import peer_in
from tests.live.lab_process import tianmesh, wait_for
from tests.live.ssh_machines import PORT, SshMachines, ssh_machines
from tests.mesh.client.test_gateway_client import Gateway, pinned_url, server

__all__ = ["server"]  # the fixture
pytestmark = pytest.mark.live

COMMAND = Path(sys.executable).with_name("tianmesh")
NOWHERE = "192.0.2.1"  # RFC 5737: of no machine
HIDDEN = 3  # the place of c


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[SshMachines]:
    with ssh_machines(tmp_path, 3) as machines:
        machines.internet.hide(HIDDEN, "web", but=PORT)
        yield machines


def test_machines_become_a_mesh_and_one_that_cannot_is_named(
    machines: SshMachines, tmp_path: Path, server: HTTPServer
) -> None:
    lab = _Lab(tmp_path / "lab.toml", machines)
    launched = lab.ask("launch", lab.file, fails=True)
    assert [launched[name]["state"] for name in ("a", "b", "c", "nowhere")] == ["new", "new", "new", "failed"]
    assert NOWHERE in launched["nowhere"]["said"]
    assert launched["b"]["said"] == ""
    assert launched["c"]["said"].startswith("over the relay of a: ")
    pids = lab.pids()

    again = lab.ask("launch", lab.file, fails=True)
    assert [again[name]["state"] for name in ("a", "b", "c")] == ["unchanged"] * 3
    assert lab.pids() == pids
    for number in range(3):  # keys were made where they are, the root's on the first machine alone
        home = machines.machines[number].home / "tianmesh"
        assert (home / "peer" / "peer.key").stat().st_mode & 0o777 == 0o600
        assert (home / "mesh" / "root.key").exists() == (number == 0)
    assert not list(tmp_path.glob("*.key"))

    paused = tianmesh("lab", "pause", "www.example.org", "-i", lab.file)
    assert paused.returncode == 0, paused.stderr
    assert "www.example.org" in tianmesh("lab", "policy", "show", "-i", lab.file).stdout

    _check_settings_and_backups(lab, machines)
    _check_https(lab, server)

    assert lab.ask("stop", "b")["b"]["state"] == "stopped"
    standing = lab.ask("status", "a", "b", fails=True)
    assert standing["b"]["state"] == "down"
    assert "tianmesh lab start b" in standing["b"]["said"]
    assert lab.ask("start", "rest")["b"]["state"] == "started"
    assert lab.ask("upgrade", "a", "b", "c")["c"]["state"] == "upgraded"
    assert not lab.pids() & pids

    assert lab.ask("remove", "c", "--yes")["c"]["state"] == "removed"
    assert not (machines.machines[2].home / "tianmesh").exists()
    assert lab.ask("status", "a", "b")["b"]["state"] == "ready"
    assert lab.ask("launch", lab.file, fails=True)["c"]["state"] == "new"
    config = (machines.machines[2].home / "tianmesh" / "peer" / "config.toml").read_text()
    assert config.count("endpoint = ") >= 3  # the doors of the first machine and of a and b
    refused = tianmesh("lab", "remove", "a", "--yes", "-i", lab.file)
    assert "a has the root key" in refused.stderr

    peer = peer_in(tomllib.loads(config)["member"]["certificate"])
    expelled = tianmesh("lab", "expel", peer, "--reason", "it was stolen", "-i", lab.file)
    assert expelled.returncode == 0, expelled.stderr
    wait_for(lambda: lab.ask("status", "c", fails=True)["c"]["state"] == "expelled", "the end of c")


def _check_settings_and_backups(lab: _Lab, machines: SshMachines) -> None:
    homes = [machine.home for machine in machines.machines[:2]]

    def told_by(text: str) -> list[bool]:
        return [text in (home / "tianmesh" / "peer" / "config.toml").read_text() for home in homes]

    counted = lab.ask("config", "set", "gateway.client_queries_per_s", "17.0", "a", "b")
    assert [counted[name]["said"] for name in "ab"] == ["counts now"] * 2
    later = lab.ask("config", "set", "crawl.delay_s", "2.5", "a")
    assert "tianmesh lab restart a" in later["a"]["said"]
    assert (told_by("client_queries_per_s = 17"), told_by("delay_s = 2.5")) == ([True, True], [True, False])
    assert lab.ask("config", "set", "crawl.delay_s", "2.5", "a")["a"]["state"] == "unchanged"
    refused = lab.ask("config", "set", "crawl.no_such", "1", "a", fails=True)
    assert (refused["a"]["state"], "no_such" in refused["a"]["said"]) == ("failed", True)

    saved = lab.ask("backup", "saved", "a", "b")
    assert [saved[name]["state"] for name in "ab"] == ["saved"] * 2
    for home in homes:
        assert (home / "saved" / "peer" / "manifest.json").exists()
    assert [(home / "saved" / "mesh").exists() for home in homes] == [True, False]
    for name in "ab":
        shown = tianmesh("lab", "logs", name, "--lines", "200", "-i", lab.file).stdout
        assert "those of the gateway count now" in shown
    there = {**os.environ, "HOME": str(homes[1])}
    command = [str(COMMAND), "backup", "saved/peer", "--json"]
    again = subprocess.run(command, cwd=homes[1], env=there, capture_output=True, text=True, check=True)
    assert json.loads(again.stdout)["number"] == 2


def _check_https(lab: _Lab, server: HTTPServer) -> None:
    """A machine is reached at its `url` by the certificate that stands there, and by no other."""
    Gateway.answers["/readyz"] = (200, b'{"status": "ready", "waits_for": []}')
    text, url = lab.file.read_text(), pinned_url(server)
    for pinned, state in ((url, "ready"), (f"{url[:-64]}{'0' * 64}", "unreached")):
        lab.file.write_text(text.replace('name = "b"\n', f'name = "b"\nurl = "{pinned}"\n'))
        standing = lab.ask("status", "b")["b"]
        assert (standing["state"], standing["gateway"]) == (state, pinned)
        assert (url[-64:] in standing["said"]) == (state == "unreached")
    lab.file.write_text(text)


class _Lab:
    """An inventory of the machines, and of one that is nowhere."""

    def __init__(self, file: Path, machines: SshMachines) -> None:
        self.file = file
        self._homes = [machine.home for machine in machines.machines]
        options = [*machines.ssh_options, "-o", "ConnectTimeout=2"]
        lines = [
            'name = "lab"',
            "relays = 1",
            f'command = "{COMMAND}"',
            f"ssh_options = {json.dumps(options)}",
        ]
        lines += ["[defaults]", 'user = "root"']
        named = [(name, machine.address) for name, machine in zip("abc", machines.machines, strict=True)]
        for name, address in (*named, ("nowhere", NOWHERE)):
            group = "first" if name == "a" else "rest"
            lines += ["[[machines]]", f'name = "{name}"', f'address = "{address}"', f'group = "{group}"']
        file.write_text("\n".join(lines), encoding="utf-8")

    def ask(self, command: str, *words: str | Path, fails: bool = False) -> dict[str, Any]:
        """What a command says, by machine."""
        where = () if command == "launch" else ("-i", self.file)
        done = tianmesh("lab", command, *words, *where, "--json")
        assert done.stdout, done.stderr
        said = {each["name"]: each for each in json.loads(done.stdout)}
        if not fails:
            said.pop("nowhere", None)
        failed = ("failed", "down", "expelled", "unreached")
        is_failed = any(each["state"] in failed for each in json.loads(done.stdout))
        assert done.returncode == is_failed, done.stderr
        return said

    def pids(self) -> set[int]:
        """The processes of all nodes, as they were started."""
        files = [file for home in self._homes for file in home.glob("tianmesh/log/*.pid")]
        return {int(file.read_text(encoding="ascii")) for file in files}
