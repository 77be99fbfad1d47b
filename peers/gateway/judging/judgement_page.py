"""The page on which one assessor judges: a query, its pages in a blind order, three buttons for each.

It names no engine and no rank. A grade is a form of its own, so that all works without script; with it the
keys 0, 1 and 2 press the buttons of the page that has the focus.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Final, NamedTuple

from markupsafe import Markup

from mesh.urls import canonical, has_host
from peers.gateway.site import pages
from peers.gateway.site.pages import Here, Reader, address_of, marked, render
from peers.judging.pool import Pool, PooledPage, shuffled_for
from peers.judging.trec import Judgements

GRADE_TEXTS: Final = ("judge_not", "judge_relevant", "judge_highly")  # by grade
_SCRIPT: Final = files(pages.__package__).joinpath("static", "judge.js").read_text("utf-8").strip()
SCRIPT_SOURCE: Final = f"'sha256-{b64encode(sha256(_SCRIPT.encode()).digest()).decode()}'"


class Desk:
    """A pool as one assessor sees it, with the grades given so far."""

    def __init__(self, pool: Pool, assessor: str, judgements: Judgements) -> None:
        self._pool = pool
        self._listed = shuffled_for(pool, assessor)
        self._judgements = judgements

    @property
    def judged_count(self) -> int:
        return sum(self.grade_of(page) is not None for page in self._pool.pages)

    @property
    def page_count(self) -> int:
        return len(self._pool.pages)

    @property
    def query_count(self) -> int:
        return len(self._pool.queries)

    def grade_of(self, page: PooledPage) -> int | None:
        return self._judgements.get(page.query, {}).get(page.document)

    def has(self, query: str, document: str) -> bool:
        """Is this a page of the pool?"""
        return any(each.document == document for each in self._listed.get(query, ()))

    def query_text(self, number: int) -> str:
        return self._pool.queries[number - 1].text

    def listed(self, number: int) -> Sequence[PooledPage]:
        """Return the pages of a query, in the order of this assessor. Args: number: from 1."""
        return self._listed[self._pool.queries[number - 1].query]

    def first_open(self) -> int:
        """Return the number of the first query that has a page without a grade; 1 if all have one."""
        numbers = range(1, self.query_count + 1)
        return next((number for number in numbers if self._open_in(number)), 1)

    def next_place(self, query: str, document: str) -> tuple[int, int]:
        """Return where to go on after a page: the number of a query and the place of a page, both from 1.

        Further down in the same query, else further up in it, else in a query behind it, else in any; 0 for
        the place where all pages have a grade.
        """
        number = next(at for at, each in enumerate(self._pool.queries, 1) if each.query == query)
        here = next(at for at, page in enumerate(self.listed(number), 1) if page.document == document)
        left = self._open_in(number)
        if left:
            return number, next((place for place in left if place > here), left[0])
        order = [*range(number + 1, self.query_count + 1), *range(1, number)]
        return next(((each, places[0]) for each in order if (places := self._open_in(each))), (number, 0))

    def _open_in(self, number: int) -> list[int]:
        """Return the places, from 1, of the pages of a query that have no grade."""
        return [at for at, page in enumerate(self.listed(number), 1) if self.grade_of(page) is None]


class _Judged(NamedTuple):
    """A page to be judged, as the template has it."""

    document: str
    title: Markup
    href: str  # of the live page; "" for what is no URL
    cached: str  # the address of the copy that the mesh has, likewise
    address: str  # "" where the title is the name already
    excerpt: Markup
    grade: int | None


def judgement_page(reader: Reader, desk: Desk, number: int, place: str) -> str:
    """Show a query and its pages.

    Args:
      number: of the query, from 1.
      place: the path of the assessor's link.
    """
    query = desk.query_text(number)
    steps: Mapping[str, int] = {"previous": number - 1, "next": number + 1}
    links = {
        name: reader.link(place, n=to) if 1 <= to <= desk.query_count else "" for name, to in steps.items()
    }
    judged = [_judged(reader, page, query, desk.grade_of(page)) for page in desk.listed(number)]
    return render(
        "judge.html",
        reader,
        Here(place, {"n": number}),
        query="",
        asked=query,
        query_id=desk.listed(number)[0].query,
        number=number,
        desk=desk,
        judged=judged,
        grades=[reader.say(key) for key in GRADE_TEXTS],
        action=reader.link(place),
        judge_script=Markup(_SCRIPT),
        **links,
    )


def _judged(reader: Reader, page: PooledPage, query: str, grade: int | None) -> _Judged:
    is_page = has_host(page.document) and canonical(page.document) == page.document
    name = address_of(page.document) if is_page else page.document
    has_title = bool(page.title.strip())
    return _Judged(
        page.document,
        marked(page.title if has_title else name, ()),
        page.document if is_page else "",
        reader.link("/page", url=page.document, q=query) if is_page else "",
        name if has_title else "",
        marked(page.excerpt, page.highlights),
        grade,
    )
