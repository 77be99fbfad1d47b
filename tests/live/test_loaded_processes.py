"""A process that is forked from one with all modules is what one that is started anew would be."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import loaded_processes
from tests.live.lab_process import COMMAND, tianmesh, with_free_ports
from tests.live.loaded_processes import Order, Popen, Source

pytestmark = pytest.mark.live


def test_it_says_and_ends_as_one_that_is_started_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["peer", "--config", "nowhere"], ["no-such-command"]):
        anew = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)
        forked = tianmesh(*words)
        assert (forked.returncode, forked.stdout, forked.stderr) == (
            anew.returncode,
            anew.stdout,
            anew.stderr,
        )


def test_it_is_a_child_of_the_test_in_a_session_of_its_own(tmp_path: Path) -> None:
    assert tianmesh("init", tmp_path / "mesh").returncode == 0
    with_free_ports(tmp_path / "mesh")
    folder = tmp_path / "mesh" / "peer-1"
    command = [*COMMAND, "peer", "--while-stdin", "--config", str(folder)]
    with Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"{")
        assert os.getsid(process.pid) == process.pid
        assert f"PPid:\t{os.getpid()}\n" in Path(f"/proc/{process.pid}/status").read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0


def test_what_is_no_usual_command_is_started_anew() -> None:
    with Popen([sys.executable, "-c", "print(1)"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b"1\n"


def test_a_source_that_ends_or_answers_too_late_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of a child that came too late would be taken for that of the next one."""
    ours, theirs = socket.socketpair()
    source = Source(ours)
    monkeypatch.setattr(loaded_processes, "_sources", [source])
    theirs.close()
    with pytest.raises((EOFError, OSError)):
        source.begin(Order(["peers.cli"], "/", {}, False, ""), (0, 1, 2))
    assert loaded_processes._sources == []
