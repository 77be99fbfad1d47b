"""The pages and the JSON of groups, and of hubs and authorities, without a server in between."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Message
from mesh.urls import fingerprint, host_of
from peers.engine.queries.query_language import Oddity, Remark
from peers.gateway.handling.backend import Answer, Busy
from peers.gateway.model.messages import (
    Coverage,
    FoundPage,
    GatherNeighbours,
    NeighboursGathered,
    PagesFound,
    Relaxed,
    SearchPages,
)
from peers.gateway.routes import application
from peers.link_graph.wire_messages import LinkingPage, MarkedPage, NeighboursListed, PageNeighbours
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.rules import OF_SEEDS, Policy
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import FakeBackend
from tests.peers.gateway.fake_searcher import answer_to

ZH = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"}
EVIL = '</h3><script>alert("x")</script>'
WORDS = (("jaguar", "cat", "prey"), ("jaguar", "engine", EVIL), ("cat", "prey"), ("engine", EVIL))
URLS = tuple(f"http://{name}.test/{name}" for name in ("a", "b", "c", "d"))
HUB, LEAF = "http://hub.test/", "http://leaf.test/"


def hit(number: int) -> FoundPage:
    url, kind = URLS[number], "application/pdf" if number == 3 else "text/html"
    return FoundPage(
        url, EVIL if number else "A", "of jaguars", ((3, 10),), (), 1.0, host_of(url), 7.0, "ann", type=kind
    )


def answer(order: Message) -> Message:
    match order:
        case SearchPages(text="jaguar"):
            hits = tuple(replace(hit(n), words=WORDS[n] if order.wants_words else ()) for n in range(4))
            return PagesFound(order.ticket, ("jaguar",), 1_234, 0.0, Coverage(8, 8, 0), hits, is_exact=False)
        case SearchPages(text="define:jaguar"):
            sentence = "A jaguar is a cat."
            said = replace(hit(0), snippet=sentence, highlights=(), definition=sentence)
            remarks = (Remark(Oddity.NOT_DEFINED, "jaguar"),)
            return PagesFound(
                order.ticket, ("jaguar",), 2, 0.0, Coverage(8, 8, 0), (said, hit(1)), remarks=remarks
            )
        case SearchPages(text="jaguar between:2026-11..2026-12"):
            versions = replace(hit(0), as_of=9e8), replace(hit(0), as_of=9e8, fetched_at=7e8, until=8e8)
            return PagesFound(order.ticket, ("jaguar",), 2, 0.0, Coverage(8, 8, 0), versions)
        case SearchPages(text="jagaur"):
            remarks = (Remark(Oddity.QUOTE_OPEN),)
            found = PagesFound(order.ticket, ("jaguar",), 2, 0.0, Coverage(8, 8, 0), (hit(0), hit(3)))
            return replace(
                found, corrected="jaguar", remarks=remarks, relaxed=Relaxed(is_any=True, with_all=0)
            )
        case SearchPages(text="nowhere"):
            return PagesFound(order.ticket, (), 0, 0.0, Coverage(8, 4, 4), ())
        case GatherNeighbours(urls=()):
            assert [each.mark for each in order.marks] == [fingerprint(LEAF)]
            return NeighboursGathered(order.ticket, (NeighboursListed(1, True, named=(LEAF,)),), ("bob",))
        case GatherNeighbours():
            targets = (MarkedPage(3, fingerprint(LEAF)), MarkedPage(4, b"x" * 16))
            pages = [
                PageNeighbours(URLS[0], (LinkingPage(HUB, EVIL),), targets),
                PageNeighbours(URLS[1], (LinkingPage(HUB, EVIL),), targets[:1]),
            ]
            return NeighboursGathered(order.ticket, (NeighboursListed(1, True, tuple(pages)),), ())
        case _:
            return answer_to(order)


class BusyBackend(FakeBackend):
    async def ask(
        self, order: Callable[[int], Message], answer: type[Answer], actor: str = "searcher"
    ) -> Answer:
        raise Busy("too many")


@pytest.fixture
def backend() -> FakeBackend:
    backend = FakeBackend(answer)
    backend.policy = Policy(rules=OF_SEEDS.rules, link_graph=LinkGraphRules())
    return backend


async def told(backend: FakeBackend, path: str) -> tuple[int, dict[str, Any]]:
    reply = await ask(application(backend), path)
    return reply.status, json.loads(reply.body)


async def test_results_are_grouped_by_words_and_each_group_leads_on(backend: FakeBackend) -> None:
    status, answered = await told(backend, "/api/groups?q=jaguar")
    assert status == 200
    assert [(each["names"], each["query"]) for each in answered["groups"]] == [
        (["cat", "prey"], "jaguar cat"),
        (["engine", EVIL], "jaguar engine"),
    ]
    assert [[one["rank"] for one in each["hits"]] for each in answered["groups"]] == [[1, 3], [2, 4]]
    assert (answered["n_grouped"], answered["total"], answered["is_exact"]) == (4, 1_234, False)
    [order] = backend.orders
    assert isinstance(order, SearchPages)
    assert (order.k, order.wants_words) == (60, True)


async def test_kinds_and_sites_want_no_words(backend: FakeBackend) -> None:
    _, answered = await told(backend, "/api/groups?q=jaguar&by=kind")
    assert [(each["names"], len(each["hits"])) for each in answered["groups"]] == [
        (["html"], 3),
        (["pdf"], 1),
    ]
    assert not backend.orders[0].wants_words  # type: ignore[attr-defined]
    _, answered = await told(backend, "/api/groups?q=jaguar&by=site")
    assert answered["groups"][0]["query"] == "jaguar site:a.test"


async def test_the_page_of_groups_is_escaped_and_says_of_how_many_results_it_is(backend: FakeBackend) -> None:
    reply = await ask(application(backend), "/groups?q=jaguar")
    assert reply.status == 200
    assert "The first 4 of at least 1,234 results." in reply.text
    assert '<h2 id="group-1"><bdi>cat, prey</bdi> (2)</h2>' in reply.text
    assert 'href="/search?q=jaguar+cat"' in reply.text
    assert "of <mark>jaguars</mark>" in reply.text
    assert "<script>alert" not in reply.text
    reply = await ask(application(backend), "/groups?q=jaguar&by=kind", headers=ZH)
    assert "结果分组" in reply.text
    assert "至少 1,234 个结果，以下为前 4 个。" in reply.text
    reply = await ask(application(backend), "/groups?q=nowhere")
    assert reply.text.count("No page has these words.") == 1
    assert "The first 0" not in reply.text
    assert "Part of the mesh does not answer" in reply.text


async def test_versions_of_a_page_have_ranks_and_ways_of_their_own(backend: FakeBackend) -> None:
    _, answered = await told(backend, "/api/groups?q=jaguar+between:2026-11..2026-12&by=site")
    [group] = answered["groups"]
    assert [(each["rank"], each["as_of"], each["until"]) for each in group["hits"]] == [
        (1, 9e8, 0.0),
        (2, 9e8, 8e8),
    ]
    page = (await ask(application(backend), "/groups?q=jaguar+between:2026-11..2026-12&by=site")).text
    assert re.findall(r'<h3 dir="auto"><a href="([^"]*)"', page) == [
        f"/at/19980709160000/{URLS[0]}",
        f"/at/19920307202640/{URLS[0]}",
    ]


async def test_groups_say_how_the_query_was_read(backend: FakeBackend) -> None:
    _, answered = await told(backend, "/api/groups?q=jagaur&by=kind")
    assert answered["corrected"] == "jaguar"
    assert [each["query"] for each in answered["groups"]] == ["jaguar type:html", "jaguar type:pdf"]
    assert [each["kind"] for each in answered["remarks"]] == ["quote_open"]
    assert answered["relaxed"] == {"nowhere": [], "is_any": True, "with_all": 0}
    page = (await ask(application(backend), "/groups?q=jagaur&by=kind")).text
    assert "some of the words are enough" in page
    assert "A word is on no page. Shown are results for" in page
    assert "A closing quotation mark is missing" in page
    assert 'href="/search?q=jaguar+type%3Apdf"' in page


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/groups?q=", 400),
        ("/api/groups?q=a&by=size", 400),
        ("/api/graph/hubs?q=", 400),
        ("/api/graph/hubs?q=a&limit=0", 400),
        ("/groups?q=", 302),
        ("/hubs?q=", 302),
        ("/groups?q=jaguar&by=size", 200),
    ],
)
async def test_what_makes_no_sense_is_refused_or_passed_over(
    backend: FakeBackend, path: str, status: int
) -> None:
    assert (await ask(application(backend), path)).status == status


@pytest.mark.parametrize("path", ["/groups?q=a", "/hubs?q=a", "/api/groups?q=a", "/api/graph/hubs?q=a"])
async def test_whoever_is_busy_says_so(path: str) -> None:
    backend = BusyBackend()
    backend.policy = Policy(rules=OF_SEEDS.rules, link_graph=LinkGraphRules())
    assert (await ask(application(backend), path)).status == 503


async def test_hubs_and_authorities_are_found_around_the_results(backend: FakeBackend) -> None:
    status, answered = await told(backend, "/api/graph/hubs?q=jaguar")
    assert status == 200
    assert {each["url"]: each["n_links"] for each in answered["authorities"]} == {
        URLS[0]: 1,
        URLS[1]: 1,
        LEAF: 2,
    }
    assert {each["url"]: each["n_links"] for each in answered["hubs"]} == {HUB: 2, URLS[0]: 1, URLS[1]: 1}
    assert (answered["n_results"], answered["n_pages"], answered["n_links"]) == (4, 4, 4)
    assert answered["silent"] == ["bob"]
    assert {each["url"] for each in answered["hubs"] if each["is_result"]} == {URLS[0], URLS[1]}
    page = await ask(application(backend), "/hubs?q=jaguar")
    assert "Around the first 4 results: 4 pages with 4 links between domains." in page.text
    assert page.text.index("Authorities") < page.text.index("Hubs: they link")
    assert "<script>alert" not in page.text
    none = await ask(application(backend), "/hubs?q=nowhere", headers=ZH)
    assert "这些结果周围没有已知的跨域名链接。" in none.text
    assert "部分节点没有应答" in none.text, "half of the slots"


async def test_without_links_in_the_policy_there_are_no_hubs_and_no_link_to_them(
    backend: FakeBackend,
) -> None:
    with_links = await ask(application(backend), "/search?q=jaguar")
    assert 'href="/hubs?q=jaguar"' in with_links.text
    assert 'href="/groups?q=jaguar"' in with_links.text
    backend.policy = OF_SEEDS
    backend.orders.clear()
    status, answered = await told(backend, "/api/graph/hubs?q=jaguar")
    assert (status, "[link_graph]" in answered["error"]) == (404, True)
    assert (await ask(application(backend), "/hubs?q=jaguar")).status == 404
    assert backend.orders == []
    assert "/hubs" not in (await ask(application(backend), "/search?q=jaguar")).text


async def test_a_definition_is_shown_as_one(backend: FakeBackend) -> None:
    page = await ask(application(backend), "/search?q=define:jaguar")
    assert "<b>Definition:</b> A jaguar is a cat." in page.text
    assert "No page says in a sentence what “jaguar” is" in page.text
    _, answered = await told(backend, "/api/search?q=define:jaguar")
    assert [each["definition"] for each in answered["hits"]] == ["A jaguar is a cat.", ""]
