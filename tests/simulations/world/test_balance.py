"""The measures of balance against figures worked out by hand."""

from __future__ import annotations

import pytest

from simulations.world.balance import REFERENCE_VARIANCE, balance_of


def test_the_reference_is_the_variance_of_a_split_of_two_to_three() -> None:
    assert balance_of([2, 3]).variance == pytest.approx(REFERENCE_VARIANCE)


def test_equal_counts_are_perfectly_balanced() -> None:
    balance = balance_of([7, 7, 7])
    assert balance.variance == pytest.approx(0.0)
    assert balance.variation == pytest.approx(0.0)
    assert balance.max_over_mean == pytest.approx(1.0)


def test_the_coefficient_of_variation_does_not_depend_on_the_number_of_peers() -> None:
    assert balance_of([2, 3]).variation == pytest.approx(0.2)
    assert balance_of([2, 3] * 8).variation == pytest.approx(0.2)
    assert balance_of([2, 3] * 8).variance < REFERENCE_VARIANCE / 60


def test_one_peer_that_does_it_all_is_told_by_the_largest_over_the_mean() -> None:
    assert balance_of([4, 0, 0, 0]).max_over_mean == pytest.approx(4.0)


def test_nothing_is_balanced() -> None:
    assert balance_of([0, 0]).variance == 0.0
