"""Read what the postings of some entries say of a few documents: how often, in which field, where.

The one place where the features of a page depend on the format of postings, see `kernels`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from peers.index.kernels import (
    _IN_BYTES,
    _INTS,
    BODY,
    FIELD_COUNT,
    Bytes,
    Ints,
    _kernel,
    _read,
    _read_fields,
    _skip_fields,
)
from peers.index.matching import are_atoms
from peers.index.segment import Segment

# Places of an entry in one document that are looked at: where a word comes again and again, the first ones
# tell as much, and a page of six million characters costs no more than others.
PLACES_MAX: Final = 128

# A place is one int64: index of the document << 36 | position in the body << 8 | unit.
PLACE_DOCUMENT_SHIFT: Final = 36
PLACE_POSITION_SHIFT: Final = 8
NO_UNIT: Final = -1

Frequencies = NDArray[np.int64]  # by entry, document and field


class Gathered(NamedTuple):
    """What was read."""

    frequencies: Frequencies
    places: Ints  # ascending


def gather(segment: Segment, numbers: Ints, units: Ints, documents: Ints) -> Gathered:
    """Read some entries of some documents.

    Args:
      numbers: of the entries in the dictionary, -1 for those it does not have.
      units: the number, below 256, that the places of each entry get; NO_UNIT: they are not wanted. Entries
        without positions have none.
      documents: ascending.

    Raises:
      DamagedSegmentError.
    """
    frequencies = np.zeros((len(numbers), len(documents), FIELD_COUNT), np.int64)
    present = np.flatnonzero(numbers >= 0)
    known = numbers[present]
    starts, ends = segment.postings_starts[known], segment.postings_starts[known + 1]
    segment.check_postings(starts, ends)
    atoms = are_atoms(segment, known)
    are_wanted = (atoms != 0) & (units[present] != NO_UNIT)
    first, last = segment.positions_starts[known], segment.positions_starts[known + 1]
    segment.check_positions(first[are_wanted], last[are_wanted])
    places = np.empty(int(are_wanted.sum()) * len(documents) * PLACES_MAX, np.int64)
    n_places = _gather(
        segment.postings,
        segment.positions,
        starts,
        ends,
        first,
        atoms,
        np.where(are_wanted, units[present], NO_UNIT),
        present,
        documents,
        frequencies,
        places,
    )
    return Gathered(frequencies, np.sort(places[:n_places]))


@_kernel(
    _IN_BYTES,
    _IN_BYTES,
    _INTS,
    _INTS,
    _INTS,
    types.uint8[::1],
    _INTS,
    _INTS,
    _INTS,
    types.int64[:, :, ::1],
    _INTS,
)
def _gather(
    postings: Bytes,
    positions: Bytes,
    starts: Ints,
    ends: Ints,
    firsts: Ints,
    is_atom: Bytes,
    units: Ints,
    rows: Ints,
    documents: Ints,
    found: Frequencies,
    places: Ints,
) -> int:
    """Walk each list to the last of the documents; return how many places there are."""
    frequencies = np.zeros(FIELD_COUNT, np.int64)
    n_places = 0
    for entry in range(len(starts)):
        at = starts[entry]
        end = ends[entry]
        place = firsts[entry]
        has_positions = is_atom[entry] != 0
        document = -1
        wanted = 0  # index of the next document
        while at < end and wanted < len(documents):
            head, at = _read(postings, at)
            document += head >> 1
            while wanted < len(documents) and documents[wanted] < document:
                wanted += 1
            is_wanted = wanted < len(documents) and documents[wanted] == document
            if is_wanted:
                frequencies[:] = 0
                if head & 1:
                    frequencies[BODY] = 1
                else:
                    at = _read_fields(postings, at, frequencies)
                for field in range(FIELD_COUNT):
                    found[rows[entry], wanted, field] = frequencies[field]
            elif not head & 1:
                at = _skip_fields(postings, at)
            if has_positions:
                n_bytes, at = _read(postings, at)
                if is_wanted and units[entry] >= 0:
                    p = place
                    for field in range(BODY):
                        for _ in range(frequencies[field]):
                            _, p = _read(positions, p)
                    position = 0
                    for _ in range(min(frequencies[BODY], PLACES_MAX)):
                        step, p = _read(positions, p)
                        position += step
                        key = wanted << PLACE_DOCUMENT_SHIFT | position << PLACE_POSITION_SHIFT
                        places[n_places] = key | units[entry]
                        n_places += 1
                place += n_bytes
    return n_places
