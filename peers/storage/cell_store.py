"""The pages of a cell as `handover.exchange.Exchange` brings them from peer to peer: in bulk.

Theory of operation
===================
*Sending.* Pages go slot by slot as parts of some megabytes: one row for each page, and the records of its
versions back to back, which the archive port reads in one order. What it finds damaged is left out.

Parsing and inverting every page again would take many times as long as moving it. So to a peer that has next
to nothing of the slots their documents go first, as segments of the index, which it adopts as they are. The
receiver decides by itself for which pages that counts: it notes the versions that its index has committed
(`Ledger.adopt`), and a version that comes and is noted needs no mark. It is no longer noted as soon as any
version of the page is given to the indexer, for a batch that is on its way there could put an older document
over the adopted one. All other versions are marked and indexed from their records. Who sends may know less
than who receives: with the segments goes which pages are removed by now, and of these the index takes nothing
that is not newer. What is removed later is marked, and comes to the index behind what it adopts.

Link texts of adopted documents are those that the sender's index had. The sender says by a digest which ones
these are, unless the page had any mark when the documents were ordered, or has got one since. It is believed,
as the texts themselves are, of the documents of the same export only, and where our own frontier knows other
texts by then, or hears of them later, the index gets those.

*Receiving.* A part is checked whole before anything of it counts: its rows here, its records by the archive
port, its documents by the index. What is appended or adopted is durable before it is noted in the table; a
crash in between leaves garbage in the archive, or documents that are noted nowhere, so the pages come again
and are marked. A crash after it leaves what is noted and marked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
from xxhash import xxh3_64_digest, xxh3_64_intdigest

from mesh.actors.actor import Address, Send
from mesh.errors import RemoteProtocolError
from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import SlotMask, decode_any_slots, encode_slot_list, encode_slots
from peers.handover.slot_digests import SlotDigest
from peers.handover.store import Part
from peers.handover.wire_messages import BULK_BYTES_MAX
from peers.index.messages import (
    AdoptDocuments,
    DocumentsAdopted,
    DocumentsExported,
    ExportDocuments,
    NextDocuments,
    StopExport,
)
from peers.storage.ledger.index_marks import UNKNOWN_TEXTS
from peers.storage.ledger.ledger import RULING, CellItem, Kept, Ledger
from peers.storage.ledger.ledger_keys import identity_of
from peers.storage.ledger.place import Place, place_in
from peers.storage.link_texts import LinkTexts, texts_digest
from peers.storage.messages import AppendBulk, BulkAppended, ExtentsRead, ReadExtents
from peers.storage.part_content import (
    ROWS_MAX,
    Documents,
    PageRow,
    Pages,
    VersionRow,
    decode_content,
    encode_content,
)
from peers.storage.take_downs import TakeDowns

# Of the records in one part: an fsync for each costs little, and four on their way fill any line.
PART_RECORDS_BYTES: Final = 2 << 20
PART_ROWS_BYTES: Final = 1 << 20
# Who has less than this share of the items gets the documents, too: for few pages it would not pay.
HAVE_SHARE_MAX: Final = 0.1
FORGOTTEN_AT_ONCE: Final = 1_024  # entries in one scan


class DamagedVersion(NamedTuple):
    """A version that could not be read back."""

    identity: bytes
    place: Place


@dataclass(slots=True)
class _Row:
    """The versions of a page that are to be sent."""

    identity: bytes
    url: str
    is_indexed: bool
    places: list[Place] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Arrival:
    """Pages with records on their way into the archive."""

    export: bytes  # as the ledger knows it
    rows: list[tuple[bytes, PageRow, list[VersionRow]]]  # identity, page, which of its versions are new
    records: tuple[memoryview, ...]  # of those versions


class CellStore:
    """A `handover.store.Store` over a ledger, and over the archive and the index of the same peer."""

    def __init__(
        self,
        me: str,
        ledger: Ledger,
        texts: LinkTexts,
        take_downs: TakeDowns,
        slot_of: Callable[[str], int | None],
        part_bytes: int = PART_RECORDS_BYTES,
    ) -> None:
        """Begin with nothing under way.

        Args:
          texts: of the links to pages.
          slot_of: returns the slot of a URL, None for what is no URL.
          part_bytes: of the records in one part, unless a single one has more.
        """
        self.items_refused = 0  # see `handover.store.Store`; versions without whole records among them
        self._ledger = ledger
        self._link_texts = texts
        self._take_downs = take_downs
        self._slot_of = slot_of
        self._part_bytes = part_bytes
        self._archive = Address(me, "archive")
        self._segments = Address(me, "segments")
        self._reading: dict[int, list[_Row]] = {}  # by ticket of the transfer
        self._exports: dict[int, bool] = {}  # by ticket of the transfer: was that the last piece?
        self._abandoned: list[int] = []  # exports that are not to be gone on with
        self._arrivals: dict[int, _Arrival] = {}
        self._adopting: dict[int, bytes] = {}  # export, as the ledger knows it
        self.newly_filled = ledger.newly_filled
        # Slots; the table remembers them, for of what is half forgotten the marks may be gone already.
        self._forgetting: set[int] = set()
        self.forgotten: list[int] = []  # of which nothing is left now; the cell empties it
        if ledger.forgotten:
            self._forgetting.update(np.flatnonzero(decode_any_slots(ledger.forgotten)).tolist())

    def filled_mask(self, slot_count: int) -> SlotMask:
        """See `handover.store.Store`."""
        return self._ledger.filled[:slot_count]

    def item_ids(self, slot: int) -> Iterable[bytes]:
        """See `handover.store.Store`."""
        return self._ledger.item_ids(slot)

    def digest_of(self, slot: int) -> SlotDigest:
        """See `handover.store.Store`."""
        return self._ledger.digest_of(slot)

    # --- Sending

    def parts(self, ticket: int, slots: SlotMask, have: Collection[bytes]) -> Iterator[Part | Send]:
        """See `handover.store.Store`; the answers of the ports go to `take_documents` and `take_records`."""
        numbers = np.flatnonzero(slots).tolist()
        if not self._pays_to_export(numbers, have):
            yield from self._page_parts(ticket, numbers, have, None)
            return
        marked = self._ledger.marks.marked_of(numbers)
        self._ledger.marks.since.append(marked)
        try:
            self._exports[ticket] = False
            yield Send(self._segments, ExportDocuments(ticket, encode_slots(slots)))
            while not self._exports[ticket]:
                yield Send(self._segments, NextDocuments(ticket))
            yield from self._page_parts(ticket, numbers, have, marked)
        finally:  # also when nobody takes the rest
            if not self._exports.pop(ticket):
                self._abandoned.append(ticket)
            self._ledger.marks.since[:] = [each for each in self._ledger.marks.since if each is not marked]

    def take_documents(self, answer: DocumentsExported) -> Part | None:
        """Return the part made of a piece of the index; None when nobody waits for it any more."""
        if answer.ticket not in self._exports:
            return None
        self._exports[answer.ticket] = answer.is_last
        items = encode_content(Documents(answer.ticket)) if answer.content else b""
        return Part(items, answer.content)

    def take_records(self, answer: ExtentsRead) -> tuple[Part | None, list[DamagedVersion]]:
        """Return the part made of the records read, and the damages where they could not be read."""
        export = answer.ticket if answer.ticket in self._exports else 0
        rows = self._reading.pop(answer.ticket, None)
        if rows is None:
            return None, []
        are_sound = iter(answer.are_sound)
        damages: list[DamagedVersion] = []
        content: list[PageRow] = []
        for row in rows:
            sound: list[VersionRow] = []
            for place in row.places:
                if next(are_sound):
                    version = _version_row(place)
                    sound.append(version)
                else:
                    damages.append(DamagedVersion(row.identity, place))
            texts = self._ledger.marks.texts_given(row.identity) if row.is_indexed else b""
            is_indexed = row.is_indexed and texts != UNKNOWN_TEXTS
            content.append(PageRow(row.url, is_indexed, texts, tuple(sound)))
        return Part(encode_content(Pages(export, tuple(content))), answer.bulk), damages

    def stop_abandoned(self) -> list[Send]:
        """Return orders to stop the exports that nobody takes any more."""
        abandoned, self._abandoned = self._abandoned, []
        return [Send(self._segments, StopExport(ticket)) for ticket in abandoned]

    def _pays_to_export(self, slots: list[int], have: Collection[bytes]) -> bool:
        least = int(len(have) / HAVE_SHARE_MAX) + 1
        return self._ledger.count_items(slots, least) >= least

    def _page_parts(
        self, ticket: int, slots: list[int], have: Collection[bytes], marked: set[bytes] | None
    ) -> Iterator[Part | Send]:
        rows: list[_Row] = []
        records_bytes = rows_bytes = 0
        for row in self._rows(slots, have, marked):
            length = sum(place.length for place in row.places)
            size = 100 + len(row.url) + sum(24 + len(place.moved_to) for place in row.places)
            is_full = records_bytes + length > self._part_bytes or rows_bytes + size > PART_ROWS_BYTES
            if rows and (is_full or len(rows) == ROWS_MAX):
                yield self._read(ticket, rows)
                rows, records_bytes, rows_bytes = [], 0, 0
            rows.append(row)
            records_bytes += length
            rows_bytes += size
        if rows:
            yield self._read(ticket, rows)

    def _rows(self, slots: list[int], have: Collection[bytes], marked: set[bytes] | None) -> Iterator[_Row]:
        """Return lacking versions page by page; a page with many makes several rows, newest first."""
        for slot in slots:
            for identity, versions in groupby(self._ledger.versions(slot), _identity_of_item):
                first = next(versions)
                lacking = [each.value for each in (first, *versions) if each.item_id not in have]
                if not lacking:
                    continue
                is_indexed = marked is not None and identity not in marked
                row = _Row(identity, place_in(first.value).url, is_indexed)
                length = 0
                for value in lacking:
                    place = place_in(value)
                    if row.places and length + place.length > self._part_bytes:
                        yield row
                        row = _Row(identity, place.url, is_indexed=False)
                        length = 0
                    if place.length <= BULK_BYTES_MAX:
                        row.places.append(place)
                        length += place.length
                yield row

    def _read(self, ticket: int, rows: list[_Row]) -> Send:
        self._reading[ticket] = rows
        places = [place for row in rows for place in row.places]
        extents = tuple(place.extent for place in places)
        return Send(self._archive, ReadExtents(ticket, extents, tuple(place.checksum for place in places)))

    # --- Forgetting

    @property
    def is_forgetting(self) -> bool:
        return bool(self._forgetting)

    def forget_later(self, slots: SlotMask) -> None:
        """See `handover.store.Store`."""
        self._forgetting.update(np.flatnonzero(slots).tolist())
        self._note_forgetting()

    def forget_some(self, entries_max: int) -> None:
        """See `handover.store.Store`."""
        room = entries_max
        while self._forgetting and room > 0:
            slot = min(self._forgetting)
            count = self._ledger.forget(slot, room)
            if count < room:
                self._forgetting.remove(slot)
                self.forgotten.append(slot)
            room -= count + 1
        self._note_forgetting()

    def forget_at_once(self, slot: int) -> None:
        """Forget the rest of one slot; to be called before anything new of it comes."""
        if slot in self._forgetting:
            while self._ledger.forget(slot, FORGOTTEN_AT_ONCE):
                pass
            self._forgetting.remove(slot)
            self.forgotten.append(slot)
            self._note_forgetting()

    def kept_mask(self, slot_count: int) -> SlotMask:
        """Return the slots of which anything is here that is not to be forgotten."""
        kept = self._ledger.filled.copy()
        kept[list(self._forgetting)] = False
        return kept[:slot_count]

    def _note_forgetting(self) -> None:
        slots = encode_slot_list(self._forgetting, SLOTS_MAX)
        self._ledger.note_forgotten(slots if self._forgetting else b"")

    # --- Receiving

    def merge(
        self, ticket: int, peer: str, slots: SlotMask, part: Part, clock_offset_s: float
    ) -> Send | None:
        """See `handover.store.Store`; the answers of the ports go to `note_appended` and `note_adopted`."""
        content = decode_content(part.items, part.bulk)
        if isinstance(content, Documents):
            self._adopting[ticket] = _export_key(peer, content.export)
            removed = self._ledger.removed_in(np.flatnonzero(slots).tolist())
            return Send(self._segments, AdoptDocuments(ticket, encode_slots(slots), part.bulk, removed))
        arrival = self._arrival_of(peer, content, memoryview(part.bulk), slots)
        if not arrival.records:
            self._note(arrival, BulkAppended(ticket, ()))
            return None
        self._arrivals[ticket] = arrival
        return Send(self._archive, AppendBulk(ticket, arrival.records))

    def _arrival_of(self, peer: str, content: Pages, bulk: memoryview, slots: SlotMask) -> _Arrival:
        rows: list[tuple[bytes, PageRow, list[VersionRow]]] = []
        records: list[memoryview] = []
        start = 0
        for row in content.rows:
            slot = self._slot_of(row.url)
            if slot is None:
                self.items_refused += 1
                start += sum(version.length for version in row.versions)
                continue
            if not slots[slot]:
                raise RemoteProtocolError(f"a page of slot {slot}, which was not asked for")
            identity = identity_of(slot, row.url)
            new: list[VersionRow] = []
            for version in row.versions:
                its_records = bulk[start : start + version.length]
                if self._ledger.lacks(identity, version.stamp, its_records):
                    new.append(version)
                    records.append(its_records)
                start += version.length
            rows.append((identity, row, new))
        return _Arrival(_export_key(peer, content.export), rows, tuple(records))

    def note_appended(self, answer: BulkAppended) -> bool:
        """Note the pages that are in the archive now; return whether it was for a part of ours."""
        arrival = self._arrivals.pop(answer.ticket, None)
        if arrival is None:
            return False
        self._note(arrival, answer)
        return True

    def note_adopted(self, answer: DocumentsAdopted) -> bool:
        """Note the documents that are in the index now; return whether it was for a part of ours."""
        export = self._adopting.pop(answer.ticket, None)
        if export is None:
            return False
        for url, stamp in answer.pages:
            slot = self._slot_of(url)
            # What is taken down is marked when its versions come, and so taken out again.
            if slot is not None and not self._take_downs.hides(url):
                self._ledger.adopt(identity_of(slot, url), stamp, export)
        return True

    def _note(self, arrival: _Arrival, answer: BulkAppended) -> None:
        appended = iter(zip(answer.extents, arrival.records, strict=True))
        for identity, row, versions in arrival.rows:
            newest: Place | None = None
            for version in versions:
                extent, records = next(appended)
                if extent is None:
                    self.items_refused += 1
                    continue
                place = Place(
                    row.url,
                    version.fetched_at,
                    version.status,
                    extent.segment,
                    extent.offset,
                    extent.length,
                    xxh3_64_intdigest(records),
                    version.has_document,
                    version.visit,
                    version.moved_to,
                )
                kept = self._ledger.keep(identity, place)
                self._ledger.totals.brought += kept is not Kept.KNOWN
                newest = place if kept in RULING else newest
            if newest is not None:
                self._have_indexed(arrival.export, identity, row, newest)

    def _have_indexed(self, export: bytes, identity: bytes, row: PageRow, newest: Place) -> None:
        """Note the document and texts to be indexed of a page, now that its newest version has come."""
        ledger = self._ledger
        adopted = ledger.marks.take_adopted(identity, newest.stamp)
        if adopted is None or not newest.has_document:
            ledger.marks.mark_page(identity, newest.stamp)
            return
        # Documents that an earlier export brought may have other texts: those are not adopted again.
        given = row.texts if adopted == export and row.is_indexed else UNKNOWN_TEXTS
        ledger.marks.note_texts_given(identity, given)
        texts = self._link_texts.of(identity)
        if texts and texts_digest(texts) != given:
            ledger.marks.mark_texts(identity)


def _version_row(place: Place) -> VersionRow:
    return VersionRow(
        place.fetched_at, place.status, place.has_document, place.length, place.visit, place.moved_to
    )


def _export_key(peer: str, export: int) -> bytes:
    return bytes(xxh3_64_digest(f"{peer} {export}".encode()))


def _identity_of_item(item: CellItem) -> bytes:
    return item.identity
