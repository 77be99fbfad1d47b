"""Web sites served by nginx on loopback, or in a network namespace, each under its own host name. [io]

nginx listens on a port that needs no privileges. The URLs have none: the crawler's resolver table leads
`host:80` there, so that absolute links stay inside the served sites.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import pytest
import trustme

from tests.live.access_log import Access, read_access_log
from tests.live.sites import Site, demo_sites
from tests.patience import PATIENCE_S

PORT: Final = 8_099  # every host has an address of its own, so that one port does for all
TLS_PORT: Final = 8_443
SECOND_PORT: Final = 8_098  # of URLs too: the resolver's table leaves it as it is
NETS: Final = range(40, 200)  # 127.N.0.1 and following; another net for every served web
REFUSING_HOST: Final = "refusing.test"  # is in the resolver's table, but nothing listens there

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
    addresses: dict[str, str]  # host to address

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

    def seeds_of(self, hosts: Collection[str]) -> list[str]:
        """The seeds on these hosts."""
        return [seed for seed in self.seeds if seed.split("/")[2] in hosts]


def unavailable(reason: str) -> NoReturn:
    """Skip the test for what this machine cannot do; under CI, where it must, fail."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def served_web(
    sites: Sequence[Site] | None = None, *, has_origins: bool = False, place: WebPlace | None = None
) -> Iterator[ServedWeb]:
    """Serve these sites.

    Args:
      sites: the demo web by default.
      has_origins: every host also on https and on SECOND_PORT.
      place: where nginx runs; None on loopback.
    """
    if shutil.which("nginx") is None:
        unavailable("no nginx on this machine: apt-get install nginx-light")
    sites = demo_sites() if sites is None else sites
    network, first = (f"127.{_free_net()}.0.", 0) if place is None else (place.network, place.first)
    addresses = {site.host: f"{network}{first + n}" for n, site in enumerate(sites, 1)}
    with tempfile.TemporaryDirectory(prefix="tianmesh-web-") as name, ExitStack() as stack:
        folder = Path(name)
        if has_origins:
            _write_certificate(folder, list(addresses))
        _write_configuration(folder, sites, addresses, has_origins)
        closed_port = stack.enter_context(_closed_port())
        table = {
            host: {"ip": ip, "http": PORT, "https": TLS_PORT if has_origins else None}
            for host, ip in addresses.items()
        }
        table |= {REFUSING_HOST: {"ip": "127.0.0.1", "http": closed_port, "https": None}}
        (folder / "resolver.json").write_text(json.dumps(table), encoding="utf-8")
        stack.enter_context(_nginx(folder, () if place is None else place.command))
        seeds = [f"http://{site.host}{path}" for site in sites for path in site.seeds]
        yield ServedWeb(folder, seeds, addresses)


def _write_certificate(folder: Path, hosts: Sequence[str]) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    authority.issue_cert(*hosts).private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")


def _write_configuration(
    folder: Path, sites: Sequence[Site], addresses: Mapping[str, str], has_origins: bool
) -> None:
    servers = "".join(_server(folder, site, addresses[site.host], has_origins) for site in sites)
    # The worker's own user may not read the temporary folder of ours.
    user = "user root;" if os.geteuid() == 0 else ""
    temporary = "".join(
        f"  {kind}_temp_path {folder}/tmp-{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    certificate = f"ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.pem;"
    (folder / "nginx.conf").write_text(
        f"""{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 4096; }}
http {{
  include /etc/nginx/mime.types;
  default_type application/octet-stream;
  index index.html index.htm index.html.en;
  server_names_hash_bucket_size 128;
  types_hash_max_size 4096;
  absolute_redirect off;
  keepalive_timeout 30;
  keepalive_requests 100000;
  {certificate if has_origins else ""}
{temporary}
  log_format web '$msec $remote_port $server_addr $host $status $body_bytes_sent $request_time '
                 '"$request" "$http_user_agent" "$http_if_modified_since" $remote_addr $server_port '
                 '$connection';
  access_log {folder}/access.log web;
{servers}}}
""",
        encoding="utf-8",
    )


def _server(folder: Path, site: Site, address: str, has_origins: bool) -> str:
    """Write the pages of a site into a folder of its own; return its part of the configuration."""
    home = folder / site.host
    home.mkdir()
    for path, body in site.pages.items():
        file = home / (path[1:] + "index.html" if path.endswith("/") else path[1:])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    (home / "robots.txt").write_bytes(site.robots)
    lines = [f"listen {address}:{PORT};", f"server_name {site.host};", f'root "{home}";']
    if has_origins:
        lines += [f"listen {address}:{TLS_PORT} ssl;", f"listen {address}:{SECOND_PORT};"]
    if site.charset:
        lines.append(f"charset {site.charset};")
    lines.append("location = /robots.txt { default_type text/plain; }")
    lines += [f'location = {path} {{ return 302 "{to}"; }}' for path, to in site.redirects.items()]
    for prefix, documents in site.folders.items():
        lines.append(f'location ^~ {prefix} {{ alias "{documents}/"; }}')
    if site.folders and "/" not in site.folders:
        lines.append(f"location = / {{ return 302 {next(iter(site.folders))}; }}")
    rows = "".join(f"  {line}\n" for line in lines)
    return f"server {{\n{rows}{site.locations.replace('{folder}', str(home))}}}\n"


@contextmanager
def _nginx(folder: Path, command: Sequence[str]) -> Iterator[None]:
    arguments = [*command, "nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        deadline = time.monotonic() + PATIENCE_S
        # It writes its number when it listens.
        while not (folder / "nginx.pid").exists() or not (folder / "nginx.pid").read_text():
            assert process.poll() is None, (folder / "error.log").read_text(encoding="utf-8")
            assert time.monotonic() < deadline, "nginx does not start"
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait()


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
