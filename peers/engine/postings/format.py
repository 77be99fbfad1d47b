"""The posting list of a dictionary entry: its format, and how its blocks are decoded.

A posting says how often an entry occurs in each field of one document; the postings of an entry have rising
documents. What follows depends on how many there are (which the dictionary says).

Fewer than BLOCK: one after the other, as cheap as can be
    varint(delta << 1 | simple)     delta = document - previous document, the first from -1
    when not simple: one byte of field bits, then varint(frequency) for each field present, ascending
    simple = the entry is once in the body and nowhere else, the commonest case by far. A varint has seven
    bits a byte, low bits first.

Otherwise, from the next multiple of four bytes on, 32-bit words: a summary, a skip entry for each block of
BLOCK postings (the last block may have fewer), and the blocks.
    block       two words: bits of a delta | for each field 1 << (6 + field) when no frequency is 0;
                bits of each field's frequencies, 6 bits each. Then columns of as many bits a value:
                delta - 1, and for each field with bits its frequencies (less 1 when none is 0).
    column      value i is in row i // 4 of lane i % 4; a lane is a stream of 32-bit words, low bits first,
                and the words of the four lanes alternate: four values are decoded at once, any one alone.
    skip entry  last document; where the block starts, in words from the first block; where its positions
                start, in bytes from the entry's first; then what bounds every score in the block:
                4 words frequency << 16 | length: points such that every document of the block has at most the
                frequency and at least the length of one of them in the body; no frequency: no point.
                3 words with 24 bits for each other field, frequency << 16 | length: greatest and least.
                Frequencies of 65,535 (255) mean any; lengths over 65,535 count as that.
    summary     the same for all blocks: the last document, the words of all blocks, 0

A score rises with frequencies and falls with lengths, whatever the weights and statistics; so the score of
the best point bounds all scores of a block, without knowing them when the index is built.

Positions of an atom (a word or a pair of CJK characters) are in a section of their own, in the order of the
postings: for each field present, varint deltas, the first from 0. How many bytes belong to a posting is not
noted: they have as many ends of varints as the posting has occurrences.
"""

from __future__ import annotations

import numpy as np
from numba import types

from peers.engine.kernels import BODY, FIELD_COUNT, read_varint
from peers.kernel import IN_BYTES, IN_WORDS, MUTABLE_INTS, Bytes, Ints, Words, int64, kernel, leaf

BLOCK_BITS = 7
BLOCK = 1 << BLOCK_BITS
HEAD_WORDS = 2
SKIP_WORDS = 10
WORD_MASK = (1 << 32) - 1

# A posting in a block: six columns of 32 bits; columns of few rows are rounded up to four words.
POSTING_BYTES_MAX = 32
ENTRY_BYTES_MAX = 512


@leaf
def column_words(rows: int, width: int) -> int:
    """Return how many words a column has."""
    return ((rows * width + 31) >> 5) << 2


@leaf
def unpack(words: Words, at: int, width: int, n: int, out: Ints, first: int) -> None:
    """Decode the first n values of a column to out[first:], and up to three more."""
    rows = (n + 3) >> 2
    if width == 0:
        for i in range(first, first + (rows << 2)):
            out[i] = 0
        return
    mask = (1 << width) - 1
    bit = 0
    for row in range(rows):
        j = at + ((bit >> 5) << 2)
        shift = bit & 31
        to = first + (row << 2)
        if shift + width <= 32:
            for lane in range(4):
                out[to + lane] = (int64(words[j + lane]) >> shift) & mask
        else:
            for lane in range(4):
                low = int64(words[j + lane]) >> shift
                out[to + lane] = (low | int64(words[j + 4 + lane]) << (32 - shift)) & mask
        bit += width


@leaf
def pick(words: Words, at: int, width: int, i: int) -> int:
    """Decode one value of a column."""
    bit = (i >> 2) * width
    j = at + ((bit >> 5) << 2) + (i & 3)
    shift = bit & 31
    value = int64(words[j]) >> shift
    if shift + width > 32:
        value |= int64(words[j + 4]) << (32 - shift)
    return int(value & ((1 << width) - 1))


@leaf
def block_size(n_postings: int, block: int) -> int:
    """Return how many postings a block has."""
    return min(BLOCK, n_postings - block * BLOCK)


@leaf
def block_words(words: Words, at: int, n: int) -> int:
    """Return how many words the block at `at` has."""
    rows = (n + 3) >> 2
    total = HEAD_WORDS + column_words(rows, int64(words[at]) & 63)
    widths = int64(words[at + 1])
    for field in range(FIELD_COUNT):
        total += column_words(rows, widths >> (6 * field) & 63)
    return total


@leaf
def decode_documents(words: Words, at: int, n: int, previous: int, documents: Ints, first: int) -> None:
    """Decode the documents of a block to documents[first:first + n], and up to three numbers more."""
    unpack(words, at + HEAD_WORDS, int64(words[at]) & 63, n, documents, first)
    for i in range(first, first + n):
        previous += documents[i] + 1
        documents[i] = previous


@leaf
def decode_frequencies(words: Words, at: int, n: int, frequencies: Ints) -> None:
    """Decode all frequencies of a block: frequencies[field * BLOCK + i]."""
    rows = (n + 3) >> 2
    head = int64(words[at])
    widths = int64(words[at + 1])
    column = at + HEAD_WORDS + column_words(rows, head & 63)
    for field in range(FIELD_COUNT):
        width = widths >> (6 * field) & 63
        unpack(words, column, width, n, frequencies, field * BLOCK)
        if head >> (6 + field) & 1:
            for i in range(field * BLOCK, field * BLOCK + n):
                frequencies[i] += 1
        column += column_words(rows, width)


@leaf
def decode_rare(data: Bytes, at: int, n: int, documents: Ints, first: int, frequencies: Ints) -> int:
    """Decode a list of fewer than BLOCK postings as the two functions above do; return the index after it."""
    document = -1
    for i in range(n):
        head, at = read_varint(data, at)
        document += head >> 1
        documents[first + i] = document
        for field in range(FIELD_COUNT):
            frequencies[field * BLOCK + i] = 0
        if head & 1:
            frequencies[BODY * BLOCK + i] = 1
            continue
        bits = int64(data[at])
        at += 1
        for field in range(FIELD_COUNT):
            if bits >> field & 1:
                frequencies[field * BLOCK + i], at = read_varint(data, at)
    return at


@leaf
def table_at(start: int) -> int:
    """Return the word at which the summary of a long list is whose bytes start at `start`."""
    return (start + 3) >> 2


@leaf
def block_count(n_postings: int) -> int:
    return (n_postings + BLOCK - 1) // BLOCK


@leaf
def load_block(
    data: Bytes,
    words: Words,
    start: int,
    n_postings: int,
    block: int,
    documents: Ints,
    first: int,
    frequencies: Ints,
) -> int:
    """Decode one block of a list, long or short (which has one), with frequencies; return its size."""
    if n_postings < BLOCK:
        decode_rare(data, start, n_postings, documents, first, frequencies)
        return n_postings
    table = table_at(start)
    entry = table + SKIP_WORDS * (1 + block)
    at = table + SKIP_WORDS * (1 + block_count(n_postings)) + int64(words[entry + 1])
    previous = int64(words[entry - SKIP_WORDS]) if block else -1
    n = block_size(n_postings, block)
    decode_documents(words, at, n, previous, documents, first)
    decode_frequencies(words, at, n, frequencies)
    return n


@leaf
def skip_varints(data: Bytes, at: int, n: int) -> int:
    """Return the index after n varints."""
    while n:
        if data[at] < 128:
            n -= 1
        at += 1
    return at


@kernel(IN_BYTES, IN_WORDS, types.int64, types.int64, MUTABLE_INTS)
def documents_of(data: Bytes, words: Words, start: int, n_postings: int, documents: Ints) -> int:
    """Decode all documents of a list; room for n_postings + 4."""
    frequencies = np.empty(FIELD_COUNT * BLOCK, np.int64)
    if n_postings < BLOCK:
        decode_rare(data, start, n_postings, documents, 0, frequencies)
        return n_postings
    n_blocks = block_count(n_postings)
    table = table_at(start)
    base = table + SKIP_WORDS * (1 + n_blocks)
    previous = int64(-1)
    for block in range(n_blocks):
        entry = table + SKIP_WORDS * (1 + block)
        n = block_size(n_postings, block)
        decode_documents(words, base + int64(words[entry + 1]), n, previous, documents, block * BLOCK)
        previous = int64(words[entry])
    return n_postings
