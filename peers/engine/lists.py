"""Posting lists that are open: each stands at one of its blocks and goes forward only.

What kernels of a search share: how a list is opened, how the block with a document is found and entered, and
where documents that have been found are in other lists. Every block is checked against its sum before it is
used: the first that is not as it was written is noted in `damage`, and what a kernel returns is worth nothing
then. A posting is remembered by its index, so that its frequencies and positions can be read later without
decoding anything again.

A list of fewer than BLOCK postings is one block, decoded with its frequencies when it is opened.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from peers.engine.dictionary import DOC_FREQ, END, START
from peers.engine.kernels import BODY, FIELD_COUNT, SUM_BLOCK_BYTES, is_sound
from peers.engine.postings.format import (
    BLOCK,
    HEAD_WORDS,
    SKIP_WORDS,
    block_count,
    block_size,
    column_words,
    decode_documents,
    decode_frequencies,
    decode_rare,
    pick,
    table_at,
    unpack,
)
from peers.kernel import (
    IN_BYTES,
    IN_SUMS,
    IN_WORDS,
    Bytes,
    Ints,
    Sums,
    Words,
    allocating_leaf,
    inlined,
    int64,
    leaf,
    record,
)

# More than any document.
NO_DOCUMENT = 1 << 40

# State of a list. WIDTH, LEAST, COLUMN: of the frequencies in the body in the block READ; FIELDS: bits of the
# fields that occur in it. DECODED: the block whose frequencies are. PLACED_AT: where the positions of the
# posting PLACED_POSTING of the block PLACED are.
(
    N_POSTINGS, TABLE, N_BLOCKS, _DATA, CHECKED,
    AT_BLOCK, LAST, SIZE, AT,
    READ, FIELDS, WIDTH, LEAST, COLUMN, DECODED,
    PLACED, PLACED_POSTING, PLACED_AT, N_STATE,
) = range(19)  # fmt: skip

ONLY_BODY = 1 << BODY
# Documents within so many are found in a block by a table, when they are so many, else by bisection.
_MARKED_SPAN = 1 << 13
_MARKED_MIN = 12


class Postings(NamedTuple):
    """The postings and positions of a segment: views of the same bytes, and the sums of their blocks."""

    data: Bytes
    words: Words
    summed: Sums
    sums: Sums
    positions: Bytes
    positions_summed: Sums
    positions_sums: Sums


POSTINGS = record(Postings, IN_BYTES, IN_WORDS, IN_SUMS, IN_SUMS, IN_BYTES, IN_SUMS, IN_SUMS)


class Lists(NamedTuple):
    """Open lists, a row each."""

    states: Ints  # (lists, N_STATE)
    documents: Ints  # (lists, BLOCK + 4): of the block AT_BLOCK, NO_DOCUMENT behind the last one
    frequencies: Ints  # (lists, FIELD_COUNT * BLOCK): of short lists; of others what a kernel decodes
    marks: Bytes  # (_MARKED_SPAN,): where in a block a document may be, less than BLOCK
    damage: Ints  # (1,): the first damaged block of postings that was met, -1: none
    positions_damage: Ints  # (1,): likewise


@allocating_leaf
def closed_lists(n_lists: int) -> Lists:
    """Make room for lists."""
    return Lists(
        np.empty((n_lists, N_STATE), np.int64),
        np.empty((n_lists, BLOCK + 4), np.int64),
        np.empty((n_lists, FIELD_COUNT * BLOCK), np.int64),
        np.zeros(_MARKED_SPAN, np.uint8),
        np.full(1, -1, np.int64),
        np.full(1, -1, np.int64),
    )


@leaf
def are_sound(summed: Sums, sums: Sums, start: int, end: int, checked: int, damage: Ints) -> int:
    """Check the bytes start to end, as far as they are behind what was checked; return up to where now."""
    if start < end:
        for block in range(max(start // SUM_BLOCK_BYTES, checked + 1), (end - 1) // SUM_BLOCK_BYTES + 1):
            if not is_sound(summed, sums, block):
                damage[0] = block
            checked = block
    return checked


@leaf
def open_list(postings: Postings, lists: Lists, row: int, found: Ints) -> bool:
    """Open what `look_up` found: a short list is decoded, of a long one the skip table is checked.

    Returns:
      Whether it is as it was written.
    """
    state = lists.states[row]
    n_postings = found[DOC_FREQ]
    start = found[START]
    state[N_POSTINGS] = n_postings
    state[AT_BLOCK] = -1
    state[LAST] = -1
    state[SIZE] = 0
    state[AT] = 0
    state[READ] = -1
    state[DECODED] = -1
    state[PLACED] = -1
    if n_postings < BLOCK:
        are_sound(postings.summed, postings.sums, start, found[END], -1, lists.damage)
        if lists.damage[0] >= 0:
            return False
        _read_rare(postings, lists, row, start, n_postings)
        return True
    n_blocks = block_count(n_postings)
    table = table_at(start)
    state[TABLE] = table + SKIP_WORDS
    state[N_BLOCKS] = n_blocks
    state[_DATA] = table + SKIP_WORDS * (1 + n_blocks)
    state[CHECKED] = are_sound(postings.summed, postings.sums, start, state[_DATA] << 2, -1, lists.damage)
    return bool(lists.damage[0] < 0)


@leaf
def _read_rare(postings: Postings, lists: Lists, row: int, start: int, n_postings: int) -> None:
    state = lists.states[row]
    documents = lists.documents[row]
    decode_rare(postings.data, start, n_postings, documents, 0, lists.frequencies[row])
    for i in range(n_postings, BLOCK + 1):
        documents[i] = NO_DOCUMENT
    state[N_BLOCKS] = 1
    state[AT_BLOCK] = 0
    state[SIZE] = n_postings
    state[LAST] = documents[n_postings - 1]


@inlined
def is_short(lists: Lists, row: int) -> bool:
    """Tell whether a list is one block without a skip table."""
    return bool(lists.states[row, N_POSTINGS] < BLOCK)


@inlined
def skip_entry(state: Ints, block: int) -> int:
    """Return the word at which the skip entry of a block of a long list is; -1 is the summary."""
    return int(state[TABLE] + SKIP_WORDS * block)


@inlined
def block_at(postings: Postings, state: Ints, block: int) -> int:
    """Return the word at which a block of a long list starts."""
    return int(state[_DATA] + int64(postings.words[skip_entry(state, block) + 1]))


@inlined
def block_end(postings: Postings, state: Ints, block: int) -> int:
    """Return the word after a block; the summary has that of the last."""
    following = block + 1 if block + 1 < state[N_BLOCKS] else -1
    return int(state[_DATA] + int64(postings.words[skip_entry(state, following) + 1]))


@inlined
def last_of(postings: Postings, state: Ints, block: int) -> int:
    """Return the last document of a block of a long list."""
    return int(int64(postings.words[skip_entry(state, block)]))


@inlined
def check_block(postings: Postings, lists: Lists, row: int, block: int) -> bool:
    """Check a block of a long list, from that on which was checked before."""
    state = lists.states[row]
    state[CHECKED] = are_sound(
        postings.summed,
        postings.sums,
        block_at(postings, state, block) << 2,
        block_end(postings, state, block) << 2,
        state[CHECKED],
        lists.damage,
    )
    return bool(lists.damage[0] < 0)


@leaf
def enter_block(postings: Postings, lists: Lists, row: int, block: int) -> bool:
    """Check a block of a long list and decode its documents."""
    if not check_block(postings, lists, row, block):
        return False
    state = lists.states[row]
    documents = lists.documents[row]
    size = block_size(state[N_POSTINGS], block)
    previous = last_of(postings, state, block - 1) if block else -1
    decode_documents(postings.words, block_at(postings, state, block), size, previous, documents, 0)
    for i in range(size, BLOCK + 1):
        documents[i] = NO_DOCUMENT
    state[AT_BLOCK] = block
    state[AT] = 0
    state[SIZE] = size
    state[LAST] = last_of(postings, state, block)
    return True


@leaf
def block_with(postings: Postings, state: Ints, first: int, document: int) -> int:
    """Return the first block from `first` on that ends with the document or later, else their number."""
    n_blocks = state[N_BLOCKS]
    low = first
    step = 1
    high = first
    while high < n_blocks and last_of(postings, state, high) < document:
        low = high + 1
        high += step
        step *= 2
    high = min(high, n_blocks)
    while low < high:
        middle = (low + high) >> 1
        if last_of(postings, state, middle) < document:
            low = middle + 1
        else:
            high = middle
    return low


@leaf
def go_to(postings: Postings, lists: Lists, row: int, document: int) -> bool:
    """Enter the block with a document that is behind the present block; False when there is none."""
    state = lists.states[row]
    if state[N_POSTINGS] < BLOCK:
        return False
    block = block_with(postings, state, state[AT_BLOCK] + 1, document)
    if block == state[N_BLOCKS]:
        state[AT_BLOCK] = block - 1
        state[LAST] = NO_DOCUMENT
        state[SIZE] = 0
        state[AT] = 0
        return False
    return enter_block(postings, lists, row, block)


@inlined
def place_in(documents: Ints, document: int) -> int:
    """Return the first place in a block with the document or a later one; the last one is not before it.

    Without branches: which way each goes is anybody's guess.
    """
    at = int64(0)
    half = int64(BLOCK // 2)
    while half:
        at += half * int64(documents[at + half - 1] < document)
        half >>= 1
    return int(at)


@leaf
def _locate_marked(
    documents: Ints, size: int, base: int, marks: Bytes, found: Ints, first: int, end: int, indexes: Ints
) -> None:
    """Locate found[first:end] in a block through a table of its documents.

    The table is never emptied: what it says is compared with the block.
    """
    lowest = documents[0]
    for i in range(size):
        marks[np.uint64(documents[i] - lowest)] = i
    for i in range(first, end):
        at = int64(marks[np.uint64(max(found[i] - lowest, 0))])
        indexes[i] = base + at if documents[np.uint64(at)] == found[i] else -1


@leaf
def locate_all(postings: Postings, lists: Lists, row: int, found: Ints, n_found: int, indexes: Ints) -> bool:
    """Set indexes[i] to the index of the posting of the i-th document, rising, -1 without one."""
    state = lists.states[row]
    documents = lists.documents[row]
    first = 0
    while first < n_found:
        if state[LAST] < found[first] and not go_to(postings, lists, row, found[first]):
            for i in range(first, n_found):
                indexes[i] = -1
            break
        last = state[LAST]
        end = first + 1
        while end < n_found and found[end] <= last:
            end += 1
        base = state[AT_BLOCK] * BLOCK
        if end - first >= _MARKED_MIN and last - documents[0] < _MARKED_SPAN:
            _locate_marked(documents, state[SIZE], base, lists.marks, found, first, end, indexes)
        else:
            for i in range(first, end):
                at = place_in(documents, found[i])
                indexes[i] = base + at if documents[at] == found[i] else -1
        first = end
    return bool(lists.damage[0] < 0)


@leaf
def _read_columns(postings: Postings, state: Ints, block: int) -> None:
    """Note where the frequencies of a block are."""
    words = postings.words
    at = block_at(postings, state, block)
    rows = (block_size(state[N_POSTINGS], block) + 3) >> 2
    head = int64(words[at])
    widths = int64(words[at + 1])
    column = at + HEAD_WORDS + column_words(rows, head & 63)
    fields = head >> 6
    for field in range(FIELD_COUNT):
        width = widths >> (6 * field) & 63
        if width:
            fields |= 1 << field
        if field < BODY:
            column += column_words(rows, width)
    state[READ] = block
    state[FIELDS] = fields
    state[WIDTH] = widths >> (6 * BODY) & 63
    state[LEAST] = head >> (6 + BODY) & 1
    state[COLUMN] = column


@inlined
def read_block(postings: Postings, lists: Lists, row: int, block: int) -> bool:
    """Check a block of a long list and note where its frequencies are; tell whether only the body has any."""
    state = lists.states[row]
    if state[READ] != block:
        if check_block(postings, lists, row, block):
            _read_columns(postings, state, block)
        else:
            # Nothing is read of it: as if all frequencies were none.
            state[READ] = block
            state[FIELDS] = ONLY_BODY
            state[WIDTH] = 0
            state[LEAST] = 0
    return bool(state[FIELDS] == ONLY_BODY)


@inlined
def body_frequency(postings: Postings, state: Ints, i: int) -> int:
    """Return how often the entry is in the body, for the i-th posting of the block READ."""
    width = state[WIDTH]
    return int(state[LEAST] + pick(postings.words, state[COLUMN], width, i) if width else state[LEAST])


@leaf
def _decode_body(postings: Postings, lists: Lists, row: int, size: int) -> None:
    state = lists.states[row]
    first = BODY * BLOCK
    frequencies = lists.frequencies[row]
    unpack(postings.words, state[COLUMN], state[WIDTH], size, frequencies, first)
    if state[LEAST]:
        for i in range(first, first + size):
            frequencies[i] += 1


@leaf
def read_frequencies(postings: Postings, lists: Lists, row: int, block: int) -> bool:
    """Decode the frequencies of a block of a list, long or short; tell whether only the body has any."""
    state = lists.states[row]
    if state[N_POSTINGS] < BLOCK:
        return False
    is_body = read_block(postings, lists, row, block)
    if state[DECODED] != block:
        state[DECODED] = block
        size = block_size(state[N_POSTINGS], block)
        if is_body:
            _decode_body(postings, lists, row, size)
        elif lists.damage[0] < 0:
            decode_frequencies(postings.words, block_at(postings, state, block), size, lists.frequencies[row])
    return is_body
