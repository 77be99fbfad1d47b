"""How much memory this process has. [io]"""

from __future__ import annotations

import resource
import sys


def resident_bytes() -> int:
    """Resident memory now on Linux; elsewhere the most there ever was."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
