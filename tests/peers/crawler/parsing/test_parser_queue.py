"""Whose page is taken apart next."""

from __future__ import annotations

import pytest

from peers.crawler.parsing.parser_queue import DEAR_S, FORGOTTEN_BEYOND, GUESS_S, REMEMBERED_MAX, ParserQueue


def turns_of(**items: int) -> ParserQueue[str]:
    turns: ParserQueue[str] = ParserQueue()
    for domain, count in items.items():
        for _ in range(count):
            turns.add(domain, domain)
    return turns


def served(turns: ParserQueue[str], costs: dict[str, float], count: int) -> str:
    """Take out and pay for some items; return the first letters of whose they were."""
    order = ""
    for _ in range(count):
        domain, _ = turns.take()
        turns.charge(domain, costs.get(domain, GUESS_S))
        order += domain[0]
    return order


def test_domains_take_turns_however_much_one_has() -> None:
    assert served(turns_of(many=6, a=2, b=1), {}, 9) == "mabmammmm"


def test_who_was_dear_waits_until_others_had_as_much() -> None:
    turns = turns_of(dear=3, few=20)
    assert served(turns, {"dear": 10 * GUESS_S}, 12) == "dfffffffffff"[:11] + "d"


def test_who_is_dear_is_served_all_the_same_when_nobody_else_wants_anything() -> None:
    assert served(turns_of(dear=3), {"dear": 10.0}, 3) == "ddd"


def test_who_comes_late_claims_no_more_than_others_get_from_then_on() -> None:
    turns = turns_of(known=20)
    served(turns, {"known": 1.0}, 10)
    turns.add("late", "late")
    turns.add("late", "late")
    assert served(turns, {"known": 1.0, "late": 1.0}, 4) in ("klkl", "lklk", "kllk", "lkkl")


def test_what_is_given_out_and_not_paid_for_yet_counts_as_ordinary() -> None:
    turns = turns_of(a=5, b=5)
    assert served(turns, {}, 2) == "ab"
    assert "".join(turns.take()[0] for _ in range(8)) == "abababab"
    assert not turns


@pytest.mark.parametrize(("cost_s", "count"), [(DEAR_S, 3), (DEAR_S + 0.1, 1)])
def test_of_who_is_dear_or_unknown_one_is_out_at_a_time(cost_s: float, count: int) -> None:
    turns = turns_of(a=5)
    turns.take()
    assert not turns
    turns.charge("a", cost_s)
    assert turns.is_dear("a") is (count == 1)
    for _ in range(count):
        assert turns
        turns.take()
    turns.add("a", "a")
    assert bool(turns) is (count == 3)


def test_pages_that_turn_out_dear_one_after_the_other_hold_their_domain_up_once() -> None:
    turns = turns_of(a=9)
    turns.take()
    turns.charge("a", GUESS_S)
    for _ in range(3):  # it is ordinary as far as is known
        turns.take()
    turns.charge("a", DEAR_S + 0.1)
    assert not turns, "two are out, and its pages are dear"
    for _ in range(2):
        turns.charge("a", DEAR_S + 0.1)
    for _ in range(5):
        assert turns.take() == ("a", "a")
        assert not turns
        turns.charge("a", DEAR_S + 0.1)
    assert not turns


def test_no_number_of_domains_is_remembered() -> None:
    turns = turns_of(stays=3 * REMEMBERED_MAX)
    for number in range(2 * REMEMBERED_MAX):
        turns.add(f"d{number}", f"d{number}")
        turns.charge(turns.take()[0], GUESS_S)
    assert len(turns._used_s) <= FORGOTTEN_BEYOND + 3
    assert len(turns._last_s) <= REMEMBERED_MAX
