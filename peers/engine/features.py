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
from numba import types

from peers.engine.gathering import FREQUENCIES, NO_UNIT, Frequencies, gather
from peers.engine.kernels import BODY, FIELD_COUNT
from peers.engine.model import Features, scale_of
from peers.engine.proximity import proximities
from peers.engine.query import Query
from peers.engine.ranking import Statistics, idf_of, in_scoring_order
from peers.engine.segment import Segment
from peers.engine.snapshot import Best, View
from peers.kernel import IN_FLOATS, IN_INTS, Floats, Ints, kernel
from peers.text.runs import RunKind, kind_of
from peers.text.stemming import FORM_PREFIX, form_of

TITLE: Final = 0
URL: Final = 4
_SHARE_ROWS: Final = 3

FORMS_CACHED: Final = 4_096
_ENDINGS: Final = (
    "", "s", "es", "ed", "ing", "e", "er", "ers", "or", "ors", "ion", "ions", "ation", "ations", "ly",
    "y", "ies", "ied", "al", "ally", "ity", "ment", "ments", "able", "ive", "ization", "ize", "ized",
)  # fmt: skip
_DOUBLED: Final = ("ed", "ing", "er")
_PAIR_PREFIX: Final = "\x01"


class _Plan(NamedTuple):
    """What of a query is the same for all segments."""

    entries: tuple[str, ...]  # those that score, then further forms of words
    units: Ints  # in the proximity, of each of them
    shares: Floats  # of each scoring entry in the score that a page could have; their sum is 1
    are_counted: Ints  # 1 for scoring entries whose occurrences, together, are words of a field, each once
    idf: Floats  # of each unit
    average_body: float


def features_of(
    view: View, query: Query, statistics: Statistics, urls: Sequence[str]
) -> list[tuple[float, ...]]:
    """Return the raw `Features` of pages of a view, zeros for pages that are not there.

    Args:
      statistics: of the mesh, as for `View.search`.

    Raises:
      DamagedSegmentError.
    """
    found: list[tuple[float, ...]] = [Features()] * len(urls)
    located = list(view.located(urls))
    places = [place for _, _, places in located for place in places.tolist()]
    here = [urls[place] for place in places]
    of_segments = [(view.segment, documents) for view, documents, _ in located]
    for place, features in zip(places, _measured(query, statistics, of_segments, here), strict=True):
        found[place] = features
    return found


def features_of_best(query: Query, statistics: Statistics, pages: Sequence[Best]) -> list[tuple[float, ...]]:
    """Return the raw `Features` of pages found. DamagedSegmentError."""
    found: list[tuple[float, ...]] = [Features()] * len(pages)
    of_segments: dict[str, list[int]] = {}
    for place, page in enumerate(pages):
        of_segments.setdefault(page.view.segment.name, []).append(place)
    located = []
    order: list[int] = []
    for places in of_segments.values():
        places.sort(key=lambda place: pages[place].document)
        order += places
        documents = np.array([pages[place].document for place in places], np.int64)
        located.append((pages[places[0]].view.segment, documents))
    urls = [pages[place].url for place in order]
    for place, features in zip(order, _measured(query, statistics, located, urls), strict=True):
        found[place] = features
    return found


def depth_of(url: str) -> int:
    """Return how many segments the path of a canonical URL has, 0 for the front page of a host."""
    return url.partition("?")[0].partition("#")[0].rstrip("/").count("/") - 2


@lru_cache(maxsize=FORMS_CACHED)
def words_of_form(form: str) -> tuple[str, ...]:
    """Return words that a form (its entry) may stand for: not all, none of another form, in byte order."""
    stem = form.removeprefix(FORM_PREFIX)
    words = [stem + ending for ending in _ENDINGS]
    words += [stem + stem[-1:] + ending for ending in _DOUBLED]
    if stem.endswith("i"):
        words += [stem[:-1] + "y"]
    # In the order of dictionaries, where each is looked up from where the one before was.
    return tuple(word for word in sorted(set(words)) if form_of(word) == form)


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
        tuple(entries),
        np.array(units, np.int64),
        np.array(shares),
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


def _measured(
    query: Query, statistics: Statistics, located: Sequence[tuple[Segment, Ints]], urls: Sequence[str]
) -> list[tuple[float, ...]]:
    """Measure the documents, rising, of some segments; their URLs are in the same order."""
    if not urls:
        return []
    plan = _plan(query, statistics)
    frequencies = np.zeros((len(plan.shares), len(urls), FIELD_COUNT), np.int64)
    places: list[Ints] = []
    first = 0
    for segment, documents in located:
        places.append(gather(segment, plan.entries, plan.units, documents, first, frequencies))
        first += len(documents)
    lengths = np.concatenate([segment.lengths[documents] for segment, documents in located], dtype=np.float64)
    of_query = np.empty((_SHARE_ROWS, len(urls)))
    _add_shares(frequencies, plan.shares, plan.are_counted, lengths[:, TITLE].copy(), of_query)
    columns = (
        proximities(np.sort(np.concatenate(places)), plan.idf, lengths[:, BODY] / plan.average_body),
        *of_query,
        np.concatenate([segment.linking_hosts[documents] for segment, documents in located]),
        [depth_of(url) for url in urls],
        np.concatenate([segment.dates[documents] for segment, documents in located]),
    )
    return list(zip(*(np.asarray(column, np.float64).tolist() for column in columns), strict=True))


@kernel(FREQUENCIES, IN_FLOATS, IN_INTS, IN_FLOATS, types.float64[:, ::1])
def _add_shares(
    frequencies: Frequencies, shares: Floats, are_counted: Ints, title_lengths: Floats, found: Floats
) -> int:
    """Set for each document the features that are shares of the query: title, URL, coverage."""
    for document in range(len(title_lengths)):
        in_title = 0.0
        in_url = 0.0
        anywhere = 0.0
        matched = 0
        for entry in range(len(shares)):
            occurs = False
            for field in range(FIELD_COUNT):
                occurs = occurs or frequencies[entry, document, field] > 0
            if occurs:
                anywhere += shares[entry]
            if frequencies[entry, document, TITLE] > 0:
                in_title += shares[entry]
                matched += are_counted[entry] * frequencies[entry, document, TITLE]
            if frequencies[entry, document, URL] > 0:
                in_url += shares[entry]
        in_title = min(1.0, in_title)
        of_title = min(1.0, matched / max(title_lengths[document], 1.0))
        found[0, document] = 2.0 * in_title * of_title / max(in_title + of_title, 1e-9)
        found[1, document] = min(1.0, in_url)
        found[2, document] = min(1.0, anywhere)
    return len(title_lengths)
