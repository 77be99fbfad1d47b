"""A node as a process: the line that says it is ready, signals, exit codes, one sentence on errors."""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from mesh.errors import ConfigError, StorageError
from mesh.process.process import first_error
from tests.patience import PATIENCE_S

PROGRAM = """
import os, sys, trio
from mesh.errors import ConfigError, StorageError
from mesh.process.process import reloading, run_node

async def main(stop, tell):
    how = sys.argv[1]
    if how == "wrong":
        raise ConfigError("choose another port")
    if how == "late":
        tell({"id": "x"})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            nursery.start_soon(trio.sleep_forever)
    if how == "bug":
        raise ZeroDivisionError("a bug")
    if how == "writes":
        os.mkdir(os.path.join(sys.argv[2], "folder"))
        open(os.path.join(sys.argv[2], "file"), "w").close()
        return
    if how == "reloads":
        async with reloading(reload):
            tell({"id": "x"})
            await stop.wait()
        return
    tell({"id": "x"})
    await stop.wait()
    if how == "stuck":
        print("stopping", flush=True)
        await trio.sleep_forever()

times = []

def reload():
    times.append(1)
    print("reloaded", flush=True)
    if len(times) == 1:
        raise ConfigError("a setting is wrong")

async def fail():
    raise StorageError("the disk is full")

sys.exit(run_node(main, while_stdin=sys.argv[2] == "stdin", verbose=False))
"""


def started(how: str, watch: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, how, watch],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )


def stream(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_node_says_that_it_is_ready_and_ends_cleanly_when_told_to(how: signal.Signals) -> None:
    with started("well") as process:
        assert json.loads(stream(process.stdout).readline()) == {"pid": process.pid, "id": "x"}
        process.send_signal(how)
        assert process.wait(PATIENCE_S) == 0
        assert stream(process.stderr).read() == ""


def test_a_second_signal_ends_at_once() -> None:
    with started("stuck") as process:
        stream(process.stdout).readline()
        process.send_signal(signal.SIGINT)
        assert stream(process.stdout).readline() == "stopping\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 1


def test_hangup_has_the_settings_read_again_and_what_is_wrong_is_said() -> None:
    with started("reloads") as process:
        stream(process.stdout).readline()
        for _ in range(2):
            process.send_signal(signal.SIGHUP)
            assert stream(process.stdout).readline() == "reloaded\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
        assert "settings not read again: a setting is wrong" in stream(process.stderr).read()


def test_hangup_does_not_end_a_node_that_reads_nothing_again() -> None:
    with started("well") as process:
        stream(process.stdout).readline()
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0


def test_service_manager_hears_that_a_node_is_ready_alive_and_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "manager"))
    monkeypatch.setenv("WATCHDOG_USEC", "30000")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "manager"))
        manager.settimeout(PATIENCE_S)
        with started("well") as process:
            stream(process.stdout).readline()
            heard = {manager.recv(1_000) for _ in range(10)}
            assert heard == {b"READY=1\nSTATUS=id=x", b"WATCHDOG=1"}
            process.send_signal(signal.SIGTERM)
            while manager.recv(1_000) != b"STOPPING=1":
                pass
            assert process.wait(PATIENCE_S) == 0


def test_a_node_ends_with_its_standard_input_if_asked_to() -> None:
    with started("well", "stdin") as process:
        stream(process.stdout).readline()
        stream(process.stdin).close()
        assert process.wait(PATIENCE_S) == 0


def test_a_node_outlives_its_standard_input_otherwise() -> None:
    with started("well") as process:
        stream(process.stdout).readline()
        stream(process.stdin).close()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize(
    ("how", "sentence"), [("wrong", "choose another port"), ("late", "the disk is full")]
)
def test_what_is_wrong_is_one_sentence_and_exit_code_1(how: str, sentence: str) -> None:
    with started(how) as process:
        assert process.wait(PATIENCE_S) == 1
        assert stream(process.stderr).read() == f"tianmesh: {sentence}\n"


def test_a_log_on_a_full_disk_changes_no_exit_code_and_shows_no_traceback() -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, "late", ""],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=full,
            timeout=PATIENCE_S,
            check=False,
            cwd=Path(__file__).parents[3],
        )
    assert ended.returncode == 1  # 120 were Python's own, for what it could not flush


def test_a_bug_shows_its_traceback() -> None:
    with started("bug") as process:
        assert process.wait(PATIENCE_S) == 1
        assert "ZeroDivisionError: a bug" in stream(process.stderr).read()


def test_the_first_of_several_errors_is_told() -> None:
    inner = BaseExceptionGroup("", [ConfigError("first"), StorageError("second")])
    group: Any = BaseExceptionGroup("", [inner, StorageError("third")])
    assert str(first_error(group)) == "first"


def test_what_a_node_writes_is_for_its_user_alone(tmp_path: Path) -> None:
    with started("writes", str(tmp_path)) as process:
        assert process.wait(PATIENCE_S) == 0
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"folder": 0o700, "file": 0o600}
