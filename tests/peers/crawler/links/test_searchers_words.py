"""Guide words that searchers want: which of them count, and where they lead."""

from __future__ import annotations

from mesh.actors.actor import Address
from peers.crawler.frontier.order_in_force import OrderInForce
from peers.crawler.links.searchers_words import KEPT_S, PAUSE_S, SearchersWords
from peers.crawler.model.wire_messages import DemandTold
from peers.policy.crawl_order import GUIDE_WORDS_MAX, PLAIN, CrawlOrder, Order
from tests.peers.crawler.desk import HOME, ORIGIN, Desk, asked

GUIDED = CrawlOrder(order=Order.WEIGHT, searched_words_max=2)


def test_what_most_gateways_tell_comes_first_and_one_alone_has_its_share() -> None:
    words = SearchersWords()
    words.hear("liar", ("x1", "x2", "x3"), 0.0)
    words.hear("ann", ("glacier", "ice"), 0.0)
    words.hear("bob", ("snow", "ice"), 0.0)
    assert words.change(0.0) == ("ice", "glacier", "snow", "x1", "x2", "x3")


def test_what_is_not_told_again_counts_no_more() -> None:
    words = SearchersWords()
    words.hear("ann", ("glacier",), 0.0)
    words.hear("bob", ("ice",), KEPT_S / 2)
    words.hear("bob", ("ice",), KEPT_S + 1.0)
    assert words.change(KEPT_S + 1.0) == ("ice",)


def test_changes_are_an_hour_apart_and_only_where_something_changes() -> None:
    words = SearchersWords()
    words.hear("ann", ("glacier", "ice"), 0.0)
    assert words.change_at_s == 0.0
    words.change(0.0)
    words.hear("ann", ("ice", "glacier"), 300.0)
    assert words.change_at_s == float("inf")
    words.hear("ann", ("snow",), 600.0)
    assert words.change_at_s == PAUSE_S


def test_words_of_searchers_are_added_to_those_of_the_operator_as_far_as_he_wants() -> None:
    own = CrawlOrder(order=Order.FOCUSED, guide_words=("climate",), searched_words_max=2)
    order = OrderInForce(own)
    order.change_searched(("climate", "ice", "snow", "sea"))
    assert order.ordering.guide_words == ("climate", "ice")
    assert order.searched_words == ("ice",)
    assert order.guide.of_link("http://a.test/", "Ice") > 0
    order.change_own(CrawlOrder(order=Order.FOCUSED, guide_words=("climate",)))
    assert "ice" not in order.ordering.guide_words
    many = tuple(f"w{n}" for n in range(GUIDE_WORDS_MAX))
    full = CrawlOrder(order=Order.FOCUSED, guide_words=many, searched_words_max=9)
    assert full.with_searched(("ice",)).guide_words == many


def test_a_crawl_that_does_not_go_by_words_has_none_of_searches() -> None:
    assert CrawlOrder(searched_words_max=5).with_searched(("ice",)).guide_words == ()
    assert PLAIN.with_searched(("ice",)) is PLAIN


def test_what_is_queued_is_visited_by_what_was_searched_for() -> None:
    names = [f"{letter}-stone" for letter in "abcdef"] + ["the-glacier"]
    desk = Desk(ordering=GUIDED).with_home_asked(*(f"{ORIGIN}/{name}" for name in names))
    desk.store(HOME)
    desk.controller.receive(Address("bob", "controller"), DemandTold(("glacier",)), desk.now)
    while desk.controller.wake_at() <= desk.now:
        desk.wake()
    assert desk.observe().searched_words == ("glacier",)
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/the-glacier"]
