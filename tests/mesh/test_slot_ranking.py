"""The arithmetic behind the slot table: a logarithm in integers, and who need not be scored by it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.slot_ranking import WEIGHT_MAX, _contenders, _log2_table, _minus_log2, _score


@given(
    st.lists(st.sampled_from((1, 2, 100, WEIGHT_MAX)), min_size=1, max_size=30),
    st.integers(1, 8),
    st.integers(0, 1 << 32),
)
@settings(max_examples=60, deadline=None)
def test_contenders_are_a_superset_of_the_best(weights: list[int], replicas: int, seed: int) -> None:
    shares = np.array(weights, np.uint64)
    draws = np.random.default_rng(seed).integers(0, 1 << 64, (50, len(weights)), np.uint64)
    edges = np.array([0, 1, (1 << 64) - 1, (1 << 64) - 2, 1 << 63, 1 << 40], np.uint64)
    draws[:25] = np.random.default_rng(seed).choice(edges, (25, len(weights)))
    is_contender = _contenders(draws, shares, replicas)
    for row in range(len(draws)):
        score = _score(draws[row], shares)
        best = sorted(range(len(weights)), key=lambda column: (-int(score[column]), column))[:replicas]
        assert is_contender[row, best].all()


def test_hardly_more_than_the_best_are_scored_exactly() -> None:
    draws = np.random.default_rng(1).integers(0, 1 << 64, (500, 1_000), np.uint64)
    assert _contenders(draws, np.full(1_000, 100, np.uint64), 2).sum() < 1.02 * 2 * 500


def test_logarithm_is_right_to_28_bits() -> None:
    draws = np.concatenate(
        [
            np.array([0, 1, 2, 3, (1 << 64) - 1, 1 << 63, (1 << 63) - 1], np.uint64),
            np.random.default_rng(1).integers(0, 1 << 64, 20_000, np.uint64),
        ]
    )
    exact = 64 - np.log2(np.maximum(draws, np.uint64(1)).astype(np.longdouble))
    assert np.abs(_minus_log2(draws).astype(np.float64) / 2**32 - exact).max() < 2**-28
    assert (_minus_log2(draws) >= 1).all()
    assert (np.diff(_log2_table().astype(np.int64)) > 0).all()
