"""The store of values under names: what it tells of itself, and what it takes from others."""

from __future__ import annotations

from functools import reduce
from operator import xor

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import RemoteProtocolError
from mesh.slot_set import SlotMask
from mesh.tables.memory_table import MemoryTable
from peers.handover.item_store import NAME_BYTES_MAX, PART_BYTES, Item, ItemStore
from peers.handover.store import Part
from peers.handover.wire_messages import CHANGES_MAX

SLOTS = 8
ALL = np.ones(SLOTS, np.bool_)

Puts = list[tuple[int, bytes, bytes]]

puts = st.lists(
    st.tuples(
        st.integers(0, SLOTS - 1), st.binary(min_size=1, max_size=2), st.binary(min_size=1, max_size=1)
    ),
    max_size=20,
)


def mask(*slots: int) -> SlotMask:
    chosen = np.zeros(SLOTS, np.bool_)
    chosen[list(slots)] = True
    return chosen


def store_with(given_puts: Puts, part_bytes: int = PART_BYTES) -> ItemStore:
    store = ItemStore(MemoryTable(), max, part_bytes=part_bytes)
    for slot, name, value in given_puts:
        store.put(slot, name, value)
    return store


def content(store: ItemStore) -> set[tuple[int, bytes, bytes]]:
    return {(item.slot, item.name, item.value) for slot in range(SLOTS) for item in store.items(slot)}


def pull(into: ItemStore, source: ItemStore) -> int:
    """Bring what is lacking; return how many items came."""
    have = {each for slot in range(SLOTS) for each in into.item_ids(slot)}
    n_items = 0
    for part in source.parts(1, ALL, have):
        assert isinstance(part, Part)
        n_items += len(msgspec.msgpack.decode(part.items))
        assert into.merge(1, "other", ALL, part, 0.0) is None
    return n_items


def check_digests(store: ItemStore) -> None:
    for slot in range(SLOTS):
        ids = list(store.item_ids(slot))
        number = reduce(xor, (int.from_bytes(each, "little") for each in ids), 0)
        assert store.digest_of(slot) == (number.to_bytes(8, "little"), len(ids))


@given(puts, puts)
def test_stores_that_have_sent_each_other_what_they_lack_are_equal(ours: Puts, theirs: Puts) -> None:
    one, other = store_with(ours), store_with(theirs)
    for store in (one, other):
        check_digests(store)
    pull(one, other)
    pull(other, one)
    assert content(one) == content(other) == content(store_with(theirs + ours))
    assert [one.digest_of(slot) for slot in range(SLOTS)] == [other.digest_of(slot) for slot in range(SLOTS)]
    assert pull(one, other) == pull(other, one) == 0
    check_digests(one)


@given(puts)
def test_what_changes_is_shipped_once_and_merged_as_it_is(ours: Puts) -> None:
    one, other = store_with([(0, b"before", b"1")]), ItemStore(MemoryTable(), max)
    assert not one.has_changes
    one.note_changes(is_wanted=True)
    for slot, name, value in ours:
        one.put(slot, name, value)
    assert one.has_changes == bool(ours)
    for shipment in one.shipments(one.take_changes()):
        assert (
            other.merge_changes("other", shipment.items, shipment.slots.__contains__, 0.0) == shipment.n_items
        )
    assert content(other) == content(one) - {(0, b"before", b"1")}
    assert not one.has_changes
    one.note_changes(is_wanted=False)
    one.put(1, b"after", b"2")
    assert (one.has_changes, list(one.take_changes())) == (False, [])


def test_forgetting_goes_in_portions_is_over_after_a_restart_and_spares_what_comes_anew() -> None:
    table = MemoryTable()
    store = ItemStore(table, max)
    for slot in (1, 2, 3):
        for number in range(5):
            store.put(slot, b"%d" % number, b"x")
    assert store.newly_filled == [1, 2, 3]
    store.newly_filled.clear()
    store.forget_later(mask(1, 2, 7))
    assert np.flatnonzero(store.filled_mask(SLOTS)).tolist() == [3]
    assert (list(store.item_ids(1)), store.digest_of(1).n_items) == ([], 0)
    store.forget_some(3)
    store.put(2, b"new", b"y")
    assert store.newly_filled == [2]
    turns = 0
    while store.is_forgetting:
        store.forget_some(3)
        turns += 1
    assert turns == 1
    assert {item.name for item in store.items(2)} >= {b"new"}
    assert list(store.items(1)) == []
    again = ItemStore(table, max)
    assert again.newly_filled == [2, 3]
    check_digests(again)


def test_parts_are_of_limited_size() -> None:
    store = store_with([(0, b"%d" % number, b"v" * 40) for number in range(10)], part_bytes=100)
    parts = list(store.parts(1, ALL, frozenset()))
    assert len(parts) == 5
    other = ItemStore(MemoryTable(), max)
    for part in parts:
        assert isinstance(part, Part)
        other.merge(1, "other", ALL, part, 0.0)
    assert content(other) == content(store)


def test_messages_of_items_that_take_long_to_check_have_few_of_them() -> None:
    store = ItemStore(MemoryTable(), max, items_max=3)
    for number in range(10):
        store.put(0, b"%d" % number, b"v")
    parts = list(store.parts(1, ALL, frozenset()))
    assert len(parts) == 4
    longest = [Item(0, b"%d" % number, b"v") for number in range(4)]
    with pytest.raises(RemoteProtocolError, match="too long"):
        store.merge_changes("other", msgspec.msgpack.encode(longest), lambda slot: True, 0.0)
    other = ItemStore(MemoryTable(), max, items_max=3)
    for part in parts:
        assert isinstance(part, Part)
        other.merge(1, "other", ALL, part, 0.0)
    assert content(other) == content(store)


def refusing_join(one: bytes, other: bytes) -> bytes:
    if not one.isdigit() or not other.isdigit():
        raise ValueError("no number")
    return max(one, other)


def test_what_is_no_value_is_left_out_and_counted_and_the_rest_is_taken() -> None:
    items = msgspec.msgpack.encode([Item(1, b"b", b"no value"), Item(1, b"a", b"5")])
    store, other = ItemStore(MemoryTable(), refusing_join), ItemStore(MemoryTable(), refusing_join)
    store.merge(1, "other", mask(1), Part(items), 0.0)
    assert other.merge_changes("other", items, lambda slot: slot == 1, 0.0) == 1
    for each in (store, other):
        assert each.get(1, b"a") == b"5"
        assert each.get(1, b"b") is None
        assert each.items_refused == 1


@pytest.mark.parametrize(
    "items",
    [
        b"junk",
        msgspec.msgpack.encode([Item(1, b"a", b"5"), Item(2, b"a", b"5")]),  # slot 2 was not asked for
        msgspec.msgpack.encode([Item(1, b"a", b"5"), Item(1, b"", b"5")]),
        msgspec.msgpack.encode([Item(1, b"n" * (NAME_BYTES_MAX + 1), b"5")]),
        msgspec.msgpack.encode([Item(70_000, b"a", b"5")]),
        msgspec.msgpack.encode([Item(1, b"%d" % number, b"5") for number in range(CHANGES_MAX + 1)]),
    ],
)
def test_of_a_message_with_anything_wrong_nothing_is_taken(items: bytes) -> None:
    store = ItemStore(MemoryTable(), refusing_join)
    with pytest.raises(RemoteProtocolError):
        store.merge(1, "other", mask(1), Part(items), 0.0)
    with pytest.raises(RemoteProtocolError):
        store.merge_changes("other", items, lambda slot: slot == 1, 0.0)
    assert content(store) == set()
