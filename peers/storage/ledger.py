"""What a cell must not forget, in its table: where pages are, what the index has of them, what is to be done.

Theory of operation
===================
Every key is one letter for the kind of entry, then the slot in two bytes, then the fingerprint of the URL.
So all entries of a kind and a slot stand together, and a slot is compared, handed over or forgotten by a
few scans. *Identity* below means those 18 bytes of slot and fingerprint.

    p identity           newest version of a page: item id, place
    p identity stamp     older versions, newest first
    t identity           digest of the link texts that the index has, or is given, with a page; none for none
    g identity           the newest version has no document: the page is not to be found
    u identity stamp     mark: this version is not yet in a durable commit of the index
    x identity           mark: the index has this page with other link texts
    i identity           the index got this version (its stamp) from another peer, in that export
    y identity stamp     damaged: this version could not be read back, and is to come from another peer
    s segment            bytes of a segment of the archive that are referred to, and that are not
    f                    slots that are being forgotten
    #2                   totals

The newest version has a key without a time, so that the question asked for every page, "do we have it?",
is one `get` and never a scan. The item ids are what two cells compare (`peers.handover.store`): they stand
in front of the value, so that comparing decodes nothing.

The newest version *rules*: what it says is what is found, and a page whose newest version has no document is
not found. So a version without a document is marked like one with, until the index has taken out what it had.
A ruling version that is damaged still rules: an older one does not take its place in the index.

"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from math import inf, nextafter
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_digest, xxh3_64_intdigest

from mesh.errors import StorageError
from mesh.slots import SLOTS_MAX
from mesh.stamp import BEFORE_ALL, Stamp, VisitNumber
from mesh.table import Table, prefix_end
from mesh.urls import fingerprint
from peers.handover.slot_digests import NOTHING, SlotDigest, SlotDigests, WatchedTable
from peers.handover.wire_messages import ITEM_ID_BYTES
from peers.storage.extent import Extent

IDENTITY_BYTES: Final = 18

_PLACE: Final = b"p"
_TEXTS: Final = b"t"
_GONE: Final = b"g"
_PAGE_MARK: Final = b"u"
_TEXTS_MARK: Final = b"x"
_ADOPTED: Final = b"i"
_DAMAGE: Final = b"y"
_SEGMENT: Final = b"s"
_FORGOTTEN: Final = b"f"
UNKNOWN_TEXTS: Final = b"?"  # for `note_texts_given`: the digest of no texts
_TOTALS: Final = b"#2"
_TOTALS_BEFORE: Final = b"#"  # of another layout
# Of a slot, in the order of forgetting: a mark never outlives its page.
_OF_SLOT: Final = (_TEXTS_MARK, _PAGE_MARK, _ADOPTED, _DAMAGE, _GONE, _TEXTS, _PLACE)

Version: TypeAlias = tuple[str, Stamp]  # of a URL


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where one version of a page is in the archive."""

    url: str
    fetched_at: float  # seconds since the epoch
    status: int
    segment: int
    offset: int  # bytes
    length: int  # bytes
    checksum: int  # XXH3-64 of the records
    has_document: bool  # False: it is kept, and the page is not to be found
    visit: VisitNumber = 0

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.visit, self.fetched_at)

    @property
    def extent(self) -> Extent:
        return Extent(self.segment, self.offset, self.length)

    @property
    def has_content(self) -> bool:
        """Is it the page, to be shown as it was then, or only word that it was not there?"""
        return self.has_document or 200 <= self.status < 300


class Totals(msgspec.Struct, array_like=True):
    """Counters that survive a restart because they are written with what they count."""

    pages: int = 0  # distinct URLs
    stored: int = 0  # versions kept as owner, ever
    replicated: int = 0  # versions kept as team member, ever
    brought: int = 0  # versions brought from another cell, ever
    pages_marked: int = 0
    texts_marked: int = 0
    adopted: int = 0  # entries
    damaged: int = 0  # entries
    repaired: int = 0  # versions that were damaged and came back, ever
    archive_bytes: int = 0  # of all versions
    garbage_bytes: int = 0  # in the archive, that nothing refers to
    last_segment: int = 0  # where the archive was known to be sound when this was written
    last_end: int = 0
    gone: int = 0  # pages whose newest version has no document


class Kept(Enum):
    """What `Ledger.keep` found."""

    NEWEST = 0  # it rules from now on
    OLDER = 1
    KNOWN = 2  # it was there already: what was appended is garbage


class Item(NamedTuple):
    """A version of a page as cells compare them."""

    item_id: bytes
    identity: bytes
    value: bytes  # for `place_in`


def identity_of(slot: int, url: str) -> bytes:
    """Return the slot and the fingerprint of a page: 18 bytes."""
    return _pack_slot(slot) + fingerprint(url)


def slot_in(key: bytes) -> int:
    """Return the slot that an identity, or the key of a mark, begins with."""
    return int.from_bytes(key[:2], "big")


def last_extent(table: Table) -> Extent | None:
    """Return the last place of the archive that a cell's section of a table speaks of, for opening it."""
    value = table.get(_TOTALS)
    totals = Totals() if value is None else _decode_totals(value)
    return Extent(totals.last_segment, totals.last_end - 1, 1) if totals.last_end else None


class Ledger:
    """A cell's entries in its table. Holds nothing itself but counters.

    Whoever changes something calls `save` once before giving control back, so that the counters are in the
    same commit.
    """

    def __init__(self, table: Table) -> None:
        """Take up what the table has.

        Raises:
          StorageError: an earlier version of this program wrote it.
        """
        if table.get(_TOTALS_BEFORE) is not None:
            raise StorageError(
                "an earlier version wrote the table of this peer:"
                " start it with an empty data folder, the others bring its pages back"
            )
        self._table = WatchedTable(table, kind_at=0, kinds=_PLACE)
        self._digests = SlotDigests(1, self.item_ids, self._item_id)
        self._table.before_change = self._digests.note
        self._saved_totals = table.get(_TOTALS)
        self.totals = Totals() if self._saved_totals is None else _decode_totals(self._saved_totals)
        self.marks_by_slot: npt.NDArray[np.int32] = np.zeros(SLOTS_MAX, np.int32)
        for kind in (_PAGE_MARK, _TEXTS_MARK):
            for key, _ in table.scan_prefix(kind):
                self.marks_by_slot[slot_in(key[1:])] += 1
        self._segments = {
            int.from_bytes(key[1:], "big"): list(_decode_counts(value))
            for key, value in table.scan_prefix(_SEGMENT)
        }
        self._changed_segments: set[int] = set()
        self.has_dead_segments = True  # there may be some: `dead_segments` tells
        self.filled = self._filled_slots()  # mask over SLOTS_MAX slots: where there is anything
        self.newly_filled: list[int] = []  # slots that had nothing, and have; whoever looks empties it
        self.marked_since: list[set[bytes]] = []  # each gets the identities of pages that are marked

    def save(self) -> None:
        encoded = _encode(self.totals)
        if encoded != self._saved_totals:  # what changes nothing shall not cause a commit
            self._saved_totals = encoded
            self._table.put(_TOTALS, encoded)
        for number in self._changed_segments:
            counts = self._segments[number]
            self._table.put(_SEGMENT + number.to_bytes(4, "big"), _encode(counts))
        self._changed_segments.clear()

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
        for _, value in self._table.scan_prefix(_PLACE + _pack_slot(slot)):
            yield value[:ITEM_ID_BYTES]

    def versions(self, slot: int) -> Iterator[Item]:
        """Return the versions of all pages of a slot, page by page, the newest first."""
        if not self.filled[slot]:
            return
        for key, value in self._table.scan_prefix(_PLACE + _pack_slot(slot)):
            yield Item(value[:ITEM_ID_BYTES], key[1 : 1 + IDENTITY_BYTES], value)

    def count_items(self, slots: list[int], limit: int) -> int:
        """Count the items of slots, up to about a limit."""
        count = 0
        for slot in slots:
            if self.filled[slot]:
                count += sum(1 for _ in self._table.scan_prefix(_PLACE + _pack_slot(slot), limit=limit))
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
        start: bytes | None = _PLACE
        while start is not None:
            row = next(self._table.scan(start, prefix_end(_PLACE), limit=1), None)
            if row is None:
                break
            slot = slot_in(row[0][1:])
            filled[slot] = True
            start = prefix_end(_PLACE + _pack_slot(slot))
        return filled

    # --- Versions

    def newest(self, identity: bytes) -> Place | None:
        return newest_in(self._table, identity)

    def ruling(self, identity: bytes) -> Place | None:
        """Return the newest version; None when there is none, or when a newer one is damaged."""
        newest = self.newest(identity)
        if newest is None or newest.stamp < self._damaged(identity):
            return None
        return newest

    def newest_content(self, identity: bytes) -> Place | None:
        """Return the newest version that shows the page and not only that it was not there."""
        values = (value for _, value in self._table.scan_prefix(_PLACE + identity))
        return next((place for place in map(place_in, values) if place.has_content), None)

    def removed_in(self, slots: Iterable[int]) -> tuple[Version, ...]:
        """Return the pages of these slots of which nothing so old is to be found."""
        wanted = set(slots)
        removed: list[Version] = []
        for key, value in self._table.scan_prefix(_DAMAGE) if self.totals.damaged else ():
            if slot_in(key[1:]) in wanted:  # the damaged version itself is welcome
                visit, fetched_at = _stamp_in(key[1 + IDENTITY_BYTES :])
                removed.append((value.decode(), Stamp(visit, nextafter(fetched_at, -inf))))
        for slot in sorted(wanted) if self.totals.gone else ():
            for key, _ in self._table.scan_prefix(_GONE + _pack_slot(slot)) if self.filled[slot] else ():
                place = self.newest(key[1:])
                assert place is not None, "a page that is gone has a version that says so"
                removed.append((place.url, place.stamp))
        return tuple(removed)

    def version(self, identity: bytes, stamp: Stamp) -> Place | None:
        """Return the place of exactly this version."""
        newest = self.newest(identity)
        if newest is None or newest.stamp == stamp:
            return newest
        value = self._table.get(_PLACE + identity + _newest_first(stamp))
        return None if value is None else place_in(value)

    def lacks(self, identity: bytes, stamp: Stamp, records: bytes | memoryview) -> bool:
        """Tell whether a version that another peer has is to be kept here as well: see `keep`."""
        known = self.version(identity, stamp)
        return known is None or known.checksum < xxh3_64_intdigest(records)

    def keep(self, identity: bytes, place: Place) -> Kept:
        """Note a version, unless it is known.

        Two versions with one stamp, as two peers may make them of a file, are one: of these the records with
        the greater checksum stay, on every copy.
        """
        newest = self.newest(identity)
        known = None if newest is None else self.version(identity, place.stamp)
        if known is not None and known.checksum >= place.checksum:
            self.count_garbage(place.extent)
            return Kept.KNOWN
        is_newest = newest is None or newest.stamp <= place.stamp
        if known is not None:
            self._count(known.extent, -1)
        elif newest is None:
            self.totals.pages += 1
        elif is_newest:
            self._put_older(identity, newest)
        if is_newest:
            self._table.put(_PLACE + identity, _item_value(identity, place))
            self._note_gone(identity, newest, place)
        else:
            self._put_older(identity, place)
        self._count(place.extent, 1)
        self._fill(slot_in(identity))
        if self.totals.damaged:
            self._note_repaired(identity, place.stamp)
        does_rule = is_newest and place.stamp >= self._damaged(identity)
        return Kept.NEWEST if does_rule else Kept.OLDER

    def _note_gone(self, identity: bytes, before: Place | None, newest: Place | None) -> None:
        """Keep the row of pages whose newest version has no document."""
        was_gone = before is not None and not before.has_document
        is_gone = newest is not None and not newest.has_document
        if is_gone and not was_gone:
            self._table.put(_GONE + identity, b"")
        elif was_gone and not is_gone:
            self._table.delete(_GONE + identity)
        self.totals.gone += is_gone - was_gone

    def places(self, after: bytes, limit: int) -> list[tuple[bytes, bytes, Place]]:
        """Return (key, identity, place) of versions in the order of keys, from the one after `after`."""
        start = after + b"\0" if after else _PLACE
        rows = self._table.scan(start, prefix_end(_PLACE), limit=limit)
        return [(key, key[1 : 1 + IDENTITY_BYTES], place_in(value)) for key, value in rows]

    @staticmethod
    def place_key(number: int) -> bytes:
        """Return a key for `places` to begin after: that of some slot."""
        return _PLACE + _pack_slot(number % SLOTS_MAX)

    def _put_older(self, identity: bytes, place: Place) -> None:
        self._table.put(_PLACE + identity + _newest_first(place.stamp), _item_value(identity, place))

    # --- Damage

    def drop_damaged(self, identity: bytes, place: Place) -> bool:
        """Take out a version that cannot be read back, to be replaced; False if it is no longer there."""
        if self.version(identity, place.stamp) != place:
            return False
        if self.newest(identity) == place:
            self._promote_older(_PLACE + identity)
            self._note_gone(identity, place, self.newest(identity))
        else:
            self._table.delete(_PLACE + identity + _newest_first(place.stamp))
        self.unmark_page(identity, place.stamp)
        self._count(place.extent, -1)
        damage = _DAMAGE + identity + _newest_first(place.stamp)
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
        row = next(self._table.scan_prefix(_DAMAGE + identity, limit=1), None)
        return BEFORE_ALL if row is None else _stamp_in(row[0][1 + IDENTITY_BYTES :])

    def damaged(self, limit: int) -> list[bytes]:
        """Return the identities of the first damaged versions."""
        return [key[1 : 1 + IDENTITY_BYTES] for key, _ in self._table.scan_prefix(_DAMAGE, limit=limit)]

    def _note_repaired(self, identity: bytes, stamp: Stamp) -> None:
        key = _DAMAGE + identity + _newest_first(stamp)
        if self._table.get(key) is not None:
            self._table.delete(key)
            self.totals.damaged -= 1
            self.totals.repaired += 1

    # --- Link texts

    def texts_given(self, identity: bytes) -> bytes:
        """Return the digest (`texts_digest`) of the texts that the index has with a page, as far as known."""
        return self._table.get(_TEXTS + identity) or b""

    def note_texts_given(self, identity: bytes, digest: bytes) -> None:
        if digest == self.texts_given(identity):
            return
        if digest:
            self._table.put(_TEXTS + identity, digest)
        else:
            self._table.delete(_TEXTS + identity)

    # --- What is not yet indexed

    def mark_page(self, identity: bytes, stamp: Stamp) -> None:
        """Note that the index is to have this version, with the link texts that are known when it gets it.

        Of one without a document it is to have nothing.
        """
        key = _PAGE_MARK + identity + _newest_first(stamp)
        if self._table.get(key) is None:
            self._table.put(key, b"")
            self.totals.pages_marked += 1
            self.marks_by_slot[slot_in(identity)] += 1
        if self.totals.adopted:
            self._drop_adopted(identity)
        if self.totals.texts_marked:
            self.unmark_texts(identity)
        self._tell_marked(identity)

    def mark_slot(self, slot: int) -> int:
        """Mark the newest version of every page of a slot that has a document; return how many."""
        for key, _ in self._table.scan_prefix(_ADOPTED + _pack_slot(slot)):
            self._drop_adopted(key[1:])
        count = 0
        for key, value in self._table.scan_prefix(_PLACE + _pack_slot(slot)):
            place = place_in(value)
            is_newest = len(key) == 1 + IDENTITY_BYTES
            if is_newest and place.has_document and place.stamp >= self._damaged(key[1:]):
                self.mark_page(key[1:], place.stamp)
                count += 1
        return count

    def unmark_page(self, identity: bytes, stamp: Stamp) -> None:
        """Take back a mark; none is no error."""
        key = _PAGE_MARK + identity + _newest_first(stamp)
        if self._table.get(key) is not None:
            self._table.delete(key)
            self.totals.pages_marked -= 1
            self.marks_by_slot[slot_in(identity)] -= 1

    def has_page_mark(self, identity: bytes) -> bool:
        """Is any version of this page still to be indexed?"""
        if not self.marks_by_slot[slot_in(identity)]:
            return False
        return next(self._table.scan_prefix(_PAGE_MARK + identity, limit=1), None) is not None

    def marked_pages(self, after: bytes, limit: int) -> list[tuple[bytes, Stamp]]:
        """Return (identity, stamp) of marks in order, from the one after `after`.

        `after` is b"" or `mark_key` of the last one seen.
        """
        start = _PAGE_MARK + after + b"\0" if after else _PAGE_MARK
        rows = self._table.scan(start, prefix_end(_PAGE_MARK), limit=limit)
        return [(key[1:19], _stamp_in(key[19:])) for key, _ in rows]

    def mark_texts(self, identity: bytes) -> None:
        """Note that the link texts known are to be indexed."""
        key = _TEXTS_MARK + identity
        if self._table.get(key) is None:
            self._table.put(key, b"")
            self.totals.texts_marked += 1
            self.marks_by_slot[slot_in(identity)] += 1
        self._tell_marked(identity)

    def _tell_marked(self, identity: bytes) -> None:
        for marked in self.marked_since:
            marked.add(identity)

    def unmark_texts(self, identity: bytes) -> None:
        """Take back a mark; none is no error."""
        if self.has_texts_mark(identity):
            self._table.delete(_TEXTS_MARK + identity)
            self.totals.texts_marked -= 1
            self.marks_by_slot[slot_in(identity)] -= 1

    def has_texts_mark(self, identity: bytes) -> bool:
        return self.totals.texts_marked > 0 and self._table.get(_TEXTS_MARK + identity) is not None

    def marked_of(self, slots: Iterable[int]) -> set[bytes]:
        """Return the identities of these slots with any marks."""
        return {
            key[1 : 1 + IDENTITY_BYTES]
            for slot in slots
            if self.marks_by_slot[slot]
            for kind in (_PAGE_MARK, _TEXTS_MARK)
            for key, _ in self._table.scan_prefix(kind + _pack_slot(slot))
        }

    def marked_texts(self, after: bytes, limit: int) -> list[bytes]:
        """Return the identities with marks in order, from the one after `after`."""
        start = _TEXTS_MARK + after + b"\0" if after else _TEXTS_MARK
        return [key[1:] for key, _ in self._table.scan(start, prefix_end(_TEXTS_MARK), limit=limit)]

    # --- What came with another peer's index

    def adopt(self, identity: bytes, stamp: Stamp, export: bytes) -> None:
        """Note which version the index has got; not while it may get another one from the indexer.

        Args:
          export: 8 bytes for the peer and its export.
        """
        newest = self.newest(identity)
        if self.has_page_mark(identity) or (newest is not None and newest.stamp >= stamp):
            return
        key = _ADOPTED + identity
        if self._table.get(key) is None:
            self.totals.adopted += 1
        self._table.put(key, _newest_first(stamp) + export)

    def take_adopted(self, identity: bytes, stamp: Stamp) -> bytes | None:
        """Return in which export the index has got this version, the newest one, None if it has not.

        What was noted is dropped.
        """
        value = self._drop_adopted(identity)
        is_it = value is not None and value[:_STAMP_BYTES] == _newest_first(stamp)
        return value[_STAMP_BYTES:] if value is not None and is_it else None

    def _drop_adopted(self, identity: bytes) -> bytes | None:
        if not self.totals.adopted:
            return None
        value = self._table.get(_ADOPTED + identity)
        if value is not None:
            self._table.delete(_ADOPTED + identity)
            self.totals.adopted -= 1
        return value

    # --- Segments of the archive

    def count_garbage(self, extent: Extent) -> None:
        """Count what was appended and is not referred to."""
        self._counts_of(extent)[1] += extent.length
        self.totals.garbage_bytes += extent.length

    def dead_segments(self) -> list[int]:
        """Return the segments that nothing refers to, without the last one known."""
        last = max(self._segments, default=0)
        return [number for number, (live, _) in self._segments.items() if not live and number != last]

    def drop_segment(self, number: int) -> None:
        """Forget a segment that was removed."""
        live, dead = self._segments.pop(number, (0, 0))
        assert not live, f"segment {number} was removed with {live} bytes in use"
        self.totals.garbage_bytes -= dead
        self._changed_segments.discard(number)
        self._table.delete(_SEGMENT + number.to_bytes(4, "big"))

    def _count(self, extent: Extent, sign: int) -> None:
        """Count an extent as in use from now on, or (-1) as garbage."""
        counts = self._counts_of(extent)
        counts[0] += sign * extent.length
        assert counts[0] >= 0, extent
        self.totals.archive_bytes += sign * extent.length
        if sign < 0:
            self.count_garbage(extent)
            self.has_dead_segments |= not counts[0]

    def _counts_of(self, extent: Extent) -> list[int]:
        self._changed_segments.add(extent.segment)
        totals = self.totals
        if (extent.segment, extent.end) > (totals.last_segment, totals.last_end):
            totals.last_segment, totals.last_end = extent.segment, extent.end
        return self._segments.setdefault(extent.segment, [0, 0])

    # --- Forgetting slots

    @property
    def forgotten(self) -> bytes:
        """The slots that are being forgotten, as `slot_set` encodes them; b"" for none."""
        return self._table.get(_FORGOTTEN) or b""

    def note_forgotten(self, slots: bytes) -> None:
        if slots:
            self._table.put(_FORGOTTEN, slots)
        else:
            self._table.delete(_FORGOTTEN)

    def forget(self, slot: int, limit: int) -> int:
        """Delete up to `limit` entries of a slot; return how many there were, less when none is left."""
        count = 0
        for kind in _OF_SLOT:
            for key, value in self._table.scan_prefix(kind + _pack_slot(slot), limit=limit - count):
                self._table.delete(key)
                self._count_forgotten(kind, key, value)
                count += 1
            if count >= limit:
                return count
        self.filled[slot] = False
        return count

    def _count_forgotten(self, kind: bytes, key: bytes, value: bytes) -> None:
        totals = self.totals
        if kind == _PLACE:
            self._count(place_in(value).extent, -1)
            totals.pages -= len(key) == 1 + IDENTITY_BYTES
        elif kind == _PAGE_MARK:
            totals.pages_marked -= 1
        elif kind == _TEXTS_MARK:
            totals.texts_marked -= 1
        elif kind == _ADOPTED:
            totals.adopted -= 1
        elif kind == _DAMAGE:
            totals.damaged -= 1
        elif kind == _GONE:
            totals.gone -= 1
        if kind in (_PAGE_MARK, _TEXTS_MARK):
            self.marks_by_slot[slot_in(key[1:])] -= 1


def newest_in(table: Table, identity: bytes) -> Place | None:
    """Return the newest version of a page that a cell's section of a table speaks of; None for none."""
    value = table.get(_PLACE + identity)
    return None if value is None else place_in(value)


def mark_key(identity: bytes, stamp: Stamp) -> bytes:
    """Return what `Ledger.marked_pages` continues after."""
    return identity + _newest_first(stamp)


def place_in(value: bytes) -> Place:
    """Read the place in an item of a version."""
    return _decode_place(value[ITEM_ID_BYTES:])


def _item_value(identity: bytes, place: Place) -> bytes:
    content = _VERSION.pack(
        identity, place.visit, place.fetched_at, place.status, place.has_document, place.checksum
    )
    return bytes(xxh3_64_digest(content)) + _encode(place)


_encode = msgspec.msgpack.Encoder().encode
_decode_place = msgspec.msgpack.Decoder(Place).decode
_decode_totals = msgspec.msgpack.Decoder(Totals).decode
_decode_counts = msgspec.msgpack.Decoder(tuple[int, int]).decode
_pack_slot = Struct(">H").pack
_VERSION = Struct(">18sIdH?Q")
_stamp = Struct(">Id")
_STAMP_BYTES = _stamp.size
_ALL_BITS = (1 << 8 * _STAMP_BYTES) - 1


def _newest_first(stamp: Stamp) -> bytes:
    """Twelve bytes that fall as the stamp grows: doubles from 0 on are ordered as their bit patterns."""
    bits = int.from_bytes(_stamp.pack(*stamp), "big")
    return (bits ^ _ALL_BITS).to_bytes(_STAMP_BYTES, "big")


def _stamp_in(key_end: bytes) -> Stamp:
    bits = int.from_bytes(key_end, "big")
    return Stamp(*_stamp.unpack((bits ^ _ALL_BITS).to_bytes(_STAMP_BYTES, "big")))
