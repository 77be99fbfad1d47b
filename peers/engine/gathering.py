"""Read what the postings of some entries say of a few documents: how often, in which field, where.

The one place where the features of a page depend on the format of postings, see `kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numba import types
from numpy.typing import NDArray

from peers.engine.dictionary import PLACE, PLACE_END
from peers.engine.kernels import BODY, FIELD_COUNT, read_varint
from peers.engine.lists import PLACED_AT, POSTINGS, Lists, Postings, closed_lists, open_list, read_frequencies
from peers.engine.locating import IN_INTS_2D
from peers.engine.matching import located
from peers.engine.positions import frequency_of, place_posting, skip_positions
from peers.engine.postings.format import BLOCK_BITS
from peers.engine.segment import Segment
from peers.kernel import IN_INTS, MUTABLE_INTS, Ints, kernel, leaf

# Places of an entry in one document that are looked at: where a word comes again and again, the first ones
# tell as much, and a page of six million characters costs no more than others.
PLACES_MAX: Final = 128

# A place is one int64: index of the document << 36 | position in the body << 8 | unit.
PLACE_DOCUMENT_SHIFT: Final = 36
PLACE_POSITION_SHIFT: Final = 8
NO_UNIT: Final = -1
NO_ROW: Final = -1  # of an entry whose frequencies are not wanted

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
    has_places = known.found[:, PLACE_END] > known.found[:, PLACE]
    wanted_units = np.where(has_places, units[present], NO_UNIT)
    n_atoms = np.count_nonzero(wanted_units != NO_UNIT)
    places = np.empty(n_atoms * len(documents) * PLACES_MAX, np.int64)
    damage = np.empty(2, np.int64)
    n_places = _gather(
        segment.lists,
        known.found,
        wanted_units,
        np.where(present < len(frequencies), present, NO_ROW),
        indexes,
        first,
        frequencies,
        places,
        damage,
    )
    segment.refuse_postings(int(damage[0]))
    segment.refuse_positions(int(damage[1]))
    return places[:n_places]


@leaf
def _gather_list(
    postings: Postings,
    lists: Lists,
    known: Ints,
    unit: int,
    row: int,
    indexes: Ints,
    first: int,
    found: Frequencies,
    places: Ints,
    n_places: int,
) -> int:
    """Add what the open list has; return how many places there are then."""
    for i in range(len(indexes)):
        if indexes[i] < 0:
            continue
        if unit >= 0:
            if not place_posting(postings, lists, 0, known, indexes[i]):
                return 0
        else:
            read_frequencies(postings, lists, 0, indexes[i] >> BLOCK_BITS)
        if row >= 0:
            for field in range(FIELD_COUNT):
                found[row, first + i, field] = frequency_of(lists, 0, indexes[i], field)
        if unit >= 0:
            n_places = _add_places(postings, lists, unit, indexes[i], first + i, places, n_places)
    return n_places


@leaf
def _add_places(
    postings: Postings, lists: Lists, unit: int, index: int, document: int, places: Ints, n_places: int
) -> int:
    """Add the first places in the body of a posting that was gone to."""
    n = 0
    for field in range(BODY):
        n += frequency_of(lists, 0, index, field)
    at = skip_positions(postings, lists.states[0, PLACED_AT], n)
    position = 0
    for _ in range(min(frequency_of(lists, 0, index, BODY), PLACES_MAX)):
        step, at = read_varint(postings.positions, at)
        position += step
        places[n_places] = document << PLACE_DOCUMENT_SHIFT | position << PLACE_POSITION_SHIFT | unit
        n_places += 1
    return n_places


@kernel(
    POSTINGS, IN_INTS_2D, IN_INTS, IN_INTS, IN_INTS_2D, types.int64, FREQUENCIES, MUTABLE_INTS, MUTABLE_INTS
)  # fmt: skip
def _gather(
    postings: Postings,
    known: Ints,
    units: Ints,
    rows: Ints,
    indexes: Ints,
    first: int,
    found: Frequencies,
    places: Ints,
    damage: Ints,
) -> int:
    """Read the postings with the indexes, -1 for none, of each list; return how many places there are.

    Args:
      damage: becomes the first damaged block of postings, and of positions, that was met, or -1.
    """
    lists = closed_lists(1)
    n_places = 0
    for entry in range(len(known)):
        if open_list(postings, lists, 0, known[entry]):
            n_places = _gather_list(
                postings,
                lists,
                known[entry],
                units[entry],
                rows[entry],
                indexes[entry],
                first,
                found,
                places,
                n_places,
            )
        if lists.damage[0] >= 0 or lists.positions_damage[0] >= 0:
            break
    damage[0] = lists.damage[0]
    damage[1] = lists.positions_damage[0]
    return n_places
