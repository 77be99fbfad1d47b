"""The kernels that rank documents that were found before."""

from __future__ import annotations

from numba import types

from peers.engine.effort import LEFT
from peers.engine.lists import (
    POSTINGS,
    Postings,
    closed_lists,
    open_list,
)
from peers.engine.postings.format import BLOCK
from peers.engine.scoring import (
    put_in_order,
    sift,
)
from peers.engine.searching.batch import (
    GOAL,
    INTS_2D,
    IS_EXACT,
    TOTAL,
    Goal,
    conclude,
    empty_batch,
    may_go_on,
    score,
)
from peers.kernel import (
    IN_FLOATS,
    IN_INTS,
    MUTABLE_FLOATS,
    MUTABLE_INTS,
    Floats,
    Ints,
    kernel,
)


@kernel(POSTINGS, INTS_2D, IN_INTS, INTS_2D, IN_INTS, GOAL)
def rank(postings: Postings, known: Ints, found: Ints, indexes: Ints, rows: Ints, goal: Goal) -> int:
    """Score documents and keep the best, all of which are allowed; return how many are kept.

    Args:
      known: of each list, what `look_up` found.
      found: the documents, rising. indexes: of their postings, -1 where there is none; rows may be longer
        than `found`. rows: of these, which belongs to each list.
    """
    n_lists = len(goal.factors)
    lists = closed_lists(n_lists)
    batch = empty_batch(n_lists)
    size = 0
    for row in range(n_lists):
        open_list(postings, lists, row, known[row])
    for start in range(0, len(found), BLOCK):
        if lists.damage[0] >= 0 or not may_go_on(goal):
            break
        n = min(BLOCK, len(found) - start)
        goal.effort[LEFT] -= n * n_lists
        batch.documents[:n] = found[start : start + n]
        for row in range(n_lists):
            batch.indexes[row, :n] = indexes[rows[row], start : start + n]
        size = score(postings, lists, goal, batch, n, size)
    goal.told[TOTAL] = len(found)
    goal.told[IS_EXACT] = 1
    conclude(lists, goal, size)
    return size


@kernel(IN_INTS, IN_FLOATS, types.float64, types.int64, MUTABLE_INTS, MUTABLE_FLOATS)
def select(
    found: Ints,
    values: Floats,
    ceiling: float,
    first: int,
    best: Ints,
    best_values: Floats,
) -> int:
    """Keep the documents with the greatest values, of equal ones the first; see `Goal`.

    Args:
      values: of every document of the segment.
    """
    size = 0
    for i in range(len(found)):
        document = found[i]
        value = values[document]
        if value < ceiling or (value == ceiling and document >= first):
            size = sift(best, best_values, size, document, value)
    put_in_order(best, best_values, size)
    return size
