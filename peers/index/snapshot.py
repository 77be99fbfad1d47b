"""Search a committed state of the index: a snapshot, and views of the slots a peer answers for.

Snapshots are immutable: any number of threads may search one while the index goes on adding, committing
and merging. The view of a segment is cheap to keep (a byte a document) and dear to make (a pass over all its
documents), so each `Part` keeps the last ones made, and a commit takes over the parts it did not change.

What is read of the large sections of a segment is checked first: a search that meets a damaged block raises
DamagedSegmentError, and a view of other slots than the segment has does not touch it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from xxhash import xxh3_128_digest

from mesh.document import Document
from mesh.slot_set import SlotMask
from peers.index.exporting import Export
from peers.index.facets import Facets, facets_of, sum_facets
from peers.index.kernels import FIELD_COUNT, Bytes, Floats, Ints
from peers.index.matching import Found, found_by, holding, located, matching
from peers.index.part import Part, PartView, keep
from peers.index.postings import count
from peers.index.query import Mode, Order, Query
from peers.index.ranking import RankingWeights, Statistics, idf_of, in_scoring_order, length_normalisation
from peers.index.searching import rank, search_any, select
from peers.index.segment import Entries, Segment

_DEFAULT_WEIGHTS = RankingWeights()

# In a list of hits: the score of the one before, and its URL.
Place: TypeAlias = tuple[float, str]


class Hit(msgspec.Struct, frozen=True, array_like=True):
    """A document found."""

    url: str
    score: float  # what it is ordered by: with Order.DATE the date in seconds since the epoch
    slot: int


class Best(NamedTuple):
    """One of the best documents, and where it is."""

    url: str
    score: float
    part: PartView
    document: int


class Snapshot:
    """All that is committed at one generation."""

    def __init__(self, generation: int, parts: Sequence[Part]) -> None:
        self.generation = generation
        self.parts = tuple(parts)
        self.document_count = sum(part.live_count for part in parts)
        self.index_bytes = sum(part.segment.size_bytes for part in parts)
        self._views: dict[bytes, View] = {}

    def responsible(self, slots: SlotMask) -> View:
        """Return the documents of the slots that are True; shape (slots of the mesh,)."""
        key: bytes = xxh3_128_digest(slots.data)
        view = self._views.pop(key, None)
        if view is None:
            view = View([part.of_slots(key, slots) for part in self.parts])
        keep(self._views, key, view)
        return view

    def export(self, slots: SlotMask) -> Export:
        """Return an iterator over encoded segments with all documents of the slots that are True."""
        return Export(self.parts, slots)

    def everything(self) -> View:
        """Return all documents, whatever their slot."""
        return self.responsible(np.ones(1 << 16, np.bool_))


# Documents that clauses leave over are scored one by one when they are less than this share of a segment;
# otherwise they are a filter for the search of the best.
_FEW = 1 / 16


class _Plan(NamedTuple):
    """What of a query is the same for all segments."""

    query: Query
    scoring: tuple[str, ...]  # entries, in the order in which their scores are added up
    terms: tuple[str, ...]  # the same, then those that only have to occur
    factors: Floats  # of the terms, idf times weight
    weights: Floats
    base: Floats
    slope: Floats
    k1: float
    k: int
    after: Place | None


class View:
    """The documents of some slots: counts, searches and reads them."""

    def __init__(self, parts: Sequence[PartView]) -> None:
        self._parts = [part for part in parts if part.document_count]
        self.document_count = sum(part.document_count for part in self._parts)
        totals = [sum(part.field_lengths[field] for part in self._parts) for field in range(FIELD_COUNT)]
        self._field_lengths = (totals[0], totals[1], totals[2], totals[3], totals[4])

    def statistics(self, terms: Sequence[str]) -> Statistics:
        """Count the documents, the lengths of their fields, and the documents with each term.

        Raises:
          DamagedSegmentError.
        """
        doc_freqs = np.zeros(len(terms), np.int64)
        for part in self._parts:
            known = part.segment.look_up(terms)
            doc_freqs += known.doc_freqs if part.is_whole else _count_allowed(part, known)
        return Statistics(
            self.document_count,
            self._field_lengths,
            {term: int(n) for term, n in zip(terms, doc_freqs, strict=True) if n},
        )

    def search(
        self,
        query: Query,
        statistics: Statistics,
        k: int,
        weights: RankingWeights = _DEFAULT_WEIGHTS,
        after: Place | None = None,
        floor: float = -inf,
    ) -> tuple[int, bool, list[Hit]]:
        """Find the k best documents.

        Args:
          statistics: of all documents that are searched anywhere, for `query.terms`.
          after: only hits behind this one are wanted; the total counts all.
          floor: hits with a lower score may be left out: k better ones are known from elsewhere.

        Returns:
          (documents that match, whether that is all of them or at least so many, hits by falling score
          and, where scores are equal, rising URL). The best k of the hits of disjoint views are exactly
          the hits of their union.

        Raises:
          ValueError: the query is beyond its limits.
          DamagedSegmentError: something that the search needs is damaged.
        """
        total, is_exact, best = self.best(query, statistics, k, weights, after, floor)
        slots = [int(each.part.segment.slots[each.document]) for each in best]
        return (
            total,
            is_exact,
            [Hit(each.url, each.score, slot) for each, slot in zip(best, slots, strict=True)],
        )

    def best(
        self,
        query: Query,
        statistics: Statistics,
        k: int,
        weights: RankingWeights = _DEFAULT_WEIGHTS,
        after: Place | None = None,
        floor: float = -inf,
    ) -> tuple[int, bool, list[Best]]:
        """Do as `search`, and tell where the documents are."""
        query.check_limits()
        if query.is_empty or k < 0:
            return 0, True, []
        plan = _plan(query, statistics, weights, k, after)
        total, is_exact = 0, True
        found: list[tuple[float, PartView, int]] = []
        best_scores: list[float] = []
        for part in self._parts:
            n, is_all, documents, scores = _search_part(part, plan, floor)
            total += n
            is_exact &= is_all
            if not len(documents):
                continue
            of_part = scores.tolist()
            found += [(s, part, d) for s, d in zip(of_part, documents.tolist(), strict=True)]
            best_scores += of_part
            best_scores.sort(reverse=True)
            del best_scores[k:]
            if len(best_scores) == k:
                floor = max(floor, best_scores[-1])
        return total, is_exact, _best(found, best_scores, k)

    def facets(self, query: Query) -> Facets:
        """Count all documents that match by host, language, type and year.

        Raises:
          ValueError: the query is beyond its limits.
          DamagedSegmentError.
        """
        query.check_limits()
        if query.is_empty:
            return Facets()
        return sum_facets(facets_of(part.segment, matching(part, query)) for part in self._parts)

    def stored(self, url: str) -> Document | None:
        """Return the document of a URL, None when the view has none. DamagedSegmentError."""
        key = url.encode(errors="replace")
        for part in self._parts:
            document = int(part.segment.find_urls([key])[0])
            if document >= 0 and part.allowed[document]:
                return part.segment.stored(document)
        return None

    def holds(self, segment: Segment, document: int) -> bool:
        """Is this one of the documents of the view?"""
        return any(part.segment is segment and bool(part.allowed[document]) for part in self._parts)

    def located(self, urls: Sequence[str]) -> Iterator[tuple[PartView, Ints, Ints]]:
        """Find pages: (part, documents ascending, index among the URLs of each), those not here left out."""
        keys = [url.encode(errors="replace") for url in urls]
        for part in self._parts:
            found = part.segment.find_urls(keys)
            places = np.flatnonzero(found >= 0)
            places = places[part.allowed[found[places]] != 0]
            places = places[np.argsort(found[places], kind="stable")]
            if len(places):
                yield part, found[places], places

    def urls(self) -> Iterator[str]:
        """Return the URLs of all documents, segment by segment."""
        for part in self._parts:
            for document in np.flatnonzero(part.allowed):
                yield part.segment.url(int(document)).decode()


def _plan(
    query: Query, statistics: Statistics, weights: RankingWeights, k: int, after: Place | None
) -> _Plan:
    scoring = tuple(in_scoring_order(query.scoring, statistics))
    weight_of = dict(zip(query.scoring, query.weights, strict=True))
    silent = tuple(entry for entry in query.required if entry not in weight_of)
    factors = idf_of(scoring, statistics) * np.array([weight_of[entry] for entry in scoring], np.float64)
    of_fields, base, slope = _normalisation(statistics.document_count, statistics.field_lengths, weights)
    return _Plan(
        query=query,
        scoring=scoring,
        terms=scoring + silent,
        factors=np.append(factors, np.zeros(len(silent))) if silent else factors,
        weights=of_fields,
        base=base,
        slope=slope,
        k1=float(weights.k1),
        k=k,
        after=after,
    )


@lru_cache(maxsize=16)
def _normalisation(
    document_count: int, field_lengths: tuple[int, int, int, int, int], weights: RankingWeights
) -> tuple[Floats, Floats, Floats]:
    """Return weight, base and slope of each field: the same for all queries of a generation."""
    base, slope = length_normalisation(Statistics(document_count, field_lengths), weights)
    return np.array(weights.weights, np.float64), base, slope


def _search_part(part: PartView, plan: _Plan, floor: float) -> tuple[int, bool, Ints, Floats]:
    """Return (matching documents, whether that is all of them, the best, their scores), in no order."""
    query = plan.query
    if query.order is Order.DATE:
        return _latest(part, plan)
    if query.mode is Mode.AND or not query.terms:
        return _best_of(part, plan, found_by(part, query), floor)
    allowed = part.allowed
    if query.clauses:
        found = holding(part, None, query.clauses)
        assert found is not None
        if len(found.documents) < _FEW * len(allowed):
            return _best_of(part, plan, found_by(part, query), floor)
        marks = np.zeros_like(allowed)
        marks[found.documents] = 1
        allowed = marks & allowed
    return _best_of_any(part, plan, allowed, floor)


def _latest(part: PartView, plan: _Plan) -> tuple[int, bool, Ints, Floats]:
    found = found_by(part, plan.query).documents
    size = min(plan.k, len(found))
    best, dates = np.empty(size, np.int64), np.empty(size)
    all_dates = part.segment.dates.astype(np.float64)
    n = select(found, part.allowed, all_dates, *_limits(part.segment, plan), best, dates)
    return len(found), True, best[:n], dates[:n]


def _best_of(part: PartView, plan: _Plan, found: Found, floor: float) -> tuple[int, bool, Ints, Floats]:
    """Score the documents found."""
    segment, documents = part.segment, found.documents
    size = min(plan.k, len(documents))
    best, scores, damage = np.empty(size, np.int64), np.empty(size), np.full(1, -1, np.int64)
    if not size:
        return len(documents), True, best, scores
    known, indexes, rows, factors = _lists(segment, found, plan)
    n = rank(
        segment.postings,
        segment.postings_words,
        segment.postings_summed,
        segment.postings_sums,
        known.starts,
        known.ends,
        known.doc_freqs,
        factors,
        documents,
        indexes,
        rows,
        part.norms(plan.weights, plan.base, plan.slope),
        plan.weights,
        plan.base,
        plan.slope,
        plan.k1,
        floor,
        *_limits(segment, plan),
        best,
        scores,
        damage,
    )
    segment.refuse_postings(int(damage[0]))
    return len(documents), True, best[:n], scores[:n]


def _lists(segment: Segment, found: Found, plan: _Plan) -> tuple[Entries, Ints, Ints, Floats]:
    """Return the lists that score, where their postings are, the row of each there, and their factors."""
    row_of = {entry: row for row, entry in enumerate(found.entries)}
    if found.known is not None and all(entry in row_of for entry in plan.scoring):
        rows = [row_of[entry] for entry in plan.scoring]
        factors = plan.factors[: len(plan.scoring)]
        return found.known.at(rows), found.indexes, np.array(rows, np.int64), factors
    known = segment.look_up(plan.scoring)
    present = np.flatnonzero(known.numbers >= 0)
    known = known.at(present)
    scoring = [plan.scoring[i] for i in present.tolist()]
    missing = [i for i, entry in enumerate(scoring) if entry not in row_of]
    indexes, documents = found.indexes, found.documents
    if missing:
        more = located(segment, documents, known.at(missing))
        indexes = np.vstack([indexes[:, : len(documents)], more]) if len(indexes) else more
        row_of.update({scoring[i]: len(found.entries) + n for n, i in enumerate(missing)})
    rows = [row_of[entry] for entry in scoring]
    return known, indexes, np.array(rows, np.int64), plan.factors[present]


def _best_of_any(part: PartView, plan: _Plan, allowed: Bytes, floor: float) -> tuple[int, bool, Ints, Floats]:
    """Find the best documents with one of the terms at least."""
    segment = part.segment
    known = segment.look_up(plan.terms)
    factors = plan.factors
    if len(known.numbers) and int(known.numbers.min()) < 0:
        present = np.flatnonzero(known.numbers >= 0)
        known, factors = known.at(present), factors[present]
    size = min(plan.k, int(known.doc_freqs.sum()))
    best, scores = np.empty(size, np.int64), np.empty(size)
    if not len(known.numbers):
        return 0, True, best, scores
    counted, damage = np.empty(2, np.int64), np.full(1, -1, np.int64)
    n = search_any(
        segment.postings,
        segment.postings_words,
        segment.postings_summed,
        segment.postings_sums,
        known.starts,
        known.ends,
        known.doc_freqs,
        factors,
        allowed,
        part.norms(plan.weights, plan.base, plan.slope),
        plan.weights,
        plan.base,
        plan.slope,
        plan.k1,
        floor,
        *_limits(segment, plan),
        best,
        scores,
        counted,
        damage,
    )
    segment.refuse_postings(int(damage[0]))
    return int(counted[0]), bool(counted[1]), best[:n], scores[:n]


def _limits(segment: Segment, plan: _Plan) -> tuple[float, int]:
    """Return the greatest score that is wanted, and which document is the first with it that is."""
    if plan.after is None:
        return inf, 0
    score, url = plan.after
    return score, segment.first_after(url)


def _count_allowed(part: PartView, known: Entries) -> Ints:
    segment = part.segment
    counts = np.zeros(len(known.starts), np.int64)
    segment.check_postings(known.starts, known.ends)
    count(segment.postings, segment.postings_words, known.starts, known.doc_freqs, part.allowed, counts)
    return counts


def _best(found: list[tuple[float, PartView, int]], best_scores: list[float], k: int) -> list[Best]:
    """Merge what the segments found; reads the URLs of those only that may be among the best."""
    if len(found) > k > 0:
        least = best_scores[-1]
        found = [candidate for candidate in found if candidate[0] >= least]
    # No two of them have the same URL.
    ordered = sorted((-score, part.segment.url(document), part, document) for score, part, document in found)
    return [Best(url.decode(), -negative, part, document) for negative, url, part, document in ordered[:k]]
