"""The greatest cost, in visits, of finding the documents of a segment that match; see `effort`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from peers.engine.matching.matching import either_word, ranges_and_words
from peers.engine.postings.entries import Entries
from peers.engine.queries.query import Literal, LiteralKind, Mode, Query
from peers.engine.searching.conjunction import PHRASE_VISITS
from peers.engine.segments.live_segment import SegmentView
from peers.engine.segments.segment import Segment

_ALTERNATIVES: Final = (LiteralKind.SITE, LiteralKind.LANGUAGE, LiteralKind.TYPE)


def matching_cost(view: SegmentView, query: Query) -> int:
    """Return how many visits `matching.found_by` needs, looking up entries only."""
    segment = view.segment
    visits = clauses_cost(view, query)
    if query.mode is not Mode.AND:
        return visits + _any_of(segment, query.terms)
    return visits + _all_of(segment, query.required) + _literals_cost(view, query.alternatives)


def clauses_cost(view: SegmentView, query: Query) -> int:
    """Return how many visits `matching.holding` needs for the clauses of a query."""
    visits = _literals_cost(view, query.clauses)
    # Alternatives, and what is left out, are tried on every document.
    tried = sum([len(clause) > 1 or clause[0].negated for clause in query.clauses])
    return visits + tried * view.segment.document_count


def _literals_cost(view: SegmentView, clauses: Sequence[Sequence[Literal]]) -> int:
    visits = 0
    for clause in clauses:
        if len(clause) > 1 and (words := either_word(clause)):
            visits += _any_of(view.segment, words)
            continue
        for literal in clause:
            visits += _literal_cost(view, literal)
    return visits


def _literal_cost(view: SegmentView, literal: Literal) -> int:
    segment = view.segment
    if literal.kind is LiteralKind.DATE:
        return segment.document_count
    if literal.kind is LiteralKind.CLASS:
        return _classes_cost(view)
    if literal.kind is LiteralKind.FILE:
        return _files_cost(view, literal)
    if literal.kind in _ALTERNATIVES:
        return _any_of(segment, literal.entries)
    weight = PHRASE_VISITS if literal.kind is LiteralKind.PHRASE else 1
    ranges, words = ranges_and_words(literal.entries)
    in_ranges = sum([_postings(segment.beginning_with(entry)) for entry in ranges]) if ranges else 0
    return weight * (_all_of(segment, words) + in_ranges)


def _classes_cost(view: SegmentView) -> int:
    if view.classes is None:
        return 0
    from peers.engine.matching.page_classes import classing_cost

    return view.segment.document_count + classing_cost(view.segment, view.classes)


def _files_cost(view: SegmentView, literal: Literal) -> int:
    from peers.engine.matching.listed_files import DIRECTORIES, files_cost

    n_with_words = [int(each) for each in view.segment.look_up(literal.entries).doc_freqs]
    return files_cost(view.segment, view.segment.look_up(DIRECTORIES), min(n_with_words, default=-1), literal)


def _all_of(segment: Segment, entries: Sequence[str]) -> int:
    """The rarest leads through all of the lists."""
    return min(segment.look_up(entries).doc_freqs.tolist()) * len(entries) if entries else 0


def _any_of(segment: Segment, entries: Sequence[str]) -> int:
    return _postings(segment.look_up(entries)) if entries else 0


def _postings(entries: Entries) -> int:
    return int(entries.doc_freqs.sum())
