"""What is counted of searches that found little, and what is not."""

from __future__ import annotations

import msgspec
import pytest

from mesh.actors.actor import EVERYBODY, Address, Send
from mesh.actors.ownership import OwnershipChanged
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from peers.crawler.model.wire_messages import WORDS_TOLD_MAX, WordsSearched
from peers.gateway.model.messages import Coverage, PagesFound, Relaxed, SearchedInVain
from peers.gateway.search.searched_words import (
    ASKERS_MIN,
    LITTLE,
    SPAN_S,
    WORDS_MAX,
    WORDS_OF_ASKER_MAX,
    SearchedWords,
    words_in_vain,
)
from peers.gateway.searcher import TELL_WORDS_S, Searcher
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
    assert words_in_vain(text, NOTHING) == words


def test_what_found_enough_is_not_wanted_nor_what_others_could_not_be_asked_for() -> None:
    assert words_in_vain("glacier", found(LITTLE - 1)) == ("glacier",)
    assert words_in_vain("glacier", found(LITTLE)) == ()
    assert words_in_vain("glacier", found(0, coverage=Coverage(64, 60, 4))) == ()
    some = Relaxed(is_any=True, with_all=2)
    assert words_in_vain("glacier ice", found(500, relaxed=some)) == ("glacier", "ice")
    assert words_in_vain("glacier ice", found(500, relaxed=Relaxed(("glacier",)))) == ("glacier", "ice")


# --- How many asked ---


def test_a_word_counts_when_several_have_asked_and_who_asks_again_counts_once() -> None:
    counted = SearchedWords()
    for asker in range(ASKERS_MIN - 1):
        for _ in range(10):
            counted.note(asker, ("glacier",), 0.0)
    assert counted.wanted(0.0) == ()
    counted.note(99, ("glacier", "ice"), 0.0)
    assert counted.wanted(0.0) == ("glacier",)


def test_what_most_have_asked_for_is_first_and_no_more_than_fit_are_told() -> None:
    counted = SearchedWords()
    for asker in range(ASKERS_MIN + 3):
        counted.note(asker, ("often",), 0.0)
    for asker in range(100, 100 + ASKERS_MIN):
        counted.note(asker, tuple(f"w{n:02}" for n in range(WORDS_TOLD_MAX)), 0.0)
    assert counted.wanted(0.0) == ("often", *(f"w{n:02}" for n in range(WORDS_TOLD_MAX - 1)))


def test_words_are_forgotten_when_nobody_asks_any_more() -> None:
    counted = SearchedWords()
    for asker in range(ASKERS_MIN):
        counted.note(asker, ("glacier",), 0.0)
    assert counted.wanted(1.9 * SPAN_S) == ("glacier",)
    assert counted.wanted(2.1 * SPAN_S) == ()


def test_askers_of_two_spans_count_together() -> None:
    counted = SearchedWords()
    for asker in range(ASKERS_MIN):
        counted.note(asker, ("glacier",), asker * SPAN_S / ASKERS_MIN * 1.5)
    assert counted.wanted(1.3 * SPAN_S) == ("glacier",)


def test_one_asker_has_so_many_words_and_a_crowd_does_not_fill_the_memory() -> None:
    counted = SearchedWords()
    counted.note(1, tuple(f"w{n}" for n in range(2 * WORDS_OF_ASKER_MAX)), 0.0)
    assert len(counted._askers) == WORDS_OF_ASKER_MAX
    for asker in range(2, 2 + 2 * WORDS_MAX // WORDS_OF_ASKER_MAX):
        counted.note(asker, tuple(f"w{asker}-{n}" for n in range(WORDS_OF_ASKER_MAX)), 0.0)
    assert len(counted._askers) == WORDS_MAX


# --- Who is told ---


def searcher(ordering: CrawlOrder) -> Searcher:
    made = Searcher("ann", ordering=ordering)
    made.receive(Address("ann", "membership"), OwnershipChanged(ownership()), 0.0)
    return made


def ask(searcher: Searcher) -> None:
    for asker in range(ASKERS_MIN):
        assert searcher.receive(HTTP, SearchedInVain(asker, ("glacier",)), 1.0) == []


def test_controllers_are_told_again_and_again_if_the_crawl_goes_by_searches() -> None:
    made = searcher(GUIDED)
    assert made.wake(1.0) == [Send(CONTROLLERS, WordsSearched())]
    ask(made)
    assert made.wake_at() == 1.0 + TELL_WORDS_S
    assert made.wake(1.0 + TELL_WORDS_S) == [Send(CONTROLLERS, WordsSearched(("glacier",)))]


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
    assert made._searched.wanted(2.0) == ()


async def test_of_who_asks_the_searcher_gets_a_digest_alone_and_of_the_query_its_words() -> None:
    seen = FakeSearcher()
    async with running(seen) as http:
        for address in ("127.0.0.1", "127.0.0.1", "127.0.0.2"):
            await get(http.port, "/api/search?q=unheard%20of%20glaciers", address)
    told = seen.in_vain
    assert [each.words for each in told] == [("unheard", "glaciers")] * 3
    assert told[0].asker == told[1].asker != told[2].asker
