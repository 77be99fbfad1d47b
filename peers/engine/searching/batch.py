"""A batch of documents on their way to be among the best, and the goal of a search."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from peers.kernel import (
    Bytes,
    FewFloats,
    Floats,
    Ints,
)

# What a search tells besides the best: documents that match, as far as was looked; 1 if that is all; the
# first damaged block of postings, and of positions, that was met, or -1.
TOTAL, IS_EXACT, DAMAGE, POSITIONS_DAMAGE, TOLD_SIZE = range(5)


# What kernels of searching return: the best documents, the best first; their scores; what `TOTAL` etc. say.
Searched: TypeAlias = tuple[list[int], list[float], list[int]]


class SearchScope(NamedTuple):
    """The documents of a segment among which is searched: the same for many queries."""

    allowed: Bytes  # 1 for each document that may be found
    is_whole: int  # 1 when all of them may be
    norms: Floats  # (fields, documents), as `normalise` makes them
    model: Floats


class Goal(NamedTuple):
    """The goal of a search: lists, documents and limits, and the room for its results."""

    factors: FewFloats  # of each list, idf times weight, not negative, in the order in which scores are added
    scope: SearchScope
    floor: float  # documents with a lower score are not wanted
    ceiling: float  # nor are those with a higher score,
    first: int  # nor of those with this one any before this document
    # Room for k: a heap; in the end the best first, ties by rising document.
    best: int
    best_scores: int
    told: int  # room for what `TOTAL` and so on say: TOLD_SIZE
    effort: Ints  # what is left of it, see `effort`
