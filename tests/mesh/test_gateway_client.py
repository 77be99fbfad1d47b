"""The client of a gateway against a server that answers as one, or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from mesh.errors import ConfigError
from mesh.gateway_client import SEEDS_PER_REQUEST, GatewayClient, GatewayError, error_count


class Gateway(BaseHTTPRequestHandler):
    """Takes all seeds but those that are no URLs."""

    taken: list[int]  # seeds of each request

    def do_POST(self) -> None:  # noqa: N802 (the name that http.server calls)
        urls = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["urls"]
        self.taken.append(len(urls))
        invalid = [url for url in urls if not url.startswith("http")]
        self._answer(200, {"accepted": len(urls) - len(invalid), "invalid": invalid})

    def do_GET(self) -> None:  # noqa: N802
        self._answer(503, {"error": "busy; ask again in a moment"})

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def client() -> Iterator[GatewayClient]:
    Gateway.taken = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Gateway) as server:
        Thread(target=server.serve_forever).start()
        client = GatewayClient(f"http://127.0.0.1:{server.server_port}")
        yield client
        client.close()
        server.shutdown()


def test_many_seeds_go_in_parts_that_a_gateway_takes(client: GatewayClient) -> None:
    urls = [f"http://a.test/{number}" for number in range(2 * SEEDS_PER_REQUEST)]
    assert client.add_seeds([*urls, "nonsense"]) == {"accepted": len(urls), "invalid": ["nonsense"]}
    assert Gateway.taken == [SEEDS_PER_REQUEST, SEEDS_PER_REQUEST, 1]


def test_an_error_of_the_gateway_has_its_words(client: GatewayClient) -> None:
    with pytest.raises(GatewayError, match="busy; ask again"):
        client.status()


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1:1", "http://127.0.0.1", "http://a:b"])
def test_what_is_no_gateway_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="http://host:port"):
        GatewayClient(url)


def test_what_was_left_out_on_purpose_is_no_error() -> None:
    assert error_count({"200": 5, "302": 2, "404": 3, "dns": 1, "robots": 7, "host_budget": 9}) == 4
