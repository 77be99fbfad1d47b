"""What a browser can still do, tried by a shell in its place, and by a real one."""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from peers.rendering.browser import Browser, command_of


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "peer.key"
    path.write_text("secret")
    return path


def outcome_of(code: str, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a line of shell as a browser is run; its descriptor 4 is the output."""
    if shutil.which("bash") is None:
        pytest.skip("no bash on this machine")
    command = [sys.executable, "-P", "-m", "peers.rendering.browser_process", folder, "/bin/bash", "-c", code]
    done = subprocess.run(
        [*map(str, command), "bash", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "TIANMESH_TOKEN": "secret"},
    )
    if done.stderr:
        pytest.skip(done.stderr)
    return done


@pytest.mark.parametrize(
    "code",
    [
        "cat $1 >&4",
        "ls $(dirname $1) >&4",
        "echo 0 > $1",
        "rm -f $1; test ! -e $1",
        "mv $1 $HOME/taken",
        "ln $1 $HOME/taken && cat $HOME/taken >&4",
        "cat /proc/$PPID/root$1 >&4",
        "cat /proc/$PPID/environ >&4",
        "echo made > $2/made",
        "env | grep secret >&4",
    ],
)
def test_a_browser_finds_no_key_and_writes_to_its_own_folder_only(
    key: Path, tmp_path_factory: pytest.TempPathFactory, code: str
) -> None:
    done = outcome_of(code, tmp_path_factory.mktemp("own"), key, tmp_path_factory.mktemp("other"))
    assert (done.returncode != 0, done.stdout) == (True, "")
    assert key.read_text() == "secret"


def test_a_browser_asks_no_network_and_stops_nobody(tmp_path: Path) -> None:
    if tuple(map(int, re.findall(r"\d+", platform.release())[:2])) < (6, 12):
        pytest.skip("Landlock of this kernel knows files only")
    assert outcome_of("kill -0 $PPID", tmp_path).returncode != 0
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        assert outcome_of("exec 5<>/dev/tcp/127.0.0.1/$1", tmp_path, port).returncode != 0
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_browser_has_a_folder_to_write_to_programs_and_privileges_that_do_not_grow(tmp_path: Path) -> None:
    done = outcome_of("cd $HOME && echo made > a && mv a b && cat b && grep NoNew /proc/$$/status", tmp_path)
    assert done.returncode == 0
    done = outcome_of("cat $HOME/b >&4; grep NoNew /proc/$$/status >&4; /usr/bin/env >&4", tmp_path)
    assert done.stdout.startswith("made\nNoNewPrivs:\t1\n")
    assert f"TMPDIR={tmp_path}\n" in done.stdout


@pytest.mark.live
async def test_chromium_itself_cannot_open_a_key(key: Path) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    outcome_of("true", key.parent)  # skips where files are not shut off
    browser = await Browser.start(command_of("chromium --no-sandbox"))  # as in `test_renderer`
    try:
        target = await browser.call("Target.createTarget", url="about:blank")
        attached = await browser.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        session = attached["sessionId"]
        said = await browser.call("Page.navigate", session, url=key.as_uri())
        assert said.get("errorText") == "net::ERR_ACCESS_DENIED"
    finally:
        await browser.end()
