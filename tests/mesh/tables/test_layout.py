"""The layout of tables: what another version wrote is refused with a sentence, before anything is read."""

from __future__ import annotations

import pytest

from mesh.errors import StorageError
from mesh.tables import layout
from mesh.tables.layout import check_layout, note_layout
from mesh.tables.memory_table import MemoryTable


def test_empty_table_and_one_of_this_layout_are_taken() -> None:
    table = MemoryTable()
    check_layout(table)
    note_layout(table)
    table.put(b"key", b"value")
    check_layout(table)


def test_table_that_says_nothing_of_its_layout_is_refused_with_what_to_do() -> None:
    table = MemoryTable()
    table.put(b"\x00life", b"\0\0\0\1")  # as the versions before there was such a number
    with pytest.raises(
        StorageError, match="export its pages with that version, start with an empty data folder"
    ):
        check_layout(table)


@pytest.mark.parametrize("other", [layout.LAYOUT - 1, layout.LAYOUT + 1])
def test_table_of_an_earlier_or_later_layout_is_refused(other: int) -> None:
    table = MemoryTable()
    note_layout(table)
    table.put(layout._LAYOUT_KEY, other.to_bytes(2, "big"))
    with pytest.raises(StorageError):
        check_layout(table)
