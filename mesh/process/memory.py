"""How much memory this process has. [io]"""

from __future__ import annotations

import resource
import sys
from typing import NamedTuple


class MemoryUsed(NamedTuple):
    """Memory of a process, in bytes."""

    private_bytes: (
        int  # its own alone: heap, stacks, arrays. What is mapped from files belongs to the page cache
    )
    rss_bytes: int  # with what it has mapped of files, which the system takes back when it wants to


def memory_used() -> MemoryUsed:
    """Return the memory in use now on Linux; elsewhere the most that ever was resident, for both."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            _, resident, of_files = map(int, file.read().split()[:3])  # pages; proc(5)
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        most_bytes = most if sys.platform == "darwin" else most * 1024
        return MemoryUsed(most_bytes, most_bytes)
    page_bytes = resource.getpagesize()
    return MemoryUsed((resident - of_files) * page_bytes, resident * page_bytes)
