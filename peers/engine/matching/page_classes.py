"""The classes of a segment's documents by a model: found from its postings, once for each model.

Only titles and main texts count, of which a document has the same on every peer; links, addresses and what
stands around the main text do not. Measured: see `tests/benchmarks/HISTORY.md`, classes of pages.
"""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from peers.engine.native.compiled import kernel
from peers.engine.native.lists import Postings
from peers.engine.pages.class_model import GAINS, ClassModel
from peers.engine.segments.segment import Segment
from peers.kernel import Bytes, Floats, Ints

# Of documents and classes whose sums are in memory at once: 32 MB.
SUMS_AT_ONCE: Final = 1 << 22
# What it costs to class a segment, in visits; more than is tried on the event loop.
TERM_VISITS: Final = 16
DOCUMENT_VISITS: Final = 256
# A question pays no more for a segment: it is classed once, and what comes after finds it so.
VISITS_MAX: Final = 1_000_000

_known: WeakKeyDictionary[Segment, tuple[bytes, NDArray[np.int16]]] = WeakKeyDictionary()


@kernel
def find_classes(
    postings: Postings,
    known: Ints,
    first: int,
    gains: Ints,
    idf: Ints,
    starts: Ints,
    classes: Ints,
    weights: Ints,
    tree: Ints,
    readings: Floats,
    found: Ints,
    damage: Ints,
) -> int:
    """Find the classes of some documents of a segment, from `first` on.

    Args:
      known: of each term of the model what `look_up` found; -1 as its number where there is none.
      gains: by frequency. idf: of each term. starts, classes, weights: as `TermWeights` has them.
      tree: (classes + 1, 2), the last row the top. readings: (classes, 3): scale, bias, threshold.
      found: becomes the class of each of the documents, -1 for none.
      damage: becomes the first damaged block of postings that was met, or -1.

    Returns:
      How many have a class.
    """


def classes_of(segment: Segment, model: ClassModel) -> NDArray[np.int16]:
    """Return the class of each document of a segment, a row of the model; -1 for none.

    Raises:
      DamagedSegmentError.
    """
    kept = _known.get(segment)
    if kept is not None and kept[0] == model.digest:
        return kept[1]
    found = _find(segment, model).astype(np.int16)
    _known[segment] = model.digest, found
    return found


def classing_cost(segment: Segment, model: ClassModel) -> int:
    """Return how many visits `classes_of` takes: none when it is known."""
    kept = _known.get(segment)
    if kept is not None and kept[0] == model.digest:
        return 0
    visits = TERM_VISITS * len(model.weights.terms) + DOCUMENT_VISITS * segment.document_count
    return min(visits, VISITS_MAX)


def counts_of(segment: Segment, model: ClassModel, marks: Bytes) -> dict[str, int]:
    """Count the documents that are marked by class, in each class those below it, too."""
    numbers = classes_of(segment, model)[marks.view(np.bool_)]
    return model.rolled_up(np.bincount(numbers[numbers >= 0], minlength=len(model.rows)))


def _find(segment: Segment, model: ClassModel, sums_at_once: int = SUMS_AT_ONCE) -> Ints:
    weights = model.weights
    known = segment.look_up(weights.terms)
    found = np.empty(segment.document_count, np.int64)
    at_once = max(1, sums_at_once // (len(model.rows) + 1))
    damage = np.full(1, -1, np.int64)
    for first in range(0, len(found), at_once):
        find_classes(
            segment.lists,
            known.found,
            first,
            GAINS,
            *weights[1:],
            model.tree,
            model.readings,
            found[first : first + at_once],
            damage,
        )
        segment.refuse_postings(int(damage[0]))
    return found
