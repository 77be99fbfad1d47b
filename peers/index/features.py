"""What the model wants to know of the best pages of a peer, besides their score.

Everything is read from the columns and postings of the segments, for the hits of one answer only. It depends
on the page, the query and the statistics of the mesh, not on what else the peer has: sums are taken entry by
entry in one order, never by a library that might take them otherwise.

A word of the query is found near others in any of its forms: those that end in the commonest English ways and
are in the dictionary, since the entries of forms have frequencies but no positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peers.index.gathering import NO_UNIT, gather
from peers.index.kernels import BODY, Floats, Ints
from peers.index.matching import dates_of
from peers.index.model import Features, scale_of
from peers.index.part import PartView
from peers.index.proximity import proximities
from peers.index.query import Query
from peers.index.ranking import Statistics, idf_of, in_scoring_order
from peers.index.runs import RunKind, kind_of
from peers.index.snapshot import View
from peers.index.stemming import FORM_PREFIX, form_of

TITLE: Final = 0
URL: Final = 4

FORMS_CACHED: Final = 4_096
_ENDINGS: Final = (
    "", "s", "es", "ed", "ing", "e", "er", "ers", "or", "ors", "ion", "ions", "ation", "ations", "ly",
    "y", "ies", "ied", "al", "ally", "ity", "ment", "ments", "able", "ive", "ization", "ize", "ized",
)  # fmt: skip
_DOUBLED: Final = ("ed", "ing", "er")
_PAIR_PREFIX: Final = "\x01"


class _Plan(NamedTuple):
    """What of a query is the same for all segments."""

    entries: list[str]  # those that score, then further forms of words
    units: Ints  # in the proximity, of each of them
    shares: list[float]  # of each scoring entry in the score that a page could have; their sum is 1
    are_counted: Ints  # 1 for scoring entries whose occurrences, together, are words of a field, each once
    idf: Floats  # of each unit
    average_body: float


def features_of(
    view: View, query: Query, statistics: Statistics, urls: Sequence[str]
) -> list[tuple[float, ...]]:
    """Return the raw `Features` of pages of a view, nothing for pages that are not there.

    Args:
      statistics: of the mesh, as for `View.search`.

    Raises:
      DamagedSegmentError.
    """
    found: list[tuple[float, ...]] = [Features()] * len(urls)
    plan = _plan(query, statistics)
    for part, documents, places in view.located(urls):
        here = [urls[place] for place in places]
        for place, features in zip(places, _of_part(part, plan, documents, here), strict=True):
            found[place] = tuple(features)
    return found


def depth_of(url: str) -> int:
    """Return how many segments the path of a canonical URL has, 0 for the front page of a host."""
    return url.partition("?")[0].partition("#")[0].rstrip("/").count("/") - 2


@lru_cache(maxsize=FORMS_CACHED)
def words_of_form(form: str) -> tuple[str, ...]:
    """Return the words that a form (its entry) may stand for; not all there are, but none of another form."""
    stem = form.removeprefix(FORM_PREFIX)
    words = [stem + ending for ending in _ENDINGS]
    words += [stem + stem[-1:] + ending for ending in _DOUBLED]
    if stem.endswith("i"):
        words += [stem[:-1] + "y"]
    return tuple(word for word in dict.fromkeys(words) if form_of(word) == form)


def _plan(query: Query, statistics: Statistics) -> _Plan:
    scoring = in_scoring_order(query.scoring, statistics)
    weight_of = dict(zip(query.scoring, query.weights, strict=True))
    idf = idf_of(scoring, statistics).tolist()
    scale = scale_of(query, statistics) or 1.0
    occur = [statistics.doc_freqs.get(entry, 0) > 0 for entry in scoring]
    shares = [
        value * weight_of[entry] / scale if does else 0.0
        for entry, value, does in zip(scoring, idf, occur, strict=True)
    ]
    entries, units = list(scoring), [NO_UNIT] * len(scoring)
    unit_idf: list[float] = []
    number_of = {entry: number for number, entry in enumerate(scoring)}
    for number, entry in enumerate(scoring):
        words = _words_of(entry, number_of)
        if words is None:
            continue
        for word in words:
            if word in number_of:
                units[number_of[word]] = len(unit_idf)
            else:
                entries.append(word)
                units.append(len(unit_idf))
        unit_idf.append(idf[number] if occur[number] else 0.0)
    total_body = statistics.field_lengths[BODY]
    return _Plan(
        entries,
        np.array(units, np.int64),
        shares,
        np.array([_is_counted(entry, number_of) for entry in scoring], np.int64),
        np.array(unit_idf),
        total_body / max(1, statistics.document_count) or 1.0,
    )


def _words_of(entry: str, scoring: dict[str, int]) -> Sequence[str] | None:
    """Return the entries with positions that stand for a scoring one in the proximity, None if none do."""
    if entry.startswith(FORM_PREFIX):
        return words_of_form(entry)
    if entry.startswith(_PAIR_PREFIX):
        return (entry,)
    is_word = kind_of(entry) is RunKind.WORD
    return (entry,) if is_word and form_of(entry) not in scoring else None


def _is_counted(entry: str, scoring: dict[str, int]) -> bool:
    """Leave out words whose form is counted, and pairs, which stand beside the words of their characters."""
    if entry.startswith(FORM_PREFIX):
        return True
    return entry[0] > " " and form_of(entry) not in scoring


def _of_part(part: PartView, plan: _Plan, documents: Ints, urls: Sequence[str]) -> list[list[float]]:
    segment = part.segment
    gathered = gather(segment, segment.find_terms(plan.entries), plan.units, documents)
    frequencies = gathered.frequencies[: len(plan.shares)]
    lengths = segment.lengths[documents].astype(np.float64)
    occurs: NDArray[np.bool_] = frequencies > 0
    occurs_anywhere: NDArray[np.bool_] = np.logical_or.reduce(occurs, axis=2)
    in_title = _shares(plan, occurs[:, :, TITLE])
    matched = (plan.are_counted[:, None] * frequencies[:, :, TITLE]).sum(axis=0)
    of_title = np.minimum(1.0, matched / np.maximum(lengths[:, TITLE], 1.0))
    columns = (
        proximities(gathered.places, plan.idf, lengths[:, BODY] / plan.average_body),
        2.0 * in_title * of_title / np.maximum(in_title + of_title, 1e-9),
        _shares(plan, occurs[:, :, URL]),
        _shares(plan, occurs_anywhere),
        segment.linking_hosts[documents],
        [depth_of(url) for url in urls],
        dates_of(segment)[documents],
    )
    rows: list[list[float]] = np.array(columns, np.float64).T.tolist()
    return rows


def _shares(plan: _Plan, occurs: NDArray[np.bool_]) -> Floats:
    """Return how much of the query, by weight, occurs in each document."""
    total = np.zeros(occurs.shape[1])
    for share, row in zip(plan.shares, occurs, strict=True):
        total += share * row
    return np.minimum(1.0, total)
