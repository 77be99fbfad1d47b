"""The dates of a query, and those that a form or a link adds."""

from __future__ import annotations

from datetime import date

import pytest

from peers.engine.queries.query_parser import parse_query
from peers.gateway.site.date_range import date_range, dated_query

TODAY = date(2026, 11, 12)


@pytest.mark.parametrize(
    ("first", "last", "query"),
    [
        ("", "", "x"),
        ("2024-02-28", "", "x after:2024-02-28"),
        ("", "2024-02-28", "x before:2024-02-29"),
        ("2024", "2024", "x after:2024 before:2025"),
        ("2024-05", "2024-12", "x after:2024-05 before:2025-01"),
        ("2024-05", "2024-11", "x after:2024-05 before:2024-12"),
        ("", "9999-12-31", "x before:9999-12-31"),
        ("some day", "2024-99", "x after:someday before:2024-99"),
        ("9" * 99, "", f"x after:{'9' * 20}"),
        ('2024") OR y', "", 'x after:2024")ORy'),
    ],
)
def test_a_form_narrows_a_query_to_dates_both_included(first: str, last: str, query: str) -> None:
    assert dated_query("x", first, last) == query


def test_dates_replace_those_that_a_query_has_but_not_those_in_a_phrase() -> None:
    typed = 'after:2020 x "after:2021 y" BEFORE:2022 site:a.test'
    assert dated_query(typed, "2024", "") == 'x "after:2021 y" site:a.test after:2024'
    assert dated_query("after:2020", "", "2023") == "before:2024"


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("x", "", ""),
        ("x after:2024", "2024-01-01", ""),
        ("x after:2024-02 before:2024-03", "2024-02-01", "2024-02-29"),
        ('x "after:2024" before:0001', "", ""),
        ("x after:tomorrow before:2024-99", "", ""),
    ],
)
def test_the_form_says_what_dates_a_query_has(query: str, first: str, last: str) -> None:
    found = date_range(query, TODAY)
    assert (found.first, found.last) == (first, last)
    again = dated_query(query, first, last)
    assert parse_query(again).clauses == parse_query(query).clauses or "tomorrow" in query or '"' in query


def test_spans_end_today_and_the_one_that_is_shown_is_chosen() -> None:
    spans = date_range("x before:2020", TODAY).spans
    assert [each.query for each in spans] == [
        "x after:2026-10-13",
        "x after:2025-11-12",
        "x after:2021-11-12",
    ]
    assert not any(each.is_chosen for each in spans)
    assert [each.is_chosen for each in date_range(spans[1].query, TODAY).spans] == [False, True, False]
