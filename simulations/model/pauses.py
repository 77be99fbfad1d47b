"""The pauses of hosts, and the lateness of slow peers.

A pause is that of `peers.crawler.model.politeness`, max(delay, min(factor x seconds, most)), for many answers
at once; its numbers are fields of the crawl's own settings, so the model and the peers go by the same.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from peers.crawler.model.settings import CrawlSettings
from simulations.traces.columns import Floats

SLICE_S: Final = 0.8  # from one stretch of a slow peer that stands still to the next


def pauses_s(seconds: Floats, settings: CrawlSettings) -> Floats:
    """Return the pauses after answers that took so long; none where no delay is wanted."""
    if not settings.delay_s:
        return np.zeros_like(seconds)
    by_answer = np.minimum(settings.delay_factor * seconds, settings.delay_max_s)
    pauses: Floats = np.maximum(settings.delay_s, by_answer)
    return pauses


def turns(
    seconds: Floats, settings: CrawlSettings, late: Floats | float | None = None
) -> tuple[Floats, Floats]:
    """Return for how long an answer keeps a fetch, and the time from its question to the host's next.

    Args:
      seconds: that answers take.
      late: for how long the peer of each does not see that an answer has come, nor that a pause is over.
    """
    pauses = pauses_s(seconds, settings)
    if late is None:
        return seconds, seconds + pauses
    held: Floats = seconds + late
    return held, held + pauses + np.where(pauses > 0, late, 0.0)


def late_s(speed: Floats) -> Floats:
    """Return how long, on average, something waits until a peer sees it.

    A peer of speed v runs v of every `SLICE_S` and stands still for the rest, 0 < v <= 1, as one does whose
    machine has other work: with the probability 1 - v it stands still, for half of (1 - v) slices more.
    """
    late: Floats = (1.0 - speed) ** 2 * SLICE_S / 2
    return late
