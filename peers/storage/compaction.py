"""Gives space back: drops versions that are kept no longer, and empties segments of which enough is dead.

Theory of operation
===================
A segment is deleted as a whole, and only when nothing in it is referred to. One live page in it keeps a
thousand million bytes. So what lives in a segment that is half dead is appended again, at the end of the
archive, and its place in the table is changed when that is durable: then the segment is dead, and removed as
all dead ones are. A crash before that leaves a copy that nobody knows, and the page where it was.

A *sweep* goes over all places in the order of their keys, a few at a time, page by page with the newest
version first. So it also sees which versions are more than are to be kept, and what those of a host take
(`host_bytes`): where that is too much, another sweep follows at once. The newest version of a page, and
the newest that shows it, are never among those. Every peer of a team drops by the same settings, and does not
take again what it has dropped; what is dropped is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from mesh.actors.actor import Address, Send
from peers.storage.cell_store import DamagedVersion
from peers.storage.ledger.host_bytes import HostBytes
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import slot_in
from peers.storage.ledger.place import Place
from peers.storage.messages import AppendBulk, BulkAppended, ExtentsRead, ReadExtents

COMPACTION_TICKET: Final = -1  # tickets of transfers are larger, and so is that of the scrubber
DAY_S: Final = 86_400.0


class RetentionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which versions of a page are kept; 0 for all."""

    versions_max: Annotated[int, Meta(ge=0, description="versions of a page; 0 for all")] = 0
    version_days: Annotated[
        float,
        Meta(ge=0, description="for which a version is kept after a newer one has come; 0 for ever"),
    ] = 0.0
    host_bytes_max: Annotated[int, Meta(ge=0, description="of all versions of a host; 0 for any")] = 0


class CompactionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How fast."""

    bytes_per_s: float = 4e6  # that are copied; 0 for never. A segment of 1 GB, half dead, takes two minutes
    batch_bytes: int = 8 << 20  # that are in memory at a time
    places_per_turn: int = 512  # that are looked at: some milliseconds
    pause_s: float = 0.05  # between two turns
    sweep_s: float = 3_600.0  # from one sweep to the next


class _Move(NamedTuple):
    identity: bytes
    place: Place


class Compaction:
    """One sweep after the other, while there is something to gain."""

    def __init__(
        self, me: str, ledger: Ledger, settings: CompactionSettings, retention: RetentionSettings
    ) -> None:
        self.n_bytes = 0  # copied
        self.n_expired = 0  # versions that were dropped
        self._archive = Address(me, "archive")
        self._ledger = ledger
        self._settings = settings
        self._retention = retention
        self._emptied: frozenset[int] = frozenset()  # segments that this sweep empties
        self._after = b""
        self._page: list[Place] = []  # versions of the last page, the newest first, as far as seen
        self._identity = b""
        self._moves: list[_Move] = []  # read back, or being read back
        self._moved: list[_Move] = []  # being appended
        self._is_sweeping = False
        is_cut = ledger.cuts.are_on = retention.host_bytes_max > 0
        self._is_limited = (
            ledger.set_retention(retention.versions_max, -inf) or retention.version_days > 0 or is_cut
        )
        self._slot = -1  # whose versions are counted
        self._host_bytes = HostBytes(retention.host_bytes_max)
        self._has_new_cuts = False
        self._wake_at = -inf if settings.bytes_per_s else inf

    def wake_at(self) -> float:
        """When to go on: with a sweep, or with the next one if there is anything to gain."""
        is_wanted = self._is_sweeping or self._is_limited or self._ledger.segments.has_waste
        return self._wake_at if is_wanted else inf

    def segments(self) -> set[int]:
        """Return the segments that are being read; they must stay for a moment."""
        return {move.place.segment for move in (*self._moves, *self._moved)}

    def wake(self, now: float, *, is_busy: bool) -> list[Send]:
        """Go on with a sweep, or begin one if there is anything to gain."""
        settings = self._settings
        if is_busy:
            self._wake_at = now + 1.0
            return []
        if not self._is_sweeping:
            self._begin(now)
        places = self._ledger.places(self._after, settings.places_per_turn)
        if not places:
            self._is_sweeping = False
            self._cut_hosts(-1)
            self._wake_at = now + (settings.pause_s if self._has_new_cuts else settings.sweep_s)
            return []
        self._wake_at = now + settings.pause_s
        n_bytes = 0
        for key, identity, place in places:
            self._after = key
            if self._is_expired(identity, place, now):
                self._ledger.drop_older(identity, place)
                self.n_expired += 1
            elif place.segment in self._emptied:
                self._moves.append(_Move(identity, place))
                n_bytes += place.length
                if n_bytes >= settings.batch_bytes:
                    break
        return self._read(now) if self._moves else []

    def take_records(self, answer: ExtentsRead, now: float) -> tuple[list[Send], list[DamagedVersion]]:
        """Append the records that were read back; return also the damages where that failed."""
        if len(answer.are_sound) != len(self._moves):
            return [], []  # asked before a restart
        moves, self._moves = self._moves, []
        damages = [
            DamagedVersion(*move)
            for move, is_sound in zip(moves, answer.are_sound, strict=True)
            if not is_sound
        ]
        self._moved = [move for move, is_sound in zip(moves, answer.are_sound, strict=True) if is_sound]
        if not self._moved:
            self._wake_at = now + self._settings.pause_s
            return [], damages
        records: list[memoryview] = []
        start = 0
        for move in self._moved:
            records.append(memoryview(answer.bulk)[start : start + move.place.length])
            start += move.place.length
        return [Send(self._archive, AppendBulk(COMPACTION_TICKET, tuple(records)))], damages

    def note_appended(self, answer: BulkAppended, now: float) -> None:
        """Let places be where they are now, durably."""
        if len(answer.extents) != len(self._moved):
            return
        moved, self._moved = self._moved, []
        n_bytes = 0
        for (identity, place), extent in zip(moved, answer.extents, strict=True):
            if extent is not None:
                self._ledger.move(identity, place, extent)
                n_bytes += extent.length
        self.n_bytes += n_bytes
        self._wake_at = now + max(self._settings.pause_s, n_bytes / self._settings.bytes_per_s)

    def _begin(self, now: float) -> None:
        """Begin a sweep of the segments wasteful now; those that become so meanwhile are for the next one."""
        segments = self._ledger.segments
        self._emptied, segments.has_waste = frozenset(segments.wasteful()), False
        self._after, self._page, self._identity = b"", [], b""
        self._slot, self._has_new_cuts = -1, False
        self._ledger.set_retention(self._retention.versions_max, self._oldest_s(now))
        self._is_sweeping = True

    def _oldest_s(self, now: float) -> float:
        days = self._retention.version_days
        return now - days * DAY_S if days else -inf

    def _is_expired(self, identity: bytes, place: Place, now: float) -> bool:
        if identity != self._identity:
            self._identity, self._page = identity, []
        slot = slot_in(identity)
        if slot != self._slot:
            self._cut_hosts(slot)
        oldest_s = self._oldest_s(now)
        if self._page:
            oldest_s = max(oldest_s, self._ledger.cuts.of(slot, place.url))
        is_expired = expires(place, self._page, self._retention.versions_max, oldest_s)
        if not is_expired:
            if self._ledger.cuts.are_on:
                may_go = expires(place, self._page, 0, inf)
                self._host_bytes.add(place.url, place.length, self._page[-1].fetched_at if may_go else None)
            self._page.append(place)
        return is_expired

    def _cut_hosts(self, slot: int) -> None:
        """Cut the hosts of the slot that was walked over, for the next sweep; begin to count another one."""
        for host, cut_s in self._host_bytes.cuts().items() if self._slot >= 0 else ():
            self._has_new_cuts |= self._ledger.cuts.lift(self._slot, host, cut_s)
        self._slot, self._host_bytes = slot, HostBytes(self._retention.host_bytes_max)

    def _read(self, now: float) -> list[Send]:
        self._wake_at = inf  # until they are appended
        places = [move.place for move in self._moves]
        extents = tuple(place.extent for place in places)
        checksums = tuple(place.checksum for place in places)
        return [Send(self._archive, ReadExtents(COMPACTION_TICKET, extents, checksums))]


def expires(place: Place, newer: Sequence[Place], versions_max: int, oldest_s: float) -> bool:
    """Tell whether a version is kept no longer.

    Args:
      newer: those of the same page that are kept, the newest first.
      versions_max: 0 for any number.
      oldest_s: what was followed by another one before that goes; -inf for nothing.
    """
    if not newer or (place.has_content and not any(each.has_content for each in newer)):
        return False
    return bool(versions_max and len(newer) >= versions_max) or newer[-1].fetched_at < oldest_s
