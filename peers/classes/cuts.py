"""From scores to classes: RCut, PCut and SCut.

    RCut  each text is given the class with the highest score
    PCut  each class is given to its n P_c x texts with the highest scores, x = 1; a text that several classes
          take has the one with the highest score
    SCut  the best class of a text is given if its score is the threshold of that class or more; thresholds
          are those with the best F1 of their classes on samples that were held out

Source: Li, Yan, Wang 2004, 11.3; there SCut is .8401 for .8266 of RCut. Here a page is in one class at most.
"""

from __future__ import annotations

import numpy as np

from peers.kernel import Floats, Ints


def by_rank(scores: Floats) -> Ints:
    """RCut; -1 where all scores are -inf."""
    best = np.argmax(scores, axis=1)
    return np.where(np.isfinite(scores[np.arange(len(scores)), best]), best, -1)


def by_proportion(scores: Floats, shares: Floats) -> Ints:
    """PCut. Args: shares: of the samples that are in each class."""
    taken = np.full(scores.shape, -np.inf)
    for number, share in enumerate(shares.tolist()):
        first = np.argsort(-scores[:, number], kind="stable")[: round(share * len(scores))]
        taken[first, number] = scores[first, number]
    return by_rank(taken)


def by_score(scores: Floats, thresholds: Floats) -> Ints:
    """SCut: -1 where the best class is below its threshold."""
    best = by_rank(scores)
    rows = np.arange(len(scores))
    return np.where((best >= 0) & (scores[rows, best] >= thresholds[best]), best, -1)


def thresholds_of(scores: Floats, true: Ints) -> Floats:
    """Return the threshold of each class with the best F1, over held-out samples whose best class it is.

    Between two samples it lies in the middle; of equal ones the lowest, which takes most. -1 in `true` is a
    sample of none of them. A class that is nobody's best has a threshold of 0.
    """
    best = by_rank(scores)
    thresholds = np.zeros(scores.shape[1])
    for number in range(scores.shape[1]):
        own = np.flatnonzero(best == number)
        if not len(own):
            continue
        own = own[np.argsort(-scores[own, number], kind="stable")]
        levels = scores[own, number]
        right = np.cumsum(true[own] == number)
        f1 = 2 * right / (np.arange(1, len(own) + 1) + max(1, int((true == number).sum())))
        is_last = np.append(levels[:-1] > levels[1:], True)  # of samples with equal scores
        f1[~is_last] = -1.0
        at = len(f1) - 1 - int(np.argmax(f1[::-1]))
        below = levels[at + 1] if at + 1 < len(levels) else levels[at] - 1.0
        thresholds[number] = (levels[at] + below) / 2
    return thresholds
