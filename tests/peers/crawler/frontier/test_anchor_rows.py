"""Rows of link texts say which members told them, so the word of one can be left out."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.frontier.anchor_rows import (
    ROW_ENTRIES_MAX,
    SPAN_S,
    TELLINGS_MAX,
    Disbelief,
    entries_in,
    is_anchor_row,
    join_anchor_rows,
    join_anchors,
    knows,
    row_told,
    tag_of,
    telling_of,
    without,
)
from peers.engine.pages.linkers import entries_of

LIAR, ONE, TWO, THREE = map(tag_of, (7, 1, 2, 3))
EVER = Disbelief(0.0, 1e9, LIAR)


def told(by: str, *entries: str, at: float = SPAN_S) -> tuple[str, ...]:
    return row_told(entries, telling_of(at, by))


def joined(*rows: tuple[str, ...]) -> tuple[str, ...]:
    result: tuple[str, ...] = ()
    for row in rows:
        result = join_anchor_rows(result, row)
    return result


links = st.builds(
    entries_of,
    st.integers(0, 40).map(lambda n: f"text {n}"),
    st.integers(0, 40).map(lambda n: f"{n * 7919:016x}" if n else ""),
)
some_rows = st.builds(
    lambda by, at, some: told(by, *chain.from_iterable(some), at=at),
    st.sampled_from([LIAR, ONE, TWO, THREE, LIAR + ONE, TWO + LIAR]),
    st.sampled_from([0.0, SPAN_S, 2 * SPAN_S]),
    st.lists(links, min_size=1, max_size=30),
)
unknown = links.map(lambda entries: join_anchors(entries, ()))
rows = st.lists(some_rows | unknown, max_size=5).map(lambda some: joined(*some))


@given(rows, rows, rows)
def test_joins_of_rows_are_idempotent_commutative_and_associative(one: Any, two: Any, three: Any) -> None:
    assert join_anchor_rows(one, one) == one
    assert join_anchor_rows(one, two) == join_anchor_rows(two, one)
    assert joined(joined(one, two), three) == joined(one, joined(two, three))


@given(rows, rows)
def test_a_row_has_the_entries_that_all_its_tellings_join_to_and_stays_sound(one: Any, two: Any) -> None:
    both = joined(one, two)
    assert entries_in(both) == join_anchors(entries_in(one), entries_in(two))
    assert not both or is_anchor_row(both)
    assert len(both) <= ROW_ENTRIES_MAX
    left = without(both, (EVER,))
    assert not left or is_anchor_row(left)
    assert without(left, (EVER,)) == left


def test_a_text_that_only_one_member_told_goes_with_its_word_and_others_stay() -> None:
    row = joined(told(LIAR, "false", "both"), told(ONE, "both", "true"), ("unknown",))
    assert entries_in(row) == ("both", "false", "true", "unknown")
    assert entries_in(without(row, (EVER,))) == ("both", "true", "unknown")
    assert without(told(LIAR, "false"), (EVER,)) == ()


def test_a_member_cannot_take_the_places_of_the_others_who_told_the_same() -> None:
    lies = [told(f"{tag_of(n)}{LIAR}", "text", at=0.0) for n in range(20, 30)]
    row = joined(*lies, told(LIAR, "text", at=0.0), told(TWO, "text"), told(ONE, "text"))
    assert len(row) == 2 * TELLINGS_MAX
    assert entries_in(without(row, (EVER,))) == ("text",)


@pytest.mark.parametrize("tellers", [LIAR + ONE, ONE + LIAR, ONE + LIAR + TWO])
def test_what_a_member_had_others_pass_on_goes_with_its_word(tellers: str) -> None:
    assert without(told(tellers, "false"), (EVER,)) == ()


@pytest.mark.parametrize(("at", "stays"), [(2.9, True), (3.0, False), (5.9, False), (6.0, True)])
def test_only_what_was_told_in_the_spans_of_a_time_is_disbelieved(at: float, *, stays: bool) -> None:
    row = told(LIAR, "text", at=at * SPAN_S)
    assert (without(row, (Disbelief(3.5 * SPAN_S, 5.1 * SPAN_S, LIAR),)) == row) is stays


@given(st.floats(0, 1e10), st.floats(0, 1e10))
def test_of_two_tellings_of_a_member_the_earlier_stays(one: float, other: float) -> None:
    assert joined(told(ONE, "text", at=one), told(ONE, "text", at=other)) == told(
        ONE, "text", at=min(one, other)
    )


@given(st.permutations(entries_of("text", "0" * 16)))
def test_entries_told_in_any_order_are_a_row_that_the_team_takes(entries: list[str]) -> None:
    assert is_anchor_row(row_told(tuple(entries), telling_of(0.0, ONE)))
    assert is_anchor_row(row_told(tuple(entries), ""))


def test_a_use_goes_with_the_last_member_who_told_its_text() -> None:
    entries = entries_of("text", "0" * 16)
    row = joined(told(LIAR, *entries), told(ONE, *entries), told(TWO, *entries, at=2 * SPAN_S))
    assert entries_in(row) == join_anchors(entries, ())
    gone = without(row, (EVER, Disbelief(0.0, 1e9, ONE)))
    assert not gone or is_anchor_row(gone)


def test_what_a_sender_says_again_is_known_and_what_another_says_is_not() -> None:
    row = joined(told(ONE, "a", "b"), told(TWO, "c"))
    assert knows(row, ("a", "b"), telling_of(2 * SPAN_S, ONE))
    assert not knows(row, ("a",), telling_of(0.0, ONE))
    assert not knows(row, ("a",), telling_of(2 * SPAN_S, TWO))
    assert not knows(row, ("c",), telling_of(2 * SPAN_S, ONE))


@pytest.mark.parametrize(
    "row",
    [
        (telling_of(0.0, ONE),),
        (telling_of(0.0, ONE), "b", "a"),
        (*told(TWO, "a"), *told(ONE, "a")),
        ("\x05no telling", "a"),
        (telling_of(0.0, ""), "a"),
        (telling_of(0.0, ONE * 5), "a"),
        (*told(ONE, "a", at=0.0), *told(ONE, "a", at=SPAN_S)),
        tuple(chain.from_iterable(told(tag_of(n), "a") for n in range(TELLINGS_MAX + 1))),
    ],
)
def test_rows_that_nobody_here_makes_are_refused(row: tuple[str, ...]) -> None:
    assert not is_anchor_row(row)


def test_no_text_looks_like_a_telling() -> None:
    assert entries_of(telling_of(0.0, ONE), "") == ()
