"""Processor time by a yardstick, so that a limit means the same on a slow machine and beside other work."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from statistics import fmean, median
from typing import Final

# What the yardstick took where the limits of tests were written.
YARDSTICK_S: Final = 0.010
YARDSTICK_LINES: Final = 9_500
_LINE: Final = re.compile(rb"\s*([a-z-]+)\s*:\s*([^#\n]*)")


def processor_seconds(work: Callable[[], object], tries: int = 1) -> float:
    """Return the median processor time of this thread for the work, as on the machine of the limits.

    Each try is told in yardsticks, measured before and after it: both are slow beside other work.
    """
    relative = []
    for _ in range(tries):
        before_s = _seconds(yardstick)
        work_s = _seconds(work)
        relative.append(work_s / fmean((before_s, _seconds(yardstick))))
    return median(relative) * YARDSTICK_S


def _seconds(work: Callable[[], object]) -> float:
    began_s = time.thread_time()
    work()
    return time.thread_time() - began_s


def yardstick() -> None:
    """Do a little of what the product does with texts: match, decode, split, count in dictionaries."""
    counts: dict[str, int] = {}
    for number in range(YARDSTICK_LINES):
        match = _LINE.match(b"disallow : /a/%d/b # x" % number)
        assert match
        for part in match.group(2).decode().split("/"):
            counts[part] = counts.get(part, 0) + 1
    sorted(counts)
