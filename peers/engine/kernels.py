"""What the kernels of the index share, and those for strings and checksums.

The others are in `postings` (posting lists: format, building, merging, slicing), `dictionary`, and in those
that go through open `lists`. They trust their input: segments are checksummed, and `inspect_postings` has
seen those that came from elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from peers.kernel import (
    IN_BYTES,
    IN_INTS,
    IN_LENGTHS,
    IN_SUMS,
    MUTABLE_INTS,
    MUTABLE_SUMS,
    Bytes,
    Codes,
    Ints,
    Lengths,
    Sums,
    kernel,
    leaf,
)

FIELD_COUNT = 5
BODY = 3

# An occurrence is one int64: document << 32 | field << 28 | position.
FIELD_SHIFT = 28
DOCUMENT_SHIFT = 32
POSITION_MASK = (1 << FIELD_SHIFT) - 1


@leaf
def read_varint(data: Bytes, at: int) -> tuple[int, int]:
    """Return (value, index after it) of the varint at `at`."""
    byte = int(np.int64(data[at]))
    value = byte & 127
    shift = 7
    at += 1
    while byte >= 128:
        byte = int(np.int64(data[at]))
        value |= (byte & 127) << shift
        shift += 7
        at += 1
    return value, at


@leaf
def write_varint(data: Bytes, at: int, value: int) -> int:
    """Write a varint at `at`; return the index after it."""
    while value >= 128:
        data[at] = (value & 127) | 128
        value >>= 7
        at += 1
    data[at] = value
    return at + 1


# 35 bits: more than a document number and its flag, a frequency or a length has.
_VARINT_BYTES_MAX = 5


@leaf
def read_checked(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return (value, index after it) of a varint; value -1 when it is none or longer than need be."""
    value = 0
    for i in range(_VARINT_BYTES_MAX):
        if at + i >= end:
            return -1, at
        byte = int(np.int64(data[at + i]))
        value |= (byte & 127) << (7 * i)
        if byte < 128:
            if byte == 0 and i > 0:
                return -1, at
            return value, at + i + 1
    return -1, at


# What a check covers: about six blocks of postings, 25 ns; the sums are 0.8 % of what they cover.
SUM_BLOCK_BYTES = 1024
_SUM_WORDS = SUM_BLOCK_BYTES // 8

_STEP, _MIX_1, _MIX_2 = (
    np.uint64(prime) for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
)
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFF_FFFF)


@leaf
def _sum_of(words: Sums, start: int, end: int) -> Any:
    """Return the sum of words[start:end].

    Each word and a multiple of _STEP, so that places count, is x; the sum of all x, which shows any change
    of one word, and the sum of the products of the halves of each x, which shows others but one in 2^32 (as
    NH of UMAC: Black and others, CRYPTO 1999; XXH3 does likewise), are mixed. Both sums are taken in vector
    registers, four times as fast as XXH64, whose multiplications of 64 bits are not.
    """
    total = np.uint64(0)
    products = np.uint64(0)
    key = _STEP
    for i in range(np.uint64(start), np.uint64(end)):
        x = words[i] + key
        key += _STEP
        total += x
        products += (x & _LOW_HALF) * (x >> _HALF)
    mixed = (products ^ products >> np.uint64(29)) * _MIX_1 + total
    mixed = (mixed ^ mixed >> np.uint64(32)) * _MIX_2
    return mixed ^ mixed >> np.uint64(29)


@kernel(IN_SUMS, MUTABLE_SUMS)
def sum_blocks(words: Sums, sums: Sums) -> int:
    """Sum every block of SUM_BLOCK_BYTES; the last one may be shorter, by a multiple of 32 bytes."""
    for block in range(len(sums)):
        start = block * _SUM_WORDS
        sums[block] = _sum_of(words, start, min(start + _SUM_WORDS, len(words)))
    return len(sums)


@leaf
def is_sound(words: Sums, sums: Sums, block: int) -> bool:
    """Tell whether a block has its sum."""
    start = block * _SUM_WORDS
    return bool(_sum_of(words, start, min(start + _SUM_WORDS, len(words))) == sums[block])


@kernel(IN_SUMS, IN_SUMS, IN_INTS, IN_INTS)
def find_damage(words: Sums, sums: Sums, starts: Ints, ends: Ints) -> int:
    """Return the first block with another sum among those that have bytes start to end, or -1."""
    for i in range(len(starts)):
        if starts[i] >= ends[i]:
            continue
        for block in range(starts[i] // SUM_BLOCK_BYTES, (ends[i] - 1) // SUM_BLOCK_BYTES + 1):
            if not is_sound(words, sums, block):
                return block
    return -1


# Three code points of 21 bits fit an int64: most Chinese words need no comparison of strings.
PACKED_CHARS_MAX = 3
PACKED_BITS = 21


@leaf
def _slot_of(keys: Ints, key: int) -> int:
    """Return where a key is in an open-addressing table of 2^n entries, or the free entry for it."""
    mask = len(keys) - 1
    mixed = (key ^ key >> 29) * 0x2545F4914F6CDD1D
    at = (mixed ^ mixed >> 32) & mask
    while keys[at] != 0 and keys[at] != key:
        at = (at + 1) & mask
    return int(at)


@kernel(
    types.Array(types.uint32, 1, "C", readonly=True),
    MUTABLE_INTS,
    MUTABLE_INTS,
    types.int64,
    MUTABLE_INTS,
    MUTABLE_INTS,
)
def number_tokens(
    codes: Codes, table_keys: Ints, table_numbers: Ints, next_number: int, numbers: Ints, new_keys: Ints
) -> int:
    """Give each short token its number, new ones the next.

    Args:
      codes: tokens, each followed by a 0.
      table_keys, table_numbers: an open-addressing table, never to be more than half full; 0 is free.
      numbers: becomes the number of each token; -1 for those longer than PACKED_CHARS_MAX.
      new_keys: room for all tokens; becomes the packed code points of the new ones, in order.

    Returns:
      How many are new.
    """
    token = 0
    n_new = 0
    key = 0
    length = 0
    for i in range(len(codes)):
        code = int(np.int64(codes[i]))
        if code:
            key = key << PACKED_BITS | code
            length += 1
            continue
        if length > PACKED_CHARS_MAX:
            numbers[token] = -1
        else:
            at = _slot_of(table_keys, key)
            if table_keys[at] == 0:
                table_keys[at] = key
                table_numbers[at] = next_number + n_new
                new_keys[n_new] = key
                n_new += 1
            numbers[token] = table_numbers[at]
        token += 1
        key = 0
        length = 0
    return n_new


@kernel(MUTABLE_INTS, MUTABLE_INTS, MUTABLE_INTS, MUTABLE_INTS)
def rehash(old_keys: Ints, old_numbers: Ints, keys: Ints, numbers: Ints) -> int:
    """Copy one table of `number_tokens` into a larger one."""
    for i in range(len(old_keys)):
        if old_keys[i]:
            at = _slot_of(keys, old_keys[i])
            keys[at] = old_keys[i]
            numbers[at] = old_numbers[i]
    return len(keys)


@kernel(IN_INTS, IN_INTS, MUTABLE_INTS, MUTABLE_INTS)
def scatter(terms: Ints, keys: Ints, cursors: Ints, grouped: Ints) -> int:
    """Put each key where the cursor of its term is, and move the cursor on."""
    for i in range(len(terms)):
        term = terms[i]
        grouped[cursors[term]] = keys[i]
        cursors[term] += 1
    return len(terms)


@leaf
def compare(a: Bytes, a_start: int, a_end: int, b: Bytes, b_start: int, b_end: int) -> int:
    n = min(a_end - a_start, b_end - b_start)
    for i in range(n):
        difference = int(np.int64(a[a_start + i]) - np.int64(b[b_start + i]))
        if difference:
            return difference
    return (a_end - a_start) - (b_end - b_start)


@kernel(IN_BYTES, IN_INTS, IN_BYTES, IN_INTS, MUTABLE_INTS)
def find(blob: Bytes, starts: Ints, wanted: Bytes, wanted_starts: Ints, found: Ints) -> int:
    """Look strings up in a sorted list of distinct strings; `found` becomes their index or -1."""
    n = len(starts) - 1
    for w in range(len(wanted_starts) - 1):
        low = 0
        high = n
        found[w] = -1
        while low < high:
            middle = (low + high) >> 1
            order = compare(
                blob, starts[middle], starts[middle + 1], wanted, wanted_starts[w], wanted_starts[w + 1]
            )
            if order == 0:
                found[w] = middle
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle
    return n


@kernel(IN_LENGTHS, IN_BYTES, MUTABLE_INTS)
def sum_lengths(lengths: Lengths, allowed: Bytes, totals: Ints) -> int:
    """Add the field lengths of the documents that are allowed to `totals`; return how many these are."""
    n = 0
    for document in range(len(allowed)):
        if allowed[document]:
            n += 1
            for field in range(FIELD_COUNT):
                totals[field] += np.int64(lengths[document, field])
    return n


@kernel(IN_BYTES, IN_INTS, IN_INTS, IN_BYTES, MUTABLE_INTS)
def merge_order(blob: Bytes, starts: Ints, list_starts: Ints, is_live: Bytes, ranks: Ints) -> int:
    """Merge sorted lists of distinct strings.

    Args:
      blob, starts: all strings of all lists. list_starts: n_lists + 1, where each list starts.
      is_live: whether a string takes part.
      ranks: becomes the place of each string in the merged list, the same for equal ones, -1 for the dead.

    Returns:
      The length of the merged list.
    """
    n_lists = len(list_starts) - 1
    heads = list_starts[:n_lists].copy()
    rank = 0
    while True:
        least = -1
        for i in range(n_lists):
            while heads[i] < list_starts[i + 1] and not is_live[heads[i]]:
                ranks[heads[i]] = -1
                heads[i] += 1
            if heads[i] == list_starts[i + 1]:
                continue
            if least < 0:
                least = i
                continue
            a = heads[i]
            b = heads[least]
            if compare(blob, starts[a], starts[a + 1], blob, starts[b], starts[b + 1]) < 0:
                least = i
        if least < 0:
            return rank
        chosen = heads[least]
        for i in range(n_lists):
            a = heads[i]
            if i == least or a == list_starts[i + 1]:
                continue
            if compare(blob, starts[a], starts[a + 1], blob, starts[chosen], starts[chosen + 1]) == 0:
                ranks[a] = rank
                heads[i] += 1
        ranks[chosen] = rank
        heads[least] += 1
        rank += 1


@kernel(IN_BYTES, IN_INTS)
def is_ascending(blob: Bytes, starts: Ints) -> int:
    """Return 1 when each string is greater than the one before it."""
    for i in range(1, len(starts) - 1):
        if compare(blob, starts[i - 1], starts[i], blob, starts[i], starts[i + 1]) >= 0:
            return 0
    return 1
