"""Weights of one entity from the pages that its owner has graded, by pairs.

Of pages graded high, middle and low, m, n and k of them, mn + nk + km pairs are to be in order (table 12-3).

    maximise sum_pairs log sigma(w . (v_better - v_worse)) - |w - prior|^2 / (2 s^2)

by Newton's method; it is concave, so there is one answer. The prior of an entity is what the pages of the
owner's other entities have taught, around that of everybody.

Source: RankNet's loss for a linear model, Burges et al. 2005, with a Gaussian prior.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from peers.entities.profile import GradedPage, Profile
from peers.entities.score import FEATURES, PRIOR

Vector: TypeAlias = NDArray[np.float64]

SPREAD: Final = 0.5  # s: how far weights of one entity are from those of others; those of everybody are ~ 1
STEPS_MAX: Final = 50
ENOUGH: Final = 1e-9
BASE: Final[Vector] = np.array(list(PRIOR.values()))


class PairOrder(NamedTuple):
    """Pairs of graded pages and how many of them scores put in order; equal scores count half."""

    right: float
    total: int


def fitted(profile: Profile, others: Iterable[Profile] = ()) -> tuple[float, ...]:
    """Return the weights of an entity. Args: others: the owner's other entities."""
    shared = [pairs_of(each.graded) for each in others if each.label != profile.label]
    prior = _maximum(np.concatenate([_NONE, *shared]), BASE)
    return tuple(float(weight) for weight in _maximum(pairs_of(profile.graded), prior).round(6))


def pairs_of(graded: Sequence[GradedPage]) -> Vector:
    """Return v_better - v_worse of each pair, a row each."""
    known = [page for page in graded if len(page.values) == len(FEATURES)]
    rows = [
        np.subtract(better.values, worse.values)
        for better in known
        for worse in known
        if better.grade > worse.grade
    ]
    return np.array(rows) if rows else _NONE


def pair_order(graded: Sequence[GradedPage], weights: Sequence[float]) -> PairOrder:
    """Count the pairs that some weights put in order."""
    margins = pairs_of(graded) @ np.array(weights)
    return PairOrder(float(np.sum(margins > 0) + 0.5 * np.sum(margins == 0)), len(margins))


def _maximum(pairs: Vector, prior: Vector) -> Vector:
    weights = prior.copy()
    if not len(pairs):
        return weights
    for _ in range(STEPS_MAX):
        wrong = 1.0 / (1.0 + np.exp(np.clip(pairs @ weights, -500.0, 500.0)))
        slope = pairs.T @ wrong - (weights - prior) / SPREAD**2
        curve = (pairs.T * (wrong * (1.0 - wrong))) @ pairs + np.eye(len(prior)) / SPREAD**2
        step = np.linalg.solve(curve, slope)
        weights += step * min(1.0, 2.0 / float(np.abs(step).max() + 1e-12))  # a step too far can overshoot
        if float(np.abs(step).max()) < ENOUGH:
            break
    return weights


_NONE: Final[Vector] = np.empty((0, len(FEATURES)))
