"""The configuration of nginx that docs/operating.md recommends, in front of a real gateway."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import pytest
import trustme

from mesh.client.admin_token import tokens_for
from peers.engine.pages.document import Document
from tests.benchmarks.filled_mesh import fill
from tests.live.lab_process import wait_for
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.web import ServedWeb, unavailable

pytestmark = pytest.mark.live

OPERATING: Final = Path(__file__).parents[2] / "docs" / "operating.md"
NAME: Final = "search.example.org"
PAGE: Final = Document(f"http://{NAME}/page", title="A page", text="the word quincunx", fetched_at=1.0)


class Proxy(NamedTuple):
    """nginx with TLS before a gateway."""

    mesh: Mesh
    port: int
    trusting: ssl.SSLContext

    def ask(
        self, method: str, path: str, address: str = "127.0.0.1", headers: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """Ask as somebody else's browser does, who has looked up the name."""
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=100, source_address=(address, 0))
        with self.trusting.wrap_socket(raw, server_hostname=NAME) as stream:
            connection = http.client.HTTPSConnection(NAME)
            connection.sock = stream
            connection.request(method, path, b"{}" if method == "POST" else None, dict(headers or {}))
            response = connection.getresponse()
            return response.status, response.read().decode()


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    if shutil.which("nginx") is None:
        unavailable("no nginx on this machine: apt-get install nginx-light")
    folder = tmp_path_factory.mktemp("proxy")
    (folder / "resolver.json").write_text("{}")
    web = ServedWeb(folder, [], {NAME: "127.0.0.1"})
    settings = {
        "gateway.names": (NAME,),
        "gateway.proxies": ("127.0.0.1",),
        "gateway.client_queries_per_s": 1.0,
    }
    with mesh_of(folder / "mesh", web, 1, replicas=1, settings=settings) as mesh:
        mesh.start(1)
        mesh.wait_until_balanced()
        fill(mesh.gateways(), tokens_for(mesh.folder)(), [PAGE])
        mesh.wait_until_idle()
        authority = trustme.CA()
        certificate = authority.issue_cert(NAME)
        with nginx(folder, urlsplit(mesh.gateway(1)).port or 0, certificate) as port:
            trusting = ssl.create_default_context()
            authority.configure_trust(trusting)
            yield Proxy(mesh, port, trusting)


@contextmanager
def nginx(folder: Path, gateway_port: int, certificate: trustme.LeafCert) -> Iterator[int]:
    """Run it by what operating.md says, but for the ports and the place of the files; yields its port."""
    certificate.cert_chain_pems[0].write_to_path(folder / "chain.pem")
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    found = re.search(r"```nginx\n(.*?)```", OPERATING.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    server = found[1]
    for recommended, here in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("127.0.0.1:8017", f"127.0.0.1:{gateway_port}"),
        (f"/etc/ssl/{NAME}.pem", str(folder / "chain.pem")),
        (f"/etc/ssl/{NAME}.key", str(folder / "key.pem")),
    ):
        assert server.count(recommended) == 1
        server = server.replace(recommended, here)
    own = "".join(
        f"{what} {folder / what};\n"
        for what in ("client_body_temp_path", "proxy_temp_path", "fastcgi_temp_path", "uwsgi_temp_path")
    )
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; user root; worker_processes 1; pid {folder / 'pid'}; events {{}}\n"
        f"http {{ access_log off; scgi_temp_path {folder / 'scgi'};\n{own}{server}}}\n"
    )
    command = ["nginx", "-p", str(folder), "-c", str(config), "-e", str(folder / "error.log")]
    process = subprocess.Popen(command, start_new_session=True)

    def answers() -> bool:
        assert process.poll() is None, (folder / "error.log").read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    try:
        wait_for(answers, "answer of nginx")
        yield port
    finally:
        process.terminate()
        process.wait(100)


def test_people_search_through_it(proxy: Proxy) -> None:
    status, body = proxy.ask("GET", "/api/search?q=quincunx", "127.0.0.10")
    assert status == 200
    assert [hit["url"] for hit in json.loads(body)["hits"]] == [PAGE.url]
    status, body = proxy.ask("GET", "/search?q=quincunx", "127.0.0.10")
    assert status == 200
    assert PAGE.url in body


def test_each_client_has_its_own_quota(proxy: Proxy) -> None:
    forged = {"X-Forwarded-For": "203.0.113.7"}
    statuses = [proxy.ask("GET", "/api/search?q=a", "127.0.0.11", forged)[0] for _ in range(12)]
    assert statuses[0] == 200
    assert 429 in statuses
    assert proxy.ask("GET", "/api/search?q=a", "127.0.0.12")[0] == 200


def test_orders_take_the_token_through_it(proxy: Proxy) -> None:
    for forged in ({}, {"X-Forwarded-For": "127.0.0.1"}, {"Host": "localhost"}):
        status, body = proxy.ask("POST", "/api/drain", "127.0.0.13", forged)
        assert (status, "token" in body) == (403, True)
    rights = {"Authorization": f"Bearer {tokens_for(proxy.mesh.folder)()}"}
    assert proxy.ask("POST", "/api/drain", "127.0.0.13", rights)[0] == 400  # it was read: it has no peer


def test_other_names_are_not_served(proxy: Proxy) -> None:
    assert proxy.ask("GET", "/api/search?q=a", "127.0.0.14", {"Host": "other.example.org"})[0] == 421
