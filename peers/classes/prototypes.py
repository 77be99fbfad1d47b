"""One vector for each class: the centroid of its samples, or Rocchio's, which the other classes draw away.

    centroid  p_c = mean of the samples in c
    Rocchio   p_c = max(0, mean of the samples in c - BETA * mean of the others)

Scores are cosines. Sources: Li, Yan, Wang 2004, 11.1; with weights for both sums, Rocchio in Salton (ed.),
The SMART retrieval system, 1971.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from peers.classes.vectors import Vectors
from peers.kernel import Floats, Ints

BETA: Final = 0.25  # 4 to 16 of Buckley, Salton, Allan, SIGIR 1994


def prototype_scores(
    samples: Vectors, classes: Ints, n_classes: int, texts: Vectors, beta: float = 0.0
) -> Floats:
    """Return the score of each class for each text, shape (texts, classes).

    Args:
      beta: of what the samples of other classes take away; 0 for centroids.
    """
    sizes = np.bincount(classes, minlength=n_classes)
    total = samples.summed(np.ones(len(samples)))
    scores = np.zeros((len(texts), n_classes))
    for number in range(n_classes):
        own = samples.summed((classes == number).astype(np.float64))
        n, others = max(1, int(sizes[number])), max(1, len(samples) - int(sizes[number]))
        prototype = np.maximum(0.0, own / n - beta * (total - own) / others)
        scores[:, number] = texts.times(prototype / max(float(np.linalg.norm(prototype)), 1e-12))
    return scores
