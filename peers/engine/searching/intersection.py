"""The kernels of matching: which documents are in lists, and where their postings and positions are.

Conjunctions go from the rarest list to the commonest: the documents found so far lead. A phrase is one whose
atoms stand at their distances from a common place: the places of the rarest atom are found first, and the
others keep those at which they follow. Positions are read only of documents that still have such places.
"""

from __future__ import annotations

from peers.engine.native.compiled import kernel
from peers.engine.native.lists import (
    Postings,
)
from peers.kernel import Bytes, Ints


@kernel
def intersect(postings: Postings, known: Ints, n_found: int, found: Ints, indexes: Ints, damage: Ints) -> int:
    """Find the documents that are in all lists.

    Args:
      known: of each list, the rarest first, what `look_up` found.
      n_found: how many documents of `found` are to be kept if they are in all lists; -1: any may be.
      found: becomes the documents, room for those or for the first list.
      indexes: (lists, as many); of each list become the indexes of their postings.
      damage: becomes the first damaged block that was met, or -1.

    Returns:
      How many they are.
    """


@kernel
def locate(postings: Postings, known: Ints, found: Ints, indexes: Ints, damage: Ints) -> int:
    """Set indexes[list, i] to the index of the posting of the i-th document in each list, -1 without one.

    Returns:
      How many lists there are.
    """


@kernel
def count_allowed(postings: Postings, known: Ints, allowed: Bytes, counts: Ints) -> int:
    """Count, for each list, the postings of documents that are allowed; all of them have been checked."""


@kernel
def match_atoms(
    postings: Postings,
    known: Ints,
    rows: Ints,
    distances: Ints,
    fields: int,
    found: Ints,
    indexes: Ints,
    n_matches: int,
    matches: Ints,
    damage: Ints,
) -> int:
    """Find the places from which atoms of documents found stand at their distances.

    Args:
      known: of some lists, what `look_up` found. rows: of each atom its list there and its row in `indexes`.
      fields: bits of the fields in which they count.
      found: documents, rising. indexes: of the postings in each, -1 without one; rows may be longer.
      n_matches: how many places are in `matches`, rising occurrences; -1: all places of the first atom are
        tried for which there is room.
      damage: becomes the first damaged block of postings, and of positions, that was met, or -1.

    Returns:
      How many places are kept.
    """


@kernel
def keep_matched(
    matches: Ints, n_matches: int, found: Ints, indexes: Ints, kept: Ints, kept_indexes: Ints
) -> int:
    """Copy the documents that have places, and the indexes of their postings; return how many they are."""
