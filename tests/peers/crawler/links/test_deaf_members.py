"""Whom links are not sent to for a while, because they accept none."""

from __future__ import annotations

from math import inf
from typing import Final

from peers.crawler.links.deaf_members import DEAF_S, PASSED_BY_S, DeafMembers, Waiting

ALIVE: Final = frozenset({"a", "b", "c", "d", "e", "f"})


def look(
    members: DeafMembers, now: float, waiting: dict[str, Waiting] | None = None, *, is_pressed: bool = False
) -> frozenset[str]:
    members.look(waiting or {}, ALIVE, now, links_max=1_000, is_pressed=is_pressed)
    return members.now


def test_who_answers_in_time_is_not_passed_by() -> None:
    assert look(DeafMembers(), DEAF_S, {"a": Waiting(200, 1.0), "b": Waiting(1, inf)}) == frozenset()


def test_who_accepts_nothing_for_long_is_passed_by_for_a_while_and_longer_the_next_time() -> None:
    members = DeafMembers()
    assert look(members, DEAF_S, {"a": Waiting(1, 0.0)}) == {"a"}
    assert look(members, DEAF_S + PASSED_BY_S - 1.0) == {"a"}
    again = DEAF_S + PASSED_BY_S
    assert look(members, again) == frozenset()
    assert look(members, again + DEAF_S, {"a": Waiting(1, again)}) == {"a"}
    assert look(members, again + DEAF_S + 2 * PASSED_BY_S - 1.0) == {"a"}
    assert look(members, again + DEAF_S + 2 * PASSED_BY_S) == frozenset()


def test_who_has_most_of_what_waits_is_passed_by_when_that_becomes_much() -> None:
    assert look(DeafMembers(), 1.0, {"a": Waiting(251, 0.0)}) == {"a"}
    assert look(DeafMembers(), 1.0, {"a": Waiting(20, 0.0), "b": Waiting(30, 0.5)}, is_pressed=True) == {"b"}


def test_no_more_than_a_third_of_the_members_is_passed_by() -> None:
    members = DeafMembers()
    found = look(members, DEAF_S, dict.fromkeys("abcd", Waiting(10, 0.0)))
    assert len(found) == 2
    assert look(members, DEAF_S + 1.0, dict.fromkeys("abcd", Waiting(10, 0.0)), is_pressed=True) == found


def test_who_is_dead_is_passed_by_no_more() -> None:
    members = DeafMembers()
    look(members, DEAF_S, {"a": Waiting(1, 0.0)})
    assert members.look({}, ALIVE - {"a"}, DEAF_S + 1.0, links_max=1_000, is_pressed=False)
    assert members.now == frozenset()
