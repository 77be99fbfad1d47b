"""Which places of the archive to read back next, so that a flipped bit is found before the last copy has one.

Disks return wrong bytes without a word: Bairavasundaram et al. 2008 found checksum mismatches on up to 4 % of
the disks of some models within 17 months, most of them by scrubbing. Pages that nobody reads are therefore
read a few at a time, while there is little else to do.
"""

from __future__ import annotations

from math import inf

import msgspec

from mesh.stamp import TIME_MAX_S
from peers.storage.cell_store import DamagedVersion
from peers.storage.ledger.ledger import Ledger
from peers.storage.messages import ExtentsRead, ReadExtents

SCRUB_TICKET = 0  # tickets of transfers are larger


class ScrubSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How fast."""

    bytes_per_s: float = 1e6  # 0 for never; 100 GB a day
    places_max: int = 32  # at a time: a disk that turns has done with them in a third of a second
    pause_s: float = 1.0  # between two looks, at least
    busy_looks_max: int = 10  # so many times in a row other work goes first
    pass_pause_s: float = 6 * 3600.0  # from the end of a pass to the next one


class Scrubber:
    """Goes over all places in the order of their keys, again and again."""

    def __init__(self, ledger: Ledger, settings: ScrubSettings) -> None:
        self.n_bytes = 0  # read back
        self._ledger = ledger
        self._settings = settings
        self._after = b""  # key of the last place seen
        self._under_way: list[DamagedVersion] = []  # what would be damaged
        self._busy_looks = 0
        self._began_midway = False  # this pass, not with the first place
        self.wake_at_s = -inf if settings.bytes_per_s else inf  # when to call `wake`

    def wake(self, now: float, *, is_busy: bool) -> ReadExtents | None:
        """Return the order to read back some places now, if any."""
        settings = self._settings
        if self.wake_at_s == -inf:
            # A peer that is started often begins somewhere else every time; from the end it goes on in front.
            self._after = self._ledger.place_key(int(min(now, TIME_MAX_S)))
            self._began_midway = True
        self._busy_looks = self._busy_looks + 1 if is_busy else 0
        if is_busy and self._busy_looks <= settings.busy_looks_max:
            self.wake_at_s = now + settings.pause_s
            return None
        self._busy_looks = 0
        places = self._ledger.places(self._after, settings.places_max)
        if not places:
            self._after = b""
            self.wake_at_s = now + (settings.pause_s if self._began_midway else settings.pass_pause_s)
            self._began_midway = False
            return None
        self.wake_at_s = inf  # until they have been read
        n_bytes = 0
        self._under_way = []
        for key, identity, place in places:
            if self._under_way and n_bytes + place.length > settings.bytes_per_s:
                break
            n_bytes += place.length
            self._after = key
            self._under_way.append(DamagedVersion(identity, place))
        checked = [each.place for each in self._under_way]
        extents = tuple(place.extent for place in checked)
        return ReadExtents(SCRUB_TICKET, extents, tuple(place.checksum for place in checked))

    def take(self, answer: ExtentsRead, now: float) -> list[DamagedVersion]:
        """Return the places that cannot be read back as they were appended."""
        if len(answer.are_sound) != len(self._under_way):
            return []  # asked before a restart
        n_bytes = sum(each.place.length for each in self._under_way)
        self.n_bytes += n_bytes
        self.wake_at_s = now + max(self._settings.pause_s, n_bytes / self._settings.bytes_per_s)
        seen, self._under_way = self._under_way, []
        return [each for each, is_sound in zip(seen, answer.are_sound, strict=True) if not is_sound]
