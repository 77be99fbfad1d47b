"""Scores of postings, and bounds on them; kernels of `ranking`.

Bounds and scores are computed by different expressions: bounds are raised by SLACK, so that rounding leaves
out no document. A score is the sum over the lists in their order, which is `in_scoring_order`: the same bits
whatever was skipped.
"""

from __future__ import annotations

from peers.engine.native.compiled import kernel
from peers.engine.native.kernels import FIELD_COUNT
from peers.kernel import Floats, Lengths

# What scores of a mesh depend on, in one array: k1, then for each field its weight, and base and slope of its
# length normalisation, which is base + slope * length.
K1, WEIGHT, BASE, SLOPE, MODEL_SIZE = 0, 1, 1 + FIELD_COUNT, 1 + 2 * FIELD_COUNT, 1 + 3 * FIELD_COUNT


@kernel
def normalise(lengths: Lengths, model: Floats, norms: Floats) -> int:
    """Set norms[field, document] to the amount that one occurrence there adds to tf; see `ranking`."""
