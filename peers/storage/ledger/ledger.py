"""The lasting memory of a cell, in its table: places of pages, versions in the index, work to be done.

Theory of operation
===================
The shape of the keys is in `ledger_keys`. The newest version has a key without a stamp, so that the question
asked for every page, "do we have it?", is one `get` and never a scan. The item ids are what two cells compare
(`peers.handover.store`): they stand in front of the value, so that comparing decodes nothing.

The newest version *rules*: what it says is what is found, and a page whose newest version has no document is
not found. So a version without a document is marked like one with, until the index has taken out what it had.
A ruling version that is damaged still rules: an older one does not take its place in the index. What the
index has of all that is in `index_marks`, what the archive has in `segment_counts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from math import inf, nextafter
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from mesh.slot_limits import SLOTS_MAX
from mesh.stamp import BEFORE_ALL, Stamp
from mesh.tables.table import Table, prefix_end
from peers.handover.slot_digests import NOTHING, SlotDigest, SlotDigests, WatchedTable
from peers.handover.wire_messages import ITEM_ID_BYTES
from peers.storage.ledger.extent import Extent
from peers.storage.ledger.host_bytes import HostCuts
from peers.storage.ledger.index_marks import IndexMarks
from peers.storage.ledger.ledger_keys import (
    ADOPTED,
    CUT,
    DAMAGE,
    FOLLOWED,
    FORGOTTEN,
    GONE,
    IDENTITY_BYTES,
    OF_SLOT,
    PLACE,
    TOTALS,
    newest_first,
    pack_slot,
    slot_in,
    stamp_in,
)
from peers.storage.ledger.place import Place, Version, item_value, newest_in, place_in
from peers.storage.ledger.segment_counts import SegmentCounts
from peers.storage.ledger.totals import CellTotals

# Pages with a newest version in memory, some 300 bytes each: it is asked for when a page comes, when it is
# durable, and when it is indexed.
NEWEST_REMEMBERED_MAX: Final = 1_024


class Kept(Enum):
    """The findings of `Ledger.keep` about a version."""

    NEWEST = 0  # it rules from now on
    OLDER = 1
    KNOWN = 2  # it was there already: what was appended is garbage
    REPLACED = 3  # it was there and rules as before, with these records from now on


RULING: Final = (Kept.NEWEST, Kept.REPLACED)


class CellItem(NamedTuple):
    """A version of a page as cells compare them."""

    item_id: bytes
    identity: bytes
    value: bytes  # for `place_in`


def last_extent(table: Table) -> Extent | None:
    """Return the last place of the archive that a cell's section of a table speaks of, for opening it."""
    value = table.get(TOTALS)
    totals = CellTotals() if value is None else _decode_totals(value)
    return Extent(totals.last_segment, totals.last_end - 1, 1) if totals.last_end else None


class Ledger:
    """A cell's entries in its table. Holds nothing itself but counters.

    Counters are in memory until `save`, which is to be called before every commit. One that changes alone, as
    garbage may, waits for the next commit of something else; a crash before that forgets it.
    """

    def __init__(self, table: Table) -> None:
        """Take up the state in the table."""
        self._table = WatchedTable(table, kind_at=0, kinds=PLACE)
        self._digests = SlotDigests(1, self.item_ids, self._item_id)
        self._newest: dict[bytes, Place | None] = {}  # of some pages, as the table has it
        self._table.before_change = self._note_changes
        self._saved_totals = table.get(TOTALS)
        self.totals = CellTotals() if self._saved_totals is None else _decode_totals(self._saved_totals)
        self.marks = IndexMarks(table, self.totals)
        self.segments = SegmentCounts(table, self.totals)
        self.cuts = HostCuts(table)
        self.filled = self._filled_slots()  # mask over SLOTS_MAX slots: where there is anything
        # Gets the pages of which there are other versions than before, if anybody wants to know; None if not.
        self.replaced: set[bytes] | None = None
        self._retention = 0, -inf
        self.newly_filled: list[int] = []  # slots that had nothing, and have; whoever looks empties it

    def save(self) -> None:
        encoded = _encode(self.totals)
        if encoded != self._saved_totals:
            self._saved_totals = encoded
            self._table.put(TOTALS, encoded)
        if self.segments.changed:
            self.segments.save()

    # --- Items, as cells compare them

    def digest_of(self, slot: int) -> SlotDigest:
        """Return the ids of all versions of a slot combined."""
        return self._digests.of(slot) if self.filled[slot] else NOTHING

    def _item_id(self, key: bytes) -> bytes | None:
        value = self._table.get(key)
        return None if value is None else value[:ITEM_ID_BYTES]

    def item_ids(self, slot: int) -> Iterator[bytes]:
        """Return the ids of all versions of a slot."""
        if not self.filled[slot]:
            return
        for _, value in self._table.scan_prefix(PLACE + pack_slot(slot)):
            yield value[:ITEM_ID_BYTES]

    def versions(self, slot: int) -> Iterator[CellItem]:
        """Return the versions of all pages of a slot, page by page, the newest first."""
        if not self.filled[slot]:
            return
        for key, value in self._table.scan_prefix(PLACE + pack_slot(slot)):
            yield CellItem(value[:ITEM_ID_BYTES], key[1 : 1 + IDENTITY_BYTES], value)

    def count_items(self, slots: list[int], limit: int) -> int:
        """Count the items of slots, up to about a limit."""
        count = 0
        for slot in slots:
            if self.filled[slot]:
                count += sum(1 for _ in self._table.scan_prefix(PLACE + pack_slot(slot), limit=limit))
            if count >= limit:
                break
        return count

    def _fill(self, slot: int) -> None:
        if not self.filled[slot]:
            self.filled[slot] = True
            self.newly_filled.append(slot)

    def _filled_slots(self) -> npt.NDArray[np.bool_]:
        """Find the slots with anything by a seek for each."""
        filled = np.zeros(SLOTS_MAX, np.bool_)
        start: bytes | None = PLACE
        while start is not None:
            row = next(self._table.scan(start, prefix_end(PLACE), limit=1), None)
            if row is None:
                break
            slot = slot_in(row[0][1:])
            filled[slot] = True
            start = prefix_end(PLACE + pack_slot(slot))
        return filled

    # --- Versions

    def newest(self, identity: bytes) -> Place | None:
        if identity in self._newest:
            return self._newest[identity]
        newest = newest_in(self._table, identity)
        self._remember(identity, newest)
        return newest

    def _remember(self, identity: bytes, newest: Place | None) -> None:
        if len(self._newest) >= NEWEST_REMEMBERED_MAX:
            self._newest.clear()
        self._newest[identity] = newest

    def _note_changes(self, keys: Sequence[bytes]) -> None:
        """Be told which versions change, before they do."""
        self._digests.note(keys)
        for key in keys:
            self._newest.pop(key[1 : 1 + IDENTITY_BYTES], None)

    def ruling(self, identity: bytes) -> Place | None:
        """Return the newest version; None when there is none, or when a newer one is damaged."""
        newest = self.newest(identity)
        if newest is None or newest.stamp < self._damaged(identity):
            return None
        return newest

    def newest_content(self, identity: bytes) -> Place | None:
        """Return the newest version that shows the page and not only that it was not there."""
        values = (value for _, value in self._table.scan_prefix(PLACE + identity))
        return next((place for place in map(place_in, values) if place.has_content), None)

    def content_at(self, identity: bytes, at_s: float) -> Place | None:
        """Return the version that showed the page last by a time, else the first one that shows it."""
        values = (value for _, value in self._table.scan_prefix(PLACE + identity))
        shown = sorted((place for place in map(place_in, values) if place.has_content), key=_time_of)
        before = [place for place in shown if place.fetched_at <= at_s]
        return before[-1] if before else next(iter(shown), None)

    def versions_of(self, identity: bytes, limit: int) -> list[Place]:
        """Return the newest versions of a page, the newest first."""
        rows = self._table.scan_prefix(PLACE + identity, limit=limit)
        return [place_in(value) for _, value in rows]

    def removed_in(self, slots: Iterable[int]) -> tuple[Version, ...]:
        """Return the pages of these slots of which nothing so old is to be found."""
        wanted = set(slots)
        removed: list[Version] = []
        for key, value in self._table.scan_prefix(DAMAGE) if self.totals.damaged else ():
            if slot_in(key[1:]) in wanted:  # the damaged version itself is welcome
                visit, fetched_at = stamp_in(key[1 + IDENTITY_BYTES :])
                removed.append((value.decode(), Stamp(visit, nextafter(fetched_at, -inf))))
        for slot in sorted(wanted) if self.totals.gone else ():
            for key, _ in self._table.scan_prefix(GONE + pack_slot(slot)) if self.filled[slot] else ():
                place = self.newest(key[1:])
                assert place is not None, "a page that is gone has a version that says so"
                removed.append((place.url, place.stamp))
        return tuple(removed)

    def version(self, identity: bytes, stamp: Stamp) -> Place | None:
        """Return the place of exactly this version."""
        newest = self.newest(identity)
        if newest is None or newest.stamp == stamp:
            return newest
        value = self._table.get(PLACE + identity + newest_first(stamp))
        return None if value is None else place_in(value)

    def lacks(self, identity: bytes, stamp: Stamp, records: bytes | memoryview) -> bool:
        """Tell whether a version that another peer has is to be kept here as well: see `keep`."""
        known = self.version(identity, stamp)
        if known is None and self._has_expired(identity, stamp):
            return False
        return known is None or known.checksum < xxh3_64_intdigest(records)

    def keep(self, identity: bytes, place: Place) -> Kept:
        """Note a version, unless it is known.

        Two versions with one stamp, as two peers may make them of a file, are one: of these the records with
        the greater checksum stay, on every copy.
        """
        newest = self.newest(identity)
        known = None if newest is None else self.version(identity, place.stamp)
        if known is not None and known.checksum >= place.checksum:
            self.segments.count_garbage(place.extent)
            return Kept.KNOWN
        is_newest = newest is None or newest.stamp <= place.stamp
        if known is not None:
            self.segments.count(known.extent, -1)
        elif newest is None:
            self.totals.pages += 1
        elif is_newest:
            self._put_older(identity, newest)
        if is_newest:
            self._table.put(PLACE + identity, item_value(identity, place))
            self._remember(identity, place)
            self._note_gone(identity, newest, place)
        else:
            self._put_older(identity, place)
        self.segments.count(place.extent, 1)
        if newest is not None and self.replaced is not None:
            self.replaced.add(identity)
        self._fill(slot_in(identity))
        if self.totals.damaged:
            self._note_repaired(identity, place.stamp)
        does_rule = is_newest and place.stamp >= self._damaged(identity)
        if not does_rule:
            return Kept.OLDER
        return Kept.NEWEST if known is None else Kept.REPLACED

    def move(self, identity: bytes, place: Place, extent: Extent) -> None:
        """Note that a version is somewhere else now; the copy is garbage if that is there no more."""
        if self.version(identity, place.stamp) != place:
            self.segments.count_garbage(extent)
            return
        moved = msgspec.structs.replace(
            place, segment=extent.segment, offset=extent.offset, length=extent.length
        )
        end = b"" if self.newest(identity) == place else newest_first(place.stamp)
        self._table.put(PLACE + identity + end, item_value(identity, moved))
        self.segments.count(place.extent, -1)
        self.segments.count(extent, 1)

    def set_retention(self, versions_max: int, oldest_s: float) -> bool:
        """Keep no more versions of a page than that, and none that was followed by another before a time.

        Args:
          versions_max: 0 for any number.
          oldest_s: -inf for any time.

        Returns:
          Whether there is such a limit.
        """
        self._retention = versions_max, oldest_s
        return bool(versions_max) or oldest_s > -inf

    def drop_older(self, identity: bytes, place: Place) -> None:
        """Take out a version that is not the newest."""
        key = PLACE + identity + newest_first(place.stamp)
        if self._table.get(key) is not None:
            self._table.delete(key)
            self.marks.unmark_page(identity, place.stamp)
            self.segments.count(place.extent, -1)
            self.totals.expired += 1
            if self.replaced is not None:
                self.replaced.add(identity)

    def _has_expired(self, identity: bytes, stamp: Stamp) -> bool:
        """Would a version that is not here be dropped at once, or was it?"""
        versions_max, oldest_s = self._retention
        if not (versions_max or oldest_s > -inf or self.cuts.are_on):
            return False
        newer = [place for place in self.versions_of(identity, versions_max or 1_000) if place.stamp > stamp]
        if not any(place.has_content for place in newer):
            return False
        oldest_s = max(oldest_s, self.cuts.of(slot_in(identity), newer[-1].url))
        return bool(versions_max and len(newer) >= versions_max) or newer[-1].fetched_at < oldest_s

    def _note_gone(self, identity: bytes, before: Place | None, newest: Place | None) -> None:
        """Keep a row for each page that has no document in its newest version."""
        was_gone = before is not None and not before.has_document
        is_gone = newest is not None and not newest.has_document
        if is_gone and not was_gone:
            self._table.put(GONE + identity, b"")
        elif was_gone and not is_gone:
            self._table.delete(GONE + identity)
        self.totals.gone += is_gone - was_gone

    def places(self, after: bytes, limit: int) -> list[tuple[bytes, bytes, Place]]:
        """Return (key, identity, place) of versions in the order of keys, from the one after `after`."""
        start = after + b"\0" if after else PLACE
        rows = self._table.scan(start, prefix_end(PLACE), limit=limit)
        return [(key, key[1 : 1 + IDENTITY_BYTES], place_in(value)) for key, value in rows]

    @staticmethod
    def place_key(number: int) -> bytes:
        """Return a key for `places` to begin after: that of some slot."""
        return PLACE + pack_slot(number % SLOTS_MAX)

    def _put_older(self, identity: bytes, place: Place) -> None:
        self._table.put(PLACE + identity + newest_first(place.stamp), item_value(identity, place))

    # --- Damage

    def drop_damaged(self, identity: bytes, place: Place) -> bool:
        """Take out a version that cannot be read back, to be replaced; False if it is no longer there."""
        if self.version(identity, place.stamp) != place:
            return False
        if self.replaced is not None:
            self.replaced.add(identity)
        if self.newest(identity) == place:
            self._promote_older(PLACE + identity)
            self._note_gone(identity, place, self.newest(identity))
        else:
            self._table.delete(PLACE + identity + newest_first(place.stamp))
        self.marks.unmark_page(identity, place.stamp)
        self.segments.count(place.extent, -1)
        damage = DAMAGE + identity + newest_first(place.stamp)
        if self._table.get(damage) is None:
            self.totals.damaged += 1
            self._table.put(damage, place.url.encode())
        return True

    def _promote_older(self, key: bytes) -> None:
        """Let the version after the newest one be the newest; without one the page is gone."""
        self._table.delete(key)
        row = next(self._table.scan_prefix(key, limit=1), None)
        if row is None:
            self.totals.pages -= 1
        else:
            self._table.delete(row[0])
            self._table.put(key, row[1])

    def is_damaged(self, identity: bytes) -> bool:
        """Is a version of this page missing until it is repaired?"""
        return self._damaged(identity) > BEFORE_ALL

    def _damaged(self, identity: bytes) -> Stamp:
        """Return which is the newest damaged version of a page, BEFORE_ALL when none is damaged."""
        if not self.totals.damaged:
            return BEFORE_ALL
        row = next(self._table.scan_prefix(DAMAGE + identity, limit=1), None)
        return BEFORE_ALL if row is None else stamp_in(row[0][1 + IDENTITY_BYTES :])

    def damaged(self, limit: int) -> list[bytes]:
        """Return the identities of the first damaged versions."""
        return [key[1 : 1 + IDENTITY_BYTES] for key, _ in self._table.scan_prefix(DAMAGE, limit=limit)]

    def _note_repaired(self, identity: bytes, stamp: Stamp) -> None:
        key = DAMAGE + identity + newest_first(stamp)
        if self._table.get(key) is not None:
            self._table.delete(key)
            self.totals.damaged -= 1
            self.totals.repaired += 1

    def mark_slot(self, slot: int) -> int:
        """Mark the newest version of every page of a slot that has a document; return how many."""
        self.drop_adopted(slot)
        count = 0
        for key, value in self._table.scan_prefix(PLACE + pack_slot(slot)):
            place = place_in(value)
            is_newest = len(key) == 1 + IDENTITY_BYTES
            if is_newest and place.has_document and place.stamp >= self._damaged(key[1:]):
                self.marks.mark_page(key[1:], place.stamp)
                count += 1
        return count

    # --- What is taken down

    @property
    def followed(self) -> bytes:
        """The take-downs that the index follows, as `TakeDowns` writes them; b"" for none."""
        return self._table.get(FOLLOWED) or b""

    def note_followed(self, take_downs: bytes) -> None:
        if take_downs:
            self._table.put(FOLLOWED, take_downs)
        else:
            self._table.delete(FOLLOWED)

    def mark_changed(self, hides: Callable[[str], bool], after: bytes, limit: int) -> bytes:
        """Mark those pages with a document, among the next entries, of which the index has the contrary.

        Args:
          hides: whether a URL is taken down.
          after: what the call before returned, b"" at first.
          limit: entries that are looked at.

        Returns:
          What to go on after; b"" at the end.
        """
        entries = self.places(after, limit)
        for key, identity, place in entries:
            is_newest = len(key) == 1 + IDENTITY_BYTES
            if is_newest and place.has_document and hides(place.url) != self.marks.is_hidden(identity):
                self.marks.drop_adopted(identity)
                self.marks.mark_page(identity, place.stamp)
        return entries[-1][0] if len(entries) == limit else b""

    def adopt(self, identity: bytes, stamp: Stamp, export: bytes) -> None:
        """Note which version the index has got, unless this or a newer one is known here already.

        Args:
          export: 8 bytes for the peer and its export.
        """
        newest = self.newest(identity)
        if newest is None or newest.stamp < stamp:
            self.marks.adopt(identity, stamp, export)

    def drop_adopted(self, slot: int) -> None:
        """Forget which versions of a slot the index has got: it has lost them."""
        for key, _ in self._table.scan_prefix(ADOPTED + pack_slot(slot)):
            self.marks.drop_adopted(key[1:])

    # --- Forgetting slots

    @property
    def forgotten(self) -> bytes:
        """The slots that are being forgotten, as `slot_set` encodes them; b"" for none."""
        return self._table.get(FORGOTTEN) or b""

    def note_forgotten(self, slots: bytes) -> None:
        if slots:
            self._table.put(FORGOTTEN, slots)
        else:
            self._table.delete(FORGOTTEN)

    def forget(self, slot: int, limit: int) -> int:
        """Delete up to `limit` entries of a slot; return how many there were, less when none is left."""
        count = 0
        for kind in OF_SLOT:
            for key, value in self._table.scan_prefix(kind + pack_slot(slot), limit=limit - count):
                self._table.delete(key)
                self._count_forgotten(kind, key, value)
                count += 1
            if count >= limit:
                return count
        self.filled[slot] = False
        return count

    def _count_forgotten(self, kind: bytes, key: bytes, value: bytes) -> None:
        totals = self.totals
        if kind == PLACE:
            self.segments.count(place_in(value).extent, -1)
            totals.pages -= len(key) == 1 + IDENTITY_BYTES
        elif kind == DAMAGE:
            totals.damaged -= 1
        elif kind == GONE:
            totals.gone -= 1
        elif kind != CUT:
            self.marks.count_forgotten(kind, slot_in(key[1:]))


def _time_of(place: Place) -> float:
    return place.fetched_at


_encode = msgspec.msgpack.Encoder().encode
_decode_totals = msgspec.msgpack.Decoder(CellTotals).decode
