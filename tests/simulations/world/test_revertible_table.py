"""A table that can go back to its last commit."""

from __future__ import annotations

from simulations.world.revertible_table import RevertibleTable


def items(table: RevertibleTable) -> dict[bytes, bytes]:
    return dict(table.scan(b""))


def test_what_was_committed_stays_and_the_rest_is_undone() -> None:
    table = RevertibleTable()
    table.put(b"a", b"1")
    table.put(b"b", b"1")
    table.commit()
    table.put(b"a", b"2")
    table.put(b"a", b"3")
    table.delete(b"b")
    table.put(b"c", b"1")
    table.delete(b"c")
    table.put(b"d", b"1")
    assert items(table) == {b"a": b"3", b"d": b"1"}
    table.revert()
    assert items(table) == {b"a": b"1", b"b": b"1"}


def test_a_table_has_changes_until_they_are_committed_or_undone() -> None:
    table = RevertibleTable()
    assert not table.has_changes
    table.put(b"a", b"1")
    assert table.has_changes
    table.commit()
    assert not table.has_changes
    table.delete(b"a")
    assert table.has_changes
    table.revert()
    assert not table.has_changes
    assert table.get(b"a") == b"1"
    assert list(table.scan_prefix(b"a", limit=1)) == [(b"a", b"1")]
