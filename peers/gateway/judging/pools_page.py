"""The page of all pools that people judge at a gateway, and how far they are, for administrators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from peers.gateway.site.command_json import JudgingJson
from peers.gateway.site.pages import Here, Reader, render

NOTHING: Final = -1  # an invited person has judged nothing so far


class _Row(NamedTuple):
    """An assessor of a pool."""

    pool: str  # "" where the row before is of the same one
    assessor: str  # "" for a pool that nobody has judged, or was invited to
    judged: int  # pages, or `NOTHING`
    percent: int
    pages: int
    queries: int
    is_readable: bool


def pools_page(reader: Reader, pools: Sequence[JudgingJson | str]) -> str:
    """Show the pools. Args: pools: each as it is, or the name of one that cannot be read."""
    rows = [row for pool in pools for row in _rows(pool)]
    return render("judging.html", reader, Here("/judging"), query="", rows=rows)


def _rows(pool: JudgingJson | str) -> list[_Row]:
    if isinstance(pool, str):
        return [_Row(pool, "", 0, 0, 0, 0, is_readable=False)]
    sizes = pool.pages, pool.queries
    waiting = sorted(set(pool.invited) - {each.assessor for each in pool.assessors})
    told = [
        *((each.assessor, each.judged) for each in pool.assessors),
        *((each, NOTHING) for each in waiting),
    ]
    if not told:
        return [_Row(pool.name, "", 0, 0, *sizes, is_readable=True)]
    return [
        _Row(
            "" if number else pool.name,
            assessor,
            judged,
            judged * 100 // max(1, pool.pages),
            *sizes,
            is_readable=True,
        )
        for number, (assessor, judged) in enumerate(told)
    ]
