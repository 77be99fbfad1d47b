from __future__ import annotations

from fractions import Fraction
from math import comb
from random import Random

import pytest
from scipy.stats import binomtest

from peers.judging.sign_test import sign_test, tail_to


def by_fractions(wins: int, losses: int) -> float:
    n, k = wins + losses, min(wins, losses)
    return float(min(Fraction(1), 2 * Fraction(sum(comb(n, i) for i in range(k + 1)), 2**n)))


def test_nine_of_ten_by_hand() -> None:
    """2 (1 + 10) / 1,024."""
    found = sign_test(9, 1, ties=5)
    assert found.p == pytest.approx(22 / 1024)
    assert (found.share, found.ties, found.is_significant) == (0.9, 5, True)
    assert not sign_test(8, 2).is_significant  # 2 (1 + 10 + 45) / 1,024 = 0.109


@pytest.mark.parametrize("wins", range(13))
@pytest.mark.parametrize("losses", range(13))
def test_p_is_exact(wins: int, losses: int) -> None:
    assert sign_test(wins, losses).p == pytest.approx(by_fractions(wins, losses), rel=1e-12)


def test_p_and_interval_are_those_of_scipy() -> None:
    random = Random(1)
    for n in (1, 2, 7, 100, 3_000, 200_000):
        for _ in range(10):
            wins = random.randrange(n + 1)
            found, theirs = sign_test(wins, n - wins), binomtest(wins, n)
            interval = theirs.proportion_ci(method="exact")
            assert found.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-300)
            assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-9)


def test_nothing_is_known_from_ties_alone() -> None:
    found = sign_test(0, 0, 9)
    assert (found.p, found.share, found.low, found.high) == (1.0, None, 0.0, 1.0)


@pytest.mark.parametrize(
    ("k", "n", "share", "tail"), [(-1, 3, 0.5, 0.0), (3, 3, 0.5, 1.0), (0, 2, 0.25, 0.5625)]
)
def test_tails(k: int, n: int, share: float, tail: float) -> None:
    assert tail_to(k, n, share) == pytest.approx(tail)
