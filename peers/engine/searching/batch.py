"""A batch of documents on their way to be among the best, and what is searched for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from peers.engine.effort import IS_STOPPED, LEFT
from peers.engine.kernels import BODY
from peers.engine.lists import (
    Lists,
    Postings,
    is_short,
    read_frequencies,
    skip_entry,
)
from peers.engine.postings.format import BLOCK, BLOCK_BITS
from peers.engine.scoring import (
    K1,
    SLACK,
    bound_of,
    contribution,
    greatest_of,
    put_in_order,
    sift,
    weighted_at,
    weighted_in,
)
from peers.kernel import (
    MUTABLE_BYTES,
    MUTABLE_FLOATS,
    MUTABLE_INTS,
    Bytes,
    Floats,
    Ints,
    allocating_leaf,
    inlined,
    int64,
    leaf,
    record,
)

INTS_2D = types.int64[:, ::1]

# What a search tells besides the best: documents that match, as far as was looked; 1 if that is all; the
# first damaged block of postings, and of positions, that was met, or -1.
TOTAL, IS_EXACT, DAMAGE, POSITIONS_DAMAGE, TOLD_SIZE = range(5)


class Goal(NamedTuple):
    """What is searched for, and what has been found: room that a kernel writes to."""

    factors: Floats  # of each list, idf times weight, not negative, in the order in which scores are added
    allowed: Bytes  # 1 for each document that may be found
    is_whole: int  # 1 when all of them may be
    norms: Floats  # (fields, documents), as `normalise` makes them
    model: Floats
    floor: float  # documents with a lower score are not wanted
    ceiling: float  # nor are those with a higher score,
    first: int  # nor of those with this one any before this document
    # Room for k, at least one: a heap; in the end the best first, ties by rising document.
    best: Ints
    best_scores: Floats
    told: Ints  # what `TOTAL` and so on say
    effort: Ints  # what is left of it, see `effort`


GOAL = record(
    Goal, MUTABLE_FLOATS, MUTABLE_BYTES, types.int64, types.float64[:, ::1], MUTABLE_FLOATS,
    types.float64, types.float64, types.int64, MUTABLE_INTS, MUTABLE_FLOATS, MUTABLE_INTS, MUTABLE_INTS,
)  # fmt: skip


@allocating_leaf
def with_factors(goal: Goal, factors: Floats) -> Goal:
    """Return a goal over other lists, with the same room. It counts references, as whoever returns arrays."""
    return Goal(
        factors,
        goal.allowed,
        goal.is_whole,
        goal.norms,
        goal.model,
        goal.floor,
        goal.ceiling,
        goal.first,
        goal.best,
        goal.best_scores,
        goal.told,
        goal.effort,
    )


@inlined
def may_go_on(goal: Goal) -> bool:
    """Tell whether any effort is left. Another thread may have stopped it."""
    return bool(goal.effort[LEFT] > 0 and goal.effort[IS_STOPPED] == 0)


NOT_ENOUGH = -np.inf
# A block's frequencies are decoded for so many documents, else read one by one.
_DECODED_MIN = 8


class Batch(NamedTuple):
    """Documents on their way, rising, and of each list what is known of them."""

    documents: Ints
    indexes: Ints  # (lists, documents): of postings; -1 where there is none
    values: Floats  # (lists, documents): what the list adds to the score
    totals: Floats  # what is known of the score, or bounds it
    bounds: Floats  # (lists,): of the block `bounded`
    bounded: Ints
    order: Ints  # (lists,)


@allocating_leaf
def empty_batch(n_lists: int) -> Batch:
    return Batch(
        np.empty(BLOCK + 4, np.int64),
        np.empty((n_lists, BLOCK), np.int64),
        np.empty((n_lists, BLOCK), np.float64),
        np.empty(BLOCK, np.float64),
        np.empty(n_lists, np.float64),
        np.full(n_lists, -1, np.int64),
        np.empty(n_lists, np.int64),
    )


@inlined
def limit_of(goal: Goal, size: int) -> float:
    """Return a score: what no better score can be reached for is not wanted. All scores are at least 0."""
    if size and size == len(goal.best):
        return float(goal.best_scores[0])
    return goal.floor if goal.floor > 0.0 else -1.0


@inlined
def _offer(goal: Goal, size: int, document: int, value: float) -> int:
    """Keep a document if it is wanted and one of the best so far; return how many are kept."""
    if value < goal.floor or value > goal.ceiling or (value == goal.ceiling and document < goal.first):
        return size
    return sift(goal.best, goal.best_scores, size, document, value)


@inlined
def bound_at(postings: Postings, lists: Lists, row: int, index: int, goal: Goal, batch: Batch) -> float:
    """Return what the score of a posting is not above, by its block."""
    if is_short(lists, row):
        if batch.bounded[row] < 0:
            batch.bounded[row] = 0
            batch.bounds[row] = greatest_of(postings, lists, row, goal.factors[row], goal.norms, goal.model)
    else:
        block = index >> BLOCK_BITS
        if batch.bounded[row] != block:
            entry = skip_entry(lists.states[row], block)
            batch.bounded[row] = block
            batch.bounds[row] = bound_of(postings.words, entry, goal.factors[row], goal.model)
    return float(batch.bounds[row])


@leaf
def keep_allowed(allowed: Bytes, batch: Batch, rows: Ints, n: int) -> int:
    """Keep the documents of a batch that may be found, and where they are in some lists."""
    kept = 0
    for i in range(n):
        document = batch.documents[i]
        batch.documents[kept] = document
        for r in range(len(rows)):
            batch.indexes[rows[r], kept] = batch.indexes[rows[r], i]
        kept += int64(allowed[document] != 0)
    return kept


@leaf
def narrow(batch: Batch, n: int, n_lists: int, limit: float) -> int:
    """Keep the documents of a batch whose totals are above a limit."""
    kept = 0
    for i in range(n):
        if batch.totals[i] > limit:
            if kept < i:
                batch.documents[kept] = batch.documents[i]
                batch.totals[kept] = batch.totals[i]
                for row in range(n_lists):
                    batch.indexes[row, kept] = batch.indexes[row, i]
                    batch.values[row, kept] = batch.values[row, i]
            kept += 1
    return kept


@leaf
def bound_row(postings: Postings, lists: Lists, goal: Goal, batch: Batch, row: int, n: int) -> None:
    """Set values to what the list gives at most to documents located in it, and add that to the totals."""
    indexes = batch.indexes[row]
    values = batch.values[row]
    for i in range(n):
        values[i] = bound_at(postings, lists, row, indexes[i], goal, batch) if indexes[i] >= 0 else 0.0
        batch.totals[i] += values[i]


@leaf
def value_row(postings: Postings, lists: Lists, goal: Goal, batch: Batch, row: int, n: int) -> None:
    """Set values to what the list adds to the scores of documents that are located in it."""
    indexes = batch.indexes[row]
    values = batch.values[row]
    first = n if goal.factors[row] == 0.0 else 0
    values[:first] = 0.0
    while first < n:
        if indexes[first] < 0:
            values[first] = 0.0
            first += 1
            continue
        block = indexes[first] >> BLOCK_BITS
        end = first + 1
        while end < n and (indexes[end] < 0 or indexes[end] >> BLOCK_BITS == block):
            end += 1
        if end - first < _DECODED_MIN and not is_short(lists, row):
            _value_few(postings, lists, goal, batch, row, first, end)
        elif read_frequencies(postings, lists, row, block):
            _value_in_body(lists, goal, batch, row, first, end)
        else:
            _value_in_fields(lists, goal, batch, row, first, end)
        first = end


@leaf
def _value_few(
    postings: Postings, lists: Lists, goal: Goal, batch: Batch, row: int, first: int, end: int
) -> None:
    """Read the frequencies of some documents one by one."""
    indexes = batch.indexes[row]
    for i in range(first, end):
        value = 0.0
        if indexes[i] >= 0:
            weighted = weighted_at(postings, lists, row, indexes[i], goal.norms, batch.documents[i])
            value = contribution(goal.factors[row], weighted, goal.model[K1])
        batch.values[row, i] = value


@leaf
def _value_in_body(lists: Lists, goal: Goal, batch: Batch, row: int, first: int, end: int) -> None:
    """Use frequencies that are decoded, of a block in which only the body has any.

    Without branches, so that several are done at once: what is not there is computed, and not used.
    """
    factor = goal.factors[row]
    k1 = goal.model[K1]
    indexes = batch.indexes[row]
    values = batch.values[row]
    frequencies = lists.frequencies[row, BODY * BLOCK : (BODY + 1) * BLOCK]
    norms = goal.norms[BODY]
    for i in range(np.uint64(first), np.uint64(end)):
        frequency = frequencies[np.uint64(indexes[i] & (BLOCK - 1))]
        value = contribution(factor, frequency * norms[np.uint64(batch.documents[i])], k1)
        values[i] = value if indexes[i] >= 0 else 0.0


@leaf
def _value_in_fields(lists: Lists, goal: Goal, batch: Batch, row: int, first: int, end: int) -> None:
    """Use frequencies that are decoded, in any field."""
    indexes = batch.indexes[row]
    frequencies = lists.frequencies[row]
    for i in range(first, end):
        value = 0.0
        if indexes[i] >= 0:
            weighted = weighted_in(frequencies, indexes[i] & (BLOCK - 1), goal.norms, batch.documents[i])
            value = contribution(goal.factors[row], weighted, goal.model[K1])
        batch.values[row, i] = value


@leaf
def offer_all(goal: Goal, batch: Batch, n: int, size: int) -> int:
    """Offer documents of which all values are known; return how many are kept."""
    for i in range(n):
        value = 0.0
        # In this order, whatever the order in which they became known.
        for row in range(len(goal.factors)):
            value += batch.values[row, i]
        size = _offer(goal, size, batch.documents[i], value)
    return size


@leaf
def score(postings: Postings, lists: Lists, goal: Goal, batch: Batch, n: int, size: int) -> int:
    """Score the documents of a batch that is located in all lists; return how many are kept.

    The totals bound the scores at first; list by list, the bound of a block gives way to what is so.
    """
    n_lists = len(goal.factors)
    limit = limit_of(goal, size)
    batch.totals[:n] = 0.0
    for row in range(n_lists):
        bound_row(postings, lists, goal, batch, row, n)
    n = narrow(batch, n, n_lists, limit)
    for row in range(n_lists):
        for i in range(n):
            batch.totals[i] -= batch.values[row, i]
        value_row(postings, lists, goal, batch, row, n)
        for i in range(n):
            batch.totals[i] += batch.values[row, i]
        n = narrow(batch, n, n_lists, limit / SLACK if limit > 0.0 else limit)
    return offer_all(goal, batch, n, size)


@leaf
def conclude(lists: Lists, goal: Goal, size: int) -> None:
    """Tell what damage was met, and put the best in order."""
    goal.told[DAMAGE] = lists.damage[0]
    goal.told[POSITIONS_DAMAGE] = lists.positions_damage[0]
    put_in_order(goal.best, goal.best_scores, size)
