"""The commands that are clients of a gateway, against one that answers from memory."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from mesh.gateway_client import GatewayError
from peers import cli
from peers.gateway.status import PeerState, PeerStatus, Report, SlotCounts, report_of

ME = "abcdefghijklmnop"


class Gateway:
    """Answers /api/status with one report after the other, the last one for ever, and takes orders."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.refusal: tuple[int, str] | None = None
        self.is_written_off = False
        self.orders: list[tuple[str, dict[str, Any], str]] = []
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                assert self.path == "/api/status"
                report = gateway.reports[0] if len(gateway.reports) == 1 else gateway.reports.pop(0)
                self._answer(200, msgspec.to_builtins(report))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                gateway.orders.append((self.path, body, self.headers.get("Authorization", "")))
                if gateway.refusal:
                    self._answer(gateway.refusal[0], {"error": gateway.refusal[1]})
                else:
                    written_off = gateway.is_written_off
                    done = {"peer": ME, "is_draining": body["is_draining"], "is_written_off": written_off}
                    self._answer(200, done)

            def _answer(self, status: int, value: dict[str, Any]) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    monkeypatch.setattr(cli, "DRAIN_POLL_S", 0.0)
    gateway = Gateway()
    thread = threading.Thread(target=gateway.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield gateway
    gateway.server.shutdown()
    thread.join()
    gateway.server.server_close()


def run(gateway: Gateway, *arguments: str) -> str:
    result = CliRunner().invoke(cli.app, [*arguments, "--gateway", gateway.url], env={"COLUMNS": "80"})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def draining(owned: int, state: PeerState = PeerState.DRAINING, *, is_draining: bool = True) -> Report:
    slots = SlotCounts(owned=owned, held=owned, kept=owned, answered=owned)
    return report_of([PeerStatus(id=ME, state=state, is_draining=is_draining, slots=slots)])


def test_drain_waits_until_the_peer_is_empty(gateway: Gateway) -> None:
    gateway.reports = [draining(9), draining(4), draining(0, PeerState.DRAINED)]
    assert "is empty: stop it whenever you like" in run(gateway, "drain", "abc")
    assert gateway.orders == [("/api/drain", {"peer": "abc", "is_draining": True}, "")]
    assert len(gateway.reports) == 1


def test_drain_in_json_says_what_was_done(gateway: Gateway) -> None:
    gateway.reports = [draining(0, PeerState.DRAINED)]
    assert json.loads(run(gateway, "drain", "abc", "--json")) == {
        "peer": ME,
        "is_draining": True,
        "is_written_off": False,
        "is_drained": True,
    }


def test_drain_without_waiting_asks_for_no_status(gateway: Gateway) -> None:
    assert "gives away what it has" in run(gateway, "drain", "abc", "--no-wait")
    assert json.loads(run(gateway, "drain", "abc", "--no-wait", "--json"))["is_drained"] is False


def test_drain_is_cancelled(gateway: Gateway) -> None:
    assert "takes its share again" in run(gateway, "drain", "abc", "--cancel")
    assert gateway.orders[0][1] == {"peer": "abc", "is_draining": False}


def test_peer_that_is_down_is_written_off_without_waiting(gateway: Gateway) -> None:
    gateway.is_written_off = True
    assert "does not belong to the mesh any more" in run(gateway, "drain", "abc")


def test_token_is_sent(gateway: Gateway) -> None:
    run(gateway, "drain", "abc", "--no-wait", "--token", "0123456789abcdef")
    assert gateway.orders[0][2] == "Bearer 0123456789abcdef"


def test_what_the_gateway_refuses_is_said_in_its_words(gateway: Gateway) -> None:
    gateway.refusal = (404, "no peer's id begins with 'x'; there are ann, bob")
    with pytest.raises(GatewayError, match="there are ann, bob"):
        run(gateway, "drain", "x")


def test_drain_that_somebody_cancels_ends_the_waiting(gateway: Gateway) -> None:
    gateway.reports = [draining(9), draining(9, PeerState.STEADY, is_draining=False)]
    with pytest.raises(GatewayError, match="drains no more"):
        run(gateway, "drain", "abc")


def test_peer_that_vanishes_while_draining_ends_the_waiting(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "DRAIN_SILENCE_S", 0.0)
    gateway.reports = [draining(9), report_of([])]
    with pytest.raises(GatewayError, match="was not empty yet"):
        run(gateway, "drain", "abc")


def test_status_shows_slots_and_states_in_eighty_columns(gateway: Gateway) -> None:
    slots = SlotCounts(
        owned=50_000, held=49_999, kept=50_000, complete=50_000, answered=50_000, wanted=50_000
    )
    peer = PeerStatus(
        id=ME,
        state=PeerState.UNLICENSED,
        slots=slots,
        bytes_moved_per_s=125e6,
        hot_hosts=(("http://big.test", 12_345),),
    )
    gateway.reports = [report_of([peer])]
    shown = run(gateway, "status")
    assert all(len(line) <= 80 for line in shown.splitlines())
    for text in ("49,999", "50,000", "125.0", "unlicensed", "http://big.test (12,345)"):
        assert text in shown
    row = json.loads(run(gateway, "status", "--json"))["peers"][0]
    assert row["state"] == "unlicensed"
    assert row["slots"]["held"] == 49_999
