"""Whatever happens to the rows of a slot, its digest is that of what is in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import xor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_digest

from mesh.tables.memory_table import MemoryTable
from peers.handover.slot_digests import EMPTY, SlotDigests, WatchedTable

KINDS = b"ab"


class Rows:
    """Rows of two slots, of which those of kind c are no items."""

    def __init__(self, changed_max: int) -> None:
        self.beneath = MemoryTable()
        self.table = WatchedTable(self.beneath, kind_at=2, kinds=KINDS)
        self.digests = SlotDigests(0, self.ids_in, self.id_of, changed_max)
        self.table.before_change = self.digests.note
        self.n_walks = 0

    def ids_in(self, slot: int) -> Iterator[bytes]:
        self.n_walks += 1
        yield from self.ids(slot)

    def ids(self, slot: int) -> Iterator[bytes]:
        for key, value in self.beneath.scan_prefix(slot.to_bytes(2, "big")):
            if key[2] in KINDS:
                yield xxh3_64_digest(key + value)

    def id_of(self, key: bytes) -> bytes | None:
        value = self.beneath.get(key)
        return None if value is None else xxh3_64_digest(key + value)

    def check(self, slot: int) -> None:
        ids = list(self.ids(slot))
        digest = reduce(xor, (int.from_bytes(each, "little") for each in ids), 0)
        assert self.digests.of(slot) == (digest.to_bytes(8, "little"), len(ids))


keys = st.tuples(st.integers(0, 1), st.sampled_from("abc"), st.sampled_from("xyz")).map(
    lambda parts: parts[0].to_bytes(2, "big") + parts[1].encode() + parts[2].encode()
)
steps = st.one_of(
    st.tuples(st.just("put"), keys, st.binary(max_size=1)),
    st.tuples(st.just("delete"), keys, st.just(b"")),
    st.tuples(st.just("check"), keys, st.just(b"")),
)


@given(st.lists(steps, max_size=60), st.sampled_from((0, 1, 3, 1_000)))
def test_a_digest_is_always_that_of_the_rows_there_are(
    history: list[tuple[str, bytes, bytes]], changed_max: int
) -> None:
    rows = Rows(changed_max)
    for verb, key, value in history:
        if verb == "put":
            rows.table.put(key, value)
        elif verb == "delete":
            rows.table.delete(key)
        else:
            rows.check(int.from_bytes(key[:2], "big"))
    rows.check(0)
    rows.check(1)


def test_a_slot_is_walked_over_once_however_often_it_changes() -> None:
    rows = Rows(changed_max=1_000)
    for number in range(100):
        rows.table.put(b"\0\0a%d" % (number % 10), b"%d" % number)
        rows.check(0)
    assert rows.n_walks == 1


def test_of_slots_nobody_asks_for_any_more_nothing_is_remembered_beyond_the_limit() -> None:
    rows = Rows(changed_max=5)
    rows.check(0)
    for number in range(100):
        rows.table.put(b"\0\0a%d" % number, b"")
    rows.check(0)
    assert rows.n_walks == 2


def test_a_slot_without_items_has_the_empty_digest() -> None:
    rows = Rows(changed_max=5)
    rows.table.put(b"\0\0c", b"")
    assert rows.digests.of(0) == (EMPTY, 0)
    rows.table.put(b"\0\0a", b"")
    rows.table.delete(b"\0\0a")
    assert rows.digests.of(0) == (EMPTY, 0)


@pytest.mark.parametrize("verb", ["put", "delete"])
def test_rows_of_other_kinds_are_told_to_nobody(verb: str) -> None:
    told: list[bytes] = []
    table = WatchedTable(MemoryTable(), kind_at=0, kinds=b"ab")
    table.before_change = told.extend
    arguments = (b"",) if verb == "put" else ()
    for key in (b"#2", b"a1", b"c1"):
        getattr(table, verb)(key, *arguments)
    assert told == [b"a1"]
