from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from peers.engine.postings.dictionary import (
    BLOCK_ENTRIES,
    DOC_FREQ,
    END,
    FOUND_COLUMNS,
    NUMBER,
    PLACE,
    PLACE_END,
    START,
    Dictionary,
    lexicon_of,
    list_entries,
    look_up,
    pack_dictionary,
    unpack_dictionary,
)
from peers.engine.segments.builder import pack_strings
from peers.kernel import Ints

strings = st.lists(
    st.binary(min_size=1, max_size=6)
    | st.sampled_from([byte * n for byte in (b"a", b"\xff") for n in range(1, 40)]),
    unique=True,
    max_size=80,
).map(sorted)


def dictionary_of(entries: list[bytes]) -> Dictionary:
    numbers = np.arange(len(entries) + 1)
    return Dictionary(*pack_strings(entries), numbers[:-1] * 1000 % 517 + 1, numbers * 300, numbers * 7)


def found_of(entries: list[bytes], wanted: list[bytes]) -> tuple[int, Ints]:
    packed, blocks = pack_dictionary(dictionary_of(entries))
    found = np.empty(len(wanted) * FOUND_COLUMNS, np.int64)
    rank = look_up(lexicon_of(packed, blocks, len(entries)), wanted, found)
    return rank, found.reshape(-1, FOUND_COLUMNS)


@settings(deadline=None)
@given(strings)
def test_dictionary_comes_back_as_it_was_packed(entries: list[bytes]) -> None:
    dictionary = dictionary_of(entries)
    unpacked = unpack_dictionary(*pack_dictionary(dictionary), len(entries))
    assert unpacked is not None
    assert [column.tolist() for column in dictionary] == [column.tolist() for column in unpacked]


@settings(deadline=None)
@given(strings, strings, st.randoms())
def test_entries_are_found_in_any_order_with_their_numbers_and_others_are_not(
    entries: list[bytes], others: list[bytes], chance: Random
) -> None:
    wanted = [*others, *entries]
    chance.shuffle(wanted)
    _, found = found_of(entries, wanted)
    dictionary = dictionary_of(entries)
    for row, string in zip(found.tolist(), wanted, strict=True):
        if string not in entries:
            assert row[NUMBER] == -1
            continue
        number = entries.index(string)
        assert row[NUMBER] == number
        assert row[DOC_FREQ] == dictionary.doc_freqs[number]
        assert (row[START], row[END]) == (300 * number, 300 * number + 300)
        assert (row[PLACE], row[PLACE_END]) == (7 * number, 7 * number + 7)


@settings(deadline=None)
@given(strings, st.binary(max_size=6))
def test_rank_is_the_number_of_lesser_entries(entries: list[bytes], wanted: bytes) -> None:
    assert found_of(entries, [wanted])[0] == sum(entry < wanted for entry in entries)


@settings(deadline=None)
@given(strings, st.data())
def test_entries_from_one_to_another_are_listed(entries: list[bytes], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(entries)))
    end = data.draw(st.integers(first, len(entries)))
    packed, blocks = pack_dictionary(dictionary_of(entries))
    found = np.empty((end - first) * FOUND_COLUMNS, np.int64)
    assert list_entries(packed, blocks, first, end, found) == end - first
    expected = found_of(entries, entries[first:end])[1]
    assert np.array_equal(found.reshape(-1, FOUND_COLUMNS), expected)


def test_no_dictionary_unpacks_to_more_than_its_blocks_have_entries_times_as_much() -> None:
    bomb = [b"x" * 4000 + b"%05d" % n for n in range(2000)]
    packed, blocks = pack_dictionary(dictionary_of(bomb))
    unpacked = unpack_dictionary(packed, blocks, len(bomb))
    assert unpacked is not None
    assert len(unpacked.terms) < BLOCK_ENTRIES * len(packed)
