"""Write the list of one entry, posting by posting: what building, merging, slicing and inspection share.

A list is begun, its postings are begun one after the other and given their frequencies, and it is ended: only
then it is known whether it is short or has blocks, so until then all is in the writer. Postings are collected
until they fill a block, which is packed when the next posting comes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from peers.engine.kernels import BODY, FIELD_COUNT, write_varint
from peers.engine.postings.bounds import (
    FREQUENCY_ANY,
    LENGTH_MAX,
    POINTS,
    POINTS_AT,
    STAIRCASE_SIZE,
    add_point,
    field_bounds,
    other_field,
    write_fields,
    write_points,
)
from peers.engine.postings.format import (
    BLOCK,
    ENTRY_BYTES_MAX,
    HEAD_WORDS,
    POSTING_BYTES_MAX,
    SKIP_WORDS,
    WORD_MASK,
    column_words,
    table_at,
)
from peers.kernel import (
    MUTABLE_BYTES,
    MUTABLE_INTS,
    MUTABLE_WORDS,
    Bytes,
    Ints,
    Lengths,
    Words,
    allocating_leaf,
    inlined,
    int64,
    leaf,
    record,
)

# State of a writer. PLACE: where the positions of the pending block start, from the list's first.
_PENDING, _BLOCKS, _USED, _PREVIOUS, _PLACE, _N_STATE = range(6)

_NO_LENGTH = 1 << 62  # longer than any


class Writer(NamedTuple):
    """Room for one list: the postings of a block, and the blocks before them."""

    state: Ints
    documents: Ints  # (BLOCK + 4,): of the postings that are pending
    frequencies: Ints  # (FIELD_COUNT * BLOCK,): of the i-th of them in a field at field * BLOCK + i
    points: Ints  # the staircase of a block
    most: Ints  # (FIELD_COUNT,): the greatest frequency in a block
    least: Ints  # (FIELD_COUNT,): the least length in a block
    skips: Words  # the summary and the skip entries
    blocks: Words
    lengths: Lengths  # (documents, FIELD_COUNT)


class Written(NamedTuple):
    """The lists of entries as they are written, one after the other."""

    postings: Bytes
    words: Words  # another view of these bytes
    positions: Bytes
    starts: Ints  # entries + 1: where the postings of each start
    places: Ints  # entries + 1: where its positions do
    doc_freqs: Ints


WRITTEN = record(
    Written, MUTABLE_BYTES, MUTABLE_WORDS, MUTABLE_BYTES, MUTABLE_INTS, MUTABLE_INTS, MUTABLE_INTS
)


def new_lists(n_entries: int, words: Words, positions: Bytes) -> Written:
    """Return room for so many lists, of which nothing is written."""
    starts, places = np.zeros(n_entries + 1, np.int64), np.zeros(n_entries + 1, np.int64)
    return Written(words.view(np.uint8), words, positions, starts, places, np.zeros(n_entries, np.int64))


@allocating_leaf
def new_writer(n_postings_max: int, lengths: Lengths) -> Writer:
    """Make room for lists of so many postings at most, of documents with these lengths."""
    return Writer(
        np.zeros(_N_STATE, np.int64),
        np.empty(BLOCK + 4, np.int64),
        np.zeros(FIELD_COUNT * BLOCK, np.int64),
        np.empty(STAIRCASE_SIZE, np.int64),
        np.empty(FIELD_COUNT, np.int64),
        np.empty(FIELD_COUNT, np.int64),
        np.empty(SKIP_WORDS * (2 + n_postings_max // BLOCK + 1), np.uint32),
        np.empty((n_postings_max + BLOCK) * (POSTING_BYTES_MAX // 4) + ENTRY_BYTES_MAX, np.uint32),
        lengths,
    )


@leaf
def begin_list(writer: Writer) -> None:
    """Forget the list before."""
    state = writer.state
    state[_PENDING] = 0
    state[_BLOCKS] = 0
    state[_USED] = 0
    state[_PREVIOUS] = -1
    state[_PLACE] = 0


@inlined
def begin_posting(writer: Writer, document: int, place: int) -> int:
    """Begin the posting of a document behind those before; its frequencies are to be set, also those of 0.

    Args:
      place: where its positions start, from the first of the list.

    Returns:
      Where the frequencies go: that in a field to frequencies[field * BLOCK + where].
    """
    state = writer.state
    i = state[_PENDING]
    if i == BLOCK:
        _pack_block(writer)
        i = int64(0)
    if i == 0:
        state[_PLACE] = place
    writer.documents[i] = document
    state[_PENDING] = i + 1
    return int(i)


@inlined
def begin_block(writer: Writer) -> None:
    """Make room for a block of postings that are put in as a whole, behind blocks that are full."""
    if writer.state[_PENDING]:
        _pack_block(writer)


@inlined
def end_block(writer: Writer, n: int, place: int) -> None:
    """Take the first n documents and frequencies in the writer as postings; `place` as in `begin_posting`."""
    writer.state[_PENDING] = n
    writer.state[_PLACE] = place


@leaf
def end_list(writer: Writer, data: Bytes, words: Words, at: int) -> int:
    """Write the list to data[at:], of which `words` is another view; return the index after it."""
    state = writer.state
    if state[_BLOCKS] == 0 and state[_PENDING] < BLOCK:
        return _write_rare(state[_PENDING], writer.documents, writer.frequencies, data, at)
    _pack_block(writer)
    _summarise(writer)
    start = table_at(at)
    for i in range(at, start << 2):
        data[i] = 0
    n_skip_words = SKIP_WORDS * (1 + state[_BLOCKS])
    for i in range(n_skip_words):
        words[start + i] = writer.skips[i]
    start += n_skip_words
    for i in range(state[_USED]):
        words[start + i] = writer.blocks[i]
    return int((start + state[_USED]) << 2)


@leaf
def _pack_block(writer: Writer) -> None:
    """Pack what is pending, at least one posting, into a block, and make its skip entry."""
    state = writer.state
    n = state[_PENDING]
    entry = SKIP_WORDS * (1 + state[_BLOCKS])
    at = state[_USED]
    last = writer.documents[n - 1]
    writer.skips[entry] = np.uint32(last)
    writer.skips[entry + 1] = np.uint32(at)
    writer.skips[entry + 2] = np.uint32(state[_PLACE])
    head, widths = _extents(writer, n)
    _bound_block(writer, n, entry)
    head |= _make_deltas(writer.documents, n, state[_PREVIOUS])
    writer.blocks[at] = np.uint32(head)
    writer.blocks[at + 1] = np.uint32(widths)
    at = _pack(writer.documents, 0, n, 0, head & 63, writer.blocks, at + HEAD_WORDS)
    for field in range(FIELD_COUNT):
        less = head >> (6 + field) & 1
        width = widths >> (6 * field) & 63
        at = _pack(writer.frequencies, field * BLOCK, n, less, width, writer.blocks, at)
    state[_USED] = at
    state[_PREVIOUS] = last
    state[_BLOCKS] += 1
    state[_PENDING] = 0


@leaf
def _extents(writer: Writer, n: int) -> tuple[int, int]:
    """Note the greatest frequencies; return the two words of a block but for the bits of a delta."""
    head = int64(0)
    widths = int64(0)
    for field in range(FIELD_COUNT):
        first = field * BLOCK
        greatest = writer.frequencies[first]
        smallest = greatest
        for i in range(first + 1, first + n):
            greatest = max(greatest, writer.frequencies[i])
            smallest = min(smallest, writer.frequencies[i])
        less = 1 if smallest else 0
        writer.most[field] = greatest
        head |= less << (6 + field)
        widths |= _bits(greatest - less) << (6 * field)
    return head, widths


@leaf
def _bound_block(writer: Writer, n: int, entry: int) -> None:
    """Write what bounds the scores of the postings."""
    n_points = 0
    for field in range(FIELD_COUNT):
        if writer.most[field] == 0:
            continue
        shortest = int64(_NO_LENGTH)
        for i in range(n):
            frequency = writer.frequencies[field * BLOCK + i]
            if frequency == 0:
                continue
            length = int64(writer.lengths[writer.documents[i], field])
            if field == BODY:
                n_points = add_point(
                    writer.points, n_points, min(frequency, FREQUENCY_ANY), min(length, LENGTH_MAX)
                )
            else:
                shortest = min(shortest, length)
        writer.least[field] = shortest
    write_points(writer.points, n_points, writer.skips, entry)
    write_fields(writer.most, writer.least, writer.skips, entry)


@leaf
def _make_deltas(documents: Ints, n: int, previous: int) -> int:
    """Replace documents by what they are more than the one before, less 1; return how many bits it takes."""
    union = int64(0)
    # From the end, so that what is before is still there.
    for i in range(n - 1, -1, -1):
        before = documents[i - 1] if i else previous
        documents[i] -= before + 1
        union |= documents[i]
    return _bits(union)


@leaf
def _summarise(writer: Writer) -> None:
    """Write the summary, which bounds all blocks."""
    skips, most, least = writer.skips, writer.most, writer.least
    for field in range(FIELD_COUNT):
        most[field] = 0
        least[field] = _NO_LENGTH
    n_points = 0
    for block in range(writer.state[_BLOCKS]):
        entry = SKIP_WORDS * (1 + block)
        for i in range(POINTS):
            point = int64(skips[entry + POINTS_AT + i])
            if point:
                n_points = add_point(writer.points, n_points, point >> 16, point & 0xFFFF)
        for i in range(FIELD_COUNT - 1):
            bounds = field_bounds(skips, entry, i)
            if bounds:
                field = other_field(i)
                most[field] = max(most[field], bounds >> 16)
                least[field] = min(least[field], bounds & 0xFFFF)
    skips[0] = np.uint32(writer.state[_PREVIOUS])
    skips[1] = np.uint32(writer.state[_USED])
    skips[2] = 0
    write_points(writer.points, n_points, skips, 0)
    write_fields(most, least, skips, 0)


@leaf
def _write_rare(n: int, documents: Ints, frequencies: Ints, data: Bytes, at: int) -> int:
    """Write a list of fewer than BLOCK postings; return the index after it."""
    previous = -1
    for i in range(n):
        bits = 0
        for field in range(FIELD_COUNT):
            if frequencies[field * BLOCK + i]:
                bits |= 1 << field
        delta = documents[i] - previous
        previous = documents[i]
        if bits == 1 << BODY and frequencies[BODY * BLOCK + i] == 1:
            at = write_varint(data, at, delta << 1 | 1)
            continue
        at = write_varint(data, at, delta << 1)
        data[at] = bits
        at += 1
        for field in range(FIELD_COUNT):
            if frequencies[field * BLOCK + i]:
                at = write_varint(data, at, frequencies[field * BLOCK + i])
    return at


@leaf
def _pack(values: Ints, first: int, n: int, less: int, width: int, words: Words, at: int) -> int:
    """Write values[first:first + n] - less as a column at words[at]; return the index after it."""
    end = at + column_words((n + 3) >> 2, width)
    for j in range(at, end):
        words[j] = 0
    if width:
        for i in range(n):
            value = values[first + i] - less
            bit = (i >> 2) * width
            j = at + ((bit >> 5) << 2) + (i & 3)
            shift = bit & 31
            words[j] = np.uint32(int64(words[j]) | (value << shift) & WORD_MASK)
            if shift + width > 32:
                words[j + 4] = np.uint32(value >> (32 - shift))
    return end


@leaf
def _bits(value: int) -> int:
    n = 0
    while value:
        value >>= 1
        n += 1
    return n
