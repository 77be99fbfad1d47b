"""Search one segment: choose the kernel that answers a query, and prepare its arguments."""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import Final, TypeAlias

import msgspec
import numpy as np

from peers.engine.matching.matching import MatchedDocuments, found_by, holding, is_range, located
from peers.engine.matching.matching_cost import clauses_cost, matching_cost
from peers.engine.native.kernels import FIELD_COUNT
from peers.engine.postings.entries import Entries
from peers.engine.queries.query import Literal, LiteralKind, Mode, Query, Sort
from peers.engine.searching.batch import TOLD_SIZE, Goal, Searched, SearchScope
from peers.engine.searching.conjunction import Atoms, search_all
from peers.engine.searching.disjunction import search_any
from peers.engine.searching.effort import Effort
from peers.engine.searching.found import rank, select_best
from peers.engine.searching.ranking import (
    CollectionStatistics,
    RankingWeights,
    k1_of,
    length_normalisation,
    scored,
)
from peers.engine.searching.scoring import MODEL_SIZE
from peers.engine.segments.live_segment import SegmentView
from peers.engine.segments.segment import Segment
from peers.kernel import Bytes, Floats, Ints

# In a list of hits: the score of the one before, and its URL.
Place: TypeAlias = tuple[float, str]

# Documents that clauses leave over are scored one by one when they are less than this share of a segment;
# otherwise they are a filter for the search of the best.
_FEW = 1 / 16


_NO_PHRASE = Atoms([], [], 0)
_ALL_FIELDS: Final = (1 << FIELD_COUNT) - 1

# Looked up once: to find a member of an enumeration takes longer than what is done with it here.
_AND: Final = Mode.AND
_DATE: Final = Sort.DATE
_PHRASE: Final = LiteralKind.PHRASE


class PreparedQuery(msgspec.Struct, frozen=True, gc=False):
    """A query prepared for searching, the same for all segments."""

    query: Query
    scoring: list[str]  # entries, in the order in which their scores are added up
    terms: list[str]  # the same, then those that only have to occur
    is_required: list[bool]  # of the terms
    phrase: Atoms  # of the only clause, if it is an only phrase
    factors: list[float]  # of the terms, idf times weight
    model: Floats  # see `scoring`
    k: int
    after: Place | None


def plan_of(
    query: Query, statistics: CollectionStatistics, weights: RankingWeights, k: int, after: Place | None
) -> PreparedQuery:
    """Work out the search plan of a query for all segments, within its limits."""
    scoring, factors = scored(query.scoring, query.weights, statistics)
    literal = _only_phrase(query) if query.clauses else None
    required = query.required if literal is None else query.required + literal.entries
    terms = scoring
    if required == query.scoring:
        is_required = [True] * len(terms)
    else:
        terms = scoring.copy()
        for entry in required:
            if entry not in terms:
                terms.append(entry)
                factors.append(0.0)
        is_required = [entry in required for entry in terms]
    return PreparedQuery(
        query,
        scoring,
        terms,
        is_required,
        _NO_PHRASE
        if literal is None
        else Atoms(
            tuple(map(terms.index, literal.entries)), literal.distances, literal.fields or _ALL_FIELDS
        ),
        factors,
        _model(statistics.document_count, statistics.field_lengths, weights),
        k,
        after,
    )


def _only_phrase(query: Query) -> Literal | None:
    """Return the phrase that is all that is asked for besides required entries, None if it is not so."""
    if query.mode is not _AND or len(query.clauses) != 1 or len(query.clauses[0]) != 1 or query.alternatives:
        return None
    literal = query.clauses[0][0]
    if literal.kind is not _PHRASE or literal.negated:
        return None
    for entry in literal.entries:
        if len(entry) == 2 and is_range(entry):
            return None
    return literal


@lru_cache(maxsize=16)
def _model(
    document_count: int, field_lengths: tuple[int, int, int, int, int], weights: RankingWeights
) -> Floats:
    """Return the weights in the form that kernels need: the same for all queries of a generation."""
    statistics = CollectionStatistics(document_count, field_lengths)
    base, slope = length_normalisation(statistics, weights)
    k1 = k1_of(statistics, weights)
    model: Floats = np.concatenate(([k1], weights.weights, base, slope), dtype=np.float64)
    assert len(model) == MODEL_SIZE
    return model


# Matching documents; whether that is all of them; the best, the best first and ties by number; their scores.
Answer: TypeAlias = tuple[int, bool, list[int], list[float]]


def search_segment(view: SegmentView, plan: PreparedQuery, floor: float, effort: Effort) -> Answer:
    """Find the best documents of a segment; those with a score below `floor` may be left out.

    Raises:
      DamagedSegmentError.
      EffortSpentError: nothing was found with what is left. When less than all was looked at, it `is_spent`.
    """
    query = plan.query
    if query.order is _DATE:
        return _latest(view, plan, effort)
    is_plain = query.mode is _AND and query.required and not query.clauses and not query.alternatives
    if plan.phrase is not _NO_PHRASE or is_plain:
        return _best_of_all(view, plan, floor, effort)
    if query.mode is _AND or not query.terms:
        return _best_of(view, plan, _found_by(view, query, effort), floor, effort)
    allowed = view.allowed
    if query.clauses:
        effort.spend(clauses_cost(view, query))
        found = holding(view, None, query.clauses)
        assert found is not None
        if len(found.documents) < _FEW * len(allowed):
            return _best_of(view, plan, _found_by(view, query, effort), floor, effort)
        marks = np.zeros_like(allowed)
        marks[found.documents] = 1
        allowed = marks & allowed
    return _best_of_any(view, plan, allowed, floor, effort)


def _found_by(view: SegmentView, query: Query, effort: Effort) -> MatchedDocuments:
    effort.spend(matching_cost(view, query))
    return found_by(view, query)


def _latest(view: SegmentView, plan: PreparedQuery, effort: Effort) -> Answer:
    found = _found_by(view, plan.query, effort).documents
    size = min(plan.k, len(found))
    limits = _limits(view.segment, plan)
    best, dates = select_best(found, view.segment.dates.astype(np.float64), *limits, size, size)
    return len(found), True, best, dates


def _goal(
    view: SegmentView,
    plan: PreparedQuery,
    factors: list[float],
    scope: SearchScope,
    floor: float,
    effort: Effort,
) -> Goal:
    """Return the goal of a kernel's search, with room for its answer."""
    # One more than there can be: full means that something may have been left out.
    size = plan.k if plan.k <= view.document_count else view.document_count + 1
    ceiling, first = (inf, 0) if plan.after is None else _limits(view.segment, plan)
    return Goal(factors, scope, floor, ceiling, first, size, size, TOLD_SIZE, effort.cells)


def _answer(segment: Segment, searched: Searched) -> Answer:
    best, scores, (total, is_exact, damage, positions_damage) = searched
    if damage >= 0 or positions_damage >= 0:
        segment.refuse_postings(damage)
        segment.refuse_positions(positions_damage)
    return total, is_exact == 1, best, scores


def _best_of(
    view: SegmentView, plan: PreparedQuery, found: MatchedDocuments, floor: float, effort: Effort
) -> Answer:
    """Score the documents found."""
    segment, documents = view.segment, found.documents
    if not len(documents):
        return 0, True, [], []
    known, indexes, rows, factors = _lists(segment, found, plan)
    # All that were found are allowed.
    scope = view.scope(plan.model, effort)._replace(is_whole=True)
    goal = _goal(view, plan, factors, scope, floor, effort)
    return _answer(segment, rank(segment.lists, known.found, documents, indexes, rows, goal))


def _best_of_all(view: SegmentView, plan: PreparedQuery, floor: float, effort: Effort) -> Answer:
    """Find the best documents with all of the required entries."""
    segment = view.segment
    goal = _goal(view, plan, plan.factors, view.scope(plan.model, effort), floor, effort)
    searched = search_all(segment.lists, segment.lexicon, plan.terms, plan.is_required, plan.phrase, goal)
    return _answer(segment, searched)


def _lists(
    segment: Segment, found: MatchedDocuments, plan: PreparedQuery
) -> tuple[Entries, Ints, Ints, list[float]]:
    """Return the lists that score, where their postings are, the row of each there, and their factors."""
    row_of = {entry: row for row, entry in enumerate(found.entries)}
    if found.known is not None and all(entry in row_of for entry in plan.scoring):
        rows = [row_of[entry] for entry in plan.scoring]
        factors = plan.factors[: len(plan.scoring)]
        return found.known.at(rows), found.indexes, np.array(rows, np.int64), factors
    known = segment.look_up(plan.scoring)
    present: list[int] = np.flatnonzero(known.numbers >= 0).tolist()
    known = known.at(present)
    scoring = [plan.scoring[i] for i in present]
    missing = [i for i, entry in enumerate(scoring) if entry not in row_of]
    indexes, documents = found.indexes, found.documents
    if missing:
        more = located(segment, documents, known.at(missing))
        indexes = np.vstack([indexes[:, : len(documents)], more]) if len(indexes) else more
        row_of.update({scoring[i]: len(found.entries) + n for n, i in enumerate(missing)})
    rows = [row_of[entry] for entry in scoring]
    return known, indexes, np.array(rows, np.int64), [plan.factors[i] for i in present]


def _best_of_any(
    view: SegmentView, plan: PreparedQuery, allowed: Bytes, floor: float, effort: Effort
) -> Answer:
    """Find the best documents with one of the terms at least."""
    segment = view.segment
    scope = view.scope(plan.model, effort)
    if allowed is not view.allowed:
        scope = scope._replace(allowed=allowed, is_whole=False)
    goal = _goal(view, plan, plan.factors, scope, floor, effort)
    return _answer(segment, search_any(segment.lists, segment.lexicon, plan.terms, goal))


def _limits(segment: Segment, plan: PreparedQuery) -> tuple[float, int]:
    """Return the greatest score that is wanted, and which document is the first with it that is."""
    if plan.after is None:
        return inf, 0
    score, url = plan.after
    return score, segment.first_after(url)
