"""How right classes are: precision, recall and F1 over all samples, and over classes by (11-3).

    micro  p = right / given, r = right / all; F1 = 2 p r / (p + r)
    macro  the same of the mean p and the mean r of the classes

A sample that is given no class counts for r alone. Source: Li, Yan, Wang 2004, 11.3, (11-1) and (11-3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from peers.kernel import Ints


class Quality(NamedTuple):
    micro: float
    macro: float


def f1_of(precision: float, recall: float) -> float:
    """Return (11-1); 0 where both are."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def quality_of(given: Ints, true: Ints, n_classes: int) -> Quality:
    """Judge classes, numbers from 0 on; -1 where none was given, or where none is true."""
    right = np.bincount(true[(given == true) & (true >= 0)], minlength=n_classes)
    n_given = np.bincount(given[given >= 0], minlength=n_classes)
    n_true = np.bincount(true[true >= 0], minlength=n_classes)
    is_there = n_true > 0
    precisions = right[is_there] / np.maximum(n_given[is_there], 1)
    recalls = right[is_there] / n_true[is_there]
    micro = f1_of(float(right.sum()) / max(1, int(n_given.sum())), float(right.sum()) / max(1, len(true)))
    return Quality(micro, f1_of(float(precisions.mean()), float(recalls.mean())))
