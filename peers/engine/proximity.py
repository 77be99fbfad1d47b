"""How close the terms of a query stand to each other in a text.

    proximity = min(1, sum over terms t of min(1, idf(t)) * a(t) * (k + 1) / (a(t) + K) / sum of idf(t))
    a(t) = sum of idf(u) / distance^2 over the places where t and another term u stand next to each other,
           with no term of the query between them
    K = k * (0.5 + 0.5 * length / average length)

Source: Büttcher, Clarke, Lushman, "Term proximity scoring for ad-hoc retrieval on very large text
collections", SIGIR 2006, as a share, so that it can be weighed against other features. Measured on the judged
collections beside the smallest window that has all the terms, each at its best weight: English help, MRR@10
.679 without, .690 with the window, .693 with this; Cranfield, nDCG@10 .401, .400, .406; Chinese help .653,
.656, .655.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from peers.engine.gathering import PLACE_DOCUMENT_SHIFT, PLACE_POSITION_SHIFT
from peers.kernel import IN_FLOATS, MUTABLE_FLOATS, MUTABLE_INTS, Floats, Ints, kernel

K: Final = 1.2

_UNIT_MASK: Final = (1 << PLACE_POSITION_SHIFT) - 1
_PLACE_MASK: Final = (1 << PLACE_DOCUMENT_SHIFT) - 1


def proximities(places: Ints, idf: Floats, lengths: Floats) -> Floats:
    """Return the proximity of each document.

    Args:
      places: of the query's terms, see `gathering`; ascending.
      idf: of each unit, at least 0.
      lengths: of each document, relative to the average.
    """
    found = np.zeros(len(lengths))
    total = float(idf.sum())
    if total > 0:
        _proximities(places, idf, lengths, total, found)
    return found


@kernel(MUTABLE_INTS, IN_FLOATS, IN_FLOATS, types.float64, MUTABLE_FLOATS)
def _proximities(places: Ints, idf: Floats, lengths: Floats, total: float, found: Floats) -> int:
    nearness = np.zeros(len(idf))
    at = 0
    while at < len(places):
        document = places[at] >> PLACE_DOCUMENT_SHIFT
        nearness[:] = 0.0
        last_unit = -1
        last_position = 0
        while at < len(places) and places[at] >> PLACE_DOCUMENT_SHIFT == document:
            unit = places[at] & _UNIT_MASK
            position = (places[at] & _PLACE_MASK) >> PLACE_POSITION_SHIFT
            if last_unit >= 0 and unit != last_unit and position > last_position:
                distance = float(position - last_position)
                share = 1.0 / (distance * distance)
                nearness[unit] += idf[last_unit] * share
                nearness[last_unit] += idf[unit] * share
            last_unit = unit
            last_position = position
            at += 1
        half = K * (0.5 + 0.5 * lengths[document])
        value = 0.0
        for unit in range(len(idf)):
            value += min(1.0, idf[unit]) * (nearness[unit] * (K + 1.0) / (nearness[unit] + half))
        found[document] = min(1.0, value / total)
    return 0
