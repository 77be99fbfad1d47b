"""Search a committed state of the index: a snapshot, and views of the slots a peer answers for.

Snapshots are immutable: any number of threads may search one while the index goes on adding, committing
and merging. The view of a segment is cheap to keep (a byte a document) and dear to make (a pass over all its
documents), so each `LiveSegment` keeps the last ones made, and a commit takes over those it did not change.

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
from peers.engine.exporting import DEFAULT_SIZES, Export, ExportSizes
from peers.engine.facets import Facets, facets_of, sum_facets
from peers.engine.kernels import FIELD_COUNT
from peers.engine.live_segment import LiveSegment, SegmentView, keep
from peers.engine.locating import count
from peers.engine.matching import Found, found_by, holding, is_range, located, matching
from peers.engine.query import Kind, Literal, Mode, Order, Query
from peers.engine.ranking import RankingWeights, Statistics, idfs_of, in_scoring_order, length_normalisation
from peers.engine.scoring import MODEL_SIZE
from peers.engine.searching import TOLD_SIZE, rank, search_all, search_any, select
from peers.engine.segment import Entries, Segment, packed
from peers.kernel import Bytes, Floats, Ints

_DEFAULT_WEIGHTS = RankingWeights()

# In a list of hits: the score of the one before, and its URL.
Place: TypeAlias = tuple[float, str]


# The best documents of a segment, the best first and ties by number, and their scores.
_BestOfSegment: TypeAlias = tuple[SegmentView, list[int], list[float]]


class Hit(msgspec.Struct, frozen=True, array_like=True):
    """A document found."""

    url: str
    score: float  # what it is ordered by: with Order.DATE the date in seconds since the epoch
    slot: int


class Best(NamedTuple):
    """One of the best documents, and where it is."""

    url: str
    score: float
    view: SegmentView
    document: int


class Snapshot:
    """All that is committed at one generation."""

    def __init__(self, generation: int, segments: Sequence[LiveSegment]) -> None:
        self.generation = generation
        self.segments = tuple(segments)
        self.document_count = sum(each.live_count for each in segments)
        self.index_bytes = sum(each.segment.size_bytes for each in segments)
        self._views: dict[bytes, View] = {}

    def responsible(self, slots: SlotMask) -> View:
        """Return the documents of the slots that are True; shape (slots of the mesh,)."""
        key: bytes = xxh3_128_digest(slots.data)
        view = self._views.pop(key, None)
        if view is None:
            view = View([each.of_slots(key, slots) for each in self.segments])
        keep(self._views, key, view)
        return view

    def export(self, slots: SlotMask, sizes: ExportSizes = DEFAULT_SIZES) -> Export:
        """Return an iterator over encoded segments with all documents of the slots that are True."""
        return Export(self.segments, slots, sizes)

    def everything(self) -> View:
        """Return all documents, whatever their slot."""
        return self.responsible(np.ones(1 << 16, np.bool_))


# Documents that clauses leave over are scored one by one when they are less than this share of a segment;
# otherwise they are a filter for the search of the best.
_FEW = 1 / 16


class _Atoms(NamedTuple):
    """A phrase as `search_all` gets it: the rarest atom first."""

    rows: Ints
    distances: Ints
    fields: int


_NO_PHRASE = _Atoms(np.empty(0, np.int64), np.empty(0, np.int64), 0)


class _Plan(NamedTuple):
    """What of a query is the same for all segments."""

    query: Query
    scoring: tuple[str, ...]  # entries, in the order in which their scores are added up
    terms: tuple[str, ...]  # the same, then those that only have to occur
    is_required: Bytes  # of the terms
    phrase: _Atoms  # of the only clause, if it is an only phrase
    factors: Floats  # of the terms, idf times weight
    model: Floats  # see `scoring`
    k: int
    after: Place | None


class View:
    """The documents of some slots: counts, searches and reads them."""

    def __init__(self, segments: Sequence[SegmentView]) -> None:
        self._segments = [view for view in segments if view.document_count]
        self.document_count = sum(view.document_count for view in self._segments)
        totals = [sum(view.field_lengths[field] for view in self._segments) for field in range(FIELD_COUNT)]
        self._field_lengths = (totals[0], totals[1], totals[2], totals[3], totals[4])

    def statistics(self, terms: Sequence[str]) -> Statistics:
        """Count the documents, the lengths of their fields, and the documents with each term.

        Raises:
          DamagedSegmentError.
        """
        doc_freqs = np.zeros(len(terms), np.int64)
        for view in self._segments:
            known = view.segment.look_up(terms)
            doc_freqs += known.doc_freqs if view.is_whole else _count_allowed(view, known)
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
        total, is_exact, found = self._find(query, statistics, k, weights, after, floor)
        if len(found) == 1:  # as is usual when all is merged
            view, documents, scores = found[0]
            segment = view.segment
            hits = list(map(Hit, segment.urls_of(documents), scores, segment.slots_of(documents)))
        else:
            best = _merged(found, k)
            hits = [Hit(b.url, b.score, int(b.view.segment.slots[b.document])) for b in best]
        return total, is_exact, hits

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
        total, is_exact, found = self._find(query, statistics, k, weights, after, floor)
        return total, is_exact, _merged(found, k)

    def _find(
        self,
        query: Query,
        statistics: Statistics,
        k: int,
        weights: RankingWeights,
        after: Place | None,
        floor: float,
    ) -> tuple[int, bool, list[_BestOfSegment]]:
        query.check_limits()
        if query.is_empty or k < 0:
            return 0, True, []
        plan = _plan(query, statistics, weights, k, after)
        total, is_exact = 0, True
        found: list[_BestOfSegment] = []
        best_scores: list[float] = []
        for view in self._segments:
            n, is_all, documents, scores = _search_segment(view, plan, floor)
            total += n
            is_exact &= is_all
            if not documents:
                continue
            best_scores = sorted(best_scores + scores, reverse=True)[:k] if found else scores
            found.append((view, documents, scores))
            if len(best_scores) == k:
                floor = max(floor, best_scores[-1])
        return total, is_exact, found

    def facets(self, query: Query) -> Facets:
        """Count all documents that match by host, language, type and year.

        Raises:
          ValueError: the query is beyond its limits.
          DamagedSegmentError.
        """
        query.check_limits()
        if query.is_empty:
            return Facets()
        return sum_facets(facets_of(view.segment, matching(view, query)) for view in self._segments)

    def stored(self, url: str) -> Document | None:
        """Return the document of a URL, None when the view has none. DamagedSegmentError."""
        key = url.encode(errors="replace")
        for view in self._segments:
            document = int(view.segment.find_urls([key])[0])
            if document >= 0 and view.allowed[document]:
                return view.segment.stored(document)
        return None

    def holds(self, segment: Segment, document: int) -> bool:
        """Is this one of the documents of the view?"""
        return any(view.segment is segment and bool(view.allowed[document]) for view in self._segments)

    def located(self, urls: Sequence[str]) -> Iterator[tuple[SegmentView, Ints, Ints]]:
        """Find pages: (segment, documents ascending, index of each in `urls`), those not here left out."""
        keys = [url.encode(errors="replace") for url in urls]
        for view in self._segments:
            found = view.segment.find_urls(keys)
            places = np.flatnonzero(found >= 0)
            places = places[view.allowed[found[places]] != 0]
            places = places[np.argsort(found[places], kind="stable")]
            if len(places):
                yield view, found[places], places

    def urls(self) -> Iterator[str]:
        """Return the URLs of all documents, segment by segment."""
        for view in self._segments:
            for document in np.flatnonzero(view.allowed):
                yield view.segment.url(int(document)).decode()


def _plan(
    query: Query, statistics: Statistics, weights: RankingWeights, k: int, after: Place | None
) -> _Plan:
    scoring = in_scoring_order(query.scoring, statistics)
    weight_of = dict(zip(query.scoring, query.weights, strict=True))
    literal = _only_phrase(query)
    required = query.required if literal is None else query.required + literal.entries
    terms = (*scoring, *[entry for entry in dict.fromkeys(required) if entry not in weight_of])
    factors = [
        idf * weight_of[entry] for idf, entry in zip(idfs_of(scoring, statistics), scoring, strict=True)
    ]
    factors += [0.0] * (len(terms) - len(scoring))
    return _Plan(
        query,
        tuple(scoring),
        terms,
        np.array([entry in required for entry in terms], np.uint8),
        _NO_PHRASE if literal is None else _phrase_of(literal, terms, statistics),
        np.array(factors, np.float64),
        _model(statistics.document_count, statistics.field_lengths, weights),
        k,
        after,
    )


def _only_phrase(query: Query) -> Literal | None:
    """Return the phrase that is all that is asked for besides required entries, None if it is not so."""
    if query.mode is not Mode.AND or len(query.clauses) != 1 or len(query.clauses[0]) != 1:
        return None
    literal = query.clauses[0][0]
    is_plain = literal.kind is Kind.PHRASE and not literal.negated
    return literal if is_plain and not any(map(is_range, literal.entries)) else None


def _phrase_of(literal: Literal, terms: Sequence[str], statistics: Statistics) -> _Atoms:
    known = statistics.doc_freqs
    atoms = sorted(
        zip(literal.entries, literal.distances, strict=True), key=lambda atom: known.get(atom[0], 0)
    )
    rows = [terms.index(entry) for entry, _ in atoms]
    distances = [distance for _, distance in atoms]
    fields = literal.fields or (1 << FIELD_COUNT) - 1
    return _Atoms(np.array(rows, np.int64), np.array(distances, np.int64), fields)


@lru_cache(maxsize=16)
def _model(
    document_count: int, field_lengths: tuple[int, int, int, int, int], weights: RankingWeights
) -> Floats:
    """Return what kernels need of the weights: the same for all queries of a generation."""
    base, slope = length_normalisation(Statistics(document_count, field_lengths), weights)
    model: Floats = np.concatenate(([float(weights.k1)], weights.weights, base, slope), dtype=np.float64)
    assert len(model) == MODEL_SIZE
    return model


# Matching documents; whether that is all of them; the best, the best first and ties by number; their scores.
_Answer: TypeAlias = tuple[int, bool, list[int], list[float]]


def _search_segment(view: SegmentView, plan: _Plan, floor: float) -> _Answer:
    query = plan.query
    if query.order is Order.DATE:
        return _latest(view, plan)
    if plan.phrase is not _NO_PHRASE or (query.mode is Mode.AND and query.required and not query.clauses):
        return _best_of_all(view, plan, floor)
    if query.mode is Mode.AND or not query.terms:
        return _best_of(view, plan, found_by(view, query), floor)
    allowed = view.allowed
    if query.clauses:
        found = holding(view, None, query.clauses)
        assert found is not None
        if len(found.documents) < _FEW * len(allowed):
            return _best_of(view, plan, found_by(view, query), floor)
        marks = np.zeros_like(allowed)
        marks[found.documents] = 1
        allowed = marks & allowed
    return _best_of_any(view, plan, allowed, floor)


def _latest(view: SegmentView, plan: _Plan) -> _Answer:
    found = found_by(view, plan.query).documents
    size = min(plan.k, len(found))
    best, dates = np.empty(size, np.int64), np.empty(size)
    n = select(found, view.segment.dates.astype(np.float64), *_limits(view.segment, plan), best, dates)
    return len(found), True, best[:n].tolist(), dates[:n].tolist()


class _Room(NamedTuple):
    """What kernels write their answer to."""

    best: Ints
    scores: Floats
    told: Ints

    def answer(self, segment: Segment, n: int) -> _Answer:
        total, is_exact, damage, positions_damage = self.told.tolist()
        segment.refuse_postings(damage)
        segment.refuse_positions(positions_damage)
        return total, is_exact == 1, self.best[:n].tolist(), self.scores[:n].tolist()


def _room(view: SegmentView, plan: _Plan) -> _Room:
    # One more than there can be: full means that something may have been left out.
    size = min(plan.k, view.document_count + 1)
    return _Room(np.empty(size, np.int64), np.empty(size), np.empty(TOLD_SIZE, np.int64))


def _best_of(view: SegmentView, plan: _Plan, found: Found, floor: float) -> _Answer:
    """Score the documents found."""
    segment, documents = view.segment, found.documents
    if not len(documents):
        return 0, True, [], []
    known, indexes, rows, factors = _lists(segment, found, plan)
    room = _room(view, plan)
    n = rank(
        segment.lists,
        known.found,
        factors,
        documents,
        indexes,
        rows,
        view.allowed,
        view.live.norms(plan.model),
        plan.model,
        floor,
        *_limits(segment, plan),
        room.best,
        room.scores,
        room.told,
    )
    return room.answer(segment, n)


def _best_of_all(view: SegmentView, plan: _Plan, floor: float) -> _Answer:
    """Find the best documents with all of the required entries."""
    segment = view.segment
    room = _room(view, plan)
    n = search_all(
        segment.lists,
        *segment.lexicon,
        *packed(plan.terms),
        plan.is_required,
        plan.phrase.rows,
        plan.phrase.distances,
        plan.phrase.fields,
        plan.factors,
        view.allowed,
        view.is_whole,
        view.live.norms(plan.model),
        plan.model,
        floor,
        *_limits(segment, plan),
        room.best,
        room.scores,
        room.told,
    )
    return room.answer(segment, n)


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


def _best_of_any(view: SegmentView, plan: _Plan, allowed: Bytes, floor: float) -> _Answer:
    """Find the best documents with one of the terms at least."""
    segment = view.segment
    room = _room(view, plan)
    n = search_any(
        segment.lists,
        *segment.lexicon,
        *packed(plan.terms),
        plan.factors,
        allowed,
        view.is_whole and allowed is view.allowed,
        view.live.norms(plan.model),
        plan.model,
        floor,
        *_limits(segment, plan),
        room.best,
        room.scores,
        room.told,
    )
    return room.answer(segment, n)


def _limits(segment: Segment, plan: _Plan) -> tuple[float, int]:
    """Return the greatest score that is wanted, and which document is the first with it that is."""
    if plan.after is None:
        return inf, 0
    score, url = plan.after
    return score, segment.first_after(url)


def _count_allowed(view: SegmentView, known: Entries) -> Ints:
    segment = view.segment
    counts = np.zeros(len(known), np.int64)
    segment.check_postings(known)
    count(segment.lists, known.found, view.allowed, counts)
    return counts


def _merged(found: Sequence[_BestOfSegment], k: int) -> list[Best]:
    """Return the k best of all segments; reads the URLs of those only that may be among them."""
    least = sorted((score for _, _, scores in found for score in scores), reverse=True)[:k][-1:]
    best = []
    for view, documents, scores in found:
        n = sum(score >= least[0] for score in scores)
        urls = view.segment.urls_of(documents[:n])
        hits = zip(urls, scores[:n], documents[:n], strict=True)
        best += [Best(url, score, view, document) for url, score, document in hits]
    # No two of them have the same URL.
    best.sort(key=lambda each: (-each.score, each.url.encode(errors="replace")))
    return best[:k]
