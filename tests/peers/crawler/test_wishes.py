"""Pages that a live search waits for: moved to the front of their queues, and nothing more."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.actors.actor import Address, Send
from peers.crawler.model.wire_messages import FoundLink, HastenUrls, UrlsHastened, WordsSearched
from peers.crawler.wishes import HASTENED_A_MINUTE_MAX
from tests.peers.crawler.desk import ORIGIN, OTHER, ROBOTS, Desk, asked, of_kind

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
    assert desk.controller.receive(GATEWAY, WordsSearched(("glacier",)), desk.now) == []
