"""Two rankings at a gateway: those that agree see both, clicks count by signed links, and off is off."""

from __future__ import annotations

from html import unescape
from urllib.parse import parse_qsl, urlencode

import msgspec
import pytest

from mesh.actors.actor import Message
from peers.gateway.http import shown_log
from peers.gateway.model.messages import SearchPages
from peers.gateway.routes import application
from peers.judging.team_draft import DRAWS
from peers.policy.log_rules import QueryLogRules, SecondRanking, SecondWeights
from peers.policy.rules import OF_SEEDS, Policy
from peers.query_log.messages import ResultClicked
from tests.peers.gateway.asgi_client import Reply, ask
from tests.peers.gateway.fake_backend import FakeBackend
from tests.peers.gateway.fake_searcher import answer_to
from tests.peers.gateway.test_log_routes import links_in

SECOND = SecondRanking(name="titles", weights=SecondWeights(title=0.9))
RULES = QueryLogRules(days=7, clicks=True, second=SECOND)
AGREED = {"Cookie": "a=b; tianmesh-compare=yes"}
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}
SEARCH = "/search?q=crawler"


def backend_of(rules: QueryLogRules | None = RULES, teams: tuple[int, ...] = (1, 0, -1)) -> FakeBackend:
    def answer(order: Message) -> Message:
        if not isinstance(order, SearchPages):
            return answer_to(order)
        found = answer_to(msgspec.structs.replace(order, text="many"))
        return msgspec.structs.replace(found, teams=teams) if order.draw else found

    backend = FakeBackend(answer)
    backend.policy = Policy(rules=OF_SEEDS.rules, query_log=rules)
    backend.shown_log.rules = rules
    return backend


def draws(backend: FakeBackend) -> list[int]:
    return [order.draw for order in backend.orders if isinstance(order, SearchPages)]


def said_in(link: str) -> dict[str, str]:
    return dict(parse_qsl(link.partition("?")[2]))


async def clicked(
    backend: FakeBackend, link: str, client: str = "192.0.2.1", **headers: str
) -> ResultClicked:
    assert (await ask(application(backend), link, headers=headers or AGREED, client=client)).status == 302
    found = backend.logged[-1]
    assert isinstance(found, ResultClicked)
    return found


@pytest.mark.parametrize("rules", [None, QueryLogRules(days=7, clicks=True)])
async def test_without_a_second_ranking_a_page_is_what_it_was_before(rules: QueryLogRules | None) -> None:
    backend = backend_of(rules)
    gateway = application(backend)
    with_cookie, without = [(await ask(gateway, SEARCH, headers=sent)).text for sent in (AGREED, {})]
    assert with_cookie == without
    assert "/compare" not in without
    assert "credit=" not in unescape(without)
    assert draws(backend) == [0, 0]
    assert (await ask(gateway, "/compare", headers=FORM)).status == 404


async def test_only_who_has_agreed_sees_results_of_both() -> None:
    backend = backend_of()
    gateway = application(backend)
    page = (await ask(gateway, SEARCH)).text
    assert 'href="/compare"' in page
    assert "credit=" not in unescape(page)
    for sent in ({"Cookie": "tianmesh-compare=no"}, {"Cookie": "tianmesh-compare="}):
        await ask(gateway, SEARCH, headers=sent)
    await ask(gateway, "/api/search?q=crawler", headers=AGREED)  # programs see the ranking in force
    await ask(gateway, f"{SEARCH}&format=rss", headers=AGREED)
    assert not any(draws(backend))
    page = (await ask(gateway, SEARCH, headers=AGREED)).text
    assert 1 <= draws(backend)[-1] <= DRAWS
    assert ["credit" in said_in(link) for link in links_in(page)][:3] == [True, True, False]


async def test_a_client_has_the_same_draw_for_all_pages_of_a_query_and_clients_have_all_draws() -> None:
    backend = backend_of()
    gateway = application(backend)
    for target in (SEARCH, f"{SEARCH}&page=2", f"{SEARCH}&sort=date"):
        await ask(gateway, target, headers=AGREED)
    assert len(set(draws(backend))) == 1
    found = {backend.shown_log.draw(f"192.0.2.{n}", "crawler") for n in range(250)}
    assert found == set(range(1, DRAWS + 1))


async def test_a_click_counts_for_the_ranking_that_has_picked_the_result_and_no_address_tells_it() -> None:
    backend = backend_of()
    links = links_in((await ask(application(backend), SEARCH, headers=AGREED)).text)
    first, second, of_none = [await clicked(backend, link) for link in links[:3]]
    assert (first.comparison, first.team, first.rank) == (SECOND.comparison, 1, 1)
    assert (second.comparison, second.team, second.rank) == (SECOND.comparison, 0, 2)
    assert of_none.comparison == ""
    for link in links[:2]:
        assert said_in(link).keys() == {"url", "q", "rank", "day", "mac", "credit"}
        assert len(said_in(link)["credit"]) == 24


async def test_forged_credits_lead_on_and_count_for_nothing() -> None:
    backend = backend_of()
    links = links_in((await ask(application(backend), SEARCH, headers=AGREED)).text)
    said, other = said_in(links[0]), said_in(links[1])
    for credit in ("", "0" * 24, said["mac"], other["credit"], "é", "x" * 5_000):
        link = f"/go?{urlencode(said | {'credit': credit})}"
        assert (await clicked(backend, link)).comparison == ""
    # Nor does that of a client that has not agreed, of other weights, or of a comparison that is over.
    assert (await clicked(backend, links[0], Cookie="tianmesh-compare=no")).comparison == ""
    for second in (SecondRanking(name="titles", weights=SecondWeights(title=0.8)), None):
        backend.shown_log.rules = QueryLogRules(days=7, clicks=True, second=second)
        assert (await clicked(backend, links[0])).comparison == ""


async def test_one_client_counts_in_few_queries_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = backend_of()
    gateway = application(backend)

    async def credited(query: str, client: str) -> bool:
        page = await ask(gateway, f"/search?q={query}", headers=AGREED, client=client)
        return bool((await clicked(backend, links_in(page.text)[0], client)).comparison)

    counts = [await credited(f"crawler%20{n}", "192.0.2.1") for n in range(25)]
    most = shown_log.COMPARED_QUERIES_MAX
    assert counts == [True] * most + [False] * (25 - most)
    assert await credited("crawler%200", "192.0.2.1")  # one that counts already
    assert await credited("crawler", "192.0.2.2")
    monkeypatch.setattr(shown_log, "_today", lambda: 1 << 15)
    assert await credited("many", "192.0.2.1")  # another day


async def posted(backend: FakeBackend, body: bytes, **headers: str) -> Reply:
    return await ask(application(backend), "/compare", "POST", FORM | headers, body)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_reader_agrees_and_takes_it_back_without_script(language: str) -> None:
    backend = backend_of()
    target = f"/compare?lang={language}"
    page = (await ask(application(backend), target, headers=FORM)).text
    assert 'name="agree" value="yes"' in page
    reply = await ask(application(backend), target, "POST", FORM, b"agree=yes")
    assert (reply.status, reply.headers["location"]) == (303, target)
    cookie = reply.headers["set-cookie"]
    assert cookie == "tianmesh-compare=yes; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax"
    page = (await ask(application(backend), target, headers=FORM | AGREED)).text
    assert 'name="agree" value="no"' in page
    assert "Max-Age=0" in (await posted(backend, b"agree=no")).headers["set-cookie"]
    assert (
        "; Secure"
        in (await posted(backend, b"agree=yes", **{"X-Forwarded-Proto": "https"})).headers["set-cookie"]
    )


async def test_hostile_forms_agree_to_nothing() -> None:
    backend = backend_of()
    for body in (
        b"",
        b"agree=",
        b"agree=maybe",
        b"agree=%ff",
        b"&".join(b"f%d=1" % n for n in range(9)) + b"&agree=yes",
    ):
        reply = await posted(backend, body)
        assert (reply.status, "set-cookie" in reply.headers) == (400, False)
        assert "neither yes nor no" in reply.text
    assert (await posted(backend, b"agree=yes&x=" + b"a" * (1 << 20))).status == 413
    assert (await posted(backend, b"agree=yes", Origin="http://evil.test")).status == 403
