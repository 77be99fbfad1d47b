"""How close the terms of a query stand to each other in a text.

    proximity = min(1, sum over terms t of min(1, idf(t)) * a(t) * (k + 1) / (a(t) + K) / sum of idf(t))
    a(t) = sum of idf(u) / distance^2 over the places where t and another term u stand next to each other,
           with no term of the query between them
    K = k * (0.5 + 0.5 * length / average length), k = 1.2

Source: Büttcher, Clarke, Lushman, "Term proximity scoring for ad-hoc retrieval on very large text
collections", SIGIR 2006, as a share, so that it can be weighed against other features. Measured on the judged
collections beside the smallest window that has all the terms, each at its best weight: English help, MRR@10
.679 without, .690 with the window, .693 with this; Cranfield, nDCG@10 .401, .400, .406; Chinese help .653,
.656, .655.
"""

from __future__ import annotations

import numpy as np

from peers.engine.native.compiled import kernel
from peers.kernel import Floats, Ints


def proximities(places: Ints, idf: Floats, lengths: Floats) -> Floats:
    """Return the proximity of each document.

    Args:
      places: of the query's terms, see `occurrence_lookup`; ascending.
      idf: of each unit, at least 0.
      lengths: of each document, relative to the average.
    """
    found = np.zeros(len(lengths))
    total = float(idf.sum())
    if total > 0:
        _measure_proximity(places, idf, lengths, total, found)
    return found


@kernel
def _measure_proximity(places: Ints, idf: Floats, lengths: Floats, total: float, found: Floats) -> int:
    """Do as `proximities`; `total` is the sum of idf, above 0."""
