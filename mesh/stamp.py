"""The order of the versions of a page, wherever they are kept, compared or indexed."""

from __future__ import annotations

from math import inf, isfinite
from typing import Annotated, Final, NamedTuple, TypeAlias

from msgspec import Meta

VISITS_MAX: Final = (1 << 32) - 1
TIME_MAX_S: Final = 1e12  # seconds since the epoch: far beyond any clock

VisitNumber: TypeAlias = Annotated[int, Meta(ge=0, le=VISITS_MAX)]


class Stamp(NamedTuple):
    """A mark of a page's version: of two the greater one is newer, regardless of clocks.

    The number of the visit comes first, since a clock may be set back, and who visits a page next may be
    another peer with another clock. The time tells versions of the same visit apart: two peers make one when
    the first of them dies, or is cut off, before the other hears of it.

    A page that came from a file has the visit that the file tells (`peers.storage.archive.warc`), or 0 when
    it tells none: then the time decides between such versions, and any visit of the mesh itself is newer.
    """

    visit: VisitNumber
    fetched_at: float  # seconds since the epoch, by the clock of who fetched it

    @property
    def is_sound(self) -> bool:
        """May another peer say so? That the visit is in range is seen to while it is decoded."""
        return isfinite(self.fetched_at) and 0 <= self.fetched_at <= TIME_MAX_S


BEFORE_ALL: Final = Stamp(0, -inf)
