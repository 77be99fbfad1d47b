"""A pool as one assessor sees it: the pages in a blind order, the grades given so far, and how many are left.

The counts go with each grade, so a grade or a look at a query of 50 pages costs no pass over 50,000.
"""

from __future__ import annotations

from collections.abc import Sequence

from peers.judging.pool import Pool, PooledPage, shuffled_for
from peers.judging.trec import Judgements


class Desk:
    """The work of one assessor on one pool; numbers of queries and places of pages begin with 1."""

    def __init__(self, pool: Pool, assessor: str, judgements: Judgements) -> None:
        self._pool = pool
        self._listed = shuffled_for(pool, assessor)
        self._places = {
            query: {page.document: at for at, page in enumerate(pages, 1)}
            for query, pages in self._listed.items()
        }
        self._numbers = {each.query: number for number, each in enumerate(pool.queries, 1)}
        self._grades: dict[str, dict[str, int]] = {query: {} for query in self._listed}
        self._open = [0, *(len(self._listed[each.query]) for each in pool.queries)]  # pages, by number
        self.judged_count = 0
        for query, of_query in judgements.items():
            for document, grade in of_query.items():
                self.take(query, document, grade)

    @property
    def page_count(self) -> int:
        return len(self._pool.pages)

    @property
    def query_count(self) -> int:
        return len(self._pool.queries)

    def take(self, query: str, document: str, grade: int) -> None:
        """Note the grade of a page; of one that is not in the pool nothing."""
        if not self.has(query, document):
            return
        if document not in self._grades[query]:
            self.judged_count += 1
            self._open[self._numbers[query]] -= 1
        self._grades[query][document] = grade

    def grade_of(self, page: PooledPage) -> int | None:
        return self._grades[page.query].get(page.document)

    def has(self, query: str, document: str) -> bool:
        """Is this a page of the pool?"""
        return document in self._places.get(query, ())

    def query_text(self, number: int) -> str:
        return self._pool.queries[number - 1].text

    def listed(self, number: int) -> Sequence[PooledPage]:
        """Return the pages of a query, in the order of this assessor."""
        return self._listed[self._pool.queries[number - 1].query]

    def first_open(self) -> int:
        """Return the number of the first query that has a page without a grade; 1 if all have one."""
        return self._first_open_of(range(1, self.query_count + 1)) or 1

    def next_place(self, query: str, document: str) -> tuple[int, int]:
        """Return where to go on after a page: the number of a query and the place of a page.

        Further down in the same query, else further up in it, else in a query behind it, else in any; 0 for
        the place where all pages have a grade.
        """
        number, here = self._numbers[query], self._places[query][document]
        if self._open[number]:
            left = self._open_in(number)
            return number, next((place for place in left if place > here), left[0])
        behind = range(number + 1, self.query_count + 1)
        there = self._first_open_of(behind) or self._first_open_of(range(1, number))
        return (there, self._open_in(there)[0]) if there else (number, 0)

    def _first_open_of(self, numbers: range) -> int:
        return next((number for number in numbers if self._open[number]), 0)

    def _open_in(self, number: int) -> list[int]:
        """Return the places of the pages of a query that have no grade."""
        return [at for at, page in enumerate(self.listed(number), 1) if self.grade_of(page) is None]
