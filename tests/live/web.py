"""Real documentation sites, served by nginx on loopback under their own host names. [io]

The sites are Debian packages, unpacked and not installed; the scripts that fetch and serve them lie in
`../shared/web`. The packages (31 MB) are fetched once into a cache folder of the user.
`TIANMESH_WEB_PACKAGES` names a folder that has them already, as `fetch_web.sh dev.packages FOLDER` makes it.

nginx listens on a port that needs no privileges. The URLs have none: the crawler's resolver table leads
`host:80` there, so that absolute links stay inside the served sites.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple, NoReturn
from urllib.parse import urlsplit

import pytest

from tests.live.access_log import Access, read_access_log
from tests.shared_data import shared

PACKAGES_VARIABLE: Final = "TIANMESH_WEB_PACKAGES"
PORT: Final = 8_099  # every host has an address of its own, so that one port does for all
NETS: Final = range(40, 200)  # 127.N.0.1 and following; another net for every served web
FETCH_S_MAX: Final = 300
DEV_HOSTS: Final = (
    "help-zh-cn.libreoffice.test",  # 2,600 pages
    "www.debian.org",  # 350
    "www.postgresql.org",  # 1,170
    "httpd.apache.org",  # 730
    "anarchism.pageabode.com",  # 140
)
SMALL_HOSTS: Final = ("www.debian.org", "anarchism.pageabode.com")  # 500 pages on 10 hosts when split
REFUSING_HOST: Final = "refusing.test"  # is in the resolver's table, but nothing listens there
GBK_HOST: Final = "gbk.debian.test"
TLS_PORT: Final = 8_443
SECOND_PORT: Final = 8_098  # of URLs too: the resolver's table leaves it as it is
# Instead of serve_web.py's, with the address of who asks and the port that was asked at the end.
_LOG_END: Final = '"$http_if_modified_since"'

_nets = count(os.getpid() * 37)  # apart from those of another test run


class WebPlace(NamedTuple):
    """Where a web is served instead of on loopback."""

    command: tuple[str, ...]  # put before the server's own command
    network: str  # "198.18.7.": the first three numbers of the hosts' addresses
    first: int  # the last number of the first host's address, less 1


@dataclass(frozen=True, slots=True)
class ServedWeb:
    """A web that is being served."""

    folder: Path
    seeds: list[str]  # without port
    addresses: dict[str, str]  # host to loopback address

    @property
    def resolver(self) -> Path:
        """The table for --resolver."""
        return self.folder / "resolver.json"

    @property
    def authority(self) -> Path:
        """Who has signed the certificate of a web with several origins."""
        return self.folder / "ca.pem"

    def accesses(self) -> list[Access]:
        """What nginx has answered so far, in the order of finishing."""
        return read_access_log(self.folder / "access.log")


def unavailable(reason: str) -> NoReturn:
    """Skip the test for what this machine lacks; under CI, where it must be there, fail."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def web_packages() -> Path:
    """The folder of the unpacked packages, fetched when they are not there yet."""
    named = os.environ.get(PACKAGES_VARIABLE)
    if named:
        return Path(named).resolve()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    packages = caches / "tianmesh-tests" / "web-packages"
    wanted = shared("web/dev.packages").read_text(encoding="utf-8").split()
    if all((packages / name).is_dir() for name in wanted):
        return packages
    if shutil.which("apt-get") is None:
        unavailable("no apt-get on this machine to fetch the pages of the test web with")
    packages.mkdir(parents=True, exist_ok=True)
    with (packages / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process of tests at a time
        if not all((packages / name).is_dir() for name in wanted):
            _fetch_into(packages)
    return packages


def _fetch_into(packages: Path) -> None:
    for half_unpacked in packages.glob("*.part"):  # by a run that was interrupted
        shutil.rmtree(half_unpacked)
    fetched = _fetch(packages)
    if fetched.returncode and os.geteuid() == 0:  # most likely the lists of packages are missing or old
        subprocess.run(["apt-get", "update", "-qq"], capture_output=True, timeout=FETCH_S_MAX, check=False)
        fetched = _fetch(packages)
    if fetched.returncode:
        unavailable(f"cannot fetch the packages of the test web: {fetched.stderr.strip()[-300:]}")


@contextmanager
def served_web(
    packages: Path,
    hosts: Collection[str] = DEV_HOSTS,
    *,
    nasty: bool = False,
    gbk: bool = False,
    is_split: bool = False,
    has_origins: bool = False,
    place: WebPlace | None = None,
) -> Iterator[ServedWeb]:
    """Serve these hosts of the dev web.

    Args:
      nasty: with the host of crawler traps, nasty.test.
      gbk: with GBK_HOST, whose pages are in GBK under the label gb2312, as old Chinese sites are.
      is_split: every site under a host of its own, which makes 15 of the five hosts.
      has_origins: every host also on https and on SECOND_PORT.
      place: where nginx runs; None on loopback.
    """
    if shutil.which("nginx") is None:
        unavailable("no nginx on this machine: apt-get install nginx-light")
    with tempfile.TemporaryDirectory(prefix="tianmesh-web-") as name:
        folder = Path(name)
        sites = _write_sites(folder, packages, hosts, is_split)
        if gbk:
            _add_gbk_host(folder, packages, sites)
        net = _free_net() if place is None else NETS[0]
        options = ["--port", str(PORT), "--net", str(net), "--access-log"]
        options += ["--nasty"] if nasty else []
        options += ["--tls", str(TLS_PORT)] if has_origins else []
        _serve_web("gen", str(sites), str(folder), *options)
        config = folder / "nginx.conf"
        text = config.read_text(encoding="utf-8")
        # The worker's own user may not read the temporary and the cache folder of ours.
        text = text.replace("user www-data;", "user root;").replace(
            _LOG_END, f"{_LOG_END} $remote_addr $server_port"
        )
        if has_origins:
            text = re.sub(rf"(listen [\d.]+:){PORT};", rf"\g<0> \g<1>{SECOND_PORT};", text)
        config.write_text(text, encoding="utf-8")
        if place is not None:
            _move(folder, net, place)
        _serve_web("start", str(folder), command=() if place is None else place.command)
        try:
            with _closed_port() as closed_port:
                yield _described(folder, closed_port)
        finally:
            _serve_web("stop", str(folder))


def _fetch(packages: Path) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(shared("web/fetch_web.sh")), str(shared("web/dev.packages")), str(packages)]
    return subprocess.run(command, capture_output=True, text=True, timeout=FETCH_S_MAX, check=False)


def _write_sites(folder: Path, packages: Path, hosts: Collection[str], is_split: bool) -> Path:
    """The list of sites for `serve_web.py`, one mount a line, of these hosts."""
    command = ["bash", str(shared("web/mkbench.sh")), str(packages)]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    lines = (folder / "sites.dev").read_text(encoding="utf-8").splitlines()
    chosen = [line for line in lines if line.split()[0] in hosts]
    if is_split:
        chosen = [_under_own_host(line, packages) for line in chosen]
    sites = folder / "sites"
    sites.write_text("\n".join(chosen) + "\n", encoding="utf-8")
    return sites


def _under_own_host(line: str, packages: Path) -> str:
    """The same site, under a host named after its last folder and its package."""
    _, directory, *options = line.split()
    folders = Path(directory).relative_to(packages).parts
    return " ".join([f"{folders[-1].lower()}.{folders[0]}.test", directory, *options])


def _move(folder: Path, net: int, place: WebPlace) -> None:
    """Give the hosts addresses of another network."""
    for name in ("nginx.conf", "resolver.json"):
        file = folder / name
        text = re.sub(
            rf"127\.{net}\.0\.(\d+)",
            lambda match: f"{place.network}{place.first + int(match[1])}",
            file.read_text(encoding="utf-8"),
        )
        file.write_text(text, encoding="utf-8")


def _add_gbk_host(folder: Path, packages: Path, sites: Path) -> None:
    source = packages / "debian-faq-zh-cn/usr/share/doc/debian/FAQ/zh-cn"
    script = shared("web/recode_site.py")
    command = [sys.executable, str(script), str(source), str(folder / "gbk"), "gbk", "gb2312"]
    subprocess.run(command, capture_output=True, check=True)
    with sites.open("a", encoding="utf-8") as file:
        file.write(f"{GBK_HOST} {folder / 'gbk'}\n")


def _free_net() -> int:
    for _ in NETS:
        net = NETS[next(_nets) % len(NETS)]
        try:
            with socket.socket() as probe:
                probe.bind((f"127.{net}.0.1", PORT))
        except OSError:
            continue
        return net
    unavailable("no free loopback address for nginx; this system may have only 127.0.0.1")


@contextmanager
def _closed_port() -> Iterator[int]:
    """A port at which nobody can listen, so that connections to it are refused."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def _serve_web(*arguments: str, command: Sequence[str] = ()) -> None:
    serve = [*command, sys.executable, str(shared("web/serve_web.py")), *arguments]
    done = subprocess.run(serve, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, f"serve_web.py {arguments[0]}: {done.stdout}{done.stderr}"


def _described(folder: Path, closed_port: int) -> ServedWeb:
    table = json.loads((folder / "resolver.json").read_text(encoding="utf-8"))
    seeds = (folder / "seeds.txt").read_text(encoding="utf-8").split()
    table |= {REFUSING_HOST: {"ip": "127.0.0.1", "http": closed_port, "https": None}}
    (folder / "resolver.json").write_text(json.dumps(table), encoding="utf-8")
    return ServedWeb(
        folder,
        [f"http://{urlsplit(seed).hostname}{urlsplit(seed).path}" for seed in seeds],
        {host: at["ip"] for host, at in table.items() if host != REFUSING_HOST},
    )
