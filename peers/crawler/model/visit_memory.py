"""The findings of a page's visits, in few bytes: they decide when the next visit is due.

It belongs to the row of a URL (`url_rows`), and is as old as the visit that this tells of.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from xxhash import xxh32_intdigest

from mesh.stamp import Stamp

CHECKS_MAX: Final = 64  # then half of them are forgotten, so that what a page did long ago counts less
_SECONDS_MAX: Final = (1 << 32) - 1
_LAYOUT: Final = struct.Struct(">IBBIIBII")
_STAMP: Final = struct.Struct(">Id")
MEMORY_BYTES: Final = _LAYOUT.size


class VisitMemory(NamedTuple):
    """The history of a page's visits; times are whole seconds of the mesh clock."""

    interval_s: int = 0  # from the last visit to the next, as its policy wanted; 0 before the first one
    checks: int = 0  # visits that told whether the page had changed since the one before
    changes: int = 0  # of these, it had
    span_s: int = 0  # over which these were made
    checked_s: int = 0  # when the page was last seen; 0 for never
    misses: int = 0  # visits in a row that found no page, or got no answer
    missed_s: int = 0  # when the first of these was made; where there are none, see `version`
    text: int = 0  # of title and text as last seen, XXH3-64 cut to 32 bits; 0 when that is not known

    @property
    def version(self) -> int:
        """The `version_mark` of the page found once more by the last visit; 0 where that is not known."""
        return 0 if self.misses else self.missed_s

    @property
    def is_sound(self) -> bool:
        """May another peer say so?"""
        return self.changes <= self.checks <= CHECKS_MAX


NOTHING: Final = VisitMemory()


def memory_bytes(memory: VisitMemory) -> bytes:
    """Return the stored form of a visit memory, always `MEMORY_BYTES`."""
    return _LAYOUT.pack(*memory)


def memory_in(data: bytes) -> VisitMemory:
    """Read the stored form of a visit memory.

    Raises:
      ValueError: it is none.
    """
    try:
        return VisitMemory(*_LAYOUT.unpack(data))
    except struct.error as error:
        raise ValueError(str(error)) from error


def with_check(memory: VisitMemory, now: float, *, is_changed: bool) -> VisitMemory:
    """Note that a visit has told whether the page was another one."""
    checks, changes, span_s = memory.checks, memory.changes, memory.span_s
    if checks >= CHECKS_MAX:
        checks, changes, span_s = checks // 2, changes // 2, span_s // 2
    seen_s = max(0, int(now) - memory.checked_s)
    return memory._replace(
        checks=checks + 1,
        changes=changes + is_changed,
        span_s=min(span_s + seen_s, _SECONDS_MAX),
        checked_s=whole_s(now),
        misses=0,
        missed_s=0,
    )


def with_version(memory: VisitMemory, mark: int) -> VisitMemory:
    """Note that the last visit has found the page to be the version of this mark."""
    assert not memory.misses, "a page that was missed was not found"
    return memory._replace(missed_s=mark)


def version_mark(stamp: Stamp) -> int:
    """Return 32 bits that tell the versions of a page apart, never 0."""
    return xxh32_intdigest(_STAMP.pack(*stamp)) or 1


def with_miss(memory: VisitMemory, now: float) -> VisitMemory:
    """Note that a visit has not shown the page."""
    since_s = memory.missed_s if memory.misses else whole_s(now)
    return memory._replace(misses=min(memory.misses + 1, 255), missed_s=since_s)


def whole_s(seconds: float) -> int:
    """Return a time or an interval as it is kept."""
    return int(min(max(seconds, 0.0), _SECONDS_MAX))
