"""A small internet of network namespaces: peers with real links between them, which can be cut. [io]

Every peer has a namespace with two links: one to the mesh, over which peers talk to each other, and one to
the web, where the web server is and from where the test asks the gateways. A partition cuts links of the
mesh only, so that every peer goes on reaching the web: then it must not fetch because it knows that it must
not, and not because it cannot.

        hub:  bridge side-0  bridge side-1 ...      bridge web -- addresses of the web server -- root
                 |      |           |                |   |   |
              peer-1 peer-2       peer-3          peer-1 ... peer-3

Each side of a partition is a bridge: a link moves from one to another, and what was sent between them gets
lost without a word, as in a network that has failed. Addresses are of 198.18.0.0/15 (RFC 2544, for tests of
networks), and another /24 for every small internet. Whatever the end, all namespaces are deleted, and
with them all links; those that a killed test run left behind are deleted by the next one.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from peers.options import TOKEN_IN_CLEAR
from tests.live.place import Place
from tests.live.web import WebPlace

PEERS_MAX: Final = 32
WEB_HOSTS_MAX: Final = 64
_PREFIX: Final = "tianmesh-test"
_WEB: Final = 128  # last byte of the web's own network
_ROOT: Final = 254
_numbers = count(os.getpid() * 37)  # apart from those of another test run


class SmallInternet:
    """The places of some peers and of a web server, and the links between them."""

    def __init__(self, name: str, network: str, peers: int) -> None:
        self._name = name
        self._network = network
        self._hub = f"{name}-hub"
        self._sides = 1
        self.peers = [self._place(number) for number in range(1, peers + 1)]
        self.web = WebPlace(_inside(self._hub), f"{network}.", _WEB)

    @property
    def root_link(self) -> str:
        """The link between the web and this machine."""
        return "tmt-" + self._network.removeprefix("198.")  # 15 characters at most

    def split(self, *sides: Sequence[int]) -> None:
        """Let only those peers talk to each other, counted from 1, that are on the same side."""
        assert sorted(number for side in sides for number in side) == list(range(1, len(self.peers) + 1))
        while self._sides < len(sides):
            self._add_bridge(self._sides)
            self._sides += 1
        for index, side in enumerate(sides):
            for number in side:
                _ip("-n", self._hub, "link", "set", f"mesh-{number}", "master", f"side-{index}")

    def heal(self) -> None:
        """Let all peers talk to each other."""
        self.split(range(1, len(self.peers) + 1))

    def cut(self, source: int, target: int) -> None:
        """Lose what `source` sends to `target`, in this direction only."""
        _ip("-n", self._of(source), "route", "add", "blackhole", f"{self.peers[target - 1].listen}/32")

    def mend(self, source: int, target: int) -> None:
        """Undo `cut`."""
        _ip("-n", self._of(source), "route", "del", "blackhole", f"{self.peers[target - 1].listen}/32")

    def shut(self, number: int) -> None:
        """Let nothing in of the mesh that a peer has not asked for, as a firewall or a router does."""
        inside = _inside(self._of(number))
        listening = subprocess.run([*inside, "ss", "-Hltn"], capture_output=True, text=True, check=True)
        ports = {line.split()[3].rpartition(":")[2] for line in listening.stdout.splitlines()}
        self._make_firewall(number, f"iifname mesh tcp dport {{ {', '.join(sorted(ports))} }} drop")

    def hide(self, number: int, link: str = "mesh", but: int = 0) -> None:
        """Let no connection of the mesh in, as a router does that translates addresses.

        Args:
          link: over which the others are, "mesh" or "web".
          but: a port that is passed on nevertheless.
        """
        self._make_firewall(number, f"iifname {link} tcp dport != {but} tcp flags & (syn | ack) == syn drop")

    def open(self, number: int) -> None:
        """Undo `shut` or `hide`."""
        command = [*_inside(self._of(number)), "nft", "delete table inet firewall"]
        subprocess.run(command, check=True, capture_output=True)

    def worsen(self, number: int, *netem: str) -> None:
        """Give what a peer sends to the mesh these faults of `tc netem`, such as "loss", "30%".

        Raises:
          subprocess.CalledProcessError: the kernel has no netem; see `has_netem`.
        """
        link = ["tc", "-n", self._of(number), "qdisc", "replace", "dev", "mesh", "root", "netem"]
        subprocess.run([*link, *netem], check=True, capture_output=True)

    def build(self) -> None:
        _ip("netns", "add", self._hub)
        _ip("-n", self._hub, "link", "set", "lo", "up")
        self._add_bridge(0)
        _ip("-n", self._hub, "link", "add", "web", "type", "bridge")
        _ip("-n", self._hub, "link", "set", "web", "up")
        for host in range(1, WEB_HOSTS_MAX + 1):
            _ip("-n", self._hub, "address", "add", f"{self._network}.{_WEB + host}/25", "dev", "web")
        _ip("link", "add", self.root_link, "type", "veth", "peer", "name", "root", "netns", self._hub)
        _ip("-n", self._hub, "link", "set", "root", "master", "web", "up")
        _ip("address", "add", f"{self._network}.{_ROOT}/25", "dev", self.root_link)
        _ip("link", "set", self.root_link, "up")
        for number in range(1, len(self.peers) + 1):
            self._add_peer(number)

    def remove(self) -> None:
        subprocess.run(["ip", "link", "delete", self.root_link], capture_output=True, check=False)
        remove_namespaces(self._name)

    def _make_firewall(self, number: int, rule: str) -> None:
        for command in (
            "add table inet firewall",
            "add chain inet firewall in { type filter hook input priority 0; }",
            f"add rule inet firewall in {rule}",
        ):
            subprocess.run([*_inside(self._of(number)), "nft", command], check=True, capture_output=True)

    def _place(self, number: int) -> Place:
        return Place(
            command=_inside(self._of(number)),
            listen=f"{self._network}.{number}",
            gateway=f"{self._network}.{_WEB + WEB_HOSTS_MAX + number}",
        )

    def _add_bridge(self, index: int) -> None:
        _ip("-n", self._hub, "link", "add", f"side-{index}", "type", "bridge")
        _ip("-n", self._hub, "link", "set", f"side-{index}", "up")

    def _add_peer(self, number: int) -> None:
        inside, place = self._of(number), self.peers[number - 1]
        _ip("netns", "add", inside)
        _ip("-n", inside, "link", "set", "lo", "up")
        for link, bridge, address in (("mesh", "side-0", place.listen), ("web", "web", place.gateway)):
            hub_end = f"{link}-{number}"
            _ip(
                "-n", self._hub, "link", "add", hub_end, "type", "veth", "peer", "name", link, "netns", inside
            )
            _ip("-n", self._hub, "link", "set", hub_end, "master", bridge, "up")
            _ip("-n", inside, "address", "add", f"{address}/25", "dev", link)
            _ip("-n", inside, "link", "set", link, "up")

    def _of(self, number: int) -> str:
        return f"{self._name}-peer-{number}"


@contextmanager
def small_internet(peers: int) -> Iterator[SmallInternet]:
    """Build one, and remove it with all that still runs in it.

    Commands may show their tokens in it: whoever is on its ways is the test's own.
    """
    assert 1 <= peers <= PEERS_MAX
    if why := why_impossible():
        pytest.skip(why)
    _remove_left_behind()
    internet = _free_internet(peers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(TOKEN_IN_CLEAR, "1")
        try:
            internet.build()
            yield internet
        finally:
            internet.remove()


def has_netem() -> bool:
    """Whether this kernel can make a link slow and lossy."""
    name = f"{_PREFIX}-{os.getpid()}-netem"
    _ip("netns", "add", name)
    try:
        command = ["tc", "-n", name, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    finally:
        remove_namespaces(name)


def namespaces() -> list[str]:
    """The names of all on this machine."""
    return [line.split()[0] for line in _ip("netns", "list").splitlines() if line.strip()]


def remove_namespaces(prefix: str) -> None:
    """Kill what runs in these namespaces and delete them; each is tried, whatever happens to the others."""
    for name in namespaces():
        if name == prefix or name.startswith(f"{prefix}-"):
            pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
            for pid in pids.stdout.split():  # none when another test run has deleted it meanwhile
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    continue
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def _free_internet(peers: int) -> SmallInternet:
    """One whose network no other test run on this machine uses."""
    links = _ip("-brief", "link")
    for _ in range(256):
        number = next(_numbers)
        internet = SmallInternet(f"{_PREFIX}-{os.getpid()}-{number}", f"198.18.{number % 256}", peers)
        if f"{internet.root_link}@" not in links:
            return internet
    raise AssertionError("256 small internets at once")


def why_impossible() -> str:
    """Why this user of this machine cannot have network namespaces; "" if he can."""
    if sys.platform != "linux":
        return "network namespaces are of Linux"
    probe = f"{_PREFIX}-{os.getpid()}-probe"
    try:
        added = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "no command `ip` on this machine: apt-get install iproute2"
    if added.returncode:
        return f"no network namespaces for this user: {added.stderr.strip()}"
    subprocess.run(["ip", "netns", "delete", probe], capture_output=True, check=True)
    return ""


def _remove_left_behind() -> None:
    """Delete the namespaces of test runs that were killed."""
    for name in namespaces():
        match = re.fullmatch(rf"({_PREFIX}-(\d+)-\d+)-.*", name)
        if match is not None and not Path(f"/proc/{match[2]}").exists():
            remove_namespaces(match[1])


def _inside(namespace: str) -> tuple[str, ...]:
    return "ip", "netns", "exec", namespace


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"
    return done.stdout
