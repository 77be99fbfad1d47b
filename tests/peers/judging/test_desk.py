"""A desk counts as it would if it were made anew after each grade."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from peers.judging.desk import Desk
from peers.judging.pool import Pool, PooledPage, PooledQuery

QUERIES = tuple(PooledQuery(str(number), f"query {number}") for number in range(1, 4))
PAGES = tuple(PooledPage(each.query, f"http://h/{at}") for each in QUERIES for at in range(3))
POOL = Pool(3, 0, QUERIES, PAGES)

Given: TypeAlias = tuple[PooledPage, int]
grades = st.tuples(st.sampled_from(PAGES), st.integers(0, 2))


@given(st.lists(grades, max_size=20))
def test_each_grade_moves_the_counts_as_a_desk_made_anew_has_them(
    given_grades: list[tuple[PooledPage, int]],
) -> None:
    desk, judgements = Desk(POOL, "ann", {}), dict[str, dict[str, int]]()
    for page, grade in given_grades:
        desk.take(page.query, page.document, grade)
        judgements.setdefault(page.query, {})[page.document] = grade
        anew = Desk(POOL, "ann", judgements)
        assert desk.judged_count == anew.judged_count == sum(map(len, judgements.values()))
        assert desk.first_open() == anew.first_open()
        assert [desk.grade_of(each) for each in PAGES] == [anew.grade_of(each) for each in PAGES]
        there = desk.next_place(page.query, page.document)
        assert there == anew.next_place(page.query, page.document)
        if there[1]:
            assert desk.grade_of(desk.listed(there[0])[there[1] - 1]) is None
        else:
            assert desk.judged_count == len(PAGES)


def test_grades_of_pages_that_are_not_in_the_pool_count_nowhere() -> None:
    desk = Desk(POOL, "ann", {"1": {"http://h/9": 1}, "9": {"http://h/1": 1}})
    assert (desk.judged_count, desk.first_open(), desk.has("9", "http://h/1")) == (0, 1, False)
