"""How much a term tells of classes: DF, IG, MI and CHI, each over all classes.

    DF   texts with the term
    IG   H(c) - P(t) H(c | t) - P(not t) H(c | not t)                                        (11-4)
    MI   mean over classes of log(A N / ((A + C)(A + B)))                                    (11-5)
    CHI  mean over classes of N (A D - C B)^2 / ((A + C)(B + D)(A + B)(C + D))               (11-8)

N texts; of a term and a class A have both, B the term alone, C the class alone, D neither. Where A is 0, MI
is that of half a text. Source: Li, Yan, Wang 2004, 11.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peers.classes.vectors import Vectors
from peers.kernel import Floats, Ints


def texts_by_term(vectors: Vectors, classes: Ints, n_classes: int) -> Floats:
    """Return how many texts of each class have each term, shape (classes, terms)."""
    keys = classes[vectors.rows] * vectors.n_terms + vectors.terms
    counts = np.bincount(keys, minlength=n_classes * vectors.n_terms)
    return counts.reshape(n_classes, -1).astype(np.float64)


def _by_df(both: Floats, sizes: Floats) -> Floats:
    return np.asarray(both.sum(axis=0))


def _entropy(counts: Floats) -> Floats:
    """Return the entropy of each column, in nats."""
    shares = counts / np.maximum(counts.sum(axis=0), 1.0)
    return -np.asarray((shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=0))


def _by_ig(both: Floats, sizes: Floats) -> Floats:
    share = both.sum(axis=0) / sizes.sum()
    without = _entropy(sizes[:, None] - both)
    return np.asarray(_entropy(sizes[:, None]) - share * _entropy(both) - (1 - share) * without)


def _by_mi(both: Floats, sizes: Floats) -> Floats:
    ratio = np.maximum(both, 0.5) * sizes.sum() / (sizes[:, None] * both.sum(axis=0))
    return np.asarray(np.log(ratio).mean(axis=0))


def _by_chi(both: Floats, sizes: Floats) -> Floats:
    total, size, with_term = sizes.sum(), sizes[:, None], both.sum(axis=0)
    a, b, c = both, with_term - both, size - both
    d = total - a - b - c
    below = size * (total - size) * with_term * (total - with_term)
    return np.asarray((total * (a * d - c * b) ** 2 / np.maximum(below, 1.0)).mean(axis=0))


SELECTIONS: Final[Mapping[str, Callable[[Floats, Floats], Floats]]] = {
    "DF": _by_df,
    "IG": _by_ig,
    "MI": _by_mi,
    "CHI": _by_chi,
}


def best_terms(name: str, vectors: Vectors, classes: Ints, n_classes: int, share: float) -> NDArray[np.bool_]:
    """Mark the share of the terms that tell most by one of `SELECTIONS`; ties go to the first."""
    sizes = np.bincount(classes, minlength=n_classes).astype(np.float64)
    told = SELECTIONS[name](texts_by_term(vectors, classes, n_classes), sizes)
    kept = np.zeros(vectors.n_terms, np.bool_)
    kept[np.argsort(-told, kind="stable")[: max(1, round(share * vectors.n_terms))]] = True
    return kept
