"""Counts of searches: the words and the pages that several ask for."""

from __future__ import annotations

import msgspec
import pytest

from mesh.actors.actor import EVERYBODY, Address, Send
from mesh.actors.ownership import OwnershipChanged
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from peers.crawler.model.wire_messages import WORDS_TOLD_MAX, DemandTold
from peers.gateway.model.messages import Coverage, FoundPage, PagesFound, Relaxed, Searched
from peers.gateway.search.demand import (
    ASKERS_MIN,
    KEPT_MAX,
    LITTLE,
    OF_ASKER_MAX,
    SHOWN_FIRST,
    SPAN_S,
    AskedFor,
    Demand,
    asked_words,
)
from peers.gateway.searcher import TELL_DEMAND_S, Searcher
from peers.policy.crawl_order import CrawlOrder, Order
from peers.policy.rules import EVERYTHING, Policy, policy_bytes
from tests.peers.gateway.fake_searcher import FakeSearcher
from tests.peers.gateway.mesh_of_three import ownership
from tests.peers.gateway.test_http_port import get, running

NOTHING = PagesFound(1, (), 0, 0.0, Coverage(64, 64, 0), ())
GUIDED = CrawlOrder(order=Order.WEIGHT, searched_words_max=8)
HTTP, CONTROLLERS = Address("ann", "http"), Address(EVERYBODY, "controller")


def found(total: int, **changes: object) -> PagesFound:
    return msgspec.structs.replace(NOTHING, total=total, **changes)


# --- Which words ---


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Glacier melting", ("glacier", "melting")),
        ("where is the glacier", ("glacier",)),
        ("Größe", ("grosse",)),
        ("气候变化", ("气候", "变化", "气候变化")),
        ('"sea ice" OR glacier', ("sea", "ice", "glacier")),
        ("glacier -tourism", ("glacier",)),
        ("glacier site:a.org", ()),
        ("(glacier lang:de) | ice", ()),
        ("x 1999", ()),
        ("one two three four five six seven eight", ()),
        ("", ()),
    ],
)
def test_words_are_those_that_a_query_is_about(text: str, words: tuple[str, ...]) -> None:
    assert asked_words(text, NOTHING, GUIDED) == words


def test_what_found_enough_is_not_wanted_nor_what_others_could_not_be_asked_for() -> None:
    assert asked_words("glacier", found(LITTLE - 1), GUIDED) == ("glacier",)
    assert asked_words("glacier", found(LITTLE), GUIDED) == ()
    assert asked_words("glacier", found(0, coverage=Coverage(64, 60, 4)), GUIDED) == ()
    some = Relaxed(is_any=True, with_all=2)
    assert asked_words("glacier ice", found(500, relaxed=some), GUIDED) == ("glacier", "ice")
    assert asked_words("glacier ice", found(500, relaxed=Relaxed(("glacier",))), GUIDED) == ("glacier", "ice")


# --- How many asked ---


def test_a_word_counts_when_several_have_asked_and_who_asks_again_counts_once() -> None:
    counted = AskedFor()
    for asker in range(ASKERS_MIN - 1):
        for _ in range(10):
            counted.note(asker, ("glacier",), 0.0)
    assert counted.wanted(0.0, WORDS_TOLD_MAX) == ()
    counted.note(99, ("glacier", "ice"), 0.0)
    assert counted.wanted(0.0, WORDS_TOLD_MAX) == ("glacier",)


def test_what_most_have_asked_for_is_first_and_no_more_than_fit_are_told() -> None:
    counted = AskedFor()
    for asker in range(ASKERS_MIN + 3):
        counted.note(asker, ("often",), 0.0)
    for asker in range(100, 100 + ASKERS_MIN):
        counted.note(asker, tuple(f"w{n:02}" for n in range(WORDS_TOLD_MAX)), 0.0)
    assert counted.wanted(0.0, WORDS_TOLD_MAX) == ("often", *(f"w{n:02}" for n in range(WORDS_TOLD_MAX - 1)))


def test_words_are_forgotten_when_nobody_asks_any_more() -> None:
    counted = AskedFor()
    for asker in range(ASKERS_MIN):
        counted.note(asker, ("glacier",), 0.0)
    assert counted.wanted(1.9 * SPAN_S, WORDS_TOLD_MAX) == ("glacier",)
    assert counted.wanted(2.1 * SPAN_S, WORDS_TOLD_MAX) == ()


def test_askers_of_two_spans_count_together() -> None:
    counted = AskedFor()
    for asker in range(ASKERS_MIN):
        counted.note(asker, ("glacier",), asker * SPAN_S / ASKERS_MIN * 1.5)
    assert counted.wanted(1.3 * SPAN_S, WORDS_TOLD_MAX) == ("glacier",)


def test_one_asker_has_so_many_words_and_a_crowd_does_not_fill_the_memory() -> None:
    counted = AskedFor()
    counted.note(1, tuple(f"w{n}" for n in range(2 * OF_ASKER_MAX)), 0.0)
    assert len(counted._askers) == OF_ASKER_MAX
    for asker in range(2, 2 + 2 * KEPT_MAX // OF_ASKER_MAX):
        counted.note(asker, tuple(f"w{asker}-{n}" for n in range(OF_ASKER_MAX)), 0.0)
    assert len(counted._askers) == KEPT_MAX


# --- Who is told ---


def searcher(ordering: CrawlOrder) -> Searcher:
    made = Searcher("ann", ordering=ordering)
    made.receive(Address("ann", "membership"), OwnershipChanged(ownership()), 0.0)
    return made


def ask(searcher: Searcher) -> None:
    for asker in range(ASKERS_MIN):
        assert searcher.receive(HTTP, Searched(asker, "glacier", NOTHING), 1.0) == []


def test_controllers_are_told_again_and_again_if_the_crawl_goes_by_searches() -> None:
    made = searcher(GUIDED)
    assert made.wake(1.0) == [Send(CONTROLLERS, DemandTold())]
    ask(made)
    assert made.wake_at() == 1.0 + TELL_DEMAND_S
    assert made.wake(1.0 + TELL_DEMAND_S) == [Send(CONTROLLERS, DemandTold(("glacier",)))]


def test_nothing_is_counted_by_default_nor_after_the_policy_says_so() -> None:
    made = searcher(CrawlOrder(order=Order.WEIGHT))
    ask(made)
    assert made.wake(1e6) == []
    made = searcher(GUIDED)
    made.wake(1.0)
    ask(made)
    plain = Policy(rules=EVERYTHING.rules, ordering=CrawlOrder())
    decree = Decree(POLICY, "", 1, 0.0, float("inf"), policy_bytes(plain), b"", b"")
    made.receive(Address("ann", "membership"), DecreesInForce(POLICY, (decree,)), 2.0)
    assert made.wake_at() == float("inf")
    assert made._demand.told(2.0) == DemandTold()


async def test_of_who_asks_the_searcher_gets_a_digest_alone() -> None:
    seen = FakeSearcher()
    async with running(seen) as http:
        for address in ("127.0.0.1", "127.0.0.1", "127.0.0.2"):
            await get(http.port, "/api/search?q=unheard%20of%20glaciers", address)
        await get(http.port, "/api/search?q=glaciers&offset=10", "127.0.0.3")
    told = seen.searched
    assert [each.text for each in told] == ["unheard of glaciers"] * 3, "further pages are no other search"
    assert told[0].asker == told[1].asker != told[2].asker


# --- Which pages ---


def shown(*urls: str, **changes: object) -> PagesFound:
    pages = (FoundPage(url, "", "", (), (), 1.0, "a.test", 0.0, "ann") for url in urls)
    return found(len(urls), hits=tuple(pages), **changes)


def test_pages_that_several_were_shown_first_are_told_and_so_many_at_most() -> None:
    demand = Demand(CrawlOrder(asked_pages_max=2))
    urls = tuple(f"http://a.test/{number}" for number in range(SHOWN_FIRST + 2))
    for asker in range(ASKERS_MIN - 1):
        demand.note(asker, "glacier", shown(*urls), 0.0)
    demand.note(0, "ice", shown(*urls), 0.0)
    assert demand.told(0.0) == DemandTold(), "one asks twice"
    demand.note(99, "glacier", shown(urls[1], urls[2], urls[-1]), 0.0)
    assert demand.told(0.0) == DemandTold((), (urls[1], urls[2]))
    for asker in range(200, 200 + ASKERS_MIN + 1):
        demand.note(asker, "sea", shown(urls[-1]), 0.0)
    assert demand.told(0.0).pages == (urls[-1], urls[1]), "most have asked for it"
    assert demand.told(2.1 * SPAN_S) == DemandTold()


def test_pages_shown_instead_of_what_was_asked_for_do_not_count() -> None:
    demand = Demand(CrawlOrder(asked_pages_max=2))
    for asker in range(ASKERS_MIN):
        demand.note(asker, "glacier", shown("http://a.test/", relaxed=Relaxed(is_any=True)), 0.0)
    assert demand.told(0.0) == DemandTold()


def test_words_of_all_searches_count_where_the_order_says_so() -> None:
    for counts_all, words in ((False, ()), (True, ("glacier",))):
        order = CrawlOrder(order=Order.WEIGHT, searched_words_max=4, counts_all_searches=counts_all)
        demand = Demand(order)
        for asker in range(ASKERS_MIN):
            demand.note(asker, "glacier", found(LITTLE), 0.0)
        assert demand.told(0.0) == DemandTold(words)


def test_who_asked_lately_weighs_twice_as_much_as_who_asked_before() -> None:
    counted = AskedFor()
    for asker in range(ASKERS_MIN + 3):
        counted.note(asker, ("before",), 0.0)
    for asker in range(ASKERS_MIN):
        counted.note(100 + asker, ("lately",), 1.1 * SPAN_S)
    assert counted.wanted(1.1 * SPAN_S, 9) == ("lately", "before")
