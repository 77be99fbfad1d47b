"""`tianmesh webhook`: which hits are new, and that each arrives, signed, where it may."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trustme
from standardwebhooks import Webhook
from typer.testing import Result

from mesh.client.gateway_client import GatewayClient
from mesh.errors import ConfigError
from peers.webhooks.endpoint import Endpoint, EndpointGone, NotDelivered, key_in
from peers.webhooks.saved_search import (
    HITS_PER_DELIVERY,
    SEEN_MAX,
    WAITING_MAX,
    HookDelivery,
    HookState,
    pause_after,
)
from peers.webhooks.watch import SearchWatch
from tests.peers.commands.running import result_of
from tests.peers.fake_gateway import FakeGateway, fake_gateway

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
NOW = "2026-11-29T07:00:00+00:00"
HIT: dict[str, Any] = {
    "title": "t",
    "snippet": "s",
    "host": "a.test",
    "language": "en",
    "type": "text/html",
    "date": 0.0,
    "published": "",
    "fetched_at": 7.0,
}


def answer(*names: str, missing: int = 0, corrected: str = "", is_any: bool = False) -> dict[str, Any]:
    """The answer of a gateway with these pages."""
    hits = [
        HIT | {"url": f"http://a.test/{name}", "date": 0.0, "published": "", "fetched_at": 7.0}
        for name in names
    ]
    relaxed = {"nowhere": [], "is_any": is_any, "with_all": None}
    coverage = {"slots": 10, "answered": 10 - missing, "missing": missing}
    return {
        "hits": hits,
        "corrected": corrected,
        "relaxed": relaxed,
        "coverage": coverage,
        "next": "",
        "took_ms": 1,
    }


def told(state: HookState) -> list[str]:
    """The names of the pages that wait."""
    bodies = [json.loads(each.body) for each in state.waiting]
    return [hit["url"].rpartition("/")[2] for body in bodies for hit in body["data"]["hits"]]


class Receiver:
    """An endpoint that checks each post by the library of Standard Webhooks, and answers as it is told."""

    def __init__(self) -> None:
        self.statuses: list[int] = []  # of the next answers; then 204
        self.posts: list[tuple[str, Any]] = []  # ids and bodies
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                checked = Webhook(SECRET).verify(body, dict(self.headers))
                receiver.posts.append((self.headers["webhook-id"], checked))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?token=1"


@contextmanager
def receiving(context: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    receiver = Receiver()
    if context is not None:
        receiver.server.socket = context.wrap_socket(receiver.server.socket, server_side=True)
    thread = threading.Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        thread.join()
        receiver.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGateway]:
    with fake_gateway() as made:
        finds(made, monkeypatch, answer())
        yield made


def finds(gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch, found: dict[str, Any]) -> None:
    monkeypatch.setattr(gateway, "answer_to", lambda asked: found)


# --- New hits ---


def test_hits_are_new_from_the_second_answer_on_and_once() -> None:
    state = HookState()
    assert [state.take_in("q", answer(*names), NOW) for names in ("ab", "ba", "cab", "cab")] == [0, 0, 1, 0]
    assert told(state) == ["c"]
    assert state.take_in("q", answer("b"), NOW) == state.take_in("q", answer("a", "c"), NOW) == 0


def test_a_search_begins_when_the_whole_mesh_has_answered() -> None:
    state = HookState()
    assert state.take_in("q", answer("a", missing=3), NOW) == 0
    assert state.take_in("q", answer("a", "b"), NOW) == 0
    assert state.take_in("q", answer("c", missing=3), NOW) == 1
    assert told(state) == ["c"]


def test_hits_for_other_words_are_none_of_the_search() -> None:
    state = HookState()
    state.take_in("q", answer(corrected="p"), NOW)
    assert state.take_in("q", answer("a", corrected="p"), NOW) == 0
    assert state.take_in("q", answer("b", is_any=True), NOW) == 0
    assert state.take_in("q", answer("a"), NOW) == 1


def test_what_is_remembered_and_posted_at_once_is_bounded() -> None:
    state = HookState()
    for start in range(0, 2 * SEEN_MAX, 1_000):
        state.take_in("q", answer(*map(str, range(start, start + 1_000))), NOW)
    assert len(state.seen["q"]) == SEEN_MAX
    assert max(len(json.loads(each.body)["data"]["hits"]) for each in state.waiting) == HITS_PER_DELIVERY
    state.forget_others(["p"])
    assert state.seen == {}


def test_pauses_grow_to_an_hour() -> None:
    assert [pause_after(failures) for failures in (1, 2, 3, 20, 10_000)] == [
        5.0,
        10.0,
        20.0,
        3_600.0,
        3_600.0,
    ]


# --- HookDelivery ---


def run(gateway: FakeGateway, receiver: Receiver, path: Path, *options: str) -> Result:
    (path / "secret").write_text(SECRET)
    common = ("--once", "--secret", f"@{path / 'secret'}", "--state", path / "state.json")
    return result_of(gateway, "webhook", receiver.url, "q", "p", *common, *options)


def test_new_hits_are_posted_signed_and_once(
    gateway: FakeGateway, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(gateway, receiver, tmp_path, "--private").exit_code == 0
    assert receiver.posts == []
    finds(gateway, monkeypatch, answer("a", "b"))
    for _ in range(2):
        assert run(gateway, receiver, tmp_path, "--private").exit_code == 0
    assert [body["data"]["query"] for _, body in receiver.posts] == ["q", "p"]
    _, body = receiver.posts[0]
    assert body["type"] == "search.hits"
    assert [hit["url"] for hit in body["data"]["hits"]] == ["http://a.test/a", "http://a.test/b"]


def test_what_was_not_taken_is_posted_again_as_it_was_after_a_restart(
    gateway: FakeGateway, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(gateway, receiver, tmp_path, "--private")
    finds(gateway, monkeypatch, answer("a"))
    receiver.statuses = [500]
    shown = run(gateway, receiver, tmp_path, "--private")
    assert (shown.exit_code, len(receiver.posts)) == (1, 1)
    receiver.statuses = [302]  # leads nowhere
    assert run(gateway, receiver, tmp_path, "--private").exit_code == 1
    finds(gateway, monkeypatch, answer())
    assert run(gateway, receiver, tmp_path, "--private").exit_code == 0
    ids = [delivery_id for delivery_id, _ in receiver.posts]
    assert ids[0] == ids[1] == ids[2] != ids[3]
    assert len(ids) == 4
    assert receiver.posts[0] == receiver.posts[2]


def test_notices_of_the_watch_are_posted_from_now_on_in_their_order_and_signed(
    receiver: Receiver, gateway: FakeGateway, tmp_path: Path
) -> None:
    def run_watch() -> Result:
        words = ("--watch", "--once", "--private", "--state", tmp_path / "state.json")
        return result_of(gateway, "webhook", receiver.url, *words, "--secret", f"@{secret}")

    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    told = [
        {"url": f"http://a.test/{n}", "mark": "01", "entry": "glass"} for n in range(HITS_PER_DELIVERY + 1)
    ]
    gateway.watch = {"notices": told[:5], "after": "ann.5"}
    assert run_watch().exit_code == 0
    assert not receiver.posts, "these were there before"
    gateway.watch = {"notices": told, "after": "ann.50"}
    receiver.statuses = [503]
    assert run_watch().exit_code == 1, "something waits"
    gateway.watch = {"notices": [], "after": "ann.50"}
    assert run_watch().exit_code == 0
    assert gateway.followed_from == ["", "after=ann.5", "after=ann.50"]
    assert [body["type"] for _, body in receiver.posts] == ["watch.notices"] * 3
    assert receiver.posts[0] == receiver.posts[1], "posted again as it was"
    posted = [each for _, body in receiver.posts[1:] for each in body["data"]["notices"]]
    assert posted == told
    result = result_of(gateway, "webhook", receiver.url, "a", "--watch", "--secret", f"@{secret}")
    assert isinstance(result.exception, ConfigError)


def test_nothing_is_posted_to_a_private_address_unless_told(
    gateway: FakeGateway, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(gateway, receiver, tmp_path).exit_code == 0
    finds(gateway, monkeypatch, answer("a"))
    shown = run(gateway, receiver, tmp_path)
    assert isinstance(shown.exception, ConfigError)
    assert "--private" in str(shown.exception)
    assert receiver.posts == []
    assert run(gateway, receiver, tmp_path, "--private").exit_code == 0
    assert len(receiver.posts) == 2


def test_an_endpoint_that_is_gone_ends_the_command(receiver: Receiver) -> None:
    receiver.statuses = [410]
    endpoint = Endpoint(receiver.url, key_in(SECRET), may_be_private=True)
    with pytest.raises(EndpointGone):
        endpoint.post(HookDelivery("hits_1", "{}"), now_s())


def test_only_the_certificate_of_the_name_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with receiving(context) as receiver:
        url = receiver.url.replace("http://127.0.0.1", "https://localhost")
        endpoint = Endpoint(url, key_in(SECRET), may_be_private=True)
        with pytest.raises(NotDelivered, match="CERTIFICATE_VERIFY_FAILED"):
            endpoint.post(HookDelivery("hits_1", "{}"), now_s())
        monkeypatch.setattr(ssl, "create_default_context", lambda: trusting)
        endpoint.post(HookDelivery("hits_1", "{}"), now_s())
        other = Endpoint(url.replace("localhost", "127.0.0.1"), key_in(SECRET), may_be_private=True)
        with pytest.raises(NotDelivered, match="CERTIFICATE_VERIFY_FAILED"):
            other.post(HookDelivery("hits_2", "{}"), now_s())
    assert [delivery_id for delivery_id, _ in receiver.posts] == ["hits_1"]


def now_s() -> int:
    return int(time.time())


@pytest.mark.parametrize("secret", ["", "short", "whsec_", "whsec_c2hvcnQ=", "é" * 40, "A" * 400])
def test_a_secret_is_long_enough_and_in_base64(secret: str) -> None:
    with pytest.raises(ConfigError):
        key_in(secret)


@pytest.mark.parametrize("url", ["hooks.example.org", "ftp://a.test/", "https://", ""])
def test_only_what_can_be_posted_to_is_an_endpoint(url: str) -> None:
    with pytest.raises(ConfigError):
        Endpoint(url, b"k" * 32, may_be_private=False)


# --- When ---


def test_failures_do_not_hold_searches_up_until_too_much_waits(
    gateway: FakeGateway, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = Endpoint(receiver.url, key_in(SECRET), may_be_private=True)
    said: list[str] = []
    with GatewayClient(gateway.url) as client:
        watch = SearchWatch(client, endpoint, ["q"], 60.0, tmp_path / "state.json")
        assert watch.step(1_000.0, said.append) == 1_060.0
        finds(gateway, monkeypatch, answer("a"))
        receiver.statuses = [503, 503]
        assert watch.step(1_060.0, said.append) == 1_065.0
        assert watch.step(1_065.0, said.append) == 1_075.0
        assert watch.step(1_075.0, said.append) == 1_120.0
        assert (len(receiver.posts), watch.state.delivered_count, watch.failures) == (3, 1, 0)
        watch.state.waiting = [HookDelivery(f"hits_{number}", "{}") for number in range(WAITING_MAX)]
        receiver.statuses = [503]
        asked = len(gateway.searches)
        assert watch.step(1_120.0, said.append) == 1_125.0
        assert len(gateway.searches) == asked
    assert any("deliveries wait, again in 5 s" in each for each in said)


def test_a_gateway_that_does_not_answer_is_asked_again(receiver: Receiver, tmp_path: Path) -> None:
    endpoint = Endpoint(receiver.url, key_in(SECRET), may_be_private=True)
    said: list[str] = []
    with GatewayClient("http://127.0.0.1:9") as client:
        watch = SearchWatch(client, endpoint, ["q"], 60.0, tmp_path / "state.json")
        assert watch.step(0.0, said.append) == 60.0
    assert watch.n_missed == 1
    assert "no answer for 'q'" in said[0]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"seen": 1}', b"\xff"])
def test_a_file_that_is_no_state_is_not_taken_for_one(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "state.json").write_bytes(content)
    endpoint = Endpoint("https://a.test/", b"k" * 32, may_be_private=False)
    with pytest.raises(ConfigError, match="--state"), GatewayClient("http://127.0.0.1:9") as client:
        SearchWatch(client, endpoint, ["q"], 60.0, tmp_path / "state.json")


def test_the_state_in_a_file_is_the_state() -> None:
    state = HookState()
    state.take_in("q", answer(), NOW)
    state.take_in("q", answer("a"), NOW)
    assert msgspec.json.decode(msgspec.json.encode(state), type=HookState) == state
