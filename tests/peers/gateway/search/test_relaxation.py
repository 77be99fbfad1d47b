from __future__ import annotations

import msgspec
import pytest

from peers.engine.queries.query import Mode, Query
from peers.engine.queries.query_parser import parse_query, read_query
from peers.gateway.search.relaxation import ENOUGH, SCORED_MAX, Step, steps_of
from peers.text.analysis import query_terms
from tests.peers.engine.term_query import term_query


def test_all_words_are_searched_first_and_any_if_these_are_few() -> None:
    query = parse_query("a b")
    assert steps_of(query, {"a": ENOUGH, "b": 99}) == (
        Step(query),
        Step(query.with_mode(Mode.OR), is_any=True),
    )


def test_rare_words_are_not_waited_for() -> None:
    query = parse_query("a b")
    assert steps_of(query, {"a": ENOUGH - 1, "b": 99}) == (Step(query.with_mode(Mode.OR), is_any=True),)


def test_words_that_are_nowhere_are_left_out() -> None:
    query = parse_query("a b c")
    steps = steps_of(query, {"a": 99, "b": 99})
    assert [step.query.required for step in steps] == [("a", "b"), ("a", "b", "c")]
    assert [step.query.mode for step in steps] == [Mode.AND, Mode.OR]
    assert {step.nowhere for step in steps} == {("c",)}


def test_filters_stay_whatever_is_given_up() -> None:
    query = parse_query('a b "c d" site:e.org')
    for step in steps_of(query, {"a": 5, "b": 5}):
        assert step.query.clauses == query.clauses


def test_phrases_that_no_page_has_are_given_up_for_their_words_last() -> None:
    reading = read_query('a "b c" -"d e" intitle:f')
    unquoted = parse_query('a b c -"d e" intitle:f')
    assert reading.unquoted == unquoted
    assert steps_of(reading.query, dict.fromkeys("abcf", 99), reading.unquoted) == (
        Step(reading.query, enough=1),
        Step(unquoted, is_unquoted=True),
        Step(unquoted.with_mode(Mode.OR), is_any=True, is_unquoted=True),
    )
    both = read_query('a b "c d"')
    steps = steps_of(both.query, dict.fromkeys("abcd", 99), both.unquoted)
    assert [(step.is_any, step.is_unquoted, step.enough) for step in steps] == [
        (False, False, ENOUGH),
        (True, False, 1),
        (False, True, ENOUGH),
        (True, True, ENOUGH),
    ]


def test_words_of_alternatives_that_are_phrases_stay_alternatives() -> None:
    assert read_query('"a b" OR c').unquoted == parse_query("(a b) OR c")
    assert read_query('a -"b c" -(d "e f")').unquoted is None


def test_nothing_is_given_up_where_nothing_can_be() -> None:
    assert steps_of(parse_query("a"), {"a": 1}) == (Step(parse_query("a")),)
    assert steps_of(parse_query("a"), {}) == (Step(parse_query("a"), ("a",)),)
    assert steps_of(parse_query("site:a.org"), {}) == (Step(parse_query("site:a.org")),)
    either = term_query(("a", "b"), Mode.OR)
    assert steps_of(either, {"a": 1}) == (Step(either),)


def test_other_forms_are_searched_where_the_word_itself_is_nowhere() -> None:
    query = Query(required=("ab",), scoring=("ab", "a"), weights=(1.0, 0.5))
    assert steps_of(query, {"a": 7}) == (Step(query.with_mode(Mode.OR), ("ab",), is_any=True),)
    assert steps_of(query, {}) == (Step(query, ("ab",)),)


def test_what_may_be_one_word_or_two_is_left_out_where_it_is_neither(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("peers.engine.queries.query_parser.query_terms", query_terms)
    query = parse_query("X-900 9z")
    x900, parts = ("\x03x900",), ("x", "900")
    assert [[each.entries for each in either] for either in query.alternatives] == [[x900, parts]]
    many = {"9z": 99, "x": 30, "900": 40}
    assert steps_of(query, many) == (Step(query), Step(query.with_mode(Mode.OR), is_any=True))
    assert steps_of(query, many | {"x": 3}) == (Step(query.with_mode(Mode.OR), is_any=True),)
    assert steps_of(query, many | {"x": 3, "\x03x900": 17})[0] == Step(query)
    all_of, *_ = steps_of(query, {"9z": 99, "900": 40})
    assert all_of.nowhere == x900
    assert all_of.query == msgspec.structs.replace(query, alternatives=())
    # The phrase may be nowhere, though both of its words are somewhere.
    assert [step.is_any for step in steps_of(parse_query("X-900"), many)] == [False, True]
    assert steps_of(parse_query("X-900"), {}) == (Step(parse_query("X-900"), x900),)


def test_of_very_many_words_the_rarest_score_in_the_order_in_which_they_were_typed() -> None:
    entries = tuple(f"e{n}" for n in range(SCORED_MAX + 10))
    query = Query(
        required=entries[-3:], scoring=entries, weights=tuple(map(float, range(1, len(entries) + 1)))
    )
    doc_freqs = {entry: 1_000 - n for n, entry in enumerate(entries)}
    all_of, any_of = steps_of(query, doc_freqs)
    assert all_of.has_left_out
    assert all_of.query.scoring == any_of.query.scoring == entries[10:]
    assert all_of.query.weights == tuple(map(float, range(11, len(entries) + 1)))
    assert all_of.query.required == query.required


def test_a_word_that_is_left_out_must_still_occur_where_all_must_and_never_suffices() -> None:
    entries = tuple(f"e{n}" for n in range(SCORED_MAX + 1))
    query = Query(required=entries[:2], scoring=entries, weights=(1.0,) * len(entries))
    all_of, any_of = steps_of(query, {"e0": 5_000} | dict.fromkeys(entries[1:], 100))
    assert all_of.query.required == ("e0", "e1")
    assert any_of.query.required == ("e1",)


def test_as_many_words_as_may_score_are_left_alone() -> None:
    entries = tuple(f"e{n}" for n in range(SCORED_MAX))
    [step] = steps_of(Query(scoring=entries, weights=(1.0,) * SCORED_MAX), {})
    assert (step.query.scoring, step.has_left_out) == (entries, False)
