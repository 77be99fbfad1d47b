"""Machines in network namespaces, each with an sshd of its own, which lets one key in. [io]"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.live.lab_process import wait_for
from tests.live.namespaces import SmallInternet, small_internet

SSHD: Final = "/usr/sbin/sshd"
PORT: Final = 22
SHARED_S: Final = 30  # for which a connection waits for more to be asked over it
_CONFIG: Final = """\
Port {port}
ListenAddress {address}
HostKey {folder}/host-key
AuthorizedKeysFile {folder}/key.pub
PidFile none
PasswordAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
MaxStartups 100
MaxSessions 100
SetEnv HOME={home}
"""


@dataclass(frozen=True, slots=True)
class SshMachine:
    """A machine that ssh reaches."""

    address: str
    home: Path


@dataclass(frozen=True, slots=True)
class SshMachines:
    """All of them, and what ssh needs to get there."""

    internet: SmallInternet
    machines: tuple[SshMachine, ...]
    ssh_options: tuple[str, ...]

    def inside(self, number: int) -> tuple[str, ...]:
        """What a command begins with that is to run on a machine, counted from 0."""
        return self.internet.peers[number].command


@contextmanager
def ssh_machines(folder: Path, count: int) -> Iterator[SshMachines]:
    """Make machines that see each other, and are seen from this one; all of it is gone afterwards."""
    if not Path(SSHD).exists() or shutil.which("ssh") is None:
        pytest.skip("no sshd and ssh on this machine: apt-get install openssh-server openssh-client")
    if os.getuid():
        pytest.skip("an sshd in a namespace is started by root")
    Path("/run/sshd").mkdir(exist_ok=True)  # where sshd locks itself in
    for name in ("host-key", "key"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
    known = folder / "known-hosts"
    with small_internet(count) as internet, tempfile.TemporaryDirectory(prefix="tianmesh-ssh-") as sockets:
        # A command asks each machine several times: only the first makes a connection.
        shared = ("ControlMaster=auto", f"ControlPath={sockets}/%C", f"ControlPersist={SHARED_S}")
        settings = (f"UserKnownHostsFile={known}", *shared)
        options = ("-i", str(folder / "key"), *(word for each in settings for word in ("-o", each)))
        machines = tuple(_machine(folder, number, internet) for number in range(count))
        public = (folder / "host-key.pub").read_text(encoding="utf-8")
        known.write_text("".join(f"{machine.address} {public}" for machine in machines), encoding="utf-8")
        try:
            yield SshMachines(internet, machines, options)
        finally:
            for machine in machines:
                words = ["ssh", *options, "-O", "exit", machine.address]
                subprocess.run(words, capture_output=True, check=False)  # where there is a connection


def _machine(folder: Path, number: int, internet: SmallInternet) -> SshMachine:
    # Its address towards this machine is the one that the others use, too: a lab has one network.
    place = internet.peers[number]
    home = folder / f"home-{number + 1}"
    home.mkdir()
    config = folder / f"sshd-{number + 1}"
    text = _CONFIG.format(port=PORT, address=place.gateway, folder=folder, home=home)
    config.write_text(text, encoding="utf-8")
    subprocess.run([*place.command, SSHD, "-f", str(config)], check=True)

    def answers() -> bool:
        words = ["ssh-keyscan", "-T", "1", "-p", str(PORT), place.gateway]
        return bool(subprocess.run(words, capture_output=True, check=False).stdout)

    wait_for(answers, f"sshd at {place.gateway}", 10.0)
    return SshMachine(place.gateway, home)
