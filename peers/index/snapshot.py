"""Search a committed state of the index: a snapshot, and views of the slots a peer answers for.

Snapshots are immutable: any number of threads may search one while the index goes on adding, committing
and merging. The view of a segment is cheap to keep (a byte a document) and dear to make (a pass over all its
documents), so each `Part` keeps the last ones made, and a commit takes over the parts it did not change.

What is read of the large sections of a segment is checked first: a search that meets a damaged block raises
DamagedSegmentError, and a view of other slots than the segment has does not touch it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from xxhash import xxh3_128_digest

from mesh.document import Document
from mesh.slot_set import SlotMask
from peers.index.exporting import Export
from peers.index.kernels import (
    DOCUMENT_SHIFT,
    FIELD_COUNT,
    Bytes,
    Floats,
    Ints,
    clear,
    count,
    mark,
    phrase,
    score,
    select,
)
from peers.index.part import Part, PartView, keep
from peers.index.query import Mode, Query
from peers.index.ranking import RankingWeights, Statistics, idf_of, in_scoring_order, length_normalisation
from peers.index.segment import HOST_PREFIX, Segment

_DEFAULT_WEIGHTS = RankingWeights()


class Hit(msgspec.Struct, frozen=True, array_like=True):
    """A document found."""

    url: str
    score: float
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
    entries: list[str]  # of the dictionary, all that the query needs; places in it:
    n_words: int
    n_scoring: int
    idf: Floats  # of the scoring entries
    weights: Floats
    base: Floats
    slope: Floats
    k1: float
    needs_all: bool
    matched_min: int  # of `select`; 0: terms decide nothing, phrases or sites do


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
        self, query: Query, statistics: Statistics, k: int, weights: RankingWeights = _DEFAULT_WEIGHTS
    ) -> tuple[int, list[Hit]]:
        """Find the k best documents.

        Args:
          statistics: of all documents that are searched anywhere, for `query.terms`.

        Returns:
          (documents that match, hits by falling score and, where scores are equal, rising URL). The best
          k of the hits of disjoint views are exactly the hits of their union.

        Raises:
          ValueError: the query is beyond its limits.
          DamagedSegmentError: something that the search needs is damaged.
        """
        query.check_limits()
        if query.is_empty or k < 0:
            return 0, []
        plan = _plan(query, statistics, weights)
        total = 0
        found: list[tuple[float, PartView, int]] = []
        for part in self._parts:
            n, documents, scores = _search_part(part, plan, k)
            total += n
            found += [(s, part, d) for s, d in zip(scores.tolist(), documents.tolist(), strict=True)]
        return total, _best(found, k)

    def stored(self, url: str) -> Document | None:
        """Return the document of a URL, None when the view has none. DamagedSegmentError."""
        key = url.encode(errors="replace")
        for part in self._parts:
            document = int(part.segment.find_urls([key])[0])
            if document >= 0 and part.allowed[document]:
                return part.segment.stored(document)
        return None

    def urls(self) -> Iterator[str]:
        """Return the URLs of all documents, segment by segment."""
        for part in self._parts:
            for document in np.flatnonzero(part.allowed):
                yield part.segment.url(int(document)).decode()


def _plan(query: Query, statistics: Statistics, weights: RankingWeights) -> _Plan:
    scoring = in_scoring_order(query.words, statistics) + in_scoring_order(query.phrase_words, statistics)
    literal = {entry for entries in query.phrases + query.excluded for entry in entries}
    hosts = [HOST_PREFIX + host for host in query.sites + query.excluded_sites]
    base, slope = length_normalisation(statistics, weights)
    needs_all = query.mode is Mode.AND
    matched_min = 0
    if query.words and needs_all:
        matched_min = 1 + len(query.words)
    elif query.words and not query.phrases:
        matched_min = 2
    return _Plan(
        query=query,
        entries=[*scoring, *sorted(literal), *hosts],
        n_words=len(query.words),
        n_scoring=len(scoring),
        idf=idf_of(scoring, statistics),
        weights=np.array(weights.weights, np.float64),
        base=base,
        slope=slope,
        k1=float(weights.k1),
        needs_all=needs_all,
        matched_min=matched_min,
    )


def _search_part(part: PartView, plan: _Plan, k: int) -> tuple[int, Ints, Floats]:
    """Return (matching documents, the best of them, their scores), in no order."""
    nothing = 0, np.empty(0, np.int64), np.empty(0)
    segment = part.segment
    found = segment.find_terms(plan.entries)
    if plan.needs_all and (found[: plan.n_words] < 0).any():
        return nothing
    numbers = dict(zip(plan.entries, found.tolist(), strict=True))
    allowed = _filtered(part, plan.query, numbers)
    if allowed is None:
        return nothing
    scoring = found[: plan.n_scoring]
    present = scoring >= 0
    scoring = scoring[present]
    starts, ends = segment.postings_starts[scoring], segment.postings_starts[scoring + 1]
    segment.check_postings(starts, ends)
    scratch = part.part.borrow_scratch()
    n_touched = score(
        segment.postings,
        starts,
        ends,
        _are_atoms(segment, scoring),
        plan.idf[present],
        int(present[: plan.n_words].sum()),
        plan.needs_all,
        segment.lengths,
        plan.weights,
        plan.base,
        plan.slope,
        plan.k1,
        scratch.scores,
        scratch.matched,
        scratch.touched,
    )
    candidates = scratch.touched[:n_touched] if plan.matched_min else np.flatnonzero(allowed)
    size = min(k, len(candidates))
    best, best_scores, kept = np.empty(size, np.int64), np.empty(size), np.empty(1)
    total = select(
        candidates, plan.matched_min, scratch.matched, allowed, best_scores, scratch.scores, best, kept
    )
    clear(scratch.touched, n_touched, scratch.scores, scratch.matched)
    part.part.give_back(scratch)
    n_kept = int(kept[0])
    return total, best[:n_kept], best_scores[:n_kept]


def _filtered(part: PartView, query: Query, numbers: dict[str, int]) -> Bytes | None:
    """Return the documents that phrases, exclusions and sites let through, None when there are none."""
    if not (query.phrases or query.excluded or query.sites or query.excluded_sites):
        return part.allowed
    allowed = part.allowed.copy()
    for entries in query.phrases:
        allowed &= _literally(part.segment, [numbers[entry] for entry in entries])
    if query.sites:
        allowed &= _any_of(part.segment, [numbers[HOST_PREFIX + host] for host in query.sites])
    for entries in query.excluded:
        allowed &= 1 - _literally(part.segment, [numbers[entry] for entry in entries])
    if query.excluded_sites:
        allowed &= 1 - _any_of(part.segment, [numbers[HOST_PREFIX + host] for host in query.excluded_sites])
    return allowed if allowed.any() else None


def _any_of(segment: Segment, numbers: Sequence[int]) -> Bytes:
    """Mark the documents that have one of the entries."""
    marks = np.zeros(segment.document_count, np.uint8)
    known = np.array([number for number in numbers if number >= 0], np.int64)
    starts, ends = segment.postings_starts[known], segment.postings_starts[known + 1]
    segment.check_postings(starts, ends)
    are_atoms = _are_atoms(segment, known)
    for start, end, is_atom in zip(starts.tolist(), ends.tolist(), are_atoms.tolist(), strict=True):
        mark(segment.postings, start, end, bool(is_atom), marks)
    return marks


def _literally(segment: Segment, atoms: Sequence[int]) -> Bytes:
    """Mark the documents in which the atoms are consecutive in one field."""
    if len(atoms) == 1:
        return _any_of(segment, atoms)
    marks = np.zeros(segment.document_count, np.uint8)
    numbers = np.array(atoms, np.int64)
    # An entry without positions is no atom: no honest peer asks for it.
    if numbers.min() < 0 or not _are_atoms(segment, numbers).all():
        return marks
    order = np.argsort(segment.doc_freqs[numbers], kind="stable")
    numbers = numbers[order]
    starts, ends = segment.postings_starts[numbers], segment.postings_starts[numbers + 1]
    places, place_ends = segment.positions_starts[numbers], segment.positions_starts[numbers + 1]
    segment.check_postings(starts, ends)
    segment.check_positions(places, place_ends)
    # An occurrence has at least one byte, so the bytes of the rarest atom bound the number of matches.
    matches = np.empty(int(place_ends[0] - places[0]), np.int64)
    n_matches = phrase(
        segment.postings,
        segment.positions,
        starts,
        ends,
        places,
        order,
        matches,
    )
    marks[matches[:n_matches] >> DOCUMENT_SHIFT] = 1
    return marks


def _are_atoms(segment: Segment, numbers: Ints) -> Bytes:
    return (segment.positions_starts[numbers + 1] > segment.positions_starts[numbers]).view(np.uint8)


def _count_allowed(part: PartView, numbers: Ints) -> Ints:
    segment = part.segment
    counts = np.empty(len(numbers), np.int64)
    starts, ends = segment.postings_starts[numbers], segment.postings_starts[numbers + 1]
    segment.check_postings(starts, ends)
    count(segment.postings, starts, ends, _are_atoms(segment, numbers), part.allowed, counts)
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
