"""Pages that searchers wait or ask for: moved forward, and nothing more."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from mesh.actors.actor import Address, Send
from peers.crawler.model.wire_messages import DemandTold, FoundLink, HastenUrls, UrlsHastened
from peers.crawler.wishes import HASTENED_A_MINUTE_MAX
from peers.policy.crawl_order import CrawlOrder
from tests.peers.crawler.desk import HOME, ORIGIN, OTHER, ROBOTS, Desk, asked, of_kind
from tests.peers.crawler.test_explainer import url_facts

GATEWAY = Address(OTHER, "searcher")
FAR, FARTHER, GLACIER = (f"{ORIGIN}/{name}" for name in ("far", "farther", "glacier.html"))


def hasten(desk: Desk, *urls: str, count: int = 10, seconds: float = 20.0, **changes: Any) -> list[Send]:
    links = tuple(FoundLink(url, depth=1) for url in urls)
    wish = HastenUrls(3, ("glacier",), links, count, seconds, **changes)
    return desk.controller.receive(GATEWAY, wish, desk.now)


def chosen(sends: list[Send]) -> list[int]:
    [told] = of_kind(sends, UrlsHastened)
    assert told.request == 3
    return [number for number, _ in told.pages]


@pytest.fixture
def desk() -> Desk:
    """A host whose home page was asked for, and three more pages at growing depth."""
    desk = Desk()
    desk.with_home_asked(f"{ORIGIN}/near", FAR, FARTHER)
    desk.seed(GLACIER, depth=9)
    return desk


def test_page_whose_links_promise_most_is_asked_for_next_and_not_before_its_delay(desk: Desk) -> None:
    desk.store(f"{ORIGIN}/")
    assert chosen(hasten(desk, FAR, GLACIER, count=1)) == [1]
    assert asked(desk.wake()) == []
    assert asked(desk.wake(desk.settings.delay_s)) == [GLACIER]


def test_text_of_a_link_to_a_page_promises_as_its_path_does(desk: Desk) -> None:
    desk.seed(FARTHER, depth=4, anchor="On the glacier")
    sends = hasten(desk, FAR, FARTHER, count=1)
    [told] = of_kind(sends, UrlsHastened)
    [(number, promise)] = told.pages
    assert (number, promise > 600) == (1, True)


def test_page_that_is_not_known_or_was_asked_for_stays_as_it_is(desk: Desk) -> None:
    unknown, elsewhere = f"{ORIGIN}/unknown", "http://elsewhere.test/glacier"
    assert chosen(hasten(desk, f"{ORIGIN}/", ROBOTS, unknown, elsewhere, "no url")) == []
    assert desk.state_of(unknown) is None, "who wishes brings nothing into the crawl"


def test_of_a_host_no_more_come_forward_than_have_a_turn_in_time(desk: Desk) -> None:
    pages = (FAR, FARTHER, GLACIER)
    desk.store(f"{ORIGIN}/")
    assert chosen(hasten(desk, *pages, seconds=0.5)) == []  # its delay is two seconds
    assert len(chosen(hasten(desk, *pages, seconds=2.0))) == 1
    assert len(chosen(hasten(desk, *pages, seconds=4.5))) == 2
    assert len(chosen(hasten(desk, *pages, seconds=60.0))) == 3


def test_wish_that_comes_twice_changes_nothing_more(desk: Desk) -> None:
    first, again = (chosen(hasten(desk, FAR, GLACIER)) for _ in range(2))
    assert first == again == [1, 0]


def test_member_moves_so_many_pages_a_minute_and_no_more(desk: Desk) -> None:
    for _ in range(HASTENED_A_MINUTE_MAX // 200):
        assert chosen(hasten(desk, GLACIER, count=200)) == [0]
    assert chosen(hasten(desk, GLACIER, count=200)) == []
    desk.now += 60.0
    assert chosen(hasten(desk, GLACIER, count=200)) == [0]


def test_fish_takes_links_of_relevant_pages_before_all_others(desk: Desk) -> None:
    links = FoundLink(GLACIER, depth=1, parent=0), FoundLink(FAR, depth=1, parent=600, linker="of another")
    for is_fish, first in ((True, 1), (False, 0)):
        wish = HastenUrls(3, ("glacier",), links, 1, 20.0, is_fish)
        assert chosen(desk.controller.receive(GATEWAY, wish, desk.now)) == [first]


def test_words_of_searchers_are_taken_without_an_answer(desk: Desk) -> None:
    assert desk.controller.receive(GATEWAY, DemandTold(("glacier",)), desk.now) == []


# --- Pages that several were shown ---

INTERVAL_S = 40_000.0


def asked_for(desk: Desk, *urls: str, peer: str = OTHER) -> list[str]:
    return asked(desk.controller.receive(Address(peer, "searcher"), DemandTold((), urls), desk.now))


def stored(most: int) -> tuple[Desk, float]:
    """Store a page, under an order that goes by pages that are asked for; and when it was visited."""
    order = CrawlOrder(asked_pages_max=most)
    desk = Desk(revisit_after_s=INTERVAL_S, robots_ttl_s=1e9, ordering=order).with_home_asked()
    desk.store(HOME, at=desk.now)
    visited_s = desk.now
    desk.wake(1.0)
    return desk, visited_s


def due_s(desk: Desk) -> float:
    return url_facts(desk, HOME).due_s or inf


def test_page_that_several_were_shown_is_visited_again_after_half_of_its_interval() -> None:
    desk, visited_s = stored(2)
    asked_for(desk, HOME)
    assert due_s(desk) == pytest.approx(visited_s + INTERVAL_S / 2, abs=1.0)
    assert url_facts(desk, HOME).is_out_of_turn
    asked_for(desk, HOME)
    assert due_s(desk) == pytest.approx(visited_s + INTERVAL_S / 2, abs=1.0), "told twice, moved once"
    assert desk.observe().brought_forward == 1
    desk.now = visited_s + INTERVAL_S / 2 + 2.0
    assert asked(desk.wake()) == [HOME]


def test_page_that_is_asked_for_late_is_due_at_once_and_never_later_than_it_was() -> None:
    desk, visited_s = stored(2)
    desk.now = visited_s + 0.9 * INTERVAL_S
    assert asked_for(desk, HOME) == [HOME]
    desk, visited_s = stored(2)
    desk.now = visited_s + INTERVAL_S + 5.0
    before = due_s(desk)
    asked_for(desk, HOME)
    assert due_s(desk) == before


def test_without_the_policy_or_the_page_nothing_is_brought_forward() -> None:
    desk, visited_s = stored(0)
    asked_for(desk, HOME)
    assert due_s(desk) == pytest.approx(visited_s + INTERVAL_S, abs=2.0)
    desk, visited_s = stored(2)
    asked_for(desk, f"{ORIGIN}/unknown", "no url")
    assert desk.state_of(f"{ORIGIN}/unknown") is None
    assert desk.observe().brought_forward == 0


def test_member_brings_so_many_pages_forward_a_minute_and_no_more() -> None:
    desk, _ = stored(2)
    asked_for(desk, f"{ORIGIN}/unknown", f"{ORIGIN}/other", HOME)
    asked_for(desk, HOME)
    assert desk.observe().brought_forward == 0, "beyond the number of the policy, and too soon after"
    asked_for(desk, HOME, peer="third")
    assert desk.observe().brought_forward == 1
