"""Sealed rows: only their owner makes and reads them, and they join in any order."""

from __future__ import annotations

from itertools import permutations

import msgspec
import pytest
from msgspec.structs import replace

from peers.entities.seal import RowKey
from peers.entities.sealed_row import (
    CONTENT_BYTES_MAX,
    FILL_BYTES,
    KEY_BYTES,
    NUMBER_MAX,
    SEALED_BYTES_MAX,
    SealedRow,
    is_of_its_time,
    is_row,
    join,
    joined,
    key_in_name,
    name_of,
    row_bytes,
    row_in,
)

SECRET, OTHER = b"s" * KEY_BYTES, b"o" * KEY_BYTES
KEY = RowKey(SECRET)


def row(number: int = 1, content: bytes = b"fields", until_day: int = 400) -> SealedRow:
    return KEY.seal(number, until_day, content, bytes(12))


def test_the_owner_reads_what_was_sealed_and_nobody_else() -> None:
    assert RowKey(SECRET).open(row()) == b"fields"
    assert RowKey(SECRET).public == KEY.public
    with pytest.raises(ValueError, match="does not open"):
        RowKey(OTHER).open(row())
    assert b"fields" not in row_bytes(row())


def test_lengths_of_contents_tell_little_and_the_longest_fits() -> None:
    assert len(row(content=b"").sealed) == len(row(content=b"x" * (FILL_BYTES - 4)).sealed)
    longest = row(content=b"x" * CONTENT_BYTES_MAX)
    assert len(longest.sealed) <= SEALED_BYTES_MAX
    assert KEY.open(row_in(row_bytes(longest))) == b"x" * CONTENT_BYTES_MAX


@pytest.mark.parametrize(
    "change",
    [{"number": 2}, {"until_day": 401}, {"sealed": b"x" * 40}, {"sealed": b""}, {"signature": bytes(64)}],
)
def test_whoever_changes_a_row_is_not_its_owner(change: dict[str, object]) -> None:
    assert is_row(KEY.public, row())
    assert not is_row(KEY.public, replace(row(), **change))
    assert not is_row(RowKey(OTHER).public, row())
    signed_anew = RowKey(OTHER).seal(1, 400, b"fields", bytes(12))
    assert not is_row(KEY.public, signed_anew)


def test_an_old_content_does_not_open_under_a_new_number() -> None:
    with pytest.raises(ValueError, match="does not open"):
        KEY.open(replace(row(1), number=2))


def test_what_is_forgotten_outlives_every_change_and_has_a_number_whatever_the_row_s_was() -> None:
    assert KEY.forget(row(until_day=400), until_day=405).until_day == 405
    assert KEY.forget(row(until_day=400), until_day=395).until_day == 400
    last = KEY.forget(row(NUMBER_MAX))
    assert row_in(row_bytes(last)) == last
    assert joined(last, row(NUMBER_MAX)) == last


def test_rows_join_in_any_order_and_what_was_forgotten_counts_most() -> None:
    first, second = row(1), row(2)
    forgotten = KEY.forget(first)
    late = row(9)  # of a machine that had not heard of it
    assert is_row(KEY.public, forgotten)
    for some in permutations([first, second, forgotten, late]):
        result = some[0]
        for each in some[1:]:
            result = joined(result, each)
        assert result == forgotten
    assert joined(first, second) == second
    assert row_in(join(row_bytes(second), row_bytes(first))) == second


def test_a_row_is_kept_up_to_its_day_and_not_for_ever() -> None:
    assert is_of_its_time(row(until_day=400), 400, 365)
    assert not is_of_its_time(row(until_day=400), 401, 365)
    assert not is_of_its_time(row(until_day=400), 20, 365)


def test_bytes_that_are_no_row_are_none() -> None:
    for value in (
        b"",
        b"x",
        b"\x91" * 100_000,
        row_bytes(row()) + b"x",
        msgspec.msgpack.encode([1, 2, b"", b""]),
    ):
        with pytest.raises(ValueError, match="sealed row"):
            row_in(value)
    with pytest.raises(ValueError, match="another way"):
        row_in(msgspec.msgpack.encode([1, 400, row().sealed, row().signature, 7]))
    assert key_in_name(name_of(KEY.public)) == KEY.public
    assert key_in_name(b"e" + b"x" * 31) is None
