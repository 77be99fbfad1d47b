"""How evenly work is spread over peers.

The measure of Li, Yan, Wang (book, section 6.2): the variance of the peers' shares of the pages of an
interval, held against that of two peers that fetch 2 and 3 of 5 pages. That variance falls like 1/n^2 by
scale alone, so the coefficient of variation and the ratio of the largest to the mean are told beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

import msgspec

# Shares 0.4 and 0.6: ((0.4 - 0.5)^2 + (0.6 - 0.5)^2) / 2
REFERENCE_VARIANCE: Final = 0.01


class Balance(msgspec.Struct, frozen=True):
    """Of one set of counts; the best is 0, 0, 1."""

    variance: float  # of the shares, population variance
    variation: float  # coefficient of variation: standard deviation over mean
    max_over_mean: float


def balance_of(counts: Sequence[float]) -> Balance:
    """Measure counts of work, one for each peer; nothing at all is perfectly balanced."""
    total, n = sum(counts), len(counts)
    if total == 0:
        return Balance(0.0, 0.0, 1.0)
    shares = [count / total for count in counts]
    variance = sum((share - 1 / n) ** 2 for share in shares) / n
    return Balance(variance, sqrt(variance) * n, max(shares) * n)
