"""Search a committed state of the index: a snapshot, and views of the slots a peer answers for.

Snapshots are immutable: any number of threads may search one while the index goes on adding, committing
and merging. The view of a segment is cheap to keep (a byte a document) and dear to make (a pass over all its
documents), so each `LiveSegment` keeps the last ones made, and a commit takes over those it did not change.

What is read of the large sections of a segment is checked first: a search that meets a damaged block raises
DamagedSegmentError, and a view of other slots than the segment has does not touch it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain, repeat
from math import inf
from operator import attrgetter, neg
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import numpy as np
from xxhash import xxh3_128_digest

from mesh.slot_set import SlotMask
from peers.engine.excerpts.shared_titles import SITES_KEPT, shared_titles, shown_title
from peers.engine.matching.facets import Facets, facets_of, sum_facets
from peers.engine.matching.matching import matching
from peers.engine.matching.matching_cost import matching_cost
from peers.engine.matching.segment_search import Place, plan_of, search_segment
from peers.engine.mending.completions import Completion, completions
from peers.engine.mending.similar_words import SimilarWord, counted_words, similar_words
from peers.engine.merging.export import DEFAULT_SIZES, Export, ExportSizes
from peers.engine.native.kernels import LENGTH_COUNT
from peers.engine.pages.document import Document
from peers.engine.pages.filter_entries import LANGUAGE_PREFIX
from peers.engine.postings.entries import Entries
from peers.engine.queries.native_forms import ANY_LANGUAGE, LANGUAGES
from peers.engine.queries.query import Query
from peers.engine.searching.effort import Effort, EffortSpentError
from peers.engine.searching.intersection import count_allowed
from peers.engine.searching.ranking import CollectionStatistics, RankingWeights
from peers.engine.segments.live_segment import LiveSegment, SegmentView, keep
from peers.engine.segments.segment import Segment
from peers.kernel import Ints

if TYPE_CHECKING:
    from peers.engine.pages.class_model import ClassModel

_DEFAULT_WEIGHTS = RankingWeights()
# A document has a host, a language, a type and a year.
_FACETS_VISITS = 4

_URL: Final = attrgetter("url")
_SCORE: Final = attrgetter("score")

# The best documents of a segment, the best first and ties by number, and their scores.
_BestOfSegment: TypeAlias = tuple[SegmentView, list[int], list[float]]


class DocumentHit(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A document found."""

    url: str
    score: float  # what it is ordered by: with Order.DATE the date in seconds since the epoch
    slot: int


class Best(msgspec.Struct, frozen=True, gc=False):
    """One of the best documents, and where it is; a structure, since a hundred are made for a question."""

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

    def responsible(self, slots: SlotMask, classes: ClassModel | None = None) -> View:
        """Return the documents of the slots that are True; shape (slots of the mesh,).

        Args:
          classes: that they may be in, by which queries can ask for them; None for none.
        """
        key: bytes = xxh3_128_digest(slots.data)
        if classes is not None:
            key += classes.digest
        view = self._views.pop(key, None)
        if view is None:
            view = View([each.of_slots(key, slots, classes) for each in self.segments])
        keep(self._views, key, view)
        return view

    def export(self, slots: SlotMask, sizes: ExportSizes = DEFAULT_SIZES) -> Export:
        """Return an iterator over encoded segments with all documents of the slots that are True."""
        return Export(self.segments, slots, sizes)

    def everything(self) -> View:
        """Return a view of all documents, in any slot."""
        return self.responsible(np.ones(1 << 16, np.bool_))


class View:
    """The documents of some slots: counts, searches and reads them."""

    def __init__(self, segments: Sequence[SegmentView]) -> None:
        self._segments = [view for view in segments if view.document_count]
        self.document_count = sum(view.document_count for view in self._segments)
        totals = [sum(view.field_lengths[field] for view in self._segments) for field in range(LENGTH_COUNT)]
        self._field_lengths = (totals[0], totals[1], totals[2], totals[3], totals[4])
        self._n_in_languages: int | None = None  # pages in any of those with forms of their own, when asked
        self._shared_titles = lru_cache(SITES_KEPT)(partial(shared_titles, self._segments))

    def statistics(self, terms: Sequence[str], effort: Effort | None = None) -> CollectionStatistics:
        """Count the documents, the lengths of their fields, and the documents with each term.

        Raises:
          DamagedSegmentError.
          EffortSpentError: half a count is none.
        """
        doc_freqs = np.zeros(len(terms), np.int64)
        for view in self._segments:
            known = view.segment.look_up(terms)
            if effort is not None and not view.is_whole:
                effort.spend(int(known.doc_freqs.sum()))
            doc_freqs += known.doc_freqs if view.is_whole else _count_allowed(view, known)
        counted = {term: n for term, n in zip(terms, doc_freqs.tolist(), strict=True) if n}
        if ANY_LANGUAGE in terms:
            counted[ANY_LANGUAGE] = self._count_in_languages(effort)
        return CollectionStatistics(self.document_count, self._field_lengths, counted)

    def _count_in_languages(self, effort: Effort | None) -> int:
        """Count the pages in any of the languages whose words have forms of their own, once."""
        if self._n_in_languages is None:
            entries = [LANGUAGE_PREFIX + language for language in LANGUAGES]
            self._n_in_languages = sum(self.statistics(entries, effort).doc_freqs.values())
        return self._n_in_languages

    def search(
        self,
        query: Query,
        statistics: CollectionStatistics,
        k: int,
        weights: RankingWeights = _DEFAULT_WEIGHTS,
        after: Place | None = None,
        floor: float = -inf,
        effort: Effort | None = None,
    ) -> tuple[int, bool, list[DocumentHit]]:
        """Find the k best documents.

        Args:
          statistics: of all documents that are searched anywhere, for `query.terms`.
          after: only hits behind this one are wanted; the total counts all.
          floor: hits with a lower score may be left out: k better ones are known from elsewhere.
          effort: when it `is_spent`, these are the best of what could be looked at with it.

        Returns:
          (documents that match, whether that is all of them or at least so many, hits by falling score
          and, where scores are equal, rising URL). The best k of the hits of disjoint views are exactly
          the hits of their union.

        Raises:
          ValueError: the query is beyond its limits.
          DamagedSegmentError: something that the search needs is damaged.
        """
        total, is_exact, found = self._find(query, statistics, k, weights, after, floor, effort or Effort())
        hits: list[DocumentHit] = []
        if len(found) == 1:  # as is usual when all is merged
            view, documents, scores = found[0]
            segment = view.segment
            hits = list(map(DocumentHit, segment.urls_of(documents), scores, segment.slots_of(documents)))
        elif found:
            best = _merged(found, k)
            hits = [DocumentHit(b.url, b.score, int(b.view.segment.slots[b.document])) for b in best]
        return total, is_exact, hits

    def best(
        self,
        query: Query,
        statistics: CollectionStatistics,
        k: int,
        weights: RankingWeights = _DEFAULT_WEIGHTS,
        after: Place | None = None,
        floor: float = -inf,
        effort: Effort | None = None,
    ) -> tuple[int, bool, list[Best]]:
        """Do as `search`, and tell where the documents are."""
        total, is_exact, found = self._find(query, statistics, k, weights, after, floor, effort or Effort())
        return total, is_exact, _merged(found, k)

    def _find(
        self,
        query: Query,
        statistics: CollectionStatistics,
        k: int,
        weights: RankingWeights,
        after: Place | None,
        floor: float,
        effort: Effort,
    ) -> tuple[int, bool, list[_BestOfSegment]]:
        query.check_limits()
        if query.is_empty or k < 0:
            return 0, True, []
        plan = plan_of(query, statistics, weights, k, after)
        sees_copies = query.sees_copies
        total, is_exact = 0, True
        found: list[_BestOfSegment] = []
        best_scores: list[float] = []
        for each in self._segments:
            view = each if sees_copies else each.without_copies
            try:
                n, is_all, documents, scores = search_segment(view, plan, floor, effort)
            except EffortSpentError:
                break
            total += n
            is_exact &= is_all
            if not documents:
                continue
            best_scores = sorted(best_scores + scores, reverse=True)[:k] if found else scores
            found.append((view, documents, scores))
            if len(best_scores) == k:
                floor = max(floor, best_scores[-1])
        return total, is_exact and not effort.is_spent, found

    def facets(self, query: Query, effort: Effort | None = None) -> Facets:
        """Count all documents that match by host, language, type and year, and class where there are such.

        Raises:
          ValueError: the query is beyond its limits.
          DamagedSegmentError.
          EffortSpentError.
        """
        query.check_limits()
        if query.is_empty:
            return Facets()
        return sum_facets(_facets_of(view, query, effort or Effort()) for view in self._segments)

    def similar_words(
        self, typed: str, beside: tuple[str, ...], effort: Effort
    ) -> tuple[list[SimilarWord], bool]:
        """Do as `similar_words.similar_words`, over the pages of which a text may be shown."""
        return similar_words([view.quotable for view in self._segments], typed, beside, effort)

    def counted_words(
        self, typed: str, words: Sequence[str], beside: tuple[str, ...], effort: Effort
    ) -> tuple[list[SimilarWord], bool]:
        """Do as `similar_words.counted_words`, over the same pages; parts are not told."""
        parts = [(word, (0, 0)) for word in words]
        return counted_words([view.quotable for view in self._segments], typed, parts, beside, effort)

    def completions(self, typed: str, effort: Effort) -> list[Completion]:
        """Do as `completions.completions`, over the pages of which a text may be shown."""
        return completions([view.quotable for view in self._segments], typed, effort)

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

    def shown_title(self, document: Document) -> str:
        """Return the text that tells a page of the view from others of its site: title, or else heading."""
        return shown_title(document, self._shared_titles)

    def urls(self) -> Iterator[str]:
        """Return the URLs of all documents, segment by segment."""
        for view in self._segments:
            for document in np.flatnonzero(view.allowed):
                yield view.segment.url(int(document)).decode()


def _facets_of(view: SegmentView, query: Query, effort: Effort) -> Facets:
    effort.spend(matching_cost(view, query) + _FACETS_VISITS * view.segment.document_count)
    marks = matching(_shown_to(query, view), query)
    facets = facets_of(view.segment, marks)
    if view.classes is None:
        return facets
    from peers.engine.matching.page_classes import classing_cost, counts_of

    effort.spend(classing_cost(view.segment, view.classes))
    return msgspec.structs.replace(facets, classes=counts_of(view.segment, view.classes, marks))


def _shown_to(query: Query, view: SegmentView) -> SegmentView:
    """Leave copies out, of which others stand for the same content; statistics are of all documents."""
    return view if query.sees_copies else view.without_copies


def _count_allowed(view: SegmentView, known: Entries) -> Ints:
    segment = view.segment
    counts = np.zeros(len(known), np.int64)
    segment.check_postings(known)
    count_allowed(segment.lists, known.found, view.allowed, counts)
    return counts


def _merged(found: Sequence[_BestOfSegment], k: int) -> list[Best]:
    """Return the k best of all segments; reads the URLs of those only that may be among them."""
    least = sorted(chain.from_iterable(scores for _, _, scores in found), reverse=True)[:k][-1:]
    best: list[Best] = []
    for view, documents, scores in found:
        n = bisect_right(scores, -least[0], key=neg)  # they fall
        urls = view.segment.urls_of(documents[:n])
        best += map(Best, urls, scores, repeat(view), documents)
    # No two of them have the same URL; code points are in the order of their bytes.
    best.sort(key=_URL)
    best.sort(key=_SCORE, reverse=True)
    return best[:k]
