"""k nearest neighbours: the classes of the samples that a text is most like, by cosine or by distance.

    y(x, c) = sum over the k samples d nearest to x that are in c of sim(x, d)                (11-9)

sim is the cosine (11-10), which the book calls Canberra's; or, as in its table 11-3, 1 / (1 + distance) of
Euclid between the vectors before they are made of length one.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from peers.classes.vectors import Vectors
from peers.kernel import Floats, Ints

K: Final = 15  # the book's best


def neighbour_scores(
    samples: Vectors, classes: Ints, n_classes: int, texts: Vectors, k: int = K, *, by_cosine: bool = True
) -> Floats:
    """Return the score of each class for each text, shape (texts, classes)."""
    starts, rows, values = samples.by_term
    scores = np.zeros((len(texts), n_classes))
    squares = samples.norms**2
    for number in range(len(texts)):
        span = slice(texts.starts[number], texts.starts[number + 1])
        terms = texts.terms[span]
        sizes = starts[terms + 1] - starts[terms]
        ends = np.cumsum(sizes)
        places = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts[terms] - ends + sizes, sizes)
        near = np.bincount(rows[places], values[places] * np.repeat(texts.values[span], sizes), len(samples))
        if not by_cosine:
            norm = texts.norms[number]
            distances = np.sqrt(np.maximum(0.0, squares + norm**2 - 2 * near * samples.norms * norm))
            near = 1 / (1 + distances)
        nearest = np.argpartition(-near, min(k, len(near)) - 1)[:k]
        scores[number] = np.bincount(classes[nearest], near[nearest], n_classes)
    return scores
