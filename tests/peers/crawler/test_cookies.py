"""Pages that are shown only to who brings back a cookie."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.actors.departures import GATHER_S
from peers.crawler.cookies import COOKIE_CHARS_MAX, URLS_MAX, Cookies, cookie_set
from peers.crawler.model.messages import ParsePage
from peers.crawler.model.web_request import FetchPage, PageFetched
from tests.helpers import fetched
from tests.peers.crawler.desk import HOME, ORIGIN, Desk, of_kind


def leading(url: str, target: str, *cookies: str) -> PageFetched:
    headers = (("Location", target), *(("Set-Cookie", cookie) for cookie in cookies))
    return fetched(url, 302, headers=headers)


@pytest.mark.parametrize(
    ("cookies", "cookie"),
    [
        (("s=1; Path=/; HttpOnly",), "s=1"),
        (("a=1", "b=x y; Secure", "a=2"), "a=2; b=x"),
        (("a=; Path=/",), "a="),
        (("gone=1; Max-Age=0", "=no", "no", "two words=1", ""), ""),
        (("a=" + "x" * 4_096, "b=" + "x" * 4_096), ""),
        (("a=1\r\nHost: b",), "a=1"),
    ],
)
def test_rfc6265_5_4_cookies_go_back_by_name_and_value(cookies: tuple[str, ...], cookie: str) -> None:
    assert cookie_set(leading(HOME, HOME, *cookies)) == cookie
    assert len(cookie) <= COOKIE_CHARS_MAX


def questions(sends: list[Any]) -> list[tuple[str, str]]:
    return [(each.url, each.cookie) for each in of_kind(sends, FetchPage)]


def test_a_page_that_leads_to_itself_is_asked_for_once_more_with_its_cookie() -> None:
    desk = Desk(delay_s=2.0).with_home_asked()
    assert questions(desk.tell(leading(HOME, "/", "s=1; Path=/"))) == []
    assert questions(desk.wake(1.9)) == [], "it waits for its turn as others do"
    assert questions(desk.wake(0.2)) == [(HOME, "s=1")]
    assert of_kind(desk.tell(fetched(HOME)), ParsePage)


def test_a_page_that_leads_to_itself_in_spite_of_its_cookie_is_left() -> None:
    desk = Desk(delay_s=0.0).with_home_asked()
    (again,) = questions(desk.tell(leading(HOME, HOME, "s=1")))
    assert again == (HOME, "s=1")
    assert questions(desk.tell(leading(HOME, HOME, "s=2")) + desk.wake(GATHER_S) + desk.wake(60.0)) == []
    assert desk.state_of(HOME) == "D302"


def test_a_page_that_leads_to_itself_without_a_cookie_is_left() -> None:
    desk = Desk(delay_s=0.0).with_home_asked()
    assert questions(desk.tell(leading(HOME, HOME)) + desk.wake(GATHER_S) + desk.wake(60.0)) == []
    assert desk.state_of(HOME) == "D302"


def test_a_page_is_asked_for_with_a_new_cookie_when_it_is_visited_again() -> None:
    held = Cookies()
    for number in range(3):
        assert held.take(HOME) == ""
        assert held.are_wanted(leading(HOME, HOME, f"s={number}"))
        assert held.take(HOME) == f"s={number}"


def test_what_a_page_leads_to_on_its_host_is_asked_for_with_its_cookie_and_nothing_else_is() -> None:
    held = Cookies()
    other = f"{ORIGIN}/in"
    assert not held.are_wanted(leading(HOME, other, "s=1"))
    assert [held.take(url) for url in (HOME, other, other)] == ["", "s=1", ""]
    assert not held.are_wanted(leading(HOME, "http://b.test/", "s=1"))
    assert held.take("http://b.test/") == ""
    assert not held.are_wanted(fetched(HOME, 404, headers=(("Set-Cookie", "s=1"),)))


def test_cookies_of_few_urls_are_held() -> None:
    held = Cookies()
    urls = [f"{ORIGIN}/{number}" for number in range(URLS_MAX + 1)]
    for url in urls:
        assert held.are_wanted(leading(url, url, "s=1"))
    assert [held.take(url) for url in (urls[0], urls[1], urls[-1])] == ["", "s=1", "s=1"]
