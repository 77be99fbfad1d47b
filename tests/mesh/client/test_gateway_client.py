"""The client of a gateway against small servers on loopback."""

from __future__ import annotations

import hashlib
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import trustme

from mesh.client.gateway_client import SEEDS_PER_REQUEST, GatewayClient, GatewayError, error_count
from mesh.errors import ConfigError


class Gateway(BaseHTTPRequestHandler):
    """Answers what `answers` says for a path; remembers what it was asked."""

    protocol_version = "HTTP/1.1"
    answers: ClassVar[dict[str, tuple[int, bytes]]] = {}
    asked: ClassVar[list[tuple[str, str, bytes]]] = []
    closes_after_answer: ClassVar[bool] = False

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.asked.append((self.command, self.path, body))
        status, answer = self.answers[self.path.partition("?")[0]]
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        # Closed without a word, as a server does whose keep-alive has timed out.
        self.close_connection = self.closes_after_answer

    do_POST = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    Gateway.asked.clear()
    Gateway.answers.clear()
    Gateway.closes_after_answer = False
    with HTTPServer(("127.0.0.1", 0), Gateway) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield http
        http.shutdown()
        thread.join()


def test_over_https_it_asks_whom_it_can_trust_and_nobody_else(
    server: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Gateway.answers["/api/status"] = (200, b'{"peers": []}')
    url = f"https://localhost:{server.server_port}"
    with GatewayClient(url) as client, pytest.raises(GatewayError, match="CERTIFICATE_VERIFY_FAILED"):
        client.status()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with GatewayClient(url) as client:
        assert client.status() == {"peers": []}


def pinned_url(server: HTTPServer, name: str = "localhost") -> str:
    """Have a server show a certificate that no authority vouches for; return where it is, with its digest."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issued = trustme.CA().issue_cert(name)
    issued.configure_cert(context)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(issued.cert_chain_pems[0].bytes().decode())).hexdigest()
    return f"https://127.0.0.1:{server.server_port}#sha256={digest}"


def test_a_gateway_may_be_known_by_the_digest_of_its_certificate_whatever_stands_in_it(
    server: HTTPServer,
) -> None:
    Gateway.answers["/api/status"] = (200, b'{"peers": []}')
    url = pinned_url(server, "another.test")
    place, _, digest = url.partition("#sha256=")
    as_openssl_prints_it = ":".join(digest[at : at + 2] for at in range(0, 64, 2)).upper()
    for each in (url, f"{place}#sha256={as_openssl_prints_it}"):
        with GatewayClient(each, "secret") as client:
            assert client.status() == {"peers": []}
            assert client.url == place
            assert not client.is_readable


def test_who_shows_another_certificate_than_the_one_known_is_told_nothing(server: HTTPServer) -> None:
    place, _, digest = pinned_url(server).partition("#sha256=")
    with GatewayClient(f"{place}#sha256={'0' * 64}", "secret") as client:
        for _ in range(2):
            with pytest.raises(GatewayError, match=f"another certificate.*#sha256={digest}"):
                client.status()
    assert Gateway.asked == []


@pytest.mark.parametrize(
    "url",
    [
        "http://a.test:8017#sha256=" + "0" * 64,
        "https://a.test#sha256=00",
        "https://a.test#md5=" + "0" * 64,
        "https://a.test#sha256=" + "0" * 65,
    ],
)
def test_what_is_no_digest_of_a_certificate_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="64 digits"):
        GatewayClient(url)


@pytest.mark.parametrize(
    ("url", "is_readable"),
    [
        ("http://10.0.0.5:8017", True),
        ("http://gateway.test:8017", True),
        ("127.0.0.1:8017", False),
        ("http://[::1]:8017", False),
        ("http://localhost:8017", False),
        ("https://gateway.test", False),
    ],
)
def test_who_can_read_what_is_said(url: str, *, is_readable: bool) -> None:
    assert GatewayClient(url).is_readable is is_readable


@pytest.fixture
def client(server: HTTPServer) -> Iterator[GatewayClient]:
    gateway = GatewayClient(f"http://127.0.0.1:{server.server_port}")
    yield gateway
    gateway.close()


def test_questions_and_answers(client: GatewayClient) -> None:
    Gateway.answers |= {
        "/api/status": (200, b'{"peers": []}'),
        "/api/search": (200, b'{"hits": []}'),
        "/api/seeds": (200, b'{"accepted": 1, "invalid": [{"url": "x", "reason": "y"}]}'),
    }
    assert client.status() == {"peers": []}
    assert client.search("天网 a&b", k=3, offset=6) == {"hits": []}
    assert client.add_seeds(["http://a.test/"]) == {
        "accepted": 1,
        "invalid": [{"url": "x", "reason": "y"}],
        "left_out": [],
        "private": [],
    }
    assert [(method, path) for method, path, _ in Gateway.asked] == [
        ("GET", "/api/status"),
        ("GET", "/api/search?q=%E5%A4%A9%E7%BD%91+a%26b&k=3&offset=6"),
        ("POST", "/api/seeds"),
    ]
    assert json.loads(Gateway.asked[2][2]) == {"urls": ["http://a.test/"]}


def test_many_seeds_go_in_parts_that_a_gateway_takes(client: GatewayClient) -> None:
    Gateway.answers["/api/seeds"] = (200, b'{"accepted": 7, "invalid": [{"url": "x", "reason": "y"}]}')
    urls = [f"http://a.test/{number}" for number in range(2 * SEEDS_PER_REQUEST + 1)]
    invalid = [{"url": "x", "reason": "y"}] * 3
    assert client.add_seeds(urls) == {"accepted": 21, "invalid": invalid, "left_out": [], "private": []}
    parts = [json.loads(body)["urls"] for _, _, body in Gateway.asked]
    assert [url for part in parts for url in part] == urls
    assert [len(part) for part in parts] == [SEEDS_PER_REQUEST, SEEDS_PER_REQUEST, 1]


def test_a_connection_that_was_closed_meanwhile_is_opened_again(client: GatewayClient) -> None:
    Gateway.answers["/api/status"] = (200, b"{}")
    Gateway.closes_after_answer = True
    assert [client.status() for _ in range(3)] == [{}, {}, {}]


def test_an_error_is_told_in_the_words_of_the_gateway(client: GatewayClient) -> None:
    Gateway.answers |= {"/api/status": (503, b'{"error": "busy, come back"}'), "/api/search": (500, b"{}")}
    with pytest.raises(GatewayError, match=r"^busy, come back$"):
        client.status()
    with pytest.raises(GatewayError, match="answered 500"):
        client.search("x", 1)


@pytest.mark.parametrize("answer", [b"<html>", b"", b"[]", b"1", b"null", b'{"a":', b"\xff\xfe"])
def test_who_answers_no_json_object_is_no_gateway(client: GatewayClient, answer: bytes) -> None:
    Gateway.answers["/api/status"] = (200, answer)
    with pytest.raises(GatewayError, match="is no gateway of ours"):
        client.status()


def test_nobody_there_is_said_with_what_to_do() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    client = GatewayClient(f"127.0.0.1:{port}")
    with pytest.raises(GatewayError, match=r"no answer from http://127\.0\.0\.1:\d+ .*tianmesh up"):
        client.status()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost",
        "http://",
        "http://a.test",
        "http://a.test:x",
        "http://a.test:99999",
        "http://[::1:80",
        "http://a.test:0",
        "ftp://a.test:21",
    ],
)
def test_what_is_no_url_of_a_gateway_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=r"is no gateway: give http://host:port"):
        GatewayClient(url)


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("127.0.0.1:8017", "http://127.0.0.1:8017"),
        ("http://localhost:1/", "http://localhost:1"),
        ("http://[::1]:80", "http://[::1]:80"),
        ("[::1]:80", "http://[::1]:80"),
    ],
)
def test_how_gateways_may_be_written(url: str, meant: str) -> None:
    assert GatewayClient(url).url == meant


def test_what_was_left_out_on_purpose_is_no_error() -> None:
    on_purpose = {"robots": 7, "host_budget": 9, "policy_budget": 9}
    assert error_count({"200": 5, "302": 2, "404": 3, "503": 2, "dns": 1} | on_purpose) == 3
