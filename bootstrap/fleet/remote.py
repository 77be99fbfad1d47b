"""Asks a machine of a lab something, by the system's ssh. [io]"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from bootstrap.fleet.inventory import Inventory, LabMachine
from mesh.errors import TianmeshError

CONNECT_S: Final = 10
ASK_S: Final = 60.0  # for most orders; an installation takes longer
STOP_S: Final = 150.0  # each node may take a minute
INSTALL_S: Final = 900.0
AGENT: Final = Path(__file__).with_name("agent.py")
SSH_FAILED: Final = 255  # what ssh ends with when it is ssh that failed
SHELL_FAILED: Final = (126, 127)  # what a shell ends with that finds no such command, POSIX 2.8.2


class MachineError(TianmeshError):
    """A machine cannot carry out an order; the text gives the reason and the remedy."""


class Carried(NamedTuple):
    """The end of a command on a machine: its exit code, and all that it printed."""

    code: int
    out: str
    err: str


class Remote:
    """One machine, at the other end of ssh."""

    def __init__(self, machine: LabMachine, inventory: Inventory) -> None:
        self.machine = machine
        self._command = inventory.command
        self._ssh = ssh_words(machine, inventory.ssh_options)
        self._agent = AGENT.read_text(encoding="utf-8")

    def ask(self, do: str, timeout_s: float = ASK_S, **details: object) -> dict[str, Any]:
        """Have the agent there carry out an order; return its answer.

        Raises:
          MachineError: it could not be reached, or it could not be done.
        """
        order = {"do": do, **details}
        program = f"{self._agent}\nmain(json.loads({json.dumps(json.dumps(order))}))\n"
        words = [*self._ssh, self.machine.python, "-"]
        try:
            done = subprocess.run(
                words, input=program, capture_output=True, text=True, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise MachineError(f"no answer within {timeout_s:.0f} s: is the machine overloaded?") from None
        except FileNotFoundError:
            raise MachineError("there is no ssh on this machine: install its client") from None
        if done.returncode:
            raise MachineError(why_failed(self.machine, done.returncode, done.stderr))
        try:
            answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            raise MachineError(f"an answer that is not understood: {done.stdout[-200:]!r}") from None
        if "error" in answer and do != "ask":
            raise MachineError(str(answer["error"]))
        return answer

    def ask_here(self, do: str, timeout_s: float = ASK_S, **details: object) -> dict[str, Any]:
        """Ask something about the folder of the lab there. Raises as `ask` does."""
        return self.ask(do, timeout_s, folder=self.machine.folder, **details)

    def ask_nodes(self, do: str, timeout_s: float = ASK_S, **details: object) -> dict[str, Any]:
        """Ask something for which tianmesh is needed there. Raises as `ask` does."""
        return self.ask_here(do, timeout_s, command=self._command, **details)

    def tianmesh(self, *words: str, given: str = "", timeout_s: float = ASK_S) -> str:
        """Run tianmesh there; return the output. `{folder}` in a word is that of the lab.

        Args:
          given: for its standard input.

        Raises:
          MachineError: it failed; with what it said.
        """
        done = self.carry_out(*words, given=given, timeout_s=timeout_s)
        if done.code:
            said = done.err.strip().splitlines() or [f"`tianmesh {words[0]}` failed"]
            raise MachineError(said[-1].removeprefix("tianmesh: "))
        return done.out

    def carry_out(self, *words: str, given: str = "", timeout_s: float = ASK_S) -> Carried:
        """Run tianmesh there, for a person to read all that it says, also when it fails.

        Raises:
          MachineError: it could not be run.
        """
        done = self.ask_nodes("call", timeout_s, words=words, given=given)
        return Carried(int(done["code"]), str(done["out"]), str(done["err"]))


def ssh_words(machine: LabMachine, options: Sequence[str]) -> list[str]:
    """Return the ssh command that runs the words after it on a machine, without ever asking a person."""
    words = ["ssh", "-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}", *options]
    words += ["-p", str(machine.port)] if machine.port else []
    return [*words, "--", f"{machine.user}@{machine.ssh}" if machine.user else machine.ssh]


def why_failed(machine: LabMachine, code: int, said: str) -> str:
    """Explain an error message of ssh, or of Python there, and give the remedy."""
    whom = f"{machine.user}@{machine.ssh}" if machine.user else machine.ssh
    port = f" -p {machine.port}" if machine.port else ""
    key = f"ssh needs a key that is known there: `ssh-copy-id{port} {whom}`"
    for sign, why in (
        ("Permission denied", key),
        ("Host key verification failed", f"its host key is not the known one: `ssh{port} {whom}` shows why"),
        ("Could not resolve hostname", f"{machine.ssh} resolves to nothing: correct `address` or `ssh`"),
        ("Connection refused", f"no sshd answers at {machine.ssh}: start it, or correct `port`"),
        ("timed out", f"no answer from {machine.ssh}: correct `address`, or let ssh through its firewall"),
        ("No route to host", f"no way to {machine.ssh}: correct `address`, or switch it on"),
        ("Network is unreachable", f"no way to {machine.ssh}: correct `address`"),
    ):
        if code == SSH_FAILED and sign in said:
            return why
    if code in SHELL_FAILED:
        return f"there is no {machine.python}: install Python 3.11 there, or name it in `python`"
    last = (said.strip().splitlines() or ["no reason given"])[-1]
    return f"{last} (exit code {code})"
