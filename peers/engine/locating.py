"""The kernels of matching: which documents are in lists, and where their postings and positions are.

Conjunctions go from the rarest list to the commonest: the documents found so far lead. A phrase is one whose
atoms stand at their distances from a common place: the places of the rarest atom are found first, and the
others keep those at which they follow. Positions are read only of documents that still have such places.
"""

from __future__ import annotations

import numpy as np
from numba import types

from peers.engine.dictionary import DOC_FREQ, START
from peers.engine.kernels import DOCUMENT_SHIFT, FIELD_COUNT, FIELD_SHIFT, read_varint
from peers.engine.lists import (
    N_BLOCKS,
    PLACED_AT,
    POSTINGS,
    SIZE,
    Lists,
    Postings,
    closed_lists,
    enter_block,
    is_short,
    locate_all,
    open_list,
)
from peers.engine.positions import frequency_of, place_posting, skip_positions
from peers.engine.postings.format import BLOCK, block_count, load_block
from peers.kernel import IN_BYTES, IN_INTS, MUTABLE_INTS, Bytes, Ints, int64, kernel, leaf

INTS_2D = types.int64[:, ::1]
IN_INTS_2D = types.Array(types.int64, 2, "C", readonly=True)


@leaf
def _all_of(postings: Postings, lists: Lists, row: int, found: Ints) -> int:
    """Copy all documents of an open list to `found`; return how many."""
    n = 0
    for block in range(lists.states[row, N_BLOCKS]):
        if not is_short(lists, row) and not enter_block(postings, lists, row, block):
            return 0
        size = lists.states[row, SIZE]
        for i in range(size):
            found[n + i] = lists.documents[row, i]
        n += size
    return n


@leaf
def _keep_located(found: Ints, indexes: Ints, row: int, n: int) -> int:
    """Keep the documents that are in a list, and their indexes in it and in those before it."""
    kept = 0
    for i in range(n):
        is_in = indexes[row, i] >= 0
        found[kept] = found[i]
        for each in range(row + 1):
            indexes[each, kept] = indexes[each, i]
        kept += int64(is_in)
    return kept


@leaf
def _intersect(
    postings: Postings, lists: Lists, known: Ints, n_found: int, found: Ints, indexes: Ints
) -> int:
    for row in range(len(known)):
        if not open_list(postings, lists, row, known[row]):
            return 0
        if n_found < 0:
            n_found = _all_of(postings, lists, row, found)
            for i in range(n_found):
                indexes[row, i] = i
        else:
            locate_all(postings, lists, row, found, n_found, indexes[row])
            n_found = _keep_located(found, indexes, row, n_found)
        if lists.damage[0] >= 0 or n_found == 0:
            return 0
    return n_found


@kernel(POSTINGS, IN_INTS_2D, types.int64, MUTABLE_INTS, INTS_2D, MUTABLE_INTS)
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
    lists = closed_lists(len(known))
    n_found = _intersect(postings, lists, known, n_found, found, indexes)
    damage[0] = lists.damage[0]
    return n_found


@kernel(POSTINGS, IN_INTS_2D, IN_INTS, INTS_2D, MUTABLE_INTS)
def locate(postings: Postings, known: Ints, found: Ints, indexes: Ints, damage: Ints) -> int:
    """Set indexes[list, i] to the index of the posting of the i-th document in each list, -1 without one.

    Returns:
      How many lists there are.
    """
    lists = closed_lists(1)
    for row in range(len(known)):
        if open_list(postings, lists, 0, known[row]):
            locate_all(postings, lists, 0, found, len(found), indexes[row])
    damage[0] = lists.damage[0]
    return len(known)


@kernel(POSTINGS, IN_INTS_2D, IN_BYTES, MUTABLE_INTS)
def count(postings: Postings, known: Ints, allowed: Bytes, counts: Ints) -> int:
    """Count, for each list, the postings of documents that are allowed; all of them have been checked."""
    documents = np.empty(BLOCK + 4, np.int64)
    frequencies = np.empty(FIELD_COUNT * BLOCK, np.int64)
    for row in range(len(known)):
        n = 0
        start = known[row, START]
        n_postings = known[row, DOC_FREQ]
        for block in range(block_count(n_postings)):
            size = load_block(
                postings.data, postings.words, start, n_postings, block, documents, 0, frequencies
            )
            for i in range(size):
                n += int64(allowed[documents[i]])
        counts[row] = n
    return len(known)


# --- Phrases ----------------------------------------------------------------------------------


@leaf
def _match_in(
    postings: Postings,
    at: int,
    n: int,
    key: int,
    distance: int,
    matches: Ints,
    read: int,
    n_matches: int,
    kept: int,
) -> tuple[int, int, int]:
    """Keep the places at which one of n positions follows; n_matches -1: keep all for which there is room.

    Args:
      at: where the positions are. key: document and field, as in an occurrence.
      read: the first place that has not been compared. kept: how many are kept.

    Returns:
      (index after the positions, read, kept).
    """
    place = key - distance
    for _ in range(n):
        step, at = read_varint(postings.positions, at)
        place += step
        if place < key:
            continue  # the phrase would begin before the field
        if n_matches < 0:
            if kept < len(matches):
                matches[kept] = place
                kept += 1
            continue
        while read < n_matches and matches[read] < place:
            read += 1
        if read < n_matches and matches[read] == place:
            matches[kept] = place
            kept += 1
            read += 1
    return at, read, kept


@leaf
def _match(
    postings: Postings,
    lists: Lists,
    known: Ints,
    distance: int,
    fields: int,
    found: Ints,
    indexes: Ints,
    n_matches: int,
    matches: Ints,
) -> int:
    """Keep the places at which the atom of an open list follows at a distance; see `match`."""
    read = 0
    kept = 0
    for i in range(len(found)):
        document = found[i]
        if n_matches >= 0:
            while read < n_matches and matches[read] >> DOCUMENT_SHIFT < document:
                read += 1
            if read == n_matches:
                break
            if matches[read] >> DOCUMENT_SHIFT != document:
                continue
        if indexes[i] < 0:
            continue
        if not place_posting(postings, lists, 0, known, indexes[i]):
            return 0
        at = lists.states[0, PLACED_AT]
        for field in range(FIELD_COUNT):
            n = frequency_of(lists, 0, indexes[i], field)
            if n == 0:
                continue
            if fields >> field & 1:
                key = document << DOCUMENT_SHIFT | field << FIELD_SHIFT
                at, read, kept = _match_in(postings, at, n, key, distance, matches, read, n_matches, kept)
            else:
                at = skip_positions(postings, at, n)
    return kept


@kernel(
    POSTINGS, IN_INTS_2D, IN_INTS, IN_INTS, types.int64, IN_INTS, IN_INTS_2D, types.int64,
    MUTABLE_INTS, MUTABLE_INTS,
)  # fmt: skip
def match(
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
    lists = closed_lists(1)
    for atom in range(len(rows)):
        row = rows[atom]
        if not open_list(postings, lists, 0, known[row]):
            break
        n_matches = _match(
            postings,
            lists,
            known[row],
            distances[atom],
            fields,
            found,
            indexes[row],
            n_matches,
            matches,
        )
        if n_matches == 0:
            break
    damage[0] = lists.damage[0]
    damage[1] = lists.positions_damage[0]
    return n_matches


@kernel(MUTABLE_INTS, types.int64, IN_INTS, IN_INTS_2D, MUTABLE_INTS, INTS_2D)
def keep_matched(
    matches: Ints, n_matches: int, found: Ints, indexes: Ints, kept: Ints, kept_indexes: Ints
) -> int:
    """Copy the documents that have places, and the indexes of their postings; return how many they are."""
    n = 0
    i = 0
    last = -1
    for m in range(n_matches):
        document = matches[m] >> DOCUMENT_SHIFT
        if document == last:
            continue
        last = document
        while found[i] < document:
            i += 1
        kept[n] = document
        for row in range(len(indexes)):
            kept_indexes[row, n] = indexes[row, i]
        n += 1
    return n
