"""Asking a machine by ssh: the words, and what its failures mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootstrap.fleet.crew import Crew
from bootstrap.fleet.inventory import Inventory, LabMachine
from bootstrap.fleet.remote import MachineError, Remote, ssh_words, why_failed

MACHINE = LabMachine(
    name="mill", address="10.0.0.1", ssh="mill", user="li", port=2222, python="python3", folder="t"
)


def test_ssh_is_asked_never_to_ask_a_person() -> None:
    words = ssh_words(MACHINE, ["-i", "lab.key"])
    assert words[0] == "ssh"
    assert "BatchMode=yes" in words
    assert words[-5:] == ["lab.key", "-p", "2222", "--", "li@mill"]


@pytest.mark.parametrize(
    ("code", "said", "meant"),
    [
        (255, "li@mill: Permission denied (publickey).", "ssh-copy-id -p 2222 li@mill"),
        (255, "Host key verification failed.", "ssh -p 2222 li@mill"),
        (255, "ssh: Could not resolve hostname mill: Name or service not known", "resolves to nothing"),
        (255, "ssh: connect to host mill port 22: Connection refused", "no sshd answers"),
        (255, "ssh: connect to host mill port 22: Connection timed out", "firewall"),
        (255, "ssh: connect to host mill port 22: No route to host", "correct `address`"),
        (127, "bash: line 1: python3: command not found", "install Python 3.11"),
        (1, "MemoryError", "MemoryError (exit code 1)"),
        (1, "", "no reason given"),
    ],
)
def test_a_failure_says_what_to_do(code: int, said: str, meant: str) -> None:
    assert meant in why_failed(MACHINE, code, said)


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    """A machine whose ssh runs everything here."""
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift 2\nexec "$@"\n', encoding="utf-8")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    return Remote(MACHINE, Inventory(name="lab", machines=(MACHINE,), command="/bin/echo"))


def test_the_agent_is_sent_along_and_answers(local: Remote) -> None:
    told = local.ask_nodes("facts", ports=[])
    assert told["has"] == []
    assert local.ask("run", words="echo $HOME; exit 3")["code"] == 3


def test_what_tianmesh_prints_comes_back_and_what_it_is_given_is_no_argument(local: Remote) -> None:
    assert local.tianmesh("join", "-", "--folder", "{folder}/peer") == "join - --folder t/peer\n"


def test_a_command_that_fails_says_why(local: Remote) -> None:
    failing = Remote(MACHINE, Inventory(name="lab", machines=(MACHINE,), command="/bin/false"))
    with pytest.raises(MachineError, match="`tianmesh init` failed"):
        failing.tianmesh("init")


def test_an_agent_that_breaks_down_says_its_last_line(local: Remote) -> None:
    with pytest.raises(MachineError, match="KeyError: 'do_nothing'"):
        local.ask("nothing")


def test_who_fails_is_asked_no_more_and_the_others_go_on(local: Remote) -> None:
    machines = [MACHINE, LabMachine(name="well", address="10.0.0.2", ssh="well", python="no-python")]
    noted: list[tuple[str, str]] = []
    crew = Crew(machines, Inventory(name="lab", machines=tuple(machines)), lambda *told: noted.append(told))
    told = crew.each("looking", lambda remote: remote.ask("run", words="pwd")["code"])
    assert told == {"mill": 0}
    assert crew.left == ["mill"]
    assert "install Python 3.11" in crew.failed["well"]
    assert ("mill", "looking") in noted
    assert crew.each("again", lambda remote: remote.machine.name) == {"mill": "mill"}
