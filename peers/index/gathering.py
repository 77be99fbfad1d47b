"""Read what the postings of some entries say of a few documents: how often, in which field, where.

The one place where the features of a page depend on the format of postings, see `kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numba import types
from numpy.typing import NDArray

from peers.index.kernels import (
    BODY,
    FIELD_COUNT,
    IN_BYTES,
    IN_INTS,
    IN_SUMS,
    IN_WORDS,
    MUTABLE_INTS,
    Bytes,
    Ints,
    Sums,
    Words,
    int64,
    kernel,
    leaf,
    read_varint,
)
from peers.index.matching import located
from peers.index.postings import BLOCK, SKIP_WORDS, block_size, decode_frequencies, decode_rare
from peers.index.searching import (
    CHECKED,
    N_BLOCKS,
    N_STATE,
    TABLE,
    are_sound,
    block_at,
    block_end,
    open_list,
    skip_positions,
)
from peers.index.segment import Segment

# Places of an entry in one document that are looked at: where a word comes again and again, the first ones
# tell as much, and a page of six million characters costs no more than others.
PLACES_MAX: Final = 128

# A place is one int64: index of the document << 36 | position in the body << 8 | unit.
PLACE_DOCUMENT_SHIFT: Final = 36
PLACE_POSITION_SHIFT: Final = 8
NO_UNIT: Final = -1
NO_ROW: Final = -1  # of an entry whose frequencies are not wanted
_INDEXES: Final = types.Array(types.int64, 2, "C", readonly=True)

Frequencies = NDArray[np.int64]  # by entry, document and field
FREQUENCIES: Final = types.int64[:, :, ::1]


def gather(
    segment: Segment,
    entries: Sequence[str],
    units: Ints,
    documents: Ints,
    first: int,
    frequencies: Frequencies,
) -> Ints:
    """Read some entries of some documents of a segment.

    Args:
      entries: those whose frequencies are wanted, then others.
      units: the number, below 256, that the places of each entry get; NO_UNIT: they are not wanted. Entries
        without positions have none.
      documents: ascending.
      first: index of the first of them among the documents of all segments.
      frequencies: of these; the part of the documents has zeros, which are set where they occur.

    Returns:
      Places, in no order.

    Raises:
      DamagedSegmentError.
    """
    known = segment.look_up(entries)
    present = np.flatnonzero(known.numbers >= 0)
    known = known.at(present)
    indexes = located(segment, documents, known)
    wanted_units = np.where(known.place_ends > known.places, units[present], NO_UNIT)
    n_atoms = np.count_nonzero(wanted_units != NO_UNIT)
    places = np.empty(n_atoms * len(documents) * PLACES_MAX, np.int64)
    damage, positions_damage = np.full(1, -1, np.int64), np.full(1, -1, np.int64)
    n_places = _gather(
        segment.postings,
        segment.postings_words,
        segment.postings_summed,
        segment.postings_sums,
        segment.positions,
        segment.positions_summed,
        segment.positions_sums,
        *known[1:],
        wanted_units,
        np.where(present < len(frequencies), present, NO_ROW),
        indexes,
        first,
        frequencies,
        places,
        damage,
        positions_damage,
    )
    segment.refuse_postings(int(damage[0]))
    segment.refuse_positions(int(positions_damage[0]))
    return places[:n_places]


@leaf
def _gather_list(
    data: Bytes,
    words: Words,
    summed: Sums,
    sums: Sums,
    positions: Bytes,
    positions_summed: Sums,
    positions_sums: Sums,
    n_postings: int,
    start: int,
    end: int,
    place: int,
    place_end: int,
    unit: int,
    row: int,
    indexes: Ints,
    first: int,
    found: Frequencies,
    places: Ints,
    n_places: int,
    state: Ints,
    documents: Ints,
    frequencies: Ints,
    damage: Ints,
    positions_damage: Ints,
) -> int:
    """Add what one list has; return how many places there are then."""
    open_list(data, words, summed, sums, start, end, n_postings, state, documents, damage)
    if damage[0] >= 0:
        return 0
    checked = int64(-1)
    loaded = int64(-1)
    at_index = int64(0)  # the posting that `at` is before
    at = int64(0)
    for i in range(len(indexes)):
        if indexes[i] < 0:
            continue
        block = indexes[i] // BLOCK
        index = indexes[i] % BLOCK
        if block != loaded:
            loaded = block
            at_index = int64(0)
            at = int64(place)
            block_place_end = int64(place_end)
            if n_postings < BLOCK:
                decode_rare(data, start, n_postings, documents, 0, frequencies)
            else:
                word = block_at(words, state, block)
                state[CHECKED] = are_sound(
                    summed, sums, word << 2, block_end(words, state, block) << 2, state[CHECKED], damage
                )
                if damage[0] >= 0:
                    return 0
                decode_frequencies(words, word, block_size(n_postings, block), frequencies)
                entry = state[TABLE] + SKIP_WORDS * block
                at = place + int64(words[entry + 2])
                if block + 1 < state[N_BLOCKS]:
                    block_place_end = place + int64(words[entry + SKIP_WORDS + 2])
            if unit >= 0:
                checked = are_sound(
                    positions_summed, positions_sums, at, block_place_end, checked, positions_damage
                )
                if positions_damage[0] >= 0:
                    return 0
        if row >= 0:
            for field in range(FIELD_COUNT):
                found[row, first + i, field] = frequencies[field * BLOCK + index]
        if unit < 0:
            continue
        n = 0
        for j in range(at_index, index):
            for field in range(FIELD_COUNT):
                n += frequencies[field * BLOCK + j]
        for field in range(BODY):
            n += frequencies[field * BLOCK + index]
        p = skip_positions(positions, positions_summed, at, n)
        in_body = frequencies[BODY * BLOCK + index]
        position = 0
        for _ in range(min(in_body, PLACES_MAX)):
            step, p = read_varint(positions, p)
            position += step
            places[n_places] = (first + i) << PLACE_DOCUMENT_SHIFT | position << PLACE_POSITION_SHIFT | unit
            n_places += 1
        n = max(in_body - PLACES_MAX, 0)
        for field in range(BODY + 1, FIELD_COUNT):
            n += frequencies[field * BLOCK + index]
        at = skip_positions(positions, positions_summed, p, n)
        at_index = index + 1
    return n_places


@kernel(
    IN_BYTES, IN_WORDS, IN_SUMS, IN_SUMS, IN_BYTES, IN_SUMS, IN_SUMS, IN_INTS, IN_INTS, IN_INTS, IN_INTS,
    IN_INTS, IN_INTS, IN_INTS, _INDEXES, types.int64, FREQUENCIES, MUTABLE_INTS, MUTABLE_INTS, MUTABLE_INTS,
)  # fmt: skip
def _gather(
    data: Bytes,
    words: Words,
    summed: Sums,
    sums: Sums,
    positions: Bytes,
    positions_summed: Sums,
    positions_sums: Sums,
    doc_freqs: Ints,
    starts: Ints,
    ends: Ints,
    list_places: Ints,
    list_place_ends: Ints,
    units: Ints,
    rows: Ints,
    indexes: Ints,
    first: int,
    found: Frequencies,
    places: Ints,
    damage: Ints,
    positions_damage: Ints,
) -> int:
    """Read the postings with the indexes, -1 for none, of each list; return how many places there are."""
    state = np.empty(N_STATE, np.int64)
    documents = np.empty(BLOCK + 4, np.int64)
    frequencies = np.zeros(FIELD_COUNT * BLOCK, np.int64)
    n_places = 0
    for entry in range(len(starts)):
        n_places = _gather_list(
            data,
            words,
            summed,
            sums,
            positions,
            positions_summed,
            positions_sums,
            doc_freqs[entry],
            starts[entry],
            ends[entry],
            list_places[entry],
            list_place_ends[entry],
            units[entry],
            rows[entry],
            indexes[entry],
            first,
            found,
            places,
            n_places,
            state,
            documents,
            frequencies,
            damage,
            positions_damage,
        )
        if damage[0] >= 0 or positions_damage[0] >= 0:
            return 0
    return n_places
