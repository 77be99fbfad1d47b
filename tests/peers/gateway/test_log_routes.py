"""The log of searches at a gateway: what it notes, links that it signs, and the log for administrators."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from math import inf
from urllib.parse import parse_qsl, urlencode

from mesh.actors.actor import Address, Message
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.slots import SlotTable
from peers.gateway.model.messages import LogFound, ReadLog, RequestRefused
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.routes import application
from peers.gateway.searcher import Searcher
from peers.policy.log_rules import QueryLogRules
from peers.policy.rules import EVERYTHING, Policy, policy_bytes
from peers.query_log.messages import ResultClicked, ResultsShown
from peers.query_log.wire_messages import LogTold, LogWanted, QueryOfDay, RareQueries
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import RIGHTS, FakeBackend
from tests.peers.gateway.fake_searcher import FakeSearcher, answer_to
from tests.peers.gateway.test_http_port import exchange, running

CLICKS = QueryLogRules(days=7, clicks=True)
TOLD = LogTold(
    1,
    (QueryOfDay(1, "glacier", 6, ((1, 6, 10),), ((2, "http://a.test/", 3),)),),
    (RareQueries(1, (2, 0, 0, 1)),),
    b"\x01\x02",
)


def links_in(page: str) -> list[str]:
    return [unescape(each) for each in re.findall(r'<h2 dir="auto"><a href="([^"]+)"', page)]


async def test_links_lead_to_the_pages_themselves_unless_the_policy_has_a_log_of_clicks() -> None:
    backend = FakeBackend()
    for rules in (None, QueryLogRules(days=7)):
        backend.shown_log.rules = rules
        links = links_in((await ask(application(backend), "/search?q=crawler")).text)
        assert links
        assert not any(link.startswith("/go") for link in links)


async def test_a_signed_link_leads_on_and_is_noted_and_says_where_to() -> None:
    backend = FakeBackend()
    backend.shown_log.rules = CLICKS
    gateway = application(backend)
    page = (await ask(gateway, "/search?q=crawler")).text
    for rank, link in enumerate(links_in(page), 1):
        reply = await ask(gateway, link, client="127.0.0.7")
        url = dict(parse_qsl(link.partition("?")[2]))["url"]
        assert (reply.status, reply.headers["location"]) == (302, url)
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert f'title="{url}"' in unescape(page)
        clicked = backend.logged[-1]
        assert isinstance(clicked, ResultClicked)
        assert (clicked.query, clicked.rank, clicked.url) == ("crawler", rank, url)


async def test_a_link_that_this_gateway_did_not_sign_leads_nowhere_and_is_not_noted() -> None:
    backend = FakeBackend()
    backend.shown_log.rules = CLICKS
    gateway = application(backend)
    link = links_in((await ask(gateway, "/search?q=crawler")).text)[0]
    said = dict(parse_qsl(link.partition("?")[2]))
    for change in (
        {"url": "http://evil.test/"},
        {"rank": "2"},
        {"q": "other"},
        {"day": str(int(said["day"]) - 3)},
        {"day": "x"},
        {"mac": ""},
        {"mac": "é"},
        {"url": "javascript:alert(1)"},
    ):
        reply = await ask(gateway, f"/go?{urlencode(said | change)}", headers={"Accept": "text/html"})
        assert reply.status == 404
        assert "location" not in reply.headers
    assert not backend.logged
    stranger = FakeBackend()
    stranger.shown_log = type(stranger.shown_log)(stranger.logged.append, "of another peer")
    assert (await ask(application(stranger), link)).status == 404


async def test_links_of_a_page_that_is_open_still_lead_on_when_the_log_has_ended() -> None:
    backend = FakeBackend()
    backend.shown_log.rules = CLICKS
    gateway = application(backend)
    link = links_in((await ask(gateway, "/search?q=crawler")).text)[0]
    backend.shown_log.rules = None
    assert (await ask(gateway, link)).status == 302
    assert not backend.logged


class LoggingSearcher(FakeSearcher):
    """One beside which there is a log."""

    def __init__(self) -> None:
        super().__init__()
        self.logged: list[ResultsShown] = []

    def deliver(self, source: Address, actor: str, message: Message) -> None:
        if actor == "query_log":
            assert isinstance(message, ResultsShown)
            self.logged.append(message)
        else:
            super().deliver(source, actor, message)


async def shown(rules: QueryLogRules | None, requests: Iterable[tuple[str, str, str]]) -> list[ResultsShown]:
    """The notes of requests, each by an address for a target with a header."""
    body = policy_bytes(Policy(rules=EVERYTHING.rules, query_log=rules))
    searcher = LoggingSearcher()
    async with running(searcher, GatewaySettings(admin_token="t" * 16)) as http:
        decree = Decree(POLICY, "", 1, 0.0, inf, body, b"", b"")
        http.receive(Address("ann", "membership"), DecreesInForce(POLICY, (decree,)))
        for address, target, header in requests:
            head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{header}Connection: close\r\n\r\n"
            await exchange(http.port, head, address)
    return searcher.logged


async def test_a_client_is_a_digest_that_is_the_same_for_one_query_and_of_no_use_for_another() -> None:
    targets = ("/search?q=crawler", "/search?q=++crawler++&page=2", "/api/search?q=index")
    logged = await shown(
        QueryLogRules(days=7), [(f"127.0.0.{n}", target, "") for n in (2, 3) for target in targets]
    )
    assert [(each.query, each.page) for each in logged] == [("crawler", 1), ("crawler", 2), ("index", 1)] * 2
    clients = [each.client for each in logged]
    assert clients[0] == clients[1] != clients[3] == clients[4]
    assert len(set(clients)) == 4
    again = await shown(QueryLogRules(days=7), [("127.0.0.2", "/search?q=crawler", "")])
    assert again[0].client not in clients, "another key, as on another day"


async def test_without_a_log_nothing_is_noted_and_with_one_nothing_of_administrators_nor_long_texts() -> None:
    assert await shown(None, [("127.0.0.2", "/search?q=crawler", "")]) == []
    token = f"Authorization: Bearer {'t' * 16}\r\n"
    requests = [("127.0.0.2", "/api/search?q=crawler", token), ("127.0.0.2", f"/search?q={'x' * 300}", "")]
    assert await shown(QueryLogRules(days=7), requests) == []


async def test_the_log_is_for_administrators() -> None:
    def answer(order: Message) -> Message:
        if isinstance(order, ReadLog):
            assert (order.peer, order.after) == ("bob", b"\x0a")
            return LogFound(7, ("ann", "bob"), "bob", TOLD)
        return answer_to(order)

    gateway = application(FakeBackend(answer))
    target = "/api/log?peer=bob&after=0a"
    assert (await ask(gateway, target)).status == 403
    assert (await ask(gateway, "/api/log?after=xyz", headers=RIGHTS)).status == 400
    assert (await ask(gateway, target, headers=RIGHTS)).json == {
        "peers": ["ann", "bob"],
        "peer": "bob",
        "queries": [
            {
                "day": "1970-01-02",
                "query": "glacier",
                "clients": 6,
                "pages": [{"page": 1, "clients": 6, "hits": 10}],
                "clicks": [{"rank": 2, "url": "http://a.test/", "clients": 3}],
            }
        ],
        "rare": [{"day": "1970-01-02", "queries": [2, 0, 0, 1]}],
        "next": "0102",
    }


def test_the_searcher_asks_one_peer_and_refuses_when_that_does_not_answer() -> None:
    searcher, http = Searcher("ann"), Address("ann", "http")
    table = SlotTable({"ann": 100, "bob": 100}, 64, 2)
    searcher.receive(http, OwnershipChanged(Ownership("ann", table, ("ann", "bob"))), 0.0)
    [asked] = searcher.receive(http, ReadLog(7, "bob", b"x"), 0.0)
    assert asked.target == Address("bob", "query_log")
    assert isinstance(asked.message, LogWanted)
    told = LogTold(asked.message.request, TOLD.queries, TOLD.rare)
    assert searcher.receive(Address("cyd", "query_log"), told, 0.1) == []
    [answer] = searcher.receive(asked.target, told, 0.1)
    assert answer.message == LogFound(7, ("ann", "bob"), "bob", told)
    [asked] = searcher.receive(http, ReadLog(8), 1.0)
    assert asked.target.peer == "ann"
    late = [send.message for at in (1.5, 7.0) for send in searcher.wake(at) if send.target == http]
    assert [type(message) for message in late] == [RequestRefused]
    [refused] = searcher.receive(http, ReadLog(9, "cyd"), 8.0)
    assert isinstance(refused.message, RequestRefused)
