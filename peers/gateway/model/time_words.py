"""Times in words, for people: `3 min`, `in 3 min`, `2 h ago`."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isfinite
from typing import Final

from peers.gateway.model.sentences import Put, in_english

NOW_S: Final = 1.0
PRECISE_S: Final = 9.95  # below, tenths are told
# Up to how many seconds a span is told in a unit, of so many seconds.
_UNITS: Final = ((120.0, 1.0, "s"), (7_200.0, 60.0, "min"), (172_800.0, 3_600.0, "h"))
_DAY_S: Final = 86_400.0
_SPANS: Final = {"s": "{number} s", "min": "{number} min", "h": "{number} h", "days": "{number} days"}


def span(seconds: float, put: Put = in_english) -> str:
    """Say how long something is."""
    if not isfinite(seconds):
        return put("for ever")
    number, unit = counted(seconds)
    return put(_SPANS[unit], number=number)


def counted(seconds: float) -> tuple[str, str]:
    """Return how long something finite is as a number and its unit: s, min, h or days."""
    if seconds < PRECISE_S:
        return f"{seconds:.1f}".removesuffix(".0"), "s"
    for most_s, unit_s, name in _UNITS:
        if seconds < most_s:
            return f"{seconds / unit_s:.0f}", name
    return f"{seconds / _DAY_S:,.0f}", "days"


def when(at_s: float, now: float, put: Put = in_english) -> str:
    """Say when something is, or was."""
    if not isfinite(at_s):
        return put("never")
    if abs(at_s - now) < NOW_S:
        return put("now")
    if at_s > now:
        return put("in {span}", span=span(at_s - now, put))
    return put("{span} ago", span=span(now - at_s, put))


def utc(seconds: float) -> datetime | None:
    """Return a time in UTC; None for a number that is no time."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
