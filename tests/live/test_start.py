"""`tianmesh start`: the lines of the README by which a mesh is founded, and joined by a machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from bootstrap.toml_edit import with_settings
from tests.live.lab_process import COMMAND, START_S, tianmesh, wait_for
from tests.live.raw_web import RawWeb, answer, served
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.live

HOSTS: Final = tuple(f"host{number}.start.test" for number in range(24))  # some for each of two peers


def answer_to(host: str, path: str) -> bytes:
    if path == "/robots.txt":
        return answer(b"", status="404 Not Found")
    return answer(f"<title>{host}</title><p>All that {host} has to say.".encode(), "Content-Type: text/html")


def test_a_founder_and_a_machine_that_joins_are_started_by_their_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIANMESH_DATA", raising=False)
    port = _free_base()
    assert tianmesh("init", "mymesh", "--port", str(port)).returncode == 0
    gateway = f"http://127.0.0.1:{port + 617}"
    with served(answer_to) as web:
        _reach(Path("mymesh/peer-1/config.toml"), web)
        with started("mymesh") as founder:
            founder.wait_for_line(f"peer-1 runs: {gateway}")
            token = tianmesh("invite", "--data", "mymesh").stdout.strip()
            assert tianmesh("join", given=token).returncode == 0
            _reach(Path("tianmesh-data/config.toml"), web)
            with started() as joined:
                joined.wait_for_line("tianmesh-data runs: http://127.0.0.1:")
                seeds = [f"http://{host}/" for host in HOSTS]
                seeded = tianmesh("seed", *seeds, "--data", "mymesh", "--gateway", gateway)
                assert seeded.returncode == 0, seeded.stderr
                for pid in wait_for(lambda: _pids_of_two_that_crawl(gateway), "pages at both peers"):
                    os.kill(pid, signal.SIGKILL)
                founder.wait_for_line("peer-1 is there again")
                joined.wait_for_line("tianmesh-data is there again")
                assert joined.terminate() == 0
            assert founder.terminate() == 0
            assert "stopped, nothing is lost" in founder.said


def test_where_a_node_cannot_start_none_stays_and_the_exit_code_says_so(tmp_path: Path) -> None:
    port = _free_base()
    assert tianmesh("init", tmp_path / "mesh", "--port", str(port)).returncode == 0
    with socket.create_server(("127.0.0.1", port + 617)):
        done = tianmesh("start", tmp_path / "mesh")
    assert done.returncode == 1
    assert "peer-1 did not start: " in done.stderr
    assert done.stderr.count("\n") == 1
    for each in (port + 2, port + 12):  # nobody is left at the doors
        socket.create_server(("127.0.0.1", each)).close()


class Started:
    """A running `tianmesh start`."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def said(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def wait_for_line(self, line: str) -> None:
        def is_there() -> bool:
            assert self._process.poll() is None, self.said
            return line in self.said

        wait_for(is_there, f"line {line!r}", START_S)

    def terminate(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE_S)


@contextmanager
def started(*folder: str) -> Iterator[Started]:
    """Run `tianmesh start FOLDER`; its nodes end with it."""
    log = Path("-".join(["started", *folder]))
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*COMMAND, "start", *folder], stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield Started(process, log)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _pids_of_two_that_crawl(gateway: str) -> list[int]:
    """Of the peers, once both have pages."""
    status = tianmesh("status", "--gateway", gateway, "--data", "mymesh", "--json").stdout
    pids = [peer["pid"] for peer in json.loads(status)["peers"] if peer["pages_indexed"]]
    return pids if len(pids) == 2 else []


def _free_base() -> int:
    """A first port, from which on all that a mesh of one peer needs are free."""
    for base in range(20_000, 30_000, 50):
        try:
            for port in (*range(base, base + 13), base + 617):
                socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return base
    raise AssertionError("no ports are free")


def _reach(config: Path, web: RawWeb) -> None:
    """Have a peer crawl the web that a test serves."""
    resolver = web.write_resolver(config.parent, HOSTS)
    settings = {"web.resolver": str(resolver.resolve()), "web.allow_private": HOSTS, "crawl.delay_s": 0.0}
    config.write_text(with_settings(config.read_text(), settings, str(config)))
