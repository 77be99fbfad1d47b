"""Whatever changes a row counts for the slot in its key, and nothing else does."""

from __future__ import annotations

from mesh.memory_table import MemoryTable
from peers.handover.counting_table import CountingTable


def test_puts_and_deletes_count_for_their_slot_and_reads_do_not() -> None:
    beneath = MemoryTable()
    table = CountingTable(beneath, slot_at=1)
    table.put(b"k\x01\x02rest", b"a")
    table.put(b"k\x01\x02rest", b"b")
    table.delete(b"x\x01\x03")
    assert (table.changes[0x0102], table.changes[0x0103]) == (2, 1)
    assert table.get(b"k\x01\x02rest") == b"b"
    assert list(table.scan_prefix(b"k")) == list(beneath.scan(b"")) == [(b"k\x01\x02rest", b"b")]
    assert sum(table.changes) == 3


def test_keys_without_a_slot_count_for_none() -> None:
    table = CountingTable(MemoryTable(), slot_at=1)
    table.put(b"k", b"")
    table.put(b"kx", b"")
    assert not any(table.changes)
