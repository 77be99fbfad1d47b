"""How a peer shares its fetches among its hosts, as a fluid.

A peer has F fetches in flight. A host is asked one page at a time and left alone for its delay after each
answer. Then it lines up with the others that may be asked, and waits until a fetch is free: so it gives a
page in W + l + d, the wait, the seconds of a page and the delay, and keeps a fetch busy for l of that. W is
the same for all hosts of a peer, and what makes the sum of busy fetches F:

    sum over hosts of l / (W + l + d) = F,   or W = 0 where all hosts together cannot keep F fetches busy.

The left side falls and is convex in W, so Newton's method, once it is left of the root, never passes it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from simulations.traces.columns import Floats, Ints

ROUNDS_MAX: Final = 30  # some six do
PRECISION: Final = 1e-3  # of F


def wait_seconds(
    peer: Ints,
    seconds: Floats,
    period: Floats,
    fetches: int | Floats,
    before: Floats | None,
    n_peers: int,
) -> Floats:
    """Return W of each peer.

    Args:
      peer: of each host that has something to give.
      seconds: l of each host.
      period: l + d of each host.
      fetches: F of every peer, or of each.
      before: W at an earlier time with the same hosts and others, or None.
    """
    wait = np.zeros(n_peers) if before is None else before
    for _ in range(ROUNDS_MAX):
        rate = 1.0 / (wait[peer] + period)
        busy = seconds * rate
        over = np.bincount(peer, busy, n_peers) - fetches
        if (np.abs(over) < PRECISION * fetches)[wait > 0].all() and not (over > PRECISION * fetches).any():
            return wait
        slope = np.bincount(peer, busy * rate, n_peers)
        step = np.divide(over, slope, out=np.zeros(n_peers), where=slope > 0)
        wait = np.maximum(wait + step, 0.0)
    return wait
