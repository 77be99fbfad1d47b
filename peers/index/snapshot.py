"""Search a committed state of the index: a snapshot, and views of the slots a peer answers for.

Snapshots are immutable: any number of threads may search one while the index goes on adding, committing
and merging. The view of a segment is cheap to keep (a byte a document) and dear to make (a pass over all its
documents), so each `Part` keeps the last ones made, and a commit takes over the parts it did not change.

What is read of the large sections of a segment is checked first: a search that meets a damaged block raises
DamagedSegmentError, and a view of other slots than the segment has does not touch it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from xxhash import xxh3_128_digest

from mesh.document import Document
from mesh.slot_set import SlotMask
from peers.index.exporting import Export
from peers.index.facets import Facets, facets_of, sum_facets
from peers.index.kernels import FIELD_COUNT, Floats, Ints, clear, count, score, select
from peers.index.matching import are_atoms, dates_of, matching
from peers.index.part import Part, PartView, Scratch, keep
from peers.index.query import Order, Query
from peers.index.ranking import RankingWeights, Statistics, idf_of, in_scoring_order, length_normalisation
from peers.index.segment import Segment

_DEFAULT_WEIGHTS = RankingWeights()

# In a list of hits: the score of the one before, and its URL.
Place: TypeAlias = tuple[float, str]


class Hit(msgspec.Struct, frozen=True, array_like=True):
    """A document found."""

    url: str
    score: float  # what it is ordered by: with Order.DATE the date in seconds since the epoch
    slot: int


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


class _Plan(NamedTuple):
    """What of a query is the same for all segments."""

    query: Query
    scoring: list[str]  # entries, in the order in which their scores are added up
    factors: Floats  # idf times weight of each
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
            found = part.segment.find_terms(terms)
            present = np.flatnonzero(found >= 0)
            numbers = found[present]
            if part.is_whole:
                doc_freqs[present] += part.segment.doc_freqs[numbers]
            elif len(numbers):
                doc_freqs[present] += _count_allowed(part, numbers)
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
    ) -> tuple[int, bool, list[Hit]]:
        """Find the k best documents.

        Args:
          statistics: of all documents that are searched anywhere, for `query.terms`.
          after: only hits behind this one are wanted; the total counts all.

        Returns:
          (documents that match, whether that is all of them or at least so many, hits by falling score
          and, where scores are equal, rising URL). The best k of the hits of disjoint views are exactly
          the hits of their union.

        Raises:
          ValueError: the query is beyond its limits.
          DamagedSegmentError: something that the search needs is damaged.
        """
        query.check_limits()
        if query.is_empty or k < 0:
            return 0, True, []
        plan = _plan(query, statistics, weights, k, after)
        total = 0
        found: list[tuple[float, PartView, int]] = []
        for part in self._parts:
            n, documents, scores = _search_part(part, plan)
            total += n
            found += [(s, part, d) for s, d in zip(scores.tolist(), documents.tolist(), strict=True)]
        return total, True, _best(found, k)

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
    scoring = in_scoring_order(query.scoring, statistics)
    weight_of = dict(zip(query.scoring, query.weights, strict=True))
    base, slope = length_normalisation(statistics, weights)
    return _Plan(
        query=query,
        scoring=scoring,
        factors=idf_of(scoring, statistics) * np.array([weight_of[entry] for entry in scoring], np.float64),
        weights=np.array(weights.weights, np.float64),
        base=base,
        slope=slope,
        k1=float(weights.k1),
        k=k,
        after=after,
    )


def _search_part(part: PartView, plan: _Plan) -> tuple[int, Ints, Floats]:
    """Return (matching documents, the best of them, their scores), in no order."""
    segment = part.segment
    candidates = np.flatnonzero(matching(part, plan.query))
    total = len(candidates)
    if not total:
        return 0, np.empty(0, np.int64), np.empty(0)
    scratch = part.part.borrow_scratch()
    n_touched = 0
    if plan.query.order is Order.DATE:
        keys = dates_of(segment)
    else:
        n_touched = _score(segment, plan, scratch)
        keys = scratch.scores
    if plan.after is not None:
        candidates = _behind(segment, candidates, keys, plan.after)
    size = min(plan.k, len(candidates))
    best, best_keys, kept = np.empty(size, np.int64), np.empty(size), np.empty(1)
    select(candidates, 0, scratch.matched, part.allowed, best_keys, keys, best, kept)
    clear(scratch.touched, n_touched, scratch.scores, scratch.matched)
    part.part.give_back(scratch)
    n_kept = int(kept[0])
    return total, best[:n_kept], best_keys[:n_kept]


def _score(segment: Segment, plan: _Plan, scratch: Scratch) -> int:
    """Score all documents with a scoring entry; return how many."""
    found = segment.find_terms(plan.scoring)
    present = found >= 0
    numbers = found[present]
    starts, ends = segment.postings_starts[numbers], segment.postings_starts[numbers + 1]
    segment.check_postings(starts, ends)
    return score(
        segment.postings,
        starts,
        ends,
        are_atoms(segment, numbers),
        plan.factors[present],
        0,
        False,
        segment.lengths,
        plan.weights,
        plan.base,
        plan.slope,
        plan.k1,
        scratch.scores,
        scratch.matched,
        scratch.touched,
    )


def _behind(segment: Segment, candidates: Ints, keys: Floats, after: Place) -> Ints:
    """Return the candidates that come after a place; documents of a segment are in the order of URLs."""
    score, url = after
    first = segment.first_after(url)
    of_candidates = keys[candidates]
    is_behind = (of_candidates < score) | ((of_candidates == score) & (candidates >= first))
    return np.compress(is_behind, candidates)


def _count_allowed(part: PartView, numbers: Ints) -> Ints:
    segment = part.segment
    counts = np.empty(len(numbers), np.int64)
    starts, ends = segment.postings_starts[numbers], segment.postings_starts[numbers + 1]
    segment.check_postings(starts, ends)
    count(segment.postings, starts, ends, are_atoms(segment, numbers), part.allowed, counts)
    return counts


def _best(found: list[tuple[float, PartView, int]], k: int) -> list[Hit]:
    """Merge what the segments found; reads the URLs of those only that may be among the best."""
    if len(found) > k > 0:
        least = sorted((score for score, _, _ in found), reverse=True)[k - 1]
        found = [candidate for candidate in found if candidate[0] >= least]
    ordered = sorted(
        (-score, part.segment.url(document), int(part.segment.slots[document]))
        for score, part, document in found
    )
    return [Hit(url.decode(), -negative, slot) for negative, url, slot in ordered[:k]]
