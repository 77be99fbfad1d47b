"""How long answers of other members take, and so how long to wait for one before it counts as late.

A machine whose cores are all busy answers a ping after tenths of a second, again and again, and is well all
the same. The estimate is that of TCP's retransmission time-out:

    mean += (sample - mean) / 8,  deviation += (|mean - sample| - deviation) / 4,  mean + 4 deviation

Source: RFC 6298, 2.2 and 2.3; no answer counts as one that took as long as was waited, since what is never
heard would else never be learnt (section 5.5 doubles the time-out instead).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

MEAN_PART: Final = 1 / 8  # alpha
DEVIATION_PART: Final = 1 / 4  # beta
DEVIATIONS: Final = 4  # K


class _Estimate(NamedTuple):
    mean_s: float
    deviation_s: float


class RoundTrips:
    """An estimate for each member that was ever asked."""

    def __init__(self) -> None:
        self._estimates: dict[str, _Estimate] = {}

    def note(self, peer: str, seconds: float) -> None:
        """An answer took so long, or was waited for in vain for so long."""
        before = self._estimates.get(peer)
        if before is None:
            self._estimates[peer] = _Estimate(seconds, seconds / 2)
            return
        deviation_s = (
            before.deviation_s + (abs(before.mean_s - seconds) - before.deviation_s) * DEVIATION_PART
        )
        mean_s = before.mean_s + (seconds - before.mean_s) * MEAN_PART
        self._estimates[peer] = _Estimate(mean_s, deviation_s)

    def expected_s(self, peer: str) -> float:
        """Return the time that an answer hardly ever exceeds; 0.0 when nothing is known."""
        estimate = self._estimates.get(peer)
        return 0.0 if estimate is None else estimate.mean_s + DEVIATIONS * estimate.deviation_s

    def keep_only(self, peers: Collection[str]) -> None:
        """Forget members that are no more."""
        if len(self._estimates) > 2 * len(peers):
            self._estimates = {peer: each for peer, each in self._estimates.items() if peer in peers}
