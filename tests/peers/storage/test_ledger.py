"""The layout of a cell's table: what stands together, in which order, and that nothing is counted twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.lmdb_table import LmdbTable
from mesh.memory_table import MemoryTable
from mesh.table import Table
from peers.storage.ledger import (
    Anchors,
    Ledger,
    Place,
    anchors_in,
    identity_of,
    mark_key,
    page_in,
    slot_in,
)

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
    return Place(URL, fetched_at, 200, 1, 2, 3, True, fetched_at)


def test_places_of_a_page_stand_together_newest_first(table: Table) -> None:
    ledger = Ledger(table)
    times = [0.0, 1e-9, 1.0, 1.5, 1.7e9, 1.7e9 + 1e-6, 1e12]
    for fetched_at in [times[3], *times[:3], *times[4:]]:
        ledger.keep(IDENTITY, place(fetched_at))
    keys = [key for key, _ in table.scan_prefix(b"p" + IDENTITY)]
    assert len(keys[0]) == 19
    assert ledger.newest(IDENTITY) == place(1e12)
    assert [ledger.version(IDENTITY, at) for at in times] == [place(at) for at in times]
    assert ledger.version(IDENTITY, 2.0) is None
    marks = Ledger(table)
    for at in times:
        marks.mark_page(IDENTITY, at, ())
    assert [at for _, at, _ in marks.marked_pages(b"", 99)] == times[::-1]


def test_everything_of_a_slot_stands_together(table: Table) -> None:
    ledger = Ledger(table)
    for slot in (256, 1, 65_535, 2):
        for n in range(3):
            identity = identity_of(slot, f"{URL}{n}")
            ledger.keep(identity, place(float(n)))
            ledger.mark_page(identity, float(n), ())
            ledger.owe_page("b", identity, float(n), ())
    for kind in (b"p", b"u", b"d\x01b"):
        slots = [slot_in(key[len(kind) :]) for key, _ in table.scan_prefix(kind)]
        assert slots == [1] * 3 + [2] * 3 + [256] * 3 + [65_535] * 3


def test_marks_are_walked_in_pieces_from_where_the_last_one_ended(table: Table) -> None:
    ledger = Ledger(table)
    for n in range(5):
        ledger.mark_page(IDENTITY, float(n), (f"text {n}",))
    seen: list[tuple[float, tuple[str, ...]]] = []
    after = b""
    while marks := ledger.marked_pages(after, 2):
        seen += [(at, anchors) for _, at, anchors in marks]
        after = mark_key(marks[-1][0], marks[-1][1])
    assert seen == [(float(n), (f"text {n}",)) for n in (4, 3, 2, 1, 0)]


def test_nothing_is_counted_twice(table: Table) -> None:
    ledger = Ledger(table)
    texts = Anchors(URL, 7, ("a",), 1.0)
    for _ in range(2):
        ledger.mark_anchors(IDENTITY, texts)
        ledger.owe_page("b", IDENTITY, 1.0, ())
        ledger.owe_anchors("b", IDENTITY, texts)
    assert (ledger.totals.anchors_marked, ledger.debt_count("b")) == (1, 2)
    for _ in range(2):
        ledger.unmark_anchors(IDENTITY, ("a",))
        ledger.unmark_page(IDENTITY, 1.0)
        ledger.pay("b", IDENTITY)
    assert (ledger.totals.anchors_marked, ledger.totals.pages_marked, ledger.debt_count("b")) == (0, 0, 1)


def test_newer_link_texts_stay_marked(table: Table) -> None:
    ledger = Ledger(table)
    ledger.mark_anchors(IDENTITY, Anchors(URL, 7, ("new",), 2.0))
    ledger.unmark_anchors(IDENTITY, ("old",))
    assert ledger.marked_anchors_of(IDENTITY) == ("new",)


def test_debts_and_totals_are_found_again(table: Table) -> None:
    ledger = Ledger(table)
    texts = Anchors(URL, 7, ("a",), 1.0)
    ledger.owe_page("bb", IDENTITY, 1.0, ("x",))
    ledger.owe_anchors("b", IDENTITY, texts)
    ledger.keep(IDENTITY, place(1.0))
    ledger.save_totals()
    again = Ledger(table)
    assert again.totals == ledger.totals
    assert set(again.creditors()) == {"b", "bb"}
    assert again.debts_total == 2
    ((page_debt,), (anchors_debt,)) = again.debts("bb", 9), again.debts("b", 9)
    assert page_in(page_debt) == (IDENTITY, 1.0, ("x",))
    assert anchors_in(anchors_debt) == texts
    assert (page_debt.is_page, anchors_debt.is_page) == (True, False)
