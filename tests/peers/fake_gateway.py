"""A gateway that answers from memory, over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import inf
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from mesh.keys.decree import POLICY, Decree
from peers.crawler.explanations import CrawlFacts, UndoneVisits
from peers.engine.queries.query_language import Oddity, Remark
from peers.engine.rescoring.explanation import Explanation
from peers.gateway.model.log_json import LogPartJson
from peers.gateway.model.messages import Coverage, FoundPage, PagesFound, Relaxed
from peers.gateway.model.readiness_json import ReadinessJson
from peers.gateway.model.status import Report, report_of
from peers.gateway.site.found_json import found_json
from peers.gateway.site.history_view import HistoryView
from peers.gateway.why.why_json import IdleJson, PeerJson
from peers.index.wire_messages import FacetCounts
from peers.policy.rules import policy_in

READY: Final = ReadinessJson("ready", 10, 10)
WAITING: Final = ReadinessJson("waiting", 10, 7, 3, ("bob brings or compares what belongs to 3 slots",))

ME = "abcdefghijklmnop"


FIRST_NUMBER = 7  # of a decree
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
    if hits and start == 0:
        hits[0] = msgspec.structs.replace(hits[0], copies=2, has_more_of_site=True)
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


class FakeGateway:
    """Answers /api/status and /readyz with one report after the other, the last one for ever."""

    def __init__(self) -> None:
        self.reports: list[Report] = [report_of([])]
        self.readiness: list[ReadinessJson] = [READY]
        self.incomplete: set[str] = set()  # queries that not all slots answer
        self.found_nothing = False
        self.refusal: tuple[int, str] | None = None
        self.is_written_off = False
        self.to_decree: dict[str, str] | None = None  # before an order to drain is carried out
        self.decrees: list[Decree] = []
        self.tokens: list[str] = []  # of who posted them
        self.reader_tokens: list[str] = []  # of who has only asked
        self.decreed_next: list[Decree] = []  # by somebody else, once these have been asked for
        self.why: dict[str, Any] = {}  # the answer of /api/why by URL, and under "idle" that of /api/why/idle
        self.whys: list[dict[str, str]] = []  # what was asked of /api/why
        self.told_alone = UndoneVisits()  # by a member, of which each peer tells that
        self.history = HistoryView("day", 0.0, 720.0, 86_400.0, {}, {}, {}, (), (), ())
        self.left_out: list[str] = []  # of all seeds
        self.private: list[str] = []  # what to do about some of them
        self.pages: dict[str, dict[str, Any]] = {}  # the answer of /api/page by URL
        self.keywords: dict[str, list[str]] = {}  # of the pages that are stored
        self.keywords_fetched: dict[str, list[str]] = {}  # of those that come once there are seeds
        self.seeds: list[dict[str, Any]] = []
        self.orders: list[tuple[str, dict[str, Any], str]] = []
        self.searches: list[dict[str, str]] = []
        self.log: dict[tuple[str, str], LogPartJson] = {}  # the answer of /api/log by peer and place
        self.answers: dict[str, dict[str, Any]] = {}  # by path, whatever is asked
        self.backlinks: dict[int, dict[str, Any]] = {}  # the answer of /api/backlinks by start
        self.submission: dict[str, Any] = {}  # the answer of /api/submit
        self.submissions: dict[tuple[str, str], dict[str, Any]] = {}  # of /api/submissions, likewise
        self.entity_days = 365  # 0 where the policy has no entities
        self.are_entities_silent = False  # do the peers that have them not answer?
        self.entities: dict[str, dict[str, Any]] = {}  # of /api/entities, by name
        self.hits: list[dict[str, Any]] | None = None  # of every search, instead of many
        self.judged: dict[str, Any] = {}  # the answer of POST /api/submissions
        self.judging: dict[str, Any] = {}  # the answer of /api/judging
        self.topics: dict[str, Any] = {"number": 0, "topics": []}  # the answer of /api/topics
        self.topic: dict[str, Any] = {}  # the answer of /api/topic/NAME
        self.watch: dict[str, Any] = {}  # the answer of /api/watch
        self.watch_events: list[bytes] = []  # of /api/watch/events, then the connection ends
        self.followed_from: list[str] = []  # ids that events were asked for behind
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                gateway.reader_tokens.append(self.headers.get("Authorization", "").removeprefix("Bearer "))
                if self.path.startswith("/api/search?"):
                    gateway.searches.append(dict(parse_qsl(urlsplit(self.path).query)))
                    self._answer(200, gateway.answer_to(gateway.searches[-1]))
                    return
                if self.path == "/readyz":
                    readiness = _next(gateway.readiness)
                    self._answer(200 if readiness.status == "ready" else 503, msgspec.to_builtins(readiness))
                    return
                if self.path.startswith("/api/decrees?"):
                    self._answer(
                        200, gateway.decrees_told(dict(parse_qsl(urlsplit(self.path).query))["kind"])
                    )
                    gateway.decrees += gateway.decreed_next
                    gateway.decreed_next = []
                    return
                if self.path.startswith("/api/why"):
                    gateway.whys.append(dict(parse_qsl(urlsplit(self.path).query)))
                    asked = gateway.whys[-1].get("url", "idle")
                    unknown = gateway.undoing() or {"peers": {"ann": {"state": "unknown"}}}
                    self._answer(200, gateway.about_member(gateway.why.get(asked, unknown)))
                    return
                if self.path.startswith("/api/page?"):
                    asked = dict(parse_qsl(urlsplit(self.path).query))["url"]
                    copy = gateway.pages.get(asked)
                    self._answer(200 if copy else 404, copy or {"error": "the mesh has no copy of this page"})
                    return
                if self.path.startswith("/api/keywords?"):
                    asked = dict(parse_qsl(urlsplit(self.path).query))["url"]
                    words = gateway.keywords.get(asked)
                    self._answer(200, {"url": asked, "is_stored": words is not None, "keywords": words or []})
                    return
                if (path := self.path.partition("?")[0]) in gateway.answers:
                    self._answer(200, gateway.answers[path])
                    return
                if self.path.startswith("/api/backlinks?"):
                    self._answer(
                        200, gateway.backlinks[int(dict(parse_qsl(urlsplit(self.path).query))["start"])]
                    )
                    return
                if self.path.startswith("/api/submissions?"):
                    wanted = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
                    self._answer(200, gateway.submissions[wanted["peer"] or "ann", wanted["after"]])
                    return
                if self.path.startswith("/api/entities"):
                    self._answer(*gateway.entity_told(self.path))
                    return
                if self.path.startswith("/api/submit/"):
                    self._answer(200, {**gateway.submission, "code": self.path.rpartition("/")[2]})
                    return
                if self.path == "/api/topics":
                    self._answer(200, gateway.topics)
                    return
                if self.path.startswith("/api/topic/"):
                    is_csv = self.path.endswith("?format=csv")
                    self._send(b"slice,pages\n" if is_csv else json.dumps(gateway.topic).encode())
                    return
                if self.path.startswith("/api/judging?"):
                    self._answer(200, gateway.judging)
                    return
                if self.path.startswith("/api/log?"):
                    wanted = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
                    part = gateway.log[wanted["peer"] or min(gateway.log)[0], wanted["after"]]
                    self._answer(200, msgspec.to_builtins(part))
                    return
                if self.path == "/api/watch/events":
                    gateway.followed_from.append(self.headers.get("Last-Event-ID", ""))
                    self.send_response(200)
                    self.send_header("Content-Type", "text/event-stream")
                    self.send_header("Connection", "close")
                    self.end_headers()
                    self.wfile.write(b"".join(gateway.watch_events))
                    self.close_connection = True
                    return
                if self.path.startswith("/api/watch"):
                    gateway.followed_from.append(urlsplit(self.path).query)
                    self._answer(200, gateway.watch)
                    return
                if self.path.startswith("/api/history?"):
                    gateway.searches.append(dict(parse_qsl(urlsplit(self.path).query)))
                    self._answer(200, msgspec.to_builtins(gateway.history))
                    return
                assert self.path == "/api/status"
                self._answer(200, msgspec.to_builtins(_next(gateway.reports)))

            def do_POST(self) -> None:
                posted = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/api/decrees":
                    gateway.decrees.append(msgspec.msgpack.decode(posted, type=Decree))
                    gateway.to_decree = None
                    gateway.tokens.append(self.headers.get("Authorization", "").removeprefix("Bearer "))
                    self._answer(200, {})
                    return
                body = json.loads(posted)
                if self.path.startswith("/api/entities/") and not gateway.refusal:
                    gateway.entities[self.path.rpartition("/")[2]] = body
                    self._answer(200, {"number": body["number"]})
                    return
                if self.path == "/api/seeds":
                    gateway.seeds.append(body)
                    gateway.keywords |= gateway.keywords_fetched
                    told = {"left_out": gateway.left_out, "private": gateway.private}
                    self._answer(200, {"accepted": len(body["urls"]), "invalid": [], **told})
                    return
                if self.path in ("/api/submit", "/api/submissions") and not gateway.refusal:
                    gateway.orders.append((self.path, body, self.headers.get("Authorization", "")))
                    self._answer(200, gateway.judged if "verdict" in body else gateway.submission)
                    return
                gateway.orders.append((self.path, body, self.headers.get("Authorization", "")))
                if gateway.refusal:
                    self._answer(gateway.refusal[0], {"error": gateway.refusal[1]})
                else:
                    written_off = gateway.is_written_off
                    done = {"peer": ME, "is_draining": body["is_draining"], "is_written_off": written_off}
                    done["to_decree"] = gateway.to_decree
                    self._answer(200, done)

            def _answer(self, status: int, value: dict[str, Any]) -> None:
                self._send(json.dumps(value).encode(), status)

            def _send(self, body: bytes, status: int = 200) -> None:
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

    def entity_told(self, path: str) -> tuple[int, dict[str, Any]]:
        """Return status and answer of /api/entities, and of one of them."""
        if not self.entity_days:
            return 404, {"error": "this mesh keeps no entities: its owner can add [entities] to the policy"}
        if path == "/api/entities":
            return 200, {"days": self.entity_days}
        if self.are_entities_silent:
            return 503, {"error": "not all peers answer: try again in a moment"}
        row = self.entities.get(path.rpartition("/")[2])
        return (404, {"error": "no such entity"}) if row is None else (200, row)

    def undoing(self) -> dict[str, Any]:
        """Return the JSON of /api/why/idle after a policy has had two visits undone."""
        policies = [policy_in(each.body) for each in self.decrees if each.kind == POLICY]
        if not policies or not policies[-1].undo:
            return {}
        urls = ("http://a.test/1", "http://a.test/2")
        facts = CrawlFacts(at_s=0.0, undone=UndoneVisits(policies[-1].undo[-1].span_s[1], 2, urls))
        told: dict[str, Any] = msgspec.to_builtins(IdleJson("", {"ann": PeerJson("", facts)}, (), ()))
        return told

    def about_member(self, why: dict[str, Any]) -> dict[str, Any]:
        """Add to the JSON of /api/why/idle what each peer has by the word of the member asked about."""
        asked = self.whys[-1]
        if "peer" not in asked:
            return why
        told = msgspec.structs.replace(self.told_alone, until_s=float(asked["until_s"]))
        idle = msgspec.convert(why, IdleJson)
        peers = {
            peer: msgspec.structs.replace(each, facts=msgspec.structs.replace(each.facts, told_alone=told))
            for peer, each in idle.peers.items()
        }
        answer: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(idle, peers=peers))
        return answer

    def decrees_told(self, kind: str) -> dict[str, Any]:
        """What /api/decrees answers about a kind, of whatever subject: the last one is in force."""
        decrees = [each for each in self.decrees if each.kind == kind]
        told = [{**msgspec.structs.asdict(each), "body": each.body.hex()} for each in decrees]
        for each in told:
            each["valid_until"] = None if each["valid_until"] == inf else each["valid_until"]
            each["signer"] = each["signer"].hex()
            del each["warrant"], each["signature"]
        next_number = decrees[-1].number + 1 if decrees else FIRST_NUMBER
        return {"next_number": next_number, "decrees": told[-1:], "past": told[:-1]}

    def answer_to(self, asked: dict[str, str]) -> dict[str, Any]:
        answer = answer_to(asked)
        if asked["q"] in self.incomplete:
            answer["coverage"] = {"slots": 10, "answered": 7, "missing": 3}
        if self.hits is not None:
            relaxed = {**answer["relaxed"], "is_any": False, "nowhere": []}
            answer |= {"hits": self.hits, "next": "", "total": len(self.hits), "relaxed": relaxed}
        if self.found_nothing:
            answer |= {"hits": [], "next": "", "total": 0}
        return answer


def _next(told: list[Any]) -> Any:
    return told[0] if len(told) == 1 else told.pop(0)


@contextmanager
def fake_gateway() -> Iterator[FakeGateway]:
    """One that runs."""
    gateway = FakeGateway()
    thread = threading.Thread(target=gateway.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield gateway
    gateway.server.shutdown()
    thread.join()
    gateway.server.server_close()
