"""The dictionary of a segment: its entries, sorted, and where the postings of each are.

Format: blocks of BLOCK_ENTRIES entries, each entry
    varint(bytes shared with the entry before; 0 for the first of a block)
    varint(bytes that follow), these bytes
    varint(documents), varint(bytes of postings), varint(bytes of positions)
and for every block three numbers: where it starts, where the postings and where the positions of its first
entry start; the last three are the lengths of dictionary, postings and positions. Some 14 bytes an entry,
where tables of fixed width took 45; looking one up takes 0.3 us. As the first entry of a block is whole, no
dictionary, hostile ones included, unpacks to more than BLOCK_ENTRIES times its strings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from peers.engine.kernels import read_checked, read_varint, write_varint
from peers.kernel import (
    IN_BYTES,
    IN_INTS,
    MUTABLE_BYTES,
    MUTABLE_INTS,
    Bytes,
    Ints,
    allocating_leaf,
    inlined,
    int64,
    kernel,
    leaf,
)

BLOCK_ENTRIES = 16
BLOCK_NUMBERS = 3
# Three numbers of entries, and two lengths of strings: varints of numbers below 2^35.
_ENTRY_OVERHEAD_MAX = 25

# Columns of what `look_up` finds
NUMBER, DOC_FREQ, START, END, PLACE, PLACE_END, FOUND_COLUMNS = range(7)


class Dictionary(NamedTuple):
    """The entries of a segment as arrays, for work on all of them."""

    terms: Bytes  # one after the other
    term_starts: Ints  # entries + 1, as the other starts
    doc_freqs: Ints
    postings_starts: Ints
    positions_starts: Ints


def pack_dictionary(dictionary: Dictionary) -> tuple[Bytes, Ints]:
    """Return (blocks one after the other, the numbers of each)."""
    n_entries = len(dictionary.doc_freqs)
    packed = np.empty(len(dictionary.terms) + _ENTRY_OVERHEAD_MAX * n_entries, np.uint8)
    numbers = np.zeros((-(-n_entries // BLOCK_ENTRIES) + 1) * BLOCK_NUMBERS, np.int64)
    n_bytes = _pack(*dictionary, packed, numbers)
    return packed[:n_bytes].copy(), numbers


def unpack_dictionary(packed: Bytes, numbers: Ints, n_entries: int) -> Dictionary | None:
    """Return the entries as arrays; None when this is no dictionary of so many entries."""
    if len(numbers) != (-(-n_entries // BLOCK_ENTRIES) + 1) * BLOCK_NUMBERS:
        return None
    if n_entries * 5 > len(packed):
        return None
    term_starts, doc_freqs = np.zeros(n_entries + 1, np.int64), np.zeros(n_entries, np.int64)
    postings_starts, positions_starts = np.zeros(n_entries + 1, np.int64), np.zeros(n_entries + 1, np.int64)
    if _measure(packed, n_entries, term_starts, doc_freqs, postings_starts, positions_starts) < 0:
        return None
    terms = np.empty(int(term_starts[-1]), np.uint8)
    _unpack(packed, term_starts, terms)
    return Dictionary(terms, term_starts, doc_freqs, postings_starts, positions_starts)


@kernel(IN_BYTES, IN_INTS, IN_INTS, IN_INTS, IN_INTS, MUTABLE_BYTES, MUTABLE_INTS)
def _pack(
    terms: Bytes,
    term_starts: Ints,
    doc_freqs: Ints,
    postings_starts: Ints,
    positions_starts: Ints,
    packed: Bytes,
    numbers: Ints,
) -> int:
    n_entries = len(doc_freqs)
    at = 0
    for entry in range(n_entries):
        start = term_starts[entry]
        end = term_starts[entry + 1]
        shared = 0
        if entry % BLOCK_ENTRIES == 0:
            block = entry // BLOCK_ENTRIES * BLOCK_NUMBERS
            numbers[block] = at
            numbers[block + 1] = postings_starts[entry]
            numbers[block + 2] = positions_starts[entry]
        else:
            before = term_starts[entry - 1]
            longest = min(start - before, end - start)
            while shared < longest and terms[before + shared] == terms[start + shared]:
                shared += 1
        at = write_varint(packed, at, shared)
        at = write_varint(packed, at, end - start - shared)
        for i in range(start + shared, end):
            packed[at] = terms[i]
            at += 1
        at = write_varint(packed, at, doc_freqs[entry])
        at = write_varint(packed, at, postings_starts[entry + 1] - postings_starts[entry])
        at = write_varint(packed, at, positions_starts[entry + 1] - positions_starts[entry])
    last = len(numbers) - BLOCK_NUMBERS
    numbers[last] = at
    numbers[last + 1] = postings_starts[n_entries]
    numbers[last + 2] = positions_starts[n_entries]
    return at


@kernel(IN_BYTES, types.int64, MUTABLE_INTS, MUTABLE_INTS, MUTABLE_INTS, MUTABLE_INTS)
def _measure(
    packed: Bytes,
    n_entries: int,
    term_starts: Ints,
    doc_freqs: Ints,
    postings_starts: Ints,
    positions_starts: Ints,
) -> int:
    """Read the numbers of all entries; -1 when they are not exactly those."""
    at = 0
    end = len(packed)
    before = 0
    for entry in range(n_entries):
        shared, at = read_checked(packed, at, end)
        rest, at = read_checked(packed, at, end)
        if shared < 0 or rest < 0 or shared > before or rest > end - at:
            return -1
        if entry % BLOCK_ENTRIES == 0 and shared:
            return -1
        before = shared + rest
        at += rest
        doc_freqs[entry], at = read_checked(packed, at, end)
        postings_bytes, at = read_checked(packed, at, end)
        positions_bytes, at = read_checked(packed, at, end)
        if doc_freqs[entry] < 0 or postings_bytes < 0 or positions_bytes < 0:
            return -1
        term_starts[entry + 1] = term_starts[entry] + before
        postings_starts[entry + 1] = postings_starts[entry] + postings_bytes
        positions_starts[entry + 1] = positions_starts[entry] + positions_bytes
    return 0 if at == end else -1


@kernel(IN_BYTES, IN_INTS, MUTABLE_BYTES)
def _unpack(packed: Bytes, term_starts: Ints, terms: Bytes) -> int:
    """Write the strings of entries that `_measure` has seen."""
    at = 0
    for entry in range(len(term_starts) - 1):
        shared, at = read_varint(packed, at)
        rest, at = read_varint(packed, at)
        to = term_starts[entry]
        if shared:
            before = term_starts[entry - 1]
            for i in range(shared):
                terms[to + i] = terms[before + i]
        for i in range(rest):
            terms[to + shared + i] = packed[at + i]
        at += rest
        for _ in range(3):
            _, at = read_varint(packed, at)
    return at


@leaf
def _order(packed: Bytes, at: int, length: int, wanted: Bytes, start: int, end: int, matched: int) -> int:
    """Compare packed bytes with what is behind the first `matched` bytes of a wanted string.

    Returns:
      How many bytes agree, from the start of the wanted string; less 1 << 40 when the packed are greater.
    """
    i = 0
    while i < length and start + matched + i < end:
        a = int64(packed[at + i])
        b = int64(wanted[start + matched + i])
        if a != b:
            return matched + i if a < b else matched + i - (1 << 40)
        i += 1
    if i == length:
        return matched + i  # equal or a beginning of it: not greater
    return matched + i - (1 << 40)


@leaf
def _begins_at_most(packed: Bytes, numbers: Ints, block: int, wanted: Bytes, start: int, end: int) -> bool:
    """Tell whether the first entry of a block is not greater than a wanted string."""
    at = numbers[block * BLOCK_NUMBERS]
    _, at = read_varint(packed, at)
    length, at = read_varint(packed, at)
    return _order(packed, at, length, wanted, start, end, 0) >= 0


@inlined
def _put(
    found: Ints,
    out: int,
    number: int,
    doc_freq: int,
    posting: int,
    postings_bytes: int,
    place: int,
    positions_bytes: int,
) -> None:
    """Tell what an entry is: a row of FOUND_COLUMNS, from `out` on."""
    found[out + NUMBER] = number
    found[out + DOC_FREQ] = doc_freq
    found[out + START] = posting
    found[out + END] = posting + postings_bytes
    found[out + PLACE] = place
    found[out + PLACE_END] = place + positions_bytes


@leaf
def find_entries(
    packed: Bytes, numbers: Ints, n_entries: int, wanted: Bytes, wanted_starts: Ints, found: Ints
) -> int:
    """Look strings up: FOUND_COLUMNS numbers each, NUMBER -1 for those that are not there.

    Returns:
      For the last string, the number of the first entry that is not less than it.
    """
    n_blocks = len(numbers) // BLOCK_NUMBERS - 1
    number = 0
    block = -1
    for w in range(len(wanted_starts) - 1):
        start = wanted_starts[w]
        end = wanted_starts[w + 1]
        out = w * FOUND_COLUMNS
        for i in range(FOUND_COLUMNS):
            found[out + i] = 0
        found[out + NUMBER] = -1
        number = 0
        # The last block whose first entry is not greater than what is wanted: often that of the one before.
        low = 0
        high = n_blocks
        if block >= 0 and _begins_at_most(packed, numbers, block, wanted, start, end):
            low = block + 1
            if low < n_blocks and not _begins_at_most(packed, numbers, low, wanted, start, end):
                high = low
        while low < high:
            middle = (low + high) >> 1
            if _begins_at_most(packed, numbers, middle, wanted, start, end):
                low = middle + 1
            else:
                high = middle
        block = low - 1
        if block < 0:
            continue
        at = numbers[block * BLOCK_NUMBERS]
        posting = numbers[block * BLOCK_NUMBERS + 1]
        place = numbers[block * BLOCK_NUMBERS + 2]
        matched = 0
        number = block * BLOCK_ENTRIES
        last = min(number + BLOCK_ENTRIES, n_entries)
        while number < last:
            shared, at = read_varint(packed, at)
            length, at = read_varint(packed, at)
            is_equal = False
            if shared < matched:
                break  # the entry before agreed further and was less: this one is greater
            if shared == matched:
                order = _order(packed, at, length, wanted, start, end, matched)
                if order < 0:
                    break
                is_equal = order == end - start and shared + length == end - start
                matched = order
            at += length
            doc_freq, at = read_varint(packed, at)
            postings_bytes, at = read_varint(packed, at)
            positions_bytes, at = read_varint(packed, at)
            if is_equal:
                _put(found, out, number, doc_freq, posting, postings_bytes, place, positions_bytes)
                break
            posting += postings_bytes
            place += positions_bytes
            number += 1
    return number


@allocating_leaf
def found_entries(packed: Bytes, numbers: Ints, n_entries: int, wanted: Bytes, wanted_starts: Ints) -> Ints:
    """Return what `find_entries` finds, a row for each string."""
    n_wanted = len(wanted_starts) - 1
    found = np.empty(n_wanted * FOUND_COLUMNS, np.int64)
    find_entries(packed, numbers, n_entries, wanted, wanted_starts, found)
    return found.reshape(n_wanted, FOUND_COLUMNS)


@kernel(IN_BYTES, IN_INTS, types.int64, IN_BYTES, IN_INTS, MUTABLE_INTS)
def look_up(
    packed: Bytes, numbers: Ints, n_entries: int, wanted: Bytes, wanted_starts: Ints, found: Ints
) -> int:
    """Do as `find_entries`."""
    return find_entries(packed, numbers, n_entries, wanted, wanted_starts, found)


@kernel(IN_BYTES, IN_INTS, types.int64, types.int64, MUTABLE_INTS)
def list_entries(packed: Bytes, numbers: Ints, first: int, end: int, found: Ints) -> int:
    """Give the same numbers for the entries from `first` to before `end`."""
    number = first // BLOCK_ENTRIES * BLOCK_ENTRIES
    out = 0
    at = int64(0)
    posting = int64(0)
    place = int64(0)
    while number < end:
        if number % BLOCK_ENTRIES == 0:
            block = number // BLOCK_ENTRIES * BLOCK_NUMBERS
            at = numbers[block]
            posting = numbers[block + 1]
            place = numbers[block + 2]
        _, at = read_varint(packed, at)
        length, at = read_varint(packed, at)
        doc_freq, at = read_varint(packed, at + length)
        postings_bytes, at = read_varint(packed, at)
        positions_bytes, at = read_varint(packed, at)
        if number >= first:
            _put(found, out, number, doc_freq, posting, postings_bytes, place, positions_bytes)
            out += FOUND_COLUMNS
        posting += postings_bytes
        place += positions_bytes
        number += 1
    return out // FOUND_COLUMNS
