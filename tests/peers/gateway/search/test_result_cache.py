from __future__ import annotations

from math import inf

import msgspec
import pytest

from mesh.actors.actor import Address, Send
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from peers.engine.queries.query_language import Oddity, Remark
from peers.gateway.model.messages import ChangeGateway, Coverage, PagesFound, SearchPages
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.search.plan import NOBODY_ABSENT, Share
from peers.gateway.search.result_cache import FRESH_S, ResultCache
from peers.gateway.search.stage import COUNTING_S_MAX
from peers.gateway.search.term_statistics import Edition
from peers.index.wire_messages import CountTerms, SearchSlots, Similar, TermsCounted
from peers.policy.rules import Action, Policy, Rule, policy_bytes
from tests.peers.gateway.mesh_of_three import PEERS, SLOT_COUNT, Conversation, ownership, url_of

URL = url_of("bob")


def shown() -> Conversation:
    """A conversation in which the results for crawler have been shown, from generation 1 of all."""
    talk = Conversation()
    talk.search("crawler")
    talk.all_counted(1)
    talk.found("ann")
    talk.found("bob", (URL, 2.5))
    talk.found("cyd")
    talk.read(URL)
    assert not talk.answer().is_cached
    return talk


def messages(sends: list[Send]) -> list[type]:
    return [type(send.message) for send in sends]


def test_page_of_a_search_that_was_cut_short_says_so_and_is_not_shown_again() -> None:
    talk = Conversation()
    talk.search("crawler")
    talk.all_counted(1)
    talk.found("ann")
    talk.found("bob", (URL, 2.5), is_cut=True)
    talk.found("cyd")
    talk.read(URL)
    assert talk.answer().remarks == (Remark(Oddity.CUT_SHORT),)
    assert not talk.answer().is_exact
    assert talk.searcher.observe().cache_pages == 0


def take_down(talk: Conversation, url: str) -> None:
    """Decree that a page be shown no more."""
    body = policy_bytes(Policy(rules=(Rule(action=Action.TAKE_DOWN, urls=(url,)), Rule(action=Action.CRAWL))))
    decree = Decree(POLICY, "", 1, 0.0, inf, body, b"", b"")
    talk.from_peer("ann", DecreesInForce(POLICY, (decree,)), "membership")


def test_page_taken_down_while_its_excerpt_is_read_is_neither_shown_nor_kept() -> None:
    talk = Conversation()
    talk.search("crawler")
    talk.all_counted(1)
    talk.found("ann")
    talk.found("bob", (URL, 2.5))
    talk.found("cyd")
    take_down(talk, URL)
    talk.read(URL)
    assert talk.answer().hits == ()
    talk.search("crawler", ticket=2)
    talk.all_counted(1)
    assert URL not in [hit.url for hit in talk.answer().hits]


def test_page_taken_down_while_it_is_asked_whether_it_is_right_is_not_shown_again() -> None:
    talk = shown()
    talk.wait(FRESH_S + 0.01)
    [asking] = talk.search("crawler", ticket=2)
    assert asking.message == CountTerms(talk.request, ())
    take_down(talk, URL)
    talk.all_counted()
    talk.found("ann")
    talk.found("bob", (URL, 2.5))
    talk.found("cyd")
    assert talk.answer().ticket == 2
    assert talk.answer().hits == ()


def test_page_is_shown_again_without_asking_anybody() -> None:
    talk = shown()
    first = talk.answer()
    talk.search("crawler", ticket=2)
    assert talk.answer() == msgspec.structs.replace(first, ticket=2, is_cached=True)
    assert talk.searcher.observe().cache_hits == 1
    assert talk.searcher.observe().cache_misses == 1
    assert talk.searcher.observe().cache_bytes > 0


def test_after_a_while_all_are_asked_for_their_generations_first() -> None:
    talk = shown()
    talk.wait(FRESH_S + 0.01)
    [asking] = talk.search("crawler")
    assert asking.message == CountTerms(talk.request, ())
    talk.all_counted()
    assert talk.answer().is_cached
    assert [hit.url for hit in talk.answer().hits] == [URL]
    talk.search("crawler")  # that told for this one, too
    assert talk.answer().is_cached


@pytest.mark.parametrize("peer", PEERS)
def test_page_is_not_shown_again_when_an_index_has_changed(peer: str) -> None:
    talk = shown()
    talk.wait(FRESH_S + 0.01)
    talk.search("crawler")
    for each in PEERS:
        sends = talk.counted(each, (), generation=2 if each == peer else 1)
    assert messages(sends) == [SearchSlots]
    for each in PEERS:
        talk.found(each, generation=2 if each == peer else 1)
    talk.counted(peer, (0,), generation=2)
    for each in PEERS:
        talk.found(each, generation=2 if each == peer else 1)
    assert not talk.answer().is_cached
    assert talk.answer().total == 0


def test_any_answer_tells_of_a_change() -> None:
    talk = shown()
    talk.search("other")
    talk.counted("bob", (1,), generation=2)
    sends = talk.search("crawler", ticket=2)
    assert CountTerms in messages(sends) or SearchSlots in messages(sends)
    assert talk.searcher.observe().cache_pages == 0


def test_page_is_not_shown_again_when_others_answer_for_slots() -> None:
    talk = shown()
    talk.change_ownership(ownership(alive=("ann", "bob")))
    assert messages(talk.search("crawler")) == [CountTerms]
    assert talk.searcher.observe().cache_pages == 0


def test_search_does_not_wait_for_the_generation_of_a_late_peer() -> None:
    talk = shown()
    talk.wait(1.0)
    talk.search("crawler")
    talk.counted("ann", ())
    talk.counted("bob", ())
    sends = talk.wait(0.2)  # longer than the hedge time
    assert SearchSlots in messages(sends)


def test_answer_without_all_slots_is_not_kept() -> None:
    talk = Conversation(ownership(replicas=1))
    talk.search("crawler")
    for peer in PEERS:
        talk.counted(peer, (1,), missing=3 if peer == "bob" else 0)
    talk.found("ann")
    talk.found("bob", missing=3)
    talk.found("cyd")
    assert talk.answer().coverage.missing == 3
    assert talk.searcher.observe().cache_pages == 0


def test_pages_are_told_apart_by_all_that_was_wished() -> None:
    talk = shown()
    for order in (
        SearchPages(2, "crawler", k=11),
        SearchPages(2, "crawler", offset=1),
        SearchPages(2, "crawler", wants_facets=True),
        SearchPages(2, "crawlers"),
    ):
        talk.order(order)
        assert not any(isinstance(send.message, PagesFound) for send in talk.sent)


def test_memory_is_bounded_and_the_pages_used_last_are_kept() -> None:
    cache = ResultCache(bytes_max=1_000)
    answer = PagesFound(1, ("x" * 100,), 0, 0.0, Coverage(SLOT_COUNT, SLOT_COUNT, 0), ())
    editions = {Share("ann", NOBODY_ABSENT): Edition(1, 0)}
    for number in range(100):
        cache.keep(SearchPages(1, f"q{number}"), answer, editions)
        cache.find(SearchPages(9, "q0"))
        assert cache.size_bytes <= 1_000
    assert 2 <= len(cache) < 10
    assert cache.find(SearchPages(1, "q0")) is not None
    assert cache.find(SearchPages(1, "q99")) is not None
    assert cache.find(SearchPages(1, "q50")) is None
    cache.keep(SearchPages(1, "huge"), msgspec.structs.replace(answer, terms=("x" * 2_000,)), editions)
    assert cache.find(SearchPages(1, "huge")) is None


def test_without_room_nothing_is_kept() -> None:
    cache = ResultCache(bytes_max=0)
    cache.keep(SearchPages(1, "q"), PagesFound(1, (), 0, 0.0, Coverage(1, 1, 0), ()), {})
    assert len(cache) == cache.size_bytes == 0


def test_settings_that_come_while_it_runs_say_how_much_is_kept() -> None:
    talk = shown()
    policy = Address("ann", "policy")
    assert talk.searcher.receive(policy, ChangeGateway(GatewaySettings(cache_bytes_max=0)), talk.now) == []
    assert talk.searcher.observe().cache_pages == 0
    talk.search("crawler")
    assert messages(talk.sent) != [PagesFound]
    talk.change_ownership(ownership(("ann", "bob")))  # for which there is another cache
    assert talk.searcher.observe().cache_pages == 0


def test_a_page_is_not_kept_while_some_have_not_said_which_words_were_meant() -> None:
    talk = Conversation()
    talk.search("crawlr")
    talk.all_counted(0)
    assert messages(talk.sent) == [CountTerms]
    talk.wait(COUNTING_S_MAX + 0.1)  # nobody says
    talk.all_counted(0)
    for peer in PEERS:
        talk.found(peer)
    assert talk.answer().total == 0
    talk.search("crawlr")
    assert not [each for each in talk.sent if isinstance(each.message, PagesFound)]


def test_a_word_is_counted_anew_and_not_mended_when_an_index_has_changed() -> None:
    talk = Conversation()
    talk.search("crawlr")
    talk.all_counted(0)
    told = ((Similar("crawler", 0, 6, 5, 5, (f"{URL}1", f"{URL}2")),),)
    for peer in PEERS:
        generation = 2 if peer == PEERS[-1] else 1
        lengths = (100, 10, 100, 1_000, 100)
        epoch = talk.view.serving_epoch
        message = TermsCounted(talk.request, epoch, generation, 100, lengths, (), 0, told)
        sends = talk.from_peer(peer, message)
    [again] = [send.message for send in sends if isinstance(send.message, CountTerms)]
    assert (again.terms, again.mistyped) == (("crawlr",), ())
    assert SearchSlots in messages(talk.counted(PEERS[-1], (1,), generation=2))


def test_no_word_is_mended_while_slots_are_missing_whose_pages_may_have_it() -> None:
    talk = Conversation()
    talk.search("crawlr")
    for peer in PEERS:
        sends = talk.counted(peer, (0,), missing=1)
    sends += talk.wait(COUNTING_S_MAX + 0.1)
    assert SearchSlots in messages(sends)
    assert not any(isinstance(send.message, CountTerms) and send.message.mistyped for send in sends)


def late_to_count(text: str, *doc_freqs: int) -> Conversation:
    """Search for words that the last peer does not count in time, though its index is the one of before."""
    talk = Conversation()
    talk.search("crawler")
    talk.all_counted(5)
    for peer in PEERS:
        talk.found(peer)
    talk.search(text, ticket=2)
    for peer in PEERS[:-1]:
        talk.counted(peer, doc_freqs)
    talk.wait(COUNTING_S_MAX + 0.1)
    return talk


def test_no_word_is_mended_before_all_have_counted_it() -> None:
    talk = late_to_count("crawlr", 0)
    assert messages(talk.sent) == [SearchSlots]
    for peer in PEERS[:-1]:
        talk.found(peer)
    url = url_of(PEERS[-1])
    talk.found(PEERS[-1], (url, 1.0))
    talk.read(url)
    assert [hit.url for hit in talk.answer().hits] == [url]
    assert talk.answer().coverage.missing == talk.view.slots_answered[PEERS[-1]]


def test_no_word_is_called_nowhere_before_all_have_counted_it() -> None:
    talk = late_to_count("crawler frontier", 5, 5, 0, 0)
    url = url_of(PEERS[-1])
    for peer in PEERS:
        talk.found(peer, (url_of(peer), 1.0))
    talk.read(*map(url_of, PEERS))
    assert url in [hit.url for hit in talk.answer().hits]
    assert talk.answer().relaxed.nowhere == ()


def test_a_page_that_some_had_not_counted_is_not_kept() -> None:
    talk = late_to_count("crawlr", 0)
    n_kept = talk.searcher.observe().cache_pages
    for peer in PEERS:
        talk.found(peer)
    assert talk.answer().coverage.missing == talk.view.slots_answered[PEERS[-1]]
    assert talk.searcher.observe().cache_pages == n_kept
