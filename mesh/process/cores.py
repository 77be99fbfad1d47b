"""The cores of the machine, as far as this process may use them. [io]"""

from __future__ import annotations

import os


def core_count() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
