"""The kernels that rank documents that were found before."""

from __future__ import annotations

from peers.engine.native.compiled import kernel
from peers.engine.native.lists import (
    Postings,
)
from peers.engine.searching.batch import (
    Goal,
    Searched,
)
from peers.kernel import Floats, Ints


@kernel
def rank(postings: Postings, known: Ints, found: Ints, indexes: Ints, rows: Ints, goal: Goal) -> Searched:
    """Score documents and keep the best, all of which are allowed.

    Args:
      known: of each list, what `look_up` found.
      found: the documents, rising. indexes: of their postings, -1 where there is none; rows may be longer
        than `found`. rows: of these, which belongs to each list.
    """


@kernel
def select_best(
    found: Ints,
    values: Floats,
    ceiling: float,
    first: int,
    best: int,
    best_values: int,
) -> tuple[list[int], list[float]]:
    """Keep the documents with the greatest values, of equal ones the first; see `Goal`.

    Args:
      values: of every document of the segment.
    """
