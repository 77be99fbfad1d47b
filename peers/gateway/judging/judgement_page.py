"""The page on which one assessor judges: a query, its pages in a blind order, three buttons for each.

It names no engine and no rank. A grade is a form of its own, so that all works without script; with it the
keys 0, 1 and 2 press the buttons of the page that has the focus.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from markupsafe import Markup

from mesh.urls import canonical, has_host
from peers.gateway.site.pages import Here, Reader, address_of, marked, page_script, render
from peers.judging.desk import Desk
from peers.judging.pool import PooledPage

GRADE_TEXTS: Final = ("judge_not", "judge_relevant", "judge_highly")  # by grade
SCRIPT: Final = page_script("judge.js")


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
        judge_script=SCRIPT.text,
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
