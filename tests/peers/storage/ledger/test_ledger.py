"""The layout of a cell's table: what stands together, in which order, and that nothing is counted twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.memory_table import MemoryTable
from mesh.tables.table import Table
from peers.storage.ledger.extent import Extent
from peers.storage.ledger.index_marks import mark_key
from peers.storage.ledger.ledger import Kept, Ledger, last_extent
from peers.storage.ledger.ledger_keys import identity_of, slot_in
from peers.storage.ledger.place import Place, place_in
from peers.storage.link_texts import texts_digest
from tests.helpers import seen

URL = "http://host.example/"
IDENTITY = identity_of(7, URL)


@pytest.fixture(params=["memory", "lmdb"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Table]:
    if request.param == "memory":
        yield MemoryTable()
        return
    table = LmdbTable(tmp_path)
    yield table
    table.close()


def place(fetched_at: float) -> Place:
    return Place(URL, fetched_at, 200, 1, 2, 3, 4, True)


def test_places_of_a_page_stand_together_newest_first(table: Table) -> None:
    ledger = Ledger(table)
    times = [0.0, 1e-9, 1.0, 1.5, 1.7e9, 1.7e9 + 1e-6, 1e12]
    for fetched_at in [times[3], *times[:3], *times[4:]]:
        ledger.keep(IDENTITY, place(fetched_at))
    keys = [key for key, _ in table.scan_prefix(b"p" + IDENTITY)]
    assert len(keys[0]) == 19
    assert ledger.newest(IDENTITY) == place(1e12)
    assert [ledger.version(IDENTITY, seen(at)) for at in times] == [place(at) for at in times]
    assert ledger.version(IDENTITY, seen(2.0)) is None
    marks = Ledger(table)
    for at in times:
        marks.marks.mark_page(IDENTITY, seen(at))
    assert [stamp.fetched_at for _, stamp in marks.marks.marked_pages(b"", 99)] == times[::-1]


def visited(visit: int, fetched_at: float, checksum: int = 4, *, has_document: bool = True) -> Place:
    """A version of a visit."""
    return msgspec.structs.replace(
        place(fetched_at), visit=visit, checksum=checksum, has_document=has_document
    )


def test_later_visit_is_newer_though_its_clock_was_set_back(table: Table) -> None:
    ledger = Ledger(table)
    assert ledger.keep(IDENTITY, visited(9, 5_000.0)) is Kept.NEWEST
    assert ledger.keep(IDENTITY, visited(10, 1_400.0)) is Kept.NEWEST
    assert ledger.keep(IDENTITY, visited(0, 9_000.0)) is Kept.OLDER, "of a file, which tells no visit"
    assert ledger.ruling(IDENTITY) == visited(10, 1_400.0)
    stamps = [place_in(item.value).stamp for item in ledger.versions(7)]
    assert stamps == [(10, 1_400.0), (9, 5_000.0), (0, 9_000.0)]
    assert ledger.keep(IDENTITY, visited(10, 1_500.0)) is Kept.NEWEST, "the time decides in a visit"


def test_two_records_of_one_stamp_are_one_version_and_the_same_one_on_all_copies() -> None:
    one, other = visited(2, 5.0, 10), visited(2, 5.0, 20, has_document=False)
    ledgers = Ledger(MemoryTable()), Ledger(MemoryTable())
    assert [each.keep(IDENTITY, one) for each in ledgers[:1]] == [Kept.NEWEST]
    assert ledgers[0].keep(IDENTITY, other) is Kept.REPLACED
    assert (ledgers[1].keep(IDENTITY, other), ledgers[1].keep(IDENTITY, one)) == (Kept.NEWEST, Kept.KNOWN)
    for ledger in ledgers:
        assert [place_in(item.value) for item in ledger.versions(7)] == [other]
        assert (ledger.totals.pages, ledger.totals.gone) == (1, 1)
        assert (ledger.totals.archive_bytes, ledger.totals.garbage_bytes) == (3, 3)
    assert ledgers[0].digest_of(7) == ledgers[1].digest_of(7)


VERSIONS = st.builds(
    visited,
    st.integers(0, 3),
    st.sampled_from([1.0, 2.0, 3_600.0]),
    st.integers(1, 3),
    has_document=st.booleans(),
)


@given(st.lists(VERSIONS, max_size=8), st.randoms(use_true_random=False))
def test_ledgers_that_were_told_the_same_in_any_order_are_the_same(told: list[Place], random: Random) -> None:
    told = list({(each.stamp, each.checksum): each for each in told}.values())  # same bytes, same version
    shuffled = [*told, *told[:3]]
    random.shuffle(shuffled)
    one, other = Ledger(MemoryTable()), Ledger(MemoryTable())
    for each in told:
        one.keep(IDENTITY, each)
    for each in shuffled:
        other.keep(IDENTITY, each)
    assert list(one.versions(7)) == list(other.versions(7))
    assert one.digest_of(7) == other.digest_of(7)
    assert one.removed_in([7]) == other.removed_in([7])
    ruling = max(told, key=lambda each: (each.stamp, each.checksum), default=None)
    assert one.ruling(IDENTITY) == other.ruling(IDENTITY) == ruling


def removal(fetched_at: float) -> Place:
    return msgspec.structs.replace(place(fetched_at), has_document=False, status=404)


def test_page_counts_as_gone_while_its_newest_version_has_no_document(table: Table) -> None:
    ledger = Ledger(table)
    for version, are_gone in (
        (place(1.0), ()),
        (removal(3.0), ((URL, seen(3.0)),)),
        (place(2.0), ((URL, seen(3.0)),)),
        (removal(5.0), ((URL, seen(5.0)),)),
        (place(6.0), ()),
        (removal(7.0), ((URL, seen(7.0)),)),
    ):
        ledger.keep(IDENTITY, version)
        assert ledger.removed_in([6, 7]) == are_gone
        assert ledger.totals.gone == len(are_gone)
    assert ledger.removed_in([6]) == ()
    assert ledger.newest_content(IDENTITY) == place(6.0)
    ledger.save()
    assert Ledger(table).removed_in([7]) == ((URL, seen(7.0)),)
    ledger.forget(7, 99)
    assert (ledger.totals.gone, list(table.scan_prefix(b"g"))) == (0, [])


@pytest.mark.parametrize("damaged", [place(3.0), removal(3.0)])
def test_older_version_does_not_rule_in_the_place_of_one_that_is_damaged(
    table: Table, damaged: Place
) -> None:
    ledger = Ledger(table)
    ledger.keep(IDENTITY, place(1.0))
    ledger.keep(IDENTITY, damaged)
    assert ledger.drop_damaged(IDENTITY, damaged)
    assert (ledger.newest(IDENTITY), ledger.ruling(IDENTITY)) == (place(1.0), None)
    assert ledger.keep(IDENTITY, place(2.0)) is Kept.OLDER
    assert ledger.mark_slot(7) == 0, "what is indexed anew is not what is outdated"
    ((url, removed),) = ledger.removed_in([7])
    assert (url, seen(2.0) < removed < seen(3.0)) == (URL, True), "the damaged version itself may come"
    assert ledger.keep(IDENTITY, damaged) is Kept.NEWEST
    assert ledger.ruling(IDENTITY) == damaged
    assert ledger.totals.gone == (not damaged.has_document)


def test_newer_version_rules_whatever_is_damaged(table: Table) -> None:
    ledger = Ledger(table)
    ledger.keep(IDENTITY, place(1.0))
    assert ledger.drop_damaged(IDENTITY, place(1.0))
    assert ledger.keep(IDENTITY, place(2.0)) is Kept.NEWEST
    assert ledger.ruling(IDENTITY) == place(2.0)


def test_everything_of_a_slot_stands_together(table: Table) -> None:
    ledger = Ledger(table)
    for slot in (256, 1, 65_535, 2):
        for n in range(3):
            identity = identity_of(slot, f"{URL}{n}")
            ledger.keep(identity, place(float(n)))
            ledger.marks.mark_page(identity, seen(float(n)))
            ledger.marks.note_texts_given(identity, texts_digest(("a",)))
    for kind in (b"p", b"u", b"t"):
        slots = [slot_in(key[len(kind) :]) for key, _ in table.scan_prefix(kind)]
        assert slots == [1] * 3 + [2] * 3 + [256] * 3 + [65_535] * 3


def test_marks_are_walked_in_pieces_from_where_the_last_one_ended(table: Table) -> None:
    ledger = Ledger(table)
    for n in range(5):
        ledger.marks.mark_page(IDENTITY, seen(float(n)))
    walked: list[float] = []
    after = b""
    while marks := ledger.marks.marked_pages(after, 2):
        walked += [stamp.fetched_at for _, stamp in marks]
        after = mark_key(*marks[-1])
    assert walked == [4.0, 3.0, 2.0, 1.0, 0.0]


def test_nothing_is_counted_twice(table: Table) -> None:
    ledger = Ledger(table)
    for _ in range(2):
        ledger.marks.mark_texts(IDENTITY)
        ledger.marks.mark_page(identity_of(7, f"{URL}2"), seen(1.0))
    assert (ledger.totals.texts_marked, ledger.totals.pages_marked, ledger.marks.by_slot[7]) == (1, 1, 2)
    assert ledger.keep(IDENTITY, place(1.0)) is Kept.NEWEST
    assert ledger.keep(IDENTITY, place(1.0)) is Kept.KNOWN
    assert (ledger.totals.pages, ledger.totals.archive_bytes, ledger.totals.garbage_bytes) == (1, 3, 3)
    for _ in range(2):
        ledger.marks.unmark_texts(IDENTITY)
        ledger.marks.unmark_page(identity_of(7, f"{URL}2"), seen(1.0))
    assert (ledger.totals.texts_marked, ledger.totals.pages_marked, ledger.marks.by_slot[7]) == (0, 0, 0)


def test_digest_of_the_texts_that_the_index_has_is_remembered(table: Table) -> None:
    ledger = Ledger(table)
    assert ledger.marks.texts_given(IDENTITY) == b""
    ledger.marks.note_texts_given(IDENTITY, texts_digest(("a", "b")))
    assert Ledger(table).marks.texts_given(IDENTITY) == texts_digest(("a", "b"))
    ledger.marks.note_texts_given(IDENTITY, texts_digest(()))
    assert (ledger.marks.texts_given(IDENTITY), list(table.scan(b""))) == (b"", [])


def test_items_of_two_ledgers_are_equal_whatever_the_places(table: Table) -> None:
    ledger, other = Ledger(table), Ledger(MemoryTable())
    ledger.keep(IDENTITY, place(1.0))
    ledger.keep(IDENTITY, place(2.0))
    ledger.marks.note_texts_given(IDENTITY, texts_digest(("a",)))
    elsewhere = Place(URL, 2.0, 200, 7, 70, 3, 4, True)
    other.keep(IDENTITY, elsewhere)
    assert len(set(ledger.item_ids(7)) - set(other.item_ids(7))) == 1
    other.keep(IDENTITY, place(1.0))
    assert sorted(ledger.item_ids(7)) == sorted(other.item_ids(7))
    assert list(ledger.item_ids(8)) == []


def test_all_that_is_counted_is_found_again(table: Table) -> None:
    ledger = Ledger(table)
    ledger.keep(IDENTITY, place(1.0))
    ledger.marks.mark_page(IDENTITY, seen(1.0))
    ledger.keep(identity_of(9, URL), place(0.5))
    ledger.save()
    again = Ledger(table)
    assert again.totals == ledger.totals
    assert again.marks.by_slot[7] == 1
    assert [slot for slot in range(20) if again.filled[slot]] == [7, 9]
    assert last_extent(table) == Extent(1, 4, 1)


def test_damaged_version_gives_way_to_the_one_before_until_it_comes_back(table: Table) -> None:
    ledger = Ledger(table)
    for at in (1.0, 2.0, 3.0):
        ledger.keep(IDENTITY, place(at))
    ledger.marks.mark_page(IDENTITY, seen(3.0))
    assert ledger.drop_damaged(IDENTITY, place(3.0))
    assert not ledger.drop_damaged(IDENTITY, place(3.0))
    assert ledger.newest(IDENTITY) == place(2.0)
    assert ledger.version(IDENTITY, seen(1.0)) == place(1.0)
    assert ledger.is_damaged(IDENTITY)
    assert (ledger.totals.pages_marked, ledger.totals.damaged, ledger.damaged(9)) == (0, 1, [IDENTITY])
    assert ledger.keep(IDENTITY, place(3.0)) is Kept.NEWEST
    assert (ledger.totals.damaged, ledger.totals.repaired, ledger.totals.pages) == (0, 1, 1)
    assert not ledger.is_damaged(IDENTITY)


def test_page_whose_only_version_is_damaged_is_gone_until_it_comes_back(table: Table) -> None:
    ledger = Ledger(table)
    ledger.keep(IDENTITY, place(1.0))
    ledger.drop_damaged(IDENTITY, place(1.0))
    assert (ledger.newest(IDENTITY), ledger.totals.pages) == (None, 0)
    ledger.keep(IDENTITY, place(1.0))
    assert (ledger.totals.pages, ledger.totals.repaired) == (1, 1)


def test_slot_is_forgotten_in_pieces_and_nothing_of_others(table: Table) -> None:
    ledger = Ledger(table)
    for slot in (6, 7, 8):
        for n in range(3):
            identity = identity_of(slot, f"{URL}{n}")
            ledger.keep(identity, place(1.0))
            ledger.keep(identity, place(2.0))
            ledger.marks.mark_page(identity, seen(2.0))
            ledger.marks.note_texts_given(identity, texts_digest(("a",)))
            ledger.marks.mark_texts(identity)
    before = ledger.totals.pages_marked
    counts: list[int] = []
    while not counts or counts[-1] == 4:
        counts.append(ledger.forget(7, 4))
        assert all(ledger.newest(identity) for identity, _ in ledger.marks.marked_pages(b"", 99))
    assert sum(counts) == 3 * 5
    totals = ledger.totals
    assert (totals.pages, totals.pages_marked, totals.texts_marked, before) == (6, 6, 6, 9)
    assert (totals.archive_bytes, totals.garbage_bytes) == (12 * 3, 6 * 3)
    assert (bool(ledger.filled[7]), bool(ledger.filled[8])) == (False, True)
    assert (list(ledger.item_ids(7)), len(list(ledger.item_ids(6)))) == ([], 6)


def test_segment_is_dead_when_nothing_in_it_is_referred_to_unless_it_is_the_last(table: Table) -> None:
    ledger = Ledger(table)
    for segment in (1, 2, 3):
        ledger.keep(identity_of(segment, URL), Place(URL, 1.0, 200, segment, 0, 10, 0, has_document=False))
    ledger.forget(1, 99)
    ledger.forget(3, 99)
    assert ledger.segments.dead() == [1]
    ledger.save()
    again = Ledger(table)
    assert again.segments.dead() == [1]
    again.segments.drop(1)
    again.save()
    assert (Ledger(table).segments.dead(), Ledger(table).totals.garbage_bytes) == ([], 10)


def test_adopted_version_is_believed_once_and_not_after_one_was_given_to_the_indexer(table: Table) -> None:
    ledger = Ledger(table)
    ledger.adopt(IDENTITY, seen(2.0), b"exported")
    assert ledger.marks.take_adopted(IDENTITY, seen(2.0)) == b"exported"
    assert ledger.marks.take_adopted(IDENTITY, seen(2.0)) is None
    ledger.adopt(IDENTITY, seen(2.0), b"exported")
    ledger.keep(IDENTITY, place(1.0))
    ledger.marks.mark_page(IDENTITY, seen(1.0))
    assert ledger.marks.take_adopted(IDENTITY, seen(2.0)) is None
    ledger.adopt(IDENTITY, seen(2.0), b"exported")
    assert (ledger.marks.take_adopted(IDENTITY, seen(2.0)), ledger.totals.adopted) == (None, 0)
