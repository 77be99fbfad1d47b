"""Hosts that are dead: after long enough their pages are shown no more, and come back when they do."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.actors.actor import Send
from mesh.actors.departures import GATHER_S
from peers.crawler.model.politeness import HostRecord, after_silence, after_success, is_lost
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.web_request import FailureReason
from peers.storage.archive.warc import read_records
from peers.storage.messages import PageStored, StorePage
from tests.helpers import fetched
from tests.peers.crawler.desk import HOME, ORIGIN, ROBOTS, Desk, asked, of_kind
from tests.peers.crawler.test_visiting_again import row_at, stored_once

DAY_S = 86_400.0
PAGES = (HOME, f"{ORIGIN}/1", f"{ORIGIN}/2")


def desk_of_a_lost_host(*pages: str, **changes: Any) -> Desk:
    """A desk with pages that are visited once a week, by a host that is lost after ten days."""
    settings = {"revisit_after_s": 7 * DAY_S, "robots_ttl_s": DAY_S, "lost_visits": 3}
    return stored_once(*(pages or PAGES[1:]), **settings | {"lost_after_s": 10 * DAY_S} | changes)


def keep(desk: Desk, sends: list[Send]) -> list[Send]:
    """Have the cell store what it is to; return what is wanted done then."""
    more: list[Send] = []
    for stored in of_kind(sends, StorePage):
        more += desk.tell(PageStored(stored.page.url, stored.page.stamp), "cell")
    return more + keep(desk, more) if more else []


def live_on(desk: Desk, days: float, reason: FailureReason | None, status: int = 503) -> list[Send]:
    """Have every question fail for so many days; return all that was wanted done."""
    until_s = desk.now + days * DAY_S
    sends: list[Send] = []
    while (at_s := max(desk.now, desk.controller.wake_at())) < until_s:
        more = desk.wake(at_s - desk.now)
        for url in asked(more):
            more += desk.fail(url, reason) if reason else desk.tell(fetched(url, status))
        sends += more + keep(desk, more)
    desk.now = until_s
    return sends


@pytest.mark.parametrize("reason", [FailureReason.DNS, FailureReason.TIMEOUT, None])
def test_the_pages_of_a_host_that_is_silent_for_long_are_shown_no_more(reason: FailureReason | None) -> None:
    desk = desk_of_a_lost_host()
    assert of_kind(live_on(desk, 16.9, reason), StorePage) == [], "seven days, and ten since it was missed"
    assert all(row_at(desk, url).is_stored for url in PAGES)
    sends = live_on(desk, 2.0, reason)
    pages = [stored.page for stored in of_kind(sends, StorePage)]
    assert sorted(page.url for page in pages) == sorted(PAGES), "each once"
    assert all((page.status, page.document) == (0, None) for page in pages)
    (record,) = read_records(pages[0].records)
    assert (record.kind, record.block) == ("metadata", b"not-found-because: silent\r\n")
    rows = [row_at(desk, url) for url in PAGES]
    assert all((row.outcome, row.is_stored, row.visit) == ("Fsilent", False, 2) for row in rows)
    assert desk.observe().fetch_status["silent"] == 3
    later = live_on(desk, 20.0, reason)
    assert of_kind(later, StorePage) == [], "what is gone is gone once"
    assert 15 <= len(asked(later)) <= 21, "and the host is asked once a day"
    assert set(asked(later)) == {ROBOTS}


def test_they_are_fetched_as_soon_as_their_host_is_back() -> None:
    desk = desk_of_a_lost_host()
    live_on(desk, 20.0, FailureReason.DNS)
    desk.now = max(desk.now, desk.controller.wake_at())
    assert asked(desk.wake()) == [ROBOTS]
    found = asked(desk.allow())
    for _ in PAGES:
        desk.store(found[-1], at=desk.now)
        found += asked(desk.wake(desk.settings.delay_s + GATHER_S))
    assert sorted(found) == sorted(PAGES)
    assert all(row_at(desk, url).is_stored for url in PAGES)


def test_a_host_that_has_answered_meanwhile_is_not_lost() -> None:
    desk = desk_of_a_lost_host()
    live_on(desk, 16.0, FailureReason.DNS)
    desk.now = max(desk.now, desk.controller.wake_at())
    assert asked(desk.wake()) == [ROBOTS]
    (url,) = asked(desk.allow())
    desk.tell(fetched(url, 404))
    assert of_kind(live_on(desk, 9.0, FailureReason.DNS), StorePage) == []


def test_how_long_a_host_is_silent_survives_a_restart_even_while_its_pages_leave() -> None:
    many = [f"{ORIGIN}/{n}" for n in range(250)]
    desk = desk_of_a_lost_host(*many, pages_in_progress_max=100)
    live_on(desk, 16.9, FailureReason.DNS)
    desk.start()
    assert asked(desk.started) == []
    leaving: list[Any] = []
    while not leaving:
        sends = desk.wake(max(0.0, desk.controller.wake_at() - desk.now))
        leaving = of_kind(sends, StorePage)
        for url in asked(sends):
            desk.fail(url, FailureReason.DNS)
    assert len(leaving) == 100, "not all in one turn"
    desk.start()
    assert asked(desk.started) == [ROBOTS]
    keep(desk, desk.fail(ROBOTS, FailureReason.DNS))
    live_on(desk, 1.0, FailureReason.DNS)
    assert not any(row_at(desk, url).is_stored for url in many)


def test_pages_of_a_port_that_is_dead_for_long_leave_while_those_of_another_stay() -> None:
    dead = "https://a.test"
    settings = {"revisit_after_s": DAY_S, "robots_ttl_s": DAY_S / 2}
    desk = stored_once(**settings, lost_visits=3, lost_after_s=5 * DAY_S, gone_after_s=DAY_S)
    assert asked(desk.seed(f"{dead}/")) == [f"{dead}/robots.txt"]
    assert asked(desk.allow(dead)) == [f"{dead}/"]
    desk.store(f"{dead}/", at=desk.now)
    gone: list[Any] = []
    began_s = desk.now
    while not gone:
        sends = desk.wake(max(0.0, desk.controller.wake_at() - desk.now))
        gone = of_kind(sends, StorePage)
        for url in asked(sends):
            if url.startswith(dead):
                desk.fail(url, FailureReason.REFUSED)
            else:
                desk.store(url, at=desk.now) if url == HOME else desk.tell(fetched(url, 200, b""))
    assert [stored.page.url for stored in gone] == [f"{dead}/"]
    assert 5 * DAY_S < desk.now - began_s < 7 * DAY_S
    assert row_at(desk, HOME).is_stored


def test_who_was_off_for_long_does_not_take_one_failure_for_a_lost_host() -> None:
    settings, host = CrawlSettings(), after_silence(HostRecord("a.test"), 5.0)
    assert is_lost(after_silence(host, settings.lost_after_s + 5.0), settings, 9e9) is False
    for n in range(1, settings.lost_visits):
        host = after_silence(host, 5.0 + n * DAY_S)
    assert not is_lost(host, settings, settings.lost_after_s + 4.0)
    assert is_lost(host, settings, settings.lost_after_s + 5.0)
    assert after_success(host) == HostRecord("a.test")
