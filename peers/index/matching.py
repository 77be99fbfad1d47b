"""Which documents of a segment match a query: the simple way, by marks of a byte a document.

It is how facets are counted, and what faster ways of searching have to agree with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from peers.index.kernels import DOCUMENT_SHIFT, FIELD_SHIFT, Bytes, Floats, Ints, mark, phrase
from peers.index.part import PartView
from peers.index.query import ANY_FIELD, Kind, Literal, Mode, Query
from peers.index.segment import Segment

_FIELDS = 15


def matching(part: PartView, query: Query) -> Bytes:
    """Mark the documents that match: 1 or 0 each.

    Raises:
      DamagedSegmentError: something that this needs is damaged.
    """
    marks = part.allowed.copy()
    segment = part.segment
    if query.mode is Mode.AND:
        for number in segment.find_terms(query.required).tolist():
            marks &= _any_of(segment, [number])
            if number < 0:
                return marks
    elif query.required or query.scoring:
        marks &= _any_of(segment, segment.find_terms(query.terms).tolist())
    for clause in query.clauses:
        if not marks.any():
            break
        marks &= _clause(segment, clause)
    return marks


def entry_marks(segment: Segment, number: int) -> Bytes:
    """Mark the documents that have an entry of the dictionary."""
    return _any_of(segment, [number])


def dates_of(segment: Segment) -> Floats:
    """Return the date of each document, in seconds since the epoch."""
    return segment.fetched_at


def _clause(segment: Segment, clause: Iterable[Literal]) -> Bytes:
    marks = np.zeros(segment.document_count, np.uint8)
    for literal in clause:
        holds = _holds(segment, literal)
        marks |= 1 - holds if literal.negated else holds
    return marks


def _holds(segment: Segment, literal: Literal) -> Bytes:
    """Mark where a literal would hold if it were not negated."""
    if literal.kind is Kind.DATE:
        dates = dates_of(segment)
        return ((literal.low <= dates) & (dates < literal.high)).astype(np.uint8)
    numbers = segment.find_terms(literal.entries).tolist()
    if literal.kind is Kind.PHRASE:
        return _literally(segment, numbers, literal)
    if literal.kind is Kind.WORDS:
        marks = np.ones(segment.document_count, np.uint8)
        for number in numbers:
            marks &= _any_of(segment, [number])
        return marks
    return _any_of(segment, numbers)


def _any_of(segment: Segment, numbers: Sequence[int]) -> Bytes:
    """Mark the documents that have one of the entries."""
    marks = np.zeros(segment.document_count, np.uint8)
    known = np.array([number for number in numbers if number >= 0], np.int64)
    starts, ends = segment.postings_starts[known], segment.postings_starts[known + 1]
    segment.check_postings(starts, ends)
    atoms = are_atoms(segment, known)
    for start, end, is_atom in zip(starts.tolist(), ends.tolist(), atoms.tolist(), strict=True):
        mark(segment.postings, start, end, bool(is_atom), marks)
    return marks


def _literally(segment: Segment, atoms: Sequence[int], literal: Literal) -> Bytes:
    """Mark the documents in which the atoms are at their distances in one of the fields."""
    if len(atoms) == 1 and literal.fields == ANY_FIELD:
        return _any_of(segment, atoms)
    marks = np.zeros(segment.document_count, np.uint8)
    numbers = np.array(atoms, np.int64)
    # An entry without positions is no atom: no honest peer asks for it.
    if numbers.min() < 0 or not are_atoms(segment, numbers).all():
        return marks
    order = np.argsort(segment.doc_freqs[numbers], kind="stable")
    numbers = numbers[order]
    distances = np.array(literal.distances, np.int64)[order]
    starts, ends = segment.postings_starts[numbers], segment.postings_starts[numbers + 1]
    places, place_ends = segment.positions_starts[numbers], segment.positions_starts[numbers + 1]
    segment.check_postings(starts, ends)
    segment.check_positions(places, place_ends)
    # An occurrence has at least one byte, so the bytes of the rarest atom bound the number of matches.
    matches = np.empty(int(place_ends[0] - places[0]), np.int64)
    n_matches = phrase(segment.postings, segment.positions, starts, ends, places, distances, matches)
    found = matches[:n_matches]
    if literal.fields != ANY_FIELD:
        found = found[literal.fields >> (found >> FIELD_SHIFT & _FIELDS) & 1 == 1]
    marks[found >> DOCUMENT_SHIFT] = 1
    return marks


def are_atoms(segment: Segment, numbers: Ints) -> Bytes:
    """Tell of each entry whether it has positions."""
    return (segment.positions_starts[numbers + 1] > segment.positions_starts[numbers]).view(np.uint8)
