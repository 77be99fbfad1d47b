"""The weights of one class against others: a linear support vector machine.

    minimise w.w / 2 + b^2 / 2 + C * sum over samples i of max(0, 1 - y_i (w.x_i + b))^2

by Newton's method over the samples within the margin, each step by conjugate gradients and halved until it
descends. Source: Keerthi, DeCoste, A modified finite Newton method for fast solution of large scale linear
SVMs, JMLR 6, 2005. It is the objective of LIBLINEAR's default, which has one minimum: both find it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peers.classes.vectors import Vectors
from peers.kernel import Floats

COST: Final = 1.0  # C, LIBLINEAR's default
NEWTON_STEPS_MAX: Final = 50
GRADIENT_STEPS_MAX: Final = 40
HALVINGS_MAX: Final = 20
TOLERANCE: Final = 1e-3  # of the gradient at the beginning
STEP_TOLERANCE: Final = 0.1  # of the gradient of a step
DESCENT: Final = 1e-2  # of what the gradient promises


class Plane(NamedTuple):
    """The border of a class: a score above 0 is more like its samples than like the others."""

    weights: Floats  # of each term
    bias: float

    def scores(self, vectors: Vectors) -> Floats:
        """Return the score of each vector."""
        return vectors.times(self.weights) + self.bias


def fitted_plane(vectors: Vectors, is_in: NDArray[np.bool_], cost: float = COST) -> Plane:
    """Fit the plane between the samples that are in a class and the others."""
    signs = np.where(is_in, 1.0, -1.0)
    weights = np.zeros(vectors.n_terms + 1)  # the last one is the bias
    scores = np.zeros(len(vectors))
    least = 0.0
    for step_number in range(NEWTON_STEPS_MAX):
        gaps = np.maximum(0.0, 1.0 - signs * scores)
        gradient = weights - 2 * cost * _transposed(vectors, signs * gaps)
        size = float(np.linalg.norm(gradient))
        if step_number == 0:
            least = TOLERANCE * size
        if size <= least:
            break
        step = _newton_step(vectors, gaps > 0, gradient, cost)
        along = _product(vectors, step)
        weights, scores = _descended(weights, scores, step, along, signs, gradient, cost)
    return Plane(weights[:-1], float(weights[-1]))


def _product(vectors: Vectors, weights: Floats) -> Floats:
    products: Floats = vectors.times(weights) + weights[-1]
    return products


def _transposed(vectors: Vectors, factors: Floats) -> Floats:
    sums: Floats = np.append(vectors.summed(factors), factors.sum())
    return sums


def _newton_step(vectors: Vectors, is_within: NDArray[np.bool_], gradient: Floats, cost: float) -> Floats:
    """Solve (I + 2 C X'X) step = -gradient over the samples within the margin."""
    step = np.zeros_like(gradient)
    rest = -gradient
    direction = rest.copy()
    square = float(rest @ rest)
    enough = STEP_TOLERANCE**2 * square
    for _ in range(GRADIENT_STEPS_MAX):
        if square <= enough:
            break
        image = direction + 2 * cost * _transposed(vectors, _product(vectors, direction) * is_within)
        length = square / float(direction @ image)
        step += length * direction
        rest -= length * image
        before, square = square, float(rest @ rest)
        direction = rest + (square / before) * direction
    return step


def _descended(
    weights: Floats,
    scores: Floats,
    step: Floats,
    along: Floats,
    signs: Floats,
    gradient: Floats,
    cost: float,
) -> tuple[Floats, Floats]:
    """Go as much of the step as descends."""

    def loss(share: float) -> float:
        new = weights + share * step
        gaps = np.maximum(0.0, 1.0 - signs * (scores + share * along))
        return float(new @ new) / 2 + cost * float(gaps @ gaps)

    here, slope, share = loss(0.0), float(gradient @ step), 1.0
    for _ in range(HALVINGS_MAX):
        if loss(share) <= here + DESCENT * share * slope:
            break
        share /= 2
    return weights + share * step, scores + share * along
