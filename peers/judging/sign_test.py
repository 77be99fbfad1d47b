"""The sign test: is one side preferred, or is it chance? Exact, and with an interval. Pure.

Ties tell nothing about which side is better, and are left out of the test. If neither side is preferred, the
wins of one are binomial with share 1/2: the p value is the probability of a count at least as far from half.
The interval is that of Clopper and Pearson: all shares that a test of 2.5 % on either side would not refuse.
It has the true one in at least 95 of 100 cases, whatever that is.

Source: Clopper, Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
Biometrika 26, 1934.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, lgamma, log
from typing import Final

import msgspec

LEVEL: Final = 0.05  # a p value below it is called significant
_HALVINGS: Final = 60  # of an interval: to 2^-60
_NEGLIGIBLE: Final = 1e-18  # share of a sum that a further term may be


class SignTest(msgspec.Struct, frozen=True):
    """The outcome of comparisons, those of one side against the other."""

    wins: int  # of the side asked about
    losses: int
    ties: int
    p: float  # two-sided; 1 where there is nothing but ties
    share: float | None  # of wins in wins and losses; None where there are none of either
    low: float  # the 95 % interval of that share: 0 to 1 where nothing is known
    high: float

    @property
    def is_significant(self) -> bool:
        return self.p < LEVEL


def sign_test(wins: int, losses: int, ties: int = 0) -> SignTest:
    """Test whether one side wins more often than the other."""
    n = wins + losses
    if not n:
        return SignTest(wins, losses, ties, 1.0, None, 0.0, 1.0)
    p = min(1.0, 2.0 * tail_to(min(wins, losses), n, 0.5))
    low = _share_where(lambda share: 1.0 - tail_to(wins - 1, n, share) > LEVEL / 2) if wins else 0.0
    high = _share_where(lambda share: tail_to(wins, n, share) < LEVEL / 2) if losses else 1.0
    return SignTest(wins, losses, ties, p, wins / n, low, high)


def tail_to(k: int, n: int, share: float) -> float:
    """Return the probability of at most k wins in n, each with the same probability: 0 < share < 1.

    The smaller of both tails is added up, from its largest term on, as long as terms count.
    """
    if k < 0:
        return 0.0
    if k >= n:
        return 1.0
    if k > n * share:
        return 1.0 - _tail(n - k - 1, n, 1.0 - share)
    return _tail(k, n, share)


def _tail(k: int, n: int, share: float) -> float:
    """Add up the terms from k down to 0, where they fall."""
    log_term = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(share) + (n - k) * _log1m(share)
    term = total = exp(log_term) if log_term > -700.0 else 0.0
    odds = (1.0 - share) / share
    while k > 0 and term > total * _NEGLIGIBLE:
        term *= k / (n - k + 1) * odds
        total += term
        k -= 1
    return min(1.0, total)


def _log1m(share: float) -> float:
    return log(1.0 - share) if share < 1.0 else -inf


def _share_where(is_above: Callable[[float], bool]) -> float:
    """Return the share from which on something holds, by halving."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return (low + high) / 2
