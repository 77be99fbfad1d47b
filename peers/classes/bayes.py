"""Naive Bayes over which words a text has, as the book prints it, and with Laplace's smoothing.

    log P(c | d) = log P(c) + sum over words a of d of log P(a | c)                          (11-12)
    P(a | c)     = n_ac / n_c, or (n_ac + 1) / (n_c + 2) smoothed

n_c samples in c, n_ac of them with a. As printed, one word that no sample of a class has rules the class out;
where all are ruled out, no class is given: that is why it came out at .19 there.
"""

from __future__ import annotations

import numpy as np

from peers.classes.selection import texts_by_term
from peers.classes.vectors import Vectors
from peers.kernel import Floats, Ints


def bayes_scores(
    samples: Vectors, classes: Ints, n_classes: int, texts: Vectors, *, is_smoothed: bool
) -> Floats:
    """Return log P(c | d) of each class for each text, up to a constant of the text; -inf: ruled out."""
    sizes = np.bincount(classes, minlength=n_classes).astype(np.float64)
    both = texts_by_term(samples, classes, n_classes)
    one, two = (1.0, 2.0) if is_smoothed else (0.0, 0.0)
    with np.errstate(divide="ignore"):
        told = np.log((both + one) / np.maximum(sizes[:, None] + two, 1.0))
        priors = np.log(sizes / sizes.sum())
    scores = np.zeros((len(texts), n_classes))
    for number in range(n_classes):
        of_words = told[number][texts.terms]
        is_out = np.bincount(texts.rows, ~np.isfinite(of_words), len(texts)) > 0
        sums = np.bincount(texts.rows, np.where(np.isfinite(of_words), of_words, 0.0), len(texts))
        scores[:, number] = np.where(is_out, -np.inf, sums + priors[number])
    return scores
