"""Positions of postings: how those of one are found and read, and whether a document has a phrase.

The positions of a block begin where its skip entry says; how many bytes belong to a posting is not noted, so
those before it are skipped by counting the ends of varints, eight bytes at a time. A phrase is looked for by
going through the positions of its atoms in turn, up to the first place from which all of them follow; before
that, a table of the places of its rarest atom tells most texts in which the next one does not follow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from peers.engine.dictionary import PLACE, PLACE_END
from peers.engine.kernels import BODY, FIELD_COUNT, read_varint
from peers.engine.lists import (
    FIELDS,
    N_BLOCKS,
    N_POSTINGS,
    ONLY_BODY,
    PLACED,
    PLACED_AT,
    PLACED_POSTING,
    Lists,
    Postings,
    are_sound,
    is_short,
    read_frequencies,
    skip_entry,
)
from peers.engine.postings.format import BLOCK, BLOCK_BITS
from peers.kernel import Ints, inlined, int64, leaf

_HIGH_BITS = np.uint64(0x8080808080808080)
_LOW_BITS = np.uint64(0x0101010101010101)


@inlined
def skip_positions(postings: Postings, at: int, n: int) -> int:
    """Return the index after n varints, looking at eight bytes at a time."""
    while n and at & 7:
        if postings.positions[at] < 128:
            n -= 1
        at += 1
    while n > 8:
        ends = ((~postings.positions_summed[at >> 3] & _HIGH_BITS) >> np.uint64(7)) * _LOW_BITS >> np.uint64(
            56
        )
        n -= int64(ends)
        at += 8
    while n:
        if postings.positions[at] < 128:
            n -= 1
        at += 1
    return at


@inlined
def occurrences(frequencies: Ints, is_body: bool, first: int, end: int) -> int:
    """Return how many occurrences the postings from `first` to before `end` of a block have."""
    n = int64(0)
    if is_body:
        for i in range(BODY * BLOCK + first, BODY * BLOCK + end):
            n += frequencies[i]
        return int(n)
    for field in range(FIELD_COUNT):
        for i in range(field * BLOCK + first, field * BLOCK + end):
            n += frequencies[i]
    return int(n)


@leaf
def _place_block(postings: Postings, lists: Lists, row: int, known: Ints, block: int) -> bool:
    """Check the positions of a block, and go to the first of them."""
    state = lists.states[row]
    start = known[PLACE]
    end = known[PLACE_END]
    if not is_short(lists, row):
        start += int64(postings.words[skip_entry(state, block) + 2])
        if block + 1 < state[N_BLOCKS]:
            end = known[PLACE] + int64(postings.words[skip_entry(state, block + 1) + 2])
    are_sound(postings.positions_summed, postings.positions_sums, start, end, -1, lists.positions_damage)
    state[PLACED] = block
    state[PLACED_POSTING] = 0
    state[PLACED_AT] = start
    return bool(lists.positions_damage[0] < 0 and lists.damage[0] < 0)


@inlined
def place_posting(postings: Postings, lists: Lists, row: int, known: Ints, index: int) -> bool:
    """Go to the positions of a posting, at PLACED_AT, and decode the frequencies of its block.

    Postings of a block are gone to in their order.

    Returns:
      Whether all is as it was written.
    """
    state = lists.states[row]
    block = index >> BLOCK_BITS
    posting = index & (BLOCK - 1)
    is_body = read_frequencies(postings, lists, row, block)
    if state[PLACED] != block and not _place_block(postings, lists, row, known, block):
        return False
    n = occurrences(lists.frequencies[row], is_body, state[PLACED_POSTING], posting)
    state[PLACED_AT] = skip_positions(postings, state[PLACED_AT], n)
    state[PLACED_POSTING] = posting
    return True


@inlined
def frequency_of(lists: Lists, row: int, index: int, field: int) -> int:
    """Return how often an entry is in a field, for a posting that was gone to."""
    state = lists.states[row]
    if field != BODY and state[N_POSTINGS] >= BLOCK and state[FIELDS] == ONLY_BODY:
        return 0
    return int(lists.frequencies[row, field * BLOCK + (index & (BLOCK - 1))])


# --- Phrases ----------------------------------------------------------------------------------

# Of each atom of a phrase in a field: where its next position is, how many are left, the last one read less
# the atom's distance.
_NEXT, _LEFT, PLACE_OF, CURSOR_SIZE = range(4)
# Places of the first atom leave the number of their text in a table; behind it that number.
_SEEN_PLACES = 1 << 12
SEEN_SIZE = _SEEN_PLACES + 1


class Phrase(NamedTuple):
    """Atoms at their distances from a common place."""

    rows: Ints  # of each atom its list
    distances: Ints
    fields: int  # bits of those in which it may be
    cursors: Ints  # (atoms, CURSOR_SIZE)
    seen: Ints  # (SEEN_SIZE,): zeros at first


@inlined
def _start_field(postings: Postings, lists: Lists, phrase: Phrase, indexes: Ints, i: int, field: int) -> bool:
    """Set the cursors to the positions in a field, False if one of the atoms is not there."""
    is_there = True
    for atom in range(len(phrase.rows)):
        row = phrase.rows[atom]
        index = indexes[row, i]
        n = int64(0)
        for before in range(field):
            n += frequency_of(lists, row, index, before)
        cursor = phrase.cursors[atom]
        cursor[_LEFT] = frequency_of(lists, row, index, field)
        cursor[_NEXT] = skip_positions(postings, lists.states[row, PLACED_AT], n)
        cursor[PLACE_OF] = -phrase.distances[atom]
        is_there = is_there and cursor[_LEFT] > 0
    return is_there


@inlined
def _may_be_in_field(postings: Postings, phrase: Phrase) -> bool:
    """Tell whether the second atom may follow the first; that it does not is sure.

    Nearly all documents with both are left out here: in each step the processor knows what comes next, which
    it does not where two lists are merged.
    """
    if len(phrase.rows) < 2:
        return True
    seen = phrase.seen
    seen[_SEEN_PLACES] += 1
    text = seen[_SEEN_PLACES]
    place = -phrase.distances[0]
    at = phrase.cursors[0, _NEXT]
    for _ in range(phrase.cursors[0, _LEFT]):
        step, at = read_varint(postings.positions, at)
        place += step
        seen[np.uint64(place & (_SEEN_PLACES - 1))] = text
    place = -phrase.distances[1]
    at = phrase.cursors[1, _NEXT]
    for _ in range(phrase.cursors[1, _LEFT]):
        step, at = read_varint(postings.positions, at)
        place += step
        if seen[np.uint64(place & (_SEEN_PLACES - 1))] == text:
            return True
    return False


@inlined
def _go_to_place(postings: Postings, cursor: Ints, place: int) -> bool:
    """Read positions up to the first that is not before a place; False if there is none."""
    at = cursor[_NEXT]
    left = cursor[_LEFT]
    now = cursor[PLACE_OF]
    while now < place and left > 0:
        step, at = read_varint(postings.positions, at)
        now += step
        left -= 1
    cursor[_NEXT] = at
    cursor[_LEFT] = left
    cursor[PLACE_OF] = now
    return bool(now >= place)


@leaf
def _is_in_field(postings: Postings, phrase: Phrase) -> bool:
    """Tell whether there is a place from which all atoms stand at their distances."""
    n_atoms = len(phrase.rows)
    place = int64(0)
    # The first position of each, which may be 0, and so before any place.
    for atom in range(n_atoms):
        cursor = phrase.cursors[atom]
        step, at = read_varint(postings.positions, cursor[_NEXT])
        cursor[_NEXT] = at
        cursor[_LEFT] -= 1
        cursor[PLACE_OF] += step
        place = max(place, cursor[PLACE_OF])
    n_agreed = 0
    atom = 0
    while n_agreed < n_atoms:
        cursor = phrase.cursors[atom]
        if cursor[PLACE_OF] < place and not _go_to_place(postings, cursor, place):
            return False
        n_agreed = n_agreed + 1 if cursor[PLACE_OF] == place else 1
        place = cursor[PLACE_OF]
        atom = atom + 1 if atom + 1 < n_atoms else 0
    return True


@inlined
def has_phrase(postings: Postings, lists: Lists, known: Ints, phrase: Phrase, indexes: Ints, i: int) -> bool:
    """Tell whether a document has a phrase, by the indexes of its postings in the lists of all atoms."""
    for atom in range(len(phrase.rows)):
        row = phrase.rows[atom]
        if not place_posting(postings, lists, row, known[row], indexes[row, i]):
            return False
    for field in range(FIELD_COUNT):
        is_there = phrase.fields >> field & 1 and _start_field(postings, lists, phrase, indexes, i, field)
        if is_there and _may_be_in_field(postings, phrase) and _is_in_field(postings, phrase):
            return True
    return False
