"""The commands that are clients of a gateway, against one that answers from memory."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
from typer.testing import CliRunner

from mesh.gateway_client import GatewayError
from mesh.messages import FacetCounts
from peers import cli
from peers.engine.explanation import Explanation
from peers.engine.query_language import Oddity, Remark
from peers.gateway.found_json import found_json
from peers.gateway.messages import Coverage, FoundPage, PagesFound, Relaxed
from peers.gateway.status import PeerState, PeerStatus, Report, SlotCounts, report_of

ME = "abcdefghijklmnop"


HITS = 250  # of every search


def answer_to(asked: dict[str, str]) -> dict[str, Any]:
    """What /api/search answers; a cursor is the number of the last hit."""
    start = int(asked.get("cursor", asked["offset"]))
    hits = [
        FoundPage(f"http://h{n}.test/", f"Page {n}", "[b] text", (), (), 1.0, f"h{n}.test", 1.0, ME)
        for n in range(start, min(start + int(asked["k"]), HITS))
    ]
    if "explain" in asked:
        hits = [msgspec.structs.replace(hit, explanation=Explanation("score", 1.0, "bm25f")) for hit in hits]
    found = PagesFound(
        1,
        ("a",),
        HITS,
        0.0,
        Coverage(10, 10, 0),
        tuple(hits),
        is_exact=False,
        relaxed=Relaxed(("xyzzy",), True),
        remarks=(Remark(Oddity.QUOTE_OPEN),),
        facets=FacetCounts(hosts=(("h1.test", 9),)) if "facets" in asked else None,
        next=str(start + len(hits)) if start + len(hits) < HITS else "",
    )
    decoded = msgspec.to_builtins(found_json(asked["q"], found, 0.0))
    assert isinstance(decoded, dict)
    return decoded


class Gateway:
    """Answers /api/status with one report after the other, the last one for ever, and takes orders."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.refusal: tuple[int, str] | None = None
        self.is_written_off = False
        self.orders: list[tuple[str, dict[str, Any], str]] = []
        self.searches: list[dict[str, str]] = []
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path.startswith("/api/search?"):
                    gateway.searches.append(dict(parse_qsl(urlsplit(self.path).query)))
                    self._answer(200, answer_to(gateway.searches[-1]))
                    return
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


def test_search_shows_what_was_found_and_what_was_odd(gateway: Gateway) -> None:
    shown = run(gateway, "search", "a b", "--facets", "--explain", "--sort", "date", "-k", "2")
    assert gateway.searches == [
        {"q": "a b", "k": "2", "offset": "0", "sort": "date", "facets": "1", "explain": "1"}
    ]
    assert "at least 250 pages, some of the words are enough" in shown
    assert "A closing quotation mark is missing" in shown
    assert "on no page: xyzzy" in shown
    assert "2. Page 1" in shown
    assert "[b] text" in shown
    assert "1.000000 score = bm25f" in shown
    assert "hosts h1.test 9" in shown
    assert "--cursor 2" in shown


def test_search_goes_on_behind_a_cursor(gateway: Gateway) -> None:
    assert "1. Page 7" in run(gateway, "search", "a", "--cursor", "7", "-k", "1")


def test_more_results_than_a_gateway_gives_at_once_are_asked_for_in_parts(gateway: Gateway) -> None:
    answer = json.loads(run(gateway, "search", "a", "-k", "230", "--facets", "--json"))
    assert [hit["url"] for hit in answer["hits"]] == [f"http://h{n}.test/" for n in range(230)]
    assert answer["next"] == "230"
    assert answer["facets"]["hosts"] == [{"value": "h1.test", "count": 9}]
    assert [each["k"] for each in gateway.searches] == ["100", "100", "30"]
    assert ["facets" in each for each in gateway.searches] == [True, False, False]
    assert len(json.loads(run(gateway, "search", "a", "-k", "1000", "--json"))["hits"]) == HITS


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


def test_the_version_is_told() -> None:
    shown = CliRunner().invoke(cli.app, ["--version"])
    assert shown.output == f"tianmesh {version('tianmesh')}\n"


def test_status_shows_slots_and_states_in_eighty_columns(gateway: Gateway) -> None:
    slots = SlotCounts(
        owned=50_000, held=49_999, kept=50_000, complete=50_000, answered=50_000, wanted=50_000
    )
    peer = PeerStatus(
        id=ME,
        state=PeerState.UNLICENSED,
        slots=slots,
        bytes_moved_per_s=125e6,
        hot_hosts=(("big.test", 12_345),),
    )
    gateway.reports = [report_of([peer])]
    shown = run(gateway, "status")
    assert all(len(line) <= 80 for line in shown.splitlines())
    for text in ("49,999", "50,000", "125.0", "unlicensed", "big.test (12,345)"):
        assert text in shown
    row = json.loads(run(gateway, "status", "--json"))["peers"][0]
    assert row["state"] == "unlicensed"
    assert row["slots"]["held"] == 49_999
