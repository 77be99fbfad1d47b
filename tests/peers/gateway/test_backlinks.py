"""Back-links at a gateway: off by default, hostile texts, parts of the list, `link:` in the search field."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address, Message
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.slots import SlotTable
from mesh.urls import host_of
from peers.engine.queries.query_language import Oddity, Remark
from peers.gateway.backlinks.backlinks_lookup import BacklinksLookup
from peers.gateway.model.messages import BacklinksFound, FindBacklinks, PagesFound, SearchPages
from peers.gateway.routes import application
from peers.gateway.searcher import Searcher
from peers.link_graph.target_row import SourceLink
from peers.link_graph.wire_messages import AROUND, LISTED_MAX, BacklinksListed, ListBacklinks
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.rules import EVERYTHING, OF_SEEDS, Action, Policy, Rule
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import FakeBackend
from tests.peers.gateway.fake_searcher import CHINESE_URL, answer_to

URL, OTHER = "http://www.example.org/a", "https://www.example.org/a"
LINK = SourceLink("http://a.test/%3Cb%3E", 1, 86_400.0, "<script>alert(1)</script>", "a & b")
TOLD = BacklinksListed(1, URL, True, 1_250, 30, False, 2 * LISTED_MAX, (LINK,))
KEPT = LinkGraphRules()
HTML = {"Accept": "text/html"}


def backend_of(rules: LinkGraphRules | None = KEPT, told: BacklinksListed | None = TOLD) -> FakeBackend:
    def answer(order: Message) -> Message:
        if not isinstance(order, FindBacklinks):
            return answer_to(order)
        if told is None or order.url == told.url:
            return BacklinksFound(7, order.url, told)
        return BacklinksFound(7, order.url, BacklinksListed(1, order.url, is_on=True))

    backend = FakeBackend(answer)
    backend.policy = Policy(rules=OF_SEEDS.rules, link_graph=rules)
    return backend


async def told_of(backend: FakeBackend, url: str = URL, more: str = "") -> tuple[int, dict[str, Any]]:
    reply = await ask(application(backend), f"/api/backlinks?url={quote(url)}{more}")
    return reply.status, json.loads(reply.body)


async def test_it_is_off_unless_the_policy_has_it() -> None:
    backend = backend_of(None)
    status, told = await told_of(backend)
    assert status == 404
    assert "[link_graph]" in told["error"]
    page = await ask(application(backend), f"/backlinks?url={quote(URL)}", headers=HTML)
    assert page.status == 404
    assert backend.orders == []


async def test_programs_get_a_part_and_where_the_next_begins() -> None:
    status, told = await told_of(backend_of())
    assert status == 200
    assert (told["url"], told["n_links"], told["n_domains"], told["is_exact"]) == (URL, 1_250, 30, False)
    assert (told["start"], told["next"]) == (0, LISTED_MAX)
    assert told["links"] == [
        {"url": LINK.url, "title": LINK.title, "text": LINK.text, "fetched_at": 86_400.0}
    ]
    assert told["rank"] is None
    backend = backend_of()
    _, told = await told_of(backend, more=f"&start={LISTED_MAX}")
    assert told["next"] is None
    assert [order.start for order in backend.orders if isinstance(order, FindBacklinks)] == [LISTED_MAX]


async def test_of_an_address_without_a_scheme_that_is_shown_to_which_more_pages_link() -> None:
    backend = backend_of()
    _, told = await told_of(backend, "www.example.org/a")
    assert told["url"] == URL
    assert {order.url for order in backend.orders if isinstance(order, FindBacklinks)} == {URL, OTHER}


@pytest.mark.parametrize("more", ["&start=-1", "&start=9999999", "&start=x"])
async def test_a_start_that_is_none_is_refused(more: str) -> None:
    assert (await told_of(backend_of(), more=more))[0] == 400


@pytest.mark.parametrize("url", ["", "javascript:alert(1)", "http://", "x" * 9_000])
async def test_what_is_no_address_is_refused(url: str) -> None:
    assert (await told_of(backend_of(), url))[0] == 400
    assert (await ask(application(backend_of()), f"/backlinks?url={quote(url)}", headers=HTML)).status == 400


async def test_when_nobody_answers_the_gateway_says_so() -> None:
    assert (await told_of(backend_of(told=None)))[0] == 503
    reply = await ask(application(backend_of(told=None)), f"/backlinks?url={quote(URL)}", headers=HTML)
    assert reply.status == 503


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_page_shows_hostile_texts_as_texts_and_leads_on(language: str) -> None:
    path = f"/backlinks?url={quote(URL)}&lang={language}"
    page = await ask(application(backend_of()), path, headers=HTML)
    assert page.status == 200
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    assert "a &amp; b" in page.text
    assert "1,250" in page.text
    assert f"start={LISTED_MAX}" in page.text
    assert "1970-01-02" in page.text


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_rank_of_a_page_that_has_one_is_shown(language: str) -> None:
    backend = backend_of(told=replace(TOLD, rank=12.345))
    assert (await told_of(backend))[1]["rank"] == 12.345
    path = f"/backlinks?url={quote(URL)}&lang={language}"
    page = await ask(application(backend), path, headers=HTML)
    assert "PageRank" in page.text
    assert "12.35" in page.text or "12.34" in page.text
    without = await ask(application(backend_of()), path, headers=HTML)
    assert "PageRank" not in without.text


async def test_a_stored_copy_leads_to_the_pages_that_link_to_it() -> None:
    page = await ask(application(backend_of()), f"/page?url={quote(CHINESE_URL)}", headers=HTML)
    assert page.status == 200
    assert "/backlinks?url=" in page.text
    off = await ask(application(backend_of(None)), f"/page?url={quote(CHINESE_URL)}", headers=HTML)
    assert off.status == 200
    assert "/backlinks" not in off.text


async def test_link_alone_leads_to_the_list_and_with_words_a_remark_does() -> None:
    reply = await ask(application(backend_of()), "/search?q=link:www.example.org/a", headers=HTML)
    assert (reply.status, reply.headers["location"]) == (302, "/backlinks?url=www.example.org%2Fa")
    off = await ask(application(backend_of(None)), "/search?q=link:www.example.org/a", headers=HTML)
    assert off.status == 200
    assert "/backlinks" not in off.text

    def answer(order: Message) -> Message:
        found = answer_to(order)
        if isinstance(order, SearchPages):
            assert isinstance(found, PagesFound)
            return replace(found, remarks=(Remark(Oddity.NO_LINKS, "link:www.example.org/a"),))
        return found

    backend = FakeBackend(answer)
    backend.policy = backend_of().policy
    page = await ask(application(backend), "/search?q=web+link:www.example.org/a", headers=HTML)
    assert page.status == 200
    assert "/backlinks?url=www.example.org%2Fa" in page.text
    told = await ask(application(backend), "/api/search?q=web+link:www.example.org/a")
    assert [each["kind"] for each in json.loads(told.body)["remarks"]] == ["backlinks"]


# --- The errand

VIEW = Ownership("ann", SlotTable({"ann": 100, "bob": 100}, 64, 2), ("ann", "bob"))
HIDING = Policy(rules=(Rule(action=Action.TAKE_DOWN, domains=("hidden.test",)), *EVERYTHING.rules))


def lookup(order: FindBacklinks, policy: Policy = EVERYTHING) -> BacklinksLookup:
    return BacklinksLookup(1, "ann", order, VIEW, policy)


def test_links_are_shown_that_two_members_tell_and_those_of_one_where_the_other_is_silent() -> None:
    """One of the team named pages that do not link, with titles and texts of its own."""
    answerer = VIEW.answerer_of(VIEW.slot_of(host_of(URL)))
    [witness] = other = {"ann", "bob"} - {answerer}
    more = SourceLink("http://made-up.test/", 1, 1.0, "Buy", "now")
    one, two = replace(TOLD, links=(more, replace(LINK, title="Buy"))), replace(TOLD, links=(LINK,))
    both = replace(TOLD, links=(replace(LINK, title=""),))
    for me, silent, wanted in (
        ("cyd", None, both),
        (answerer, None, one),  # it believes itself
        ("cyd", answerer, two),
        ("cyd", witness, one),
    ):
        errand = BacklinksLookup(1, me or "", FindBacklinks(7, URL), VIEW)
        asked = errand.start(0.0)
        assert {send.target.peer for send in asked} == {"ann", "bob"}
        ends: list[Any] = []
        for send in asked:
            assert isinstance(send.message, ListBacklinks)
            peer = send.target.peer
            if peer != silent:
                answer = replace(two if peer in other else one, request=send.message.request)
                ends += errand.receive(send.target, answer, 0.1) or []
        if silent:
            ends = errand.wake(10.0)
        [end] = ends
        assert isinstance(end.message, BacklinksFound)
        assert end.message.told is not None
        assert end.message.told.links == wanted.links


def test_where_a_member_lags_by_a_link_none_is_lost_between_two_parts() -> None:
    """One link more moved the witness's parts by one, so that each part lost the link at its border."""
    links = [SourceLink(f"http://site{n}.test/", 1, 1.0) for n in range(2 * LISTED_MAX)]
    answerer = VIEW.answerer_of(VIEW.slot_of(host_of(URL)))
    shown: list[str] = []
    for start in (0, LISTED_MAX):
        errand = BacklinksLookup(1, "cyd", FindBacklinks(7, URL, start), VIEW)
        ends: list[Any] = []
        for send in errand.start(0.0):
            assert isinstance(send.message, ListBacklinks)
            known = links if send.target.peer == answerer else links[1:]
            around = tuple(known[max(0, start - AROUND) : start + LISTED_MAX + AROUND])
            told = replace(TOLD, request=send.message.request, links=around)
            ends += errand.receive(send.target, told, 0.1) or []
        shown += [link.url for link in ends[0].message.told.links]
    assert shown == [link.url for link in links[1:]]


def test_texts_of_strangers_turn_nothing_around_them() -> None:
    errand = lookup(FindBacklinks(7, URL))
    links = (SourceLink("http://a.test/", 1, 1.0, "turned\u202e", "cleared\x1b[2J"),)
    ends: list[Any] = []
    for send in errand.start(0.0):
        assert isinstance(send.message, ListBacklinks)
        told = replace(TOLD, request=send.message.request, links=links)
        ends += errand.receive(send.target, told, 0.1) or []
    [link] = ends[0].message.told.links
    assert (link.title, link.text) == ("turned\u2060", "cleared [2J")


def test_pages_that_are_hidden_are_shown_to_nobody_that_may_not_see_them() -> None:
    [end] = lookup(FindBacklinks(7, "http://hidden.test/"), HIDING).start(0.0)
    assert end.message == BacklinksFound(
        7, "http://hidden.test/", BacklinksListed(0, "http://hidden.test/", True)
    )
    [end] = lookup(FindBacklinks(7, URL, hidden=("example.org",))).start(0.0)
    assert isinstance(end.message, BacklinksFound)
    errand = lookup(FindBacklinks(7, URL, hidden=("inside.test",)), HIDING)
    asked = errand.start(0.0)
    links = tuple(
        SourceLink(f"http://{host}/", 1, 1.0) for host in ("a.test", "hidden.test", "x.inside.test")
    )
    ends: list[Any] = []
    for send in asked:
        assert isinstance(send.message, ListBacklinks)
        ends += (
            errand.receive(send.target, replace(TOLD, request=send.message.request, links=links), 0.1) or []
        )
    assert [link.url for link in ends[0].message.told.links] == ["http://a.test/"]


def test_the_searcher_takes_the_order_and_the_answer() -> None:
    searcher = Searcher("ann")
    searcher.receive(Address("ann", "membership"), OwnershipChanged(VIEW), 0.0)
    sends = searcher.receive(Address("ann", "http"), FindBacklinks(7, URL), 0.0)
    asked = [send for send in sends if isinstance(send.message, ListBacklinks)]
    ends: list[Any] = []
    for send in asked:
        assert isinstance(send.message, ListBacklinks)
        ends += searcher.receive(send.target, replace(TOLD, request=send.message.request), 0.1)
    assert [end.message for end in ends if isinstance(end.message, BacklinksFound)]
