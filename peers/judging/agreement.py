"""How far assessors agree beyond chance, and the one judgement that is made of theirs. Pure.

With p the share of pages on which they agree and e that which chance would give, if each kept to the shares
of grades that were given: kappa = (p - e) / (1 - e). It is 1 for full agreement and 0 for that of chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from peers.judging.trec import Judgements


class Agreement(msgspec.Struct, frozen=True):
    """The agreement on the pages that all assessors have judged."""

    n_pages: int  # a page counts once for each query
    observed: float  # p above; of several assessors the mean over pages of the share of agreeing pairs
    expected: float  # e above
    kappa: float | None  # None where all grades are the same one, so that chance agrees as well; 0 pages, too


def cohens_kappa(one: Judgements, other: Judgements) -> Agreement:
    """Compare two assessors.

    e = sum over grades of share in one x share in the other, Cohen 1960.
    """
    pairs = _judged_by_all([one, other])
    n_pages = len(pairs)
    if not n_pages:
        return Agreement(0, 0.0, 0.0, None)
    of_one, of_other = (Counter(column) for column in zip(*pairs, strict=True))
    observed = sum(a == b for a, b in pairs) / n_pages
    expected = sum(of_one[grade] * of_other[grade] for grade in of_one) / n_pages**2
    return _agreement(n_pages, observed, expected)


def fleiss_kappa(assessors: Sequence[Judgements]) -> Agreement:
    """Compare two or more assessors by the pages that all have judged.

    For n assessors and a page with n_j of them for grade j, the share of agreeing pairs is
    sum n_j (n_j - 1) / (n (n - 1)); e = sum over grades of the square of its share in all, Fleiss 1971.
    """
    rows = _judged_by_all(assessors)
    n_pages, n = len(rows), len(assessors)
    if not n_pages:
        return Agreement(0, 0.0, 0.0, None)
    pairs = sum(count * (count - 1) for row in rows for count in Counter(row).values())
    given = Counter(grade for row in rows for grade in row)
    expected = sum(count**2 for count in given.values()) / (n_pages * n) ** 2
    return _agreement(n_pages, pairs / (n_pages * n * (n - 1)), expected)


def joined(assessors: Sequence[Judgements]) -> dict[str, dict[str, int]]:
    """Return one grade for each page that any assessor has judged: the median, or the lower middle one.

    Where more than half of them gave a page the same grade, that is the median.
    """
    grades: dict[str, dict[str, list[int]]] = {}
    for judgements in assessors:
        for query, of_query in judgements.items():
            for document, grade in of_query.items():
                grades.setdefault(query, {}).setdefault(document, []).append(grade)
    return {
        query: {document: sorted(given)[(len(given) - 1) // 2] for document, given in of_query.items()}
        for query, of_query in grades.items()
    }


def _judged_by_all(assessors: Sequence[Judgements]) -> list[tuple[int, ...]]:
    """Return a row of grades, one of each assessor, for each page that all have judged."""
    return [
        tuple(each[query][document] for each in assessors)
        for query, of_query in assessors[0].items()
        for document in of_query
        if all(document in each.get(query, {}) for each in assessors)
    ]


def _agreement(n_pages: int, observed: float, expected: float) -> Agreement:
    kappa = None if expected == 1.0 else (observed - expected) / (1.0 - expected)
    return Agreement(n_pages, observed, expected, kappa)
