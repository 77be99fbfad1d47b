"""When a crawl in which nothing is fetched is asked why, and when nobody waits for it any longer."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from bootstrap.standstill import QUIET_S, LeftForLater, Standstill, check_due


def report(fetched: int, *, is_idle: bool = False) -> dict[str, Any]:
    return {"total": {"idle": is_idle, "fetch_status": {"200": fetched, "404": 1}}}


def test_it_is_asked_why_when_nothing_was_fetched_for_a_while_and_something_is_left() -> None:
    watched = Standstill()
    assert not watched.is_to_ask(report(1), 0.0)
    assert not watched.is_to_ask(report(1), QUIET_S - 0.1)
    assert watched.is_to_ask(report(1), QUIET_S)
    assert not watched.is_to_ask(report(1), QUIET_S + 1.0), "it has been asked"
    assert watched.is_to_ask(report(1), 2 * QUIET_S)
    assert not watched.is_to_ask(report(2), 9 * QUIET_S), "something was fetched"
    assert not watched.is_to_ask(report(2, is_idle=True), 99 * QUIET_S), "nothing is left"


def test_a_full_disk_is_waited_for_no_longer_than_is_wanted() -> None:
    watched = Standstill()
    full = report(1) | {"peers": [{"id": "ann", "disk_full": True}, {"id": "bob", "disk_full": False}]}
    empty = report(1) | {"peers": [{"id": "ann", "disk_full": False}]}
    watched.is_to_ask(full, 100.0)
    watched.check_space(full, 600.0, 699.0)
    watched.check_space(empty, 600.0, 9_999.0)
    watched.check_space(full, inf, 9_999.0)
    with pytest.raises(LeftForLater, match="nothing was fetched for 10 min") as raised:
        watched.check_space(full, 600.0, 700.0)
    assert raised.value.hosts == ["the disk of peer ann is full: free some space on it"]


def test_a_sentence_is_said_once_until_it_changes() -> None:
    watched = Standstill()
    assert [watched.news(each) for each in ("a", "a", "b", "a")] == ["a", "", "b", "a"]


def answer(**changes: Any) -> dict[str, Any]:
    host = {"name": "a.test", "queued": 1_200, "hold": "a day is spent"}
    facts: dict[str, Any] = dict.fromkeys(
        ("ready", "in_flight", "in_progress", "slots_stopping", "links_waiting"), 0
    )
    facts |= {"at_s": 100.0, "next_s": 100.0 + 7_200.0, "halts": [], "longest": [host]}
    facts |= {"queued": 1_200, "given_up": 0, "is_due_again": False}
    return {"silent": [], "down": [], "peers": {"ann": {"facts": facts | changes}}}


def test_what_is_due_later_than_anybody_waits_ends_the_crawl_and_is_named() -> None:
    with pytest.raises(LeftForLater, match=r"due in 2\.0 h") as raised:
        check_due(answer(), 600.0)
    assert raised.value.hosts == ["a.test: 1,200 URLs; a day is spent"]


@pytest.mark.parametrize(
    "changes", [{"ready": 1}, {"in_flight": 1}, {"links_waiting": 3}, {"next_s": 400.0}, {"next_s": None}]
)
def test_what_is_under_way_or_due_soon_is_waited_for(changes: dict[str, Any]) -> None:
    check_due(answer(**changes), 600.0)


def test_hosts_that_were_given_up_leave_nothing_for_later() -> None:
    check_due(answer(given_up=1_200), 600.0)
    with pytest.raises(LeftForLater):
        check_due(answer(given_up=1_199), 600.0)


def test_pages_that_are_due_again_are_left_for_later_as_new_ones_are() -> None:
    nothing_new = {"queued": 0, "longest": []}
    check_due(answer(**nothing_new), 600.0)
    with pytest.raises(LeftForLater, match=r"due in 2\.0 h"):
        check_due(answer(**nothing_new, is_due_again=True), 600.0)


def test_who_has_not_answered_may_have_something_to_do() -> None:
    check_due(answer() | {"silent": ["bob"]}, 600.0)
    check_due(answer() | {"down": ["bob"]}, 600.0)
