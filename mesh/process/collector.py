"""When Python's collector of cyclic garbage runs: seldom, for hardly any of our garbage is cyclic."""

from __future__ import annotations

import gc
from typing import Final

# Objects made between two passes. Python's 700 has it walk a crawl's young objects all the time, 6 % of its
# processor time, and 1 to 8 % of that of a simulation.
_THRESHOLDS: Final = (50_000, 50, 100)


def relax_collector() -> None:
    """Have this process's garbage collector run seldom, and never look at the objects that exist by now."""
    gc.freeze()  # what is imported stays
    gc.set_threshold(*_THRESHOLDS)
