"""The changing web: what it promises of its pages, at any time."""

from __future__ import annotations

from collections import Counter

from simulations.webs.changing_web import (
    GONE,
    PERIOD_S_MAX,
    PERIOD_S_MIN,
    STEADY_ETAG,
    ChangingWeb,
    PageState,
    is_shown,
)
from simulations.webs.web import CHILDREN, SyntheticWeb, WebShape
from simulations.world.checks import reachable

START_S = 1_000_000.0
SHAPE = WebShape(pages_per_host=12.0)
STATES = ((True, False), (True, True), (False, False))


class Web(ChangingWeb):
    """A web and the time at which it is looked at."""

    def __init__(self, seed: int, pages: int = 600) -> None:
        self.at_s = START_S
        super().__init__(seed, pages, SHAPE, lambda: self.at_s)


def pages_of(seed: int) -> list[str]:
    """All pages that the web has at some time."""
    return list(reachable(SyntheticWeb(seed, 600, SHAPE)))


def test_a_version_is_a_function_of_page_time_and_seed() -> None:
    one, same, other = Web(3), Web(3), Web(4)
    times = [START_S + 7.0 * step for step in range(100)]
    for url in pages_of(3)[:50]:
        assert [one.version_of(url, at_s) for at_s in times] == [same.version_of(url, at_s) for at_s in times]
    assert pages_of(3) != pages_of(4)
    assert one.is_steady(one.seeds[0]) is same.is_steady(one.seeds[0])
    assert other.seeds != one.seeds


def test_half_of_the_pages_never_change_and_the_others_each_in_a_period_of_its_own() -> None:
    web = Web(3)
    urls = pages_of(3)
    steady = [url for url in urls if web.is_steady(url)]
    assert 0.4 < len(steady) / len(urls) < 0.6
    before = {url: web.serve(url) for url in steady}
    web.at_s += 10_000.0
    assert {url: web.serve(url) for url in steady} == before
    for url in set(urls) - set(steady):
        first, last = (web.version_of(url, START_S + after_s).number for after_s in (0.0, 12_000.0))
        assert 12_000.0 / PERIOD_S_MAX - 1 <= last - first <= 12_000.0 / PERIOD_S_MIN + 1


def test_pages_vanish_and_hide_and_come_back_but_none_that_is_the_way_to_another() -> None:
    web = Web(3)
    seen: Counter[str] = Counter()
    for url in pages_of(3):
        if web.is_steady(url):
            continue
        versions = {web.version_of(url, START_S + 10.0 * step) for step in range(500)}
        is_leaf = not url.endswith("/") and CHILDREN * int(url.rpartition("/p")[2]) + 1 >= max(web.sizes)
        seen["gone"] += any(not version.is_there for version in versions)
        seen["hidden"] += any(version.is_hidden for version in versions)
        seen["leaf"] += is_leaf
        assert any(version.is_there and not version.is_hidden for version in versions)
        if url.endswith("/"):
            assert all(version.is_there and not version.is_hidden for version in versions)
    assert min(seen["gone"], seen["hidden"]) >= seen["leaf"] > 100


def test_every_page_that_is_there_can_be_reached_at_any_time() -> None:
    web = Web(3)
    urls = pages_of(3)
    for _ in range(5):
        web.at_s += 97.0
        there = {url for url in urls if web.serve(url).status == 200}
        assert set(reachable(web)) == there
        assert 0.8 * len(urls) < len(there) < len(urls)


def test_every_page_that_is_there_has_the_etag_of_its_version_and_nothing_else_has_one() -> None:
    web = Web(3)
    for url in pages_of(3):
        served = web.serve(url)
        version = None if web.is_steady(url) else web.version_of(url, web.at_s)
        if version is not None and not version.is_there:
            assert served.etag == ""
        else:
            assert served.etag == (STEADY_ETAG if version is None else f'"{version.number}"')


def test_what_a_version_says_stands_in_its_body() -> None:
    assert PageState(7, is_there=True, is_hidden=False).body == b"version 7"
    assert PageState(7, is_there=False, is_hidden=False).body == GONE
    bodies = [PageState(7, is_there, is_hidden).body for is_there, is_hidden in STATES]
    assert [is_shown(body) for body in bodies] == [True, False, False]
    assert is_shown(b""), "of a web that does not change"


def test_a_web_that_has_ceased_to_change_stays_as_it_was() -> None:
    web = Web(3)
    urls = pages_of(3)
    web.at_s += 55.0
    before = [web.serve(url) for url in urls]
    web.cease()
    web.at_s += 5_000.0
    assert [web.serve(url) for url in urls] == before
