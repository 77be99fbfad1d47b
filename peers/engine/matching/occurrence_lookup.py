"""Read from postings how often, in which field and where some entries occur in a few documents.

The one place where the features of a page depend on the format of postings, see `kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peers.engine.matching.matching import located
from peers.engine.native.compiled import kernel
from peers.engine.native.lists import Postings
from peers.engine.postings.dictionary import PLACE, PLACE_END
from peers.engine.segments.segment import Segment
from peers.kernel import Ints

# Places of an entry in one document that are looked at: where a word comes again and again, the first ones
# tell as much, and a page of six million characters costs no more than others.
PLACES_PER_ENTRY_MAX: Final = 128

# A place is one int64: index of the document << 36 | position in the body << 8 | unit.
PLACE_DOCUMENT_SHIFT: Final = 36
PLACE_POSITION_SHIFT: Final = 8
NO_UNIT: Final = -1
NO_ROW: Final = -1  # of an entry whose frequencies are not wanted

Frequencies = NDArray[np.int64]  # by entry, document and field


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
    places = np.empty(n_atoms * len(documents) * PLACES_PER_ENTRY_MAX, np.int64)
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


@kernel
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
