"""How long it takes to crawl hosts of unlike size, by the pages a second that a mesh can fetch.

A mesh shares what it can fetch, B pages a second, evenly among the hosts that have pages left, and asks none
of them more often than once in the time that it wants to be left alone, t of a host. When as many pages x of
each host are fetched, N(x) hosts have more, and the next page of each takes max(t, N(x) / B). N falls as x
grows, so a host of n pages is done after

    max over x of  G(x) / B + t (n - x),   G(x) = integral of N to x = the sum of min(n, x) over all hosts

and the crawl with the last host. At x = n of the largest host that is a steady state, all pages at B; at
x = 0 the host that takes longest at its own pace. In between is the tail of a crawl, when few hosts are left
that were not served first.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from simulations.traces.columns import Floats

LEVELS: Final = 256  # values of x: with four times as many, hours differ by less than .1 %


class CrawlTime:
    """The hosts of a web, summed up by how many pages of each are fetched."""

    def __init__(self, pages: Floats, period_s: Floats, alike: float = 1.0) -> None:
        """Sum up.

        Args:
          pages, period_s: of each host, the period from one question to it to the next.
          alike: hosts that each of these stands for.
        """
        ascending = np.sort(pages)
        sums = np.concatenate([[0.0], np.cumsum(ascending)])
        self._levels = np.concatenate([[0.0], np.geomspace(1.0, max(2.0, ascending[-1]), LEVELS)])
        below = np.searchsorted(ascending, self._levels)
        self._fetched = alike * (sums[below] + self._levels * (len(ascending) - below))
        self._alone_s = np.array([float((period_s * (pages - x)).max()) for x in self._levels]).clip(0.0)

    @property
    def alone_s(self) -> float:
        """Seconds of the host that takes longest at its own pace."""
        return float(self._alone_s[0])

    def seconds(self, pages_s: float) -> tuple[float, float]:
        """Return how long a crawl takes, and how much of that the last host goes at its own pace.

        Args:
          pages_s: that the mesh can fetch while hosts do not matter.
        """
        total_s = self._fetched / pages_s + self._alone_s
        at = int(total_s.argmax())
        return float(total_s[at]), float(self._alone_s[at])
