"""What cells move in bulk: parts that are made, checked, and taken in; nothing from outside is believed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

import msgspec
import numpy as np
import pytest
from xxhash import xxh3_64_intdigest

from mesh.actors.actor import Address, Message, Send
from mesh.errors import RemoteProtocolError
from mesh.slot_set import SlotMask, encode_slots
from mesh.slots import slot_of
from mesh.tables.memory_table import MemoryTable
from mesh.urls import host_of
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
from peers.storage.cell_store import PART_RECORDS_BYTES, CellStore
from peers.storage.ledger.extent import Extent
from peers.storage.ledger.index_marks import UNKNOWN_TEXTS
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import identity_of
from peers.storage.ledger.place import Place
from peers.storage.link_texts import texts_digest
from peers.storage.messages import AppendBulk, BulkAppended, ExtentsRead, ReadExtents
from peers.storage.part_content import Documents, PageRow, Pages, VersionRow, decode_content, encode_content
from peers.storage.take_downs import TakeDowns
from tests.helpers import seen
from tests.peers.storage.dict_texts import DictTexts

SLOTS = 64
ME = "me"
ARCHIVE, SEGMENTS = Address(ME, "archive"), Address(ME, "segments")
URLS = [f"http://host{n}.example/" for n in range(20)]
ALL: SlotMask = np.ones(SLOTS, np.bool_)


def slot_of_url(url: str) -> int | None:
    return slot_of(host_of(url), SLOTS) if url.startswith("http://") else None


def identity(url: str) -> bytes:
    slot = slot_of_url(url)
    assert slot is not None
    return identity_of(slot, url)


class Side:
    """A store, its ledger, and the records in its archive."""

    def __init__(self, part_bytes: int = PART_RECORDS_BYTES) -> None:
        self.ledger = Ledger(MemoryTable())
        self.texts = DictTexts()
        self.store = CellStore(ME, self.ledger, self.texts, TakeDowns(self.ledger), slot_of_url, part_bytes)
        self.archive: dict[Extent, bytes] = {}
        self._offsets = count(0, 1_000)

    def keep(
        self, url: str, at: float = 1.0, records: bytes = b"records", *anchors: str, moved_to: str = ""
    ) -> Place:
        extent = Extent(1, next(self._offsets), len(records))
        self.archive[extent] = records
        place = Place(
            url,
            at,
            200,
            1,
            extent.offset,
            extent.length,
            xxh3_64_intdigest(records),
            has_document=True,
            moved_to=moved_to,
        )
        self.ledger.keep(identity(url), place)
        self.ledger.marks.note_texts_given(identity(url), texts_digest(anchors))
        return place

    def read(self, order: Message) -> ExtentsRead:
        """Answer as the archive port does."""
        assert isinstance(order, ReadExtents)
        found = [self.archive.get(extent, b"") for extent in order.extents]
        sound = tuple(
            xxh3_64_intdigest(records) == checksum
            for records, checksum in zip(found, order.checksums, strict=True)
        )
        kept = (records for records, is_sound in zip(found, sound, strict=True) if is_sound)
        return ExtentsRead(order.ticket, b"".join(kept), sound)

    def parts(self, have: Iterable[bytes] = (), slots: SlotMask = ALL) -> list[Part]:
        """Return all parts; the index has nothing to export."""
        parts: list[Part] = []
        for item in self.store.parts(9, slots, frozenset(have)):
            match item:
                case Part():
                    parts.append(item)
                case Send(message=ExportDocuments(ticket)):
                    assert self.store.take_documents(DocumentsExported(ticket, 0, b"", True)) == Part(b"")
                case Send(message=order):
                    part, _ = self.store.take_records(self.read(order))
                    assert part is not None
                    parts.append(part)
        return parts

    def take(self, part: Part, slots: SlotMask = ALL) -> None:
        """Merge a part; its records are all sound."""
        order = self.store.merge(7, "other", slots, part, 0.0)
        if order is None:
            return
        assert isinstance(order.message, AppendBulk)
        extents = []
        for records in order.message.records:
            extent = Extent(1, next(self._offsets), len(records))
            self.archive[extent] = bytes(records)
            extents.append(extent)
        assert self.store.note_appended(BulkAppended(7, tuple(extents)))


def row(url: str = URLS[0], *lengths: int) -> PageRow:
    versions = tuple(VersionRow(float(n), 200, True, length, 0) for n, length in enumerate(lengths))
    return PageRow(url, False, b"", versions)


def pages(*rows: PageRow) -> bytes:
    return encode_content(Pages(0, rows))


# --- Sending and receiving -------------------------------------------------------------------


def test_two_stores_that_sent_each_other_what_they_lack_have_the_same() -> None:
    left, right = Side(), Side()
    for n, url in enumerate(URLS):
        for side in ((left,), (right,), (left, right))[n % 3]:
            side.keep(url, float(n), f"records {n}".encode())
            side.keep(url, n + 0.5, f"newer {n}".encode())
    for source, target in ((left, right), (right, left)):
        have = [each for slot in range(SLOTS) for each in target.store.item_ids(slot)]
        for part in source.parts(have):
            target.take(part)
    for slot in range(SLOTS):
        assert sorted(left.store.item_ids(slot)) == sorted(right.store.item_ids(slot))
    for n, url in enumerate(URLS):
        for side in (left, right):
            newest = side.ledger.newest(identity(url))
            assert newest is not None
            assert side.archive[newest.extent] == f"newer {n}".encode()
    assert left.parts([each for slot in range(SLOTS) for each in right.store.item_ids(slot)]) == []


def test_where_a_page_has_moved_goes_with_its_version() -> None:
    left, right = Side(), Side()
    left.keep(URLS[0], 1.0)
    left.keep(URLS[0], 2.0, b"moved", moved_to=URLS[1])
    for part in left.parts():
        right.take(part)
    assert [place.moved_to for place in right.ledger.versions_of(identity(URLS[0]), 9)] == [URLS[1], ""]


def test_parts_stay_below_their_limit_and_hold_what_follows_each_other() -> None:
    source, target = Side(part_bytes=50), Side()
    for n, url in enumerate(URLS[:10]):
        for version in range(n):
            source.keep(url, float(version), b"x" * (10 + n))
    source.keep(URLS[11], 1.0, b"y" * 120)  # larger than a part
    parts = source.parts()
    assert max(len(part.bulk) for part in parts if len(part.bulk) != 120) <= 50
    for part in parts:
        target.take(part)
    assert target.ledger.totals.brought == source.ledger.totals.pages + 36
    assert target.ledger.totals.archive_bytes == source.ledger.totals.archive_bytes


def test_what_cannot_be_read_is_left_out_and_told() -> None:
    source, target = Side(), Side()
    places = [source.keep(url, 1.0, url.encode()) for url in URLS[:3]]
    source.archive[places[1].extent] = b"flipped"
    (order,) = source.store.parts(9, ALL, frozenset([b"an item."]))
    assert isinstance(order, Send)
    part, damages = source.store.take_records(source.read(order.message))
    assert [damage.place for damage in damages] == [places[1]]
    assert part is not None
    target.take(part)
    assert [target.ledger.newest(identity(url)) is not None for url in URLS[:3]] == [True, False, True]


def test_version_that_came_another_way_meanwhile_is_kept_once_and_its_copy_is_garbage() -> None:
    source, target = Side(), Side()
    source.keep(URLS[0], 1.0, b"records")
    (part,) = source.parts()
    order = target.store.merge(7, "other", ALL, part, 0.0)
    assert order is not None
    target.keep(URLS[0], 1.0, b"records")
    target.store.note_appended(BulkAppended(7, (Extent(1, 5_000, 7),)))
    totals = target.ledger.totals
    assert (totals.pages, totals.brought, totals.archive_bytes, totals.garbage_bytes) == (1, 0, 7, 7)
    assert target.store.merge(8, "other", ALL, part, 0.0) is None, "nothing of it is appended again"


# --- Documents -------------------------------------------------------------------------------


def exported(source: Side, target: Side, pages_told: tuple[tuple[str, float], ...]) -> None:
    """Move all, with documents that the index of the target adopts as told."""
    for item in source.store.parts(9, ALL, frozenset()):
        assert isinstance(item, Send)
        match item.message:
            case ExportDocuments(ticket):
                part = source.store.take_documents(DocumentsExported(ticket, 0, b"segment", False))
                assert part is not None
                order = target.store.merge(5, "source", ALL, part, 0.0)
                assert order == Send(SEGMENTS, AdoptDocuments(5, encode_slots(ALL), b"segment"))
                adopted = tuple((url, seen(at)) for url, at in pages_told)
                assert target.store.note_adopted(DocumentsAdopted(5, 1, adopted))
            case NextDocuments(ticket):
                assert source.store.take_documents(DocumentsExported(ticket, 1, b"", True)) == Part(b"")
            case order:
                part, _ = source.store.take_records(source.read(order))
                assert part is not None
                appended = target.store.merge(7, "source", ALL, part, 0.0)
                assert appended is not None
                assert isinstance(appended.message, AppendBulk)
                extents = tuple(
                    Extent(1, 1_000 * n, len(records)) for n, records in enumerate(appended.message.records)
                )
                target.store.note_appended(BulkAppended(7, extents))


def test_pages_whose_documents_were_adopted_need_no_mark_and_the_others_do() -> None:
    source, target = Side(), Side()
    for url in URLS[:4]:
        source.keep(url, 2.0, b"records", "text")
    # Of the third page the index got an older version, of the fourth none.
    exported(source, target, ((URLS[0], 2.0), (URLS[1], 2.0), (URLS[2], 1.0)))
    marked = {each for each, _ in target.ledger.marks.marked_pages(b"", 99)}
    assert marked == {identity(URLS[2]), identity(URLS[3])}
    assert target.ledger.marks.marked_texts(b"", 99) == []
    assert target.ledger.totals.adopted == 0


@pytest.mark.parametrize("mark", ["page", "texts", "texts later"])
def test_link_texts_of_a_page_that_was_marked_at_the_source_are_indexed_anew(mark: str) -> None:
    source, target = Side(), Side()
    source.keep(URLS[0], 2.0, b"records", "text")
    if mark == "page":
        source.ledger.marks.mark_page(identity(URLS[0]), seen(2.0))
    elif mark == "texts":
        source.ledger.marks.mark_texts(identity(URLS[0]))
    else:
        take_documents = source.store.take_documents

        def mark_then(answer: DocumentsExported) -> Part | None:
            source.ledger.marks.mark_texts(identity(URLS[0]))
            source.ledger.marks.unmark_texts(identity(URLS[0]))
            return take_documents(answer)

        source.store.take_documents = mark_then  # type: ignore[method-assign]
    target.texts[identity(URLS[0])] = ("text",)
    exported(source, target, ((URLS[0], 2.0),))
    assert target.ledger.marks.marked_texts(b"", 99) == [identity(URLS[0])]
    assert target.ledger.marks.marked_pages(b"", 99) == []


@pytest.mark.parametrize("known", [(), ("text",), ("other",)])
def test_adopted_document_gets_other_link_texts_only_where_others_are_known(known: tuple[str, ...]) -> None:
    source, target = Side(), Side()
    source.keep(URLS[0], 2.0, b"records", "text")
    target.texts[identity(URLS[0])] = known
    exported(source, target, ((URLS[0], 2.0),))
    assert target.ledger.marks.texts_given(identity(URLS[0])) == texts_digest(("text",))
    assert bool(target.ledger.marks.marked_texts(b"", 99)) == (known == ("other",))


def test_link_texts_that_are_not_known_here_are_not_told_to_others() -> None:
    source, target = Side(), Side()
    source.keep(URLS[0], 2.0)
    source.ledger.marks.note_texts_given(identity(URLS[0]), UNKNOWN_TEXTS)
    exported(source, target, ((URLS[0], 2.0),))
    assert target.ledger.marks.texts_given(identity(URLS[0])) == UNKNOWN_TEXTS


def test_adopted_document_is_not_believed_when_an_older_version_was_given_to_the_indexer_since() -> None:
    source, target = Side(), Side()
    source.keep(URLS[0], 2.0)
    target.keep(URLS[0], 1.0)
    target.ledger.marks.mark_page(identity(URLS[0]), seen(1.0))
    exported(source, target, ((URLS[0], 2.0),))
    assert (identity(URLS[0]), seen(2.0)) in target.ledger.marks.marked_pages(b"", 99)


def test_index_is_told_which_pages_it_must_not_adopt() -> None:
    source, target = Side(), Side()
    source.keep(URLS[0], 1.0)
    gone = msgspec.structs.replace(target.keep(URLS[0], 2.0), fetched_at=3.0, has_document=False)
    target.ledger.keep(identity(URLS[0]), gone)
    documents = Part(encode_content(Documents(9)), b"segment")
    order = target.store.merge(5, "source", ALL, documents, 0.0)
    removed = ((URLS[0], seen(3.0)),)
    assert order == Send(SEGMENTS, AdoptDocuments(5, encode_slots(ALL), b"segment", removed))


def test_version_without_a_document_takes_an_adopted_document_out() -> None:
    source, target = Side(), Side()
    gone = msgspec.structs.replace(source.keep(URLS[0], 1.0), fetched_at=2.0, has_document=False)
    source.ledger.keep(identity(URLS[0]), gone)
    exported(source, target, ((URLS[0], 1.0),))
    assert target.ledger.marks.marked_pages(b"", 99) == [(identity(URLS[0]), seen(2.0))]
    assert target.ledger.totals.adopted == 0


def test_who_has_a_good_part_gets_no_documents() -> None:
    source = Side()
    for url in URLS:
        source.keep(url)
    have = [*source.store.item_ids(slot_of_url(URLS[0]) or 0), b"12345678", b"abcdefgh"]
    kinds = [type(item.message) for item in source.store.parts(9, ALL, have) if isinstance(item, Send)]
    assert kinds == [ReadExtents]


def test_export_that_nobody_takes_is_stopped() -> None:
    source = Side()
    source.keep(URLS[0])
    parts = source.store.parts(9, ALL, frozenset())
    assert isinstance(next(parts), Send)
    assert source.store.stop_abandoned() == []
    del parts
    assert source.store.stop_abandoned() == [Send(SEGMENTS, StopExport(9))]
    assert source.store.stop_abandoned() == []
    assert source.store.take_documents(DocumentsExported(9, 0, b"late", False)) is None
    assert source.ledger.marks.since == []


# --- What is not believed --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "bulk"),
    [
        (b"", b""),
        (b"garbage", b""),
        (msgspec.msgpack.encode([1, 0, "rows"]), b""),
        (msgspec.msgpack.encode([2, 0, []]), b""),
        (pages(row(URLS[0], 5)), b"1234"),
        (pages(row(URLS[0], 5)), b"123456"),
        (pages(row(URLS[0])), b"x"),
        (msgspec.msgpack.encode([1, 0, [[URLS[0], False, b"", [[1.0, 200, True, 0]]]]]), b""),
        (msgspec.msgpack.encode([1, 0, [[URLS[0], False, b"", [[1.0, 200, True, -1]]]]]), b""),
        (msgspec.msgpack.encode([1, 0, [[URLS[0], False, b"", [[-1.0, 200, True, 1]]]]]), b"x"),
        (msgspec.msgpack.encode([1, 0, [[URLS[0], False, b"", [[1e300, 200, True, 1]]]]]), b"x"),
        (msgspec.msgpack.encode([1, 0, [[URLS[0], float("nan"), [], False, []]]]), b""),
        (msgspec.msgpack.encode([1, 0, [[URLS[0], False, b"", [[float("nan"), 200, True, 1]]]]]), b"x"),
        (msgspec.msgpack.encode([1, 0, [[URLS[0], True, b"123456789", []]]]), b""),
        (msgspec.msgpack.encode([1, 0, [[URLS[0], False, b"", [[1.0, 1000, True, 1]]]]]), b"x"),
    ],
)
def test_part_that_is_none_is_refused_and_changes_nothing(items: bytes, bulk: bytes) -> None:
    target = Side()
    with pytest.raises(RemoteProtocolError):
        target.store.merge(7, "other", ALL, Part(items, bulk), 0.0)
    assert target.ledger.totals.pages == 0
    assert not target.store.note_appended(BulkAppended(7, ()))


@pytest.mark.parametrize("bad", ["https://", "no URL", "http:none"])
def test_a_page_without_a_host_is_left_out_and_the_rest_of_the_part_is_kept(bad: str) -> None:
    target = Side()
    part = Part(pages(row(bad, 3, 2), row(URLS[1], 4)), b"oneTWxxxx")
    order = target.store.merge(7, "other", ALL, part, 0.0)
    assert order == Send(ARCHIVE, AppendBulk(7, (memoryview(b"xxxx"),)))
    target.store.note_appended(BulkAppended(7, (Extent(1, 10, 4),)))
    assert target.ledger.newest(identity(URLS[1])) is not None
    assert (target.store.items_refused, target.ledger.totals.pages) == (1, 1)


def test_pages_of_slots_that_were_not_asked_for_are_refused() -> None:
    target = Side()
    asked = np.zeros(SLOTS, np.bool_)
    asked[slot_of_url(URLS[0]) or 0] = True
    foreign = next(url for url in URLS if slot_of_url(url) != slot_of_url(URLS[0]))
    with pytest.raises(RemoteProtocolError):
        target.store.merge(7, "other", asked, Part(pages(row(URLS[0], 1), row(foreign, 1)), b"xy"), 0.0)
    assert target.store.merge(7, "other", asked, Part(pages(row(URLS[0], 1)), b"x"), 0.0) is not None


def test_records_that_are_not_sound_are_refused_and_counted_and_the_rest_is_kept() -> None:
    target = Side()
    part = Part(pages(row(URLS[0], 3, 3), row(URLS[1], 4)), b"oneTWOxxxx")
    order = target.store.merge(7, "other", ALL, part, 0.0)
    assert order == Send(
        ARCHIVE, AppendBulk(7, (memoryview(b"one"), memoryview(b"TWO"), memoryview(b"xxxx")))
    )
    target.store.note_appended(BulkAppended(7, (None, Extent(1, 10, 3), None)))
    newest = target.ledger.newest(identity(URLS[0]))
    assert newest is not None
    assert (newest.fetched_at, newest.checksum) == (1.0, xxh3_64_intdigest(b"TWO"))
    assert target.ledger.newest(identity(URLS[1])) is None
    assert (target.store.items_refused, target.ledger.totals.pages) == (2, 1)


def test_documents_of_a_part_that_the_index_refuses_leave_all_pages_to_be_marked() -> None:
    source, target = Side(), Side()
    source.keep(URLS[0], 2.0)
    exported(source, target, ())
    assert target.ledger.marks.marked_pages(b"", 9) == [(identity(URLS[0]), seen(2.0))]


def test_page_as_large_as_the_fetcher_takes_fits_into_a_part() -> None:
    largest = (8 << 20) + (256 << 10)
    assert largest < BULK_BYTES_MAX
    items = pages(row(URLS[0], largest))
    assert isinstance(decode_content(items, bytes(largest)), Pages)
    assert decode_content(encode_content(Documents(3)), b"segment") == Documents(3)
