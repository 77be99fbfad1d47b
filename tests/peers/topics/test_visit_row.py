"""Rows of visits: as an honest peer writes them and no others; joins are unions and greatest levels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.topics.visit_row import (
    KEYS_MAX,
    VisitName,
    is_row,
    join,
    keys_bytes,
    keys_in,
    levels_bytes,
    levels_in,
    visit_in,
)

NAME = VisitName(b"contents", 20_000, b"page...1")
KEYS = st.sets(st.binary(min_size=4, max_size=4), min_size=1, max_size=40).map(keys_bytes)
LEVELS = st.dictionaries(
    st.binary(min_size=4, max_size=4), st.integers(min_value=1, max_value=2), min_size=1, max_size=40
).map(levels_bytes)


def test_a_name_comes_back_as_it_went() -> None:
    assert visit_in(NAME.encoded) == NAME
    assert len(NAME.encoded) == 20


@given(st.one_of(st.tuples(KEYS, KEYS, KEYS), st.tuples(LEVELS, LEVELS, LEVELS)))
def test_joins_are_idempotent_commutative_and_associative(values: tuple[bytes, bytes, bytes]) -> None:
    a, b, c = values
    assert join(a, a) == a
    assert join(a, b) == join(b, a)
    assert join(join(a, b), c) == join(a, join(b, c))


def test_a_join_has_all_keys_and_the_greater_level() -> None:
    assert keys_in(join(keys_bytes([b"bbbb"]), keys_bytes([b"aaaa", b"bbbb"]))) == [b"aaaa", b"bbbb"]
    one, other = levels_bytes({b"aaaa": 1, b"bbbb": 2}), levels_bytes({b"aaaa": 2})
    assert levels_in(join(one, other)) == {b"aaaa": 2, b"bbbb": 2}


def test_of_too_many_keys_the_first_ones_are_kept() -> None:
    keys = [n.to_bytes(4, "big") for n in range(KEYS_MAX + 10)]
    assert keys_in(join(keys_bytes(keys[:50]), keys_bytes(keys[30:]))) == keys[:KEYS_MAX]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (NAME.encoded, b""),
        (NAME.encoded, b"k"),
        (NAME.encoded, b"kbbbbaaaa"),
        (NAME.encoded, b"kaaaaaaaa"),
        (NAME.encoded, b"kaaa"),
        (NAME.encoded, levels_bytes({b"aaaa": 1})),
        (NAME.content, keys_bytes([b"aaaa"])),
        (NAME.content, b"laaaa\x03"),
        (NAME.content, b"laaaa\x00"),
        (NAME.content, b"laaaa\x01aaaa\x02"),
        (NAME.content + b"1", levels_bytes({b"aaaa": 1})),
        (NAME.encoded + b"1", keys_bytes([b"aaaa"])),
        (NAME.encoded, b"k" + b"".join(n.to_bytes(4, "big") for n in range(KEYS_MAX + 1))),
    ],
)
def test_nothing_else_is_a_row(name: bytes, value: bytes) -> None:
    assert not is_row(name, value)


def test_values_of_two_kinds_do_not_join() -> None:
    with pytest.raises(ValueError, match="kind"):
        join(keys_bytes([b"aaaa"]), levels_bytes({b"aaaa": 1}))
    with pytest.raises(ValueError, match="kind"):
        join(levels_bytes({b"aaaa": 1}), keys_bytes([b"aaaa"]))
