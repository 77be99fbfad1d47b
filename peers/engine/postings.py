"""The posting list of a dictionary entry: its format, and the kernels that write, merge, cut and inspect it.

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

from peers.engine.kernels import (
    BODY,
    DOCUMENT_SHIFT,
    FIELD_COUNT,
    FIELD_SHIFT,
    POSITION_MASK,
    read_varint,
    write_varint,
)
from peers.kernel import (
    IN_BYTES,
    IN_INTS,
    IN_LENGTHS,
    IN_WORDS,
    MUTABLE_BYTES,
    MUTABLE_INTS,
    MUTABLE_WORDS,
    Bytes,
    Ints,
    Lengths,
    Words,
    allocating_leaf,
    int64,
    kernel,
    leaf,
)

BLOCK_BITS = 7
BLOCK = 1 << BLOCK_BITS
HEAD_WORDS = 2
SKIP_WORDS = 10
POINTS = 4
POINTS_AT = 3  # in a skip entry
FIELDS_AT = 7
FREQUENCY_ANY = 65_535  # of a point
FIELD_FREQUENCY_ANY = 255
LENGTH_MAX = 65_535
WORD_MASK = (1 << 32) - 1

# No varint list is longer: head, field bits and five frequencies of BLOCK - 1 postings.
_RARE_POSTING_BYTES = 5 + 1 + 5 * FIELD_COUNT
# A posting in a block: six columns of 32 bits; columns of few rows are rounded up to four words.
POSTING_BYTES_MAX = 32
ENTRY_BYTES_MAX = 512

# While more points than are stored are collected, the staircase is not cut.
_POINTS_COLLECTED = 16

# State of a writer
_PENDING, _BLOCKS, _USED, _PREVIOUS, _PLACE, _N_STATE = range(6)


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


# --- Writing ----------------------------------------------------------------------------------


@leaf
def _add_point(points: Ints, n: int, frequency: int, length: int) -> int:
    """Add a point to a staircase, lengths and frequencies rising; return how many it has."""
    i = n
    while i > 0 and points[2 * i - 1] > length:
        i -= 1
    if i > 0 and points[2 * i - 2] >= frequency:
        return n
    low = i
    while low > 0 and points[2 * low - 1] == length:
        low -= 1
    high = i
    while high < n and points[2 * high] <= frequency:
        high += 1
    # low:high are dominated; the new point takes their place.
    moved = 1 - (high - low)
    if moved > 0:
        for j in range(n - 1, high - 1, -1):
            points[2 * (j + 1)] = points[2 * j]
            points[2 * (j + 1) + 1] = points[2 * j + 1]
    elif moved < 0:
        for j in range(high, n):
            points[2 * (j + moved)] = points[2 * j]
            points[2 * (j + moved) + 1] = points[2 * j + 1]
    points[2 * low] = frequency
    points[2 * low + 1] = length
    n += moved
    if n == _POINTS_COLLECTED:
        n = _cut_points(points, n, n - 1)
    return n


@leaf
def _cut_points(points: Ints, n: int, n_max: int) -> int:
    """Join neighbouring points, those first that lose least."""
    while n > n_max:
        best = 0
        least = np.inf
        for i in range(n - 1):
            frequencies = points[2 * i + 2] / points[2 * i]
            lengths = (points[2 * i + 3] + 1.0) / (points[2 * i + 1] + 1.0)
            loss = min(frequencies, lengths)
            if loss < least:
                least = loss
                best = i
        points[2 * best] = points[2 * best + 2]
        for j in range(best + 1, n - 1):
            points[2 * j] = points[2 * j + 2]
            points[2 * j + 1] = points[2 * j + 3]
        n -= 1
    return n


@leaf
def _write_points(points: Ints, n: int, words: Words, entry: int) -> None:
    n = _cut_points(points, n, POINTS)
    for i in range(POINTS):
        words[entry + POINTS_AT + i] = np.uint32(points[2 * i] << 16 | points[2 * i + 1]) if i < n else 0


@leaf
def _other_field(i: int) -> int:
    """Return which field has the i-th place among those without points."""
    return i if i < BODY else i + 1


@leaf
def _write_fields(most: Ints, least: Ints, words: Words, entry: int) -> None:
    packed_low = int64(0)
    packed_high = int64(0)
    for i in range(FIELD_COUNT - 1):
        field = _other_field(i)
        value = 0
        if most[field]:
            value = min(most[field], FIELD_FREQUENCY_ANY) << 16 | min(least[field], LENGTH_MAX)
        if i < 2:
            packed_low |= value << (24 * i)
        else:
            packed_high |= value << (24 * (i - 2))
    words[entry + FIELDS_AT] = np.uint32(packed_low & WORD_MASK)
    words[entry + FIELDS_AT + 1] = np.uint32((packed_low >> 32) | (packed_high & 0xFFFF) << 16)
    words[entry + FIELDS_AT + 2] = np.uint32(packed_high >> 16)


@leaf
def field_bounds(words: Words, entry: int, i: int) -> int:
    """Return frequency << 16 | length of the i-th field without points."""
    if i < 2:
        packed = int64(words[entry + FIELDS_AT]) | (int64(words[entry + FIELDS_AT + 1]) & 0xFFFF) << 32
    else:
        packed = int64(words[entry + FIELDS_AT + 1]) >> 16 | int64(words[entry + FIELDS_AT + 2]) << 16
    return int(packed >> (24 * (i & 1)) & 0xFFFFFF)


@allocating_leaf
def _flush_block(
    state: Ints,
    documents: Ints,
    frequencies: Ints,
    lengths: Lengths,
    skips: Words,
    blocks: Words,
    points: Ints,
) -> None:
    """Write what is pending as a block, and its skip entry."""
    n = state[_PENDING]
    most = np.zeros(FIELD_COUNT, np.int64)
    least = np.zeros(FIELD_COUNT, np.int64)
    entry = SKIP_WORDS * (1 + state[_BLOCKS])
    at = state[_USED]
    last = documents[n - 1]
    skips[entry] = np.uint32(last)
    skips[entry + 1] = np.uint32(at)
    skips[entry + 2] = np.uint32(state[_PLACE])
    n_points = 0
    head = int64(0)
    widths = int64(0)
    for field in range(FIELD_COUNT):
        greatest = int64(0)
        smallest = int64(1) << 62
        shortest = int64(1) << 62
        for i in range(n):
            frequency = frequencies[field * BLOCK + i]
            smallest = min(smallest, frequency)
            if frequency == 0:
                continue
            greatest = max(greatest, frequency)
            length = int64(lengths[documents[i], field])
            if field == BODY:
                n_points = _add_point(
                    points, n_points, min(frequency, FREQUENCY_ANY), min(length, LENGTH_MAX)
                )
            else:
                shortest = min(shortest, length)
        most[field] = greatest
        least[field] = shortest
        if smallest:
            head |= 1 << (6 + field)
        widths |= _bits(greatest - (1 if smallest else 0)) << (6 * field)
    _write_points(points, n_points, skips, entry)
    _write_fields(most, least, skips, entry)
    # Deltas less 1, from the end so that what is before is still there.
    union = 0
    for i in range(n - 1, -1, -1):
        before = documents[i - 1] if i else state[_PREVIOUS]
        documents[i] -= before + 1
        union |= documents[i]
    head |= _bits(union)
    blocks[at] = np.uint32(head)
    blocks[at + 1] = np.uint32(widths)
    at = _pack(documents, 0, n, 0, head & 63, blocks, at + HEAD_WORDS)
    for field in range(FIELD_COUNT):
        at = _pack(
            frequencies,
            field * BLOCK,
            n,
            1 if head >> (6 + field) & 1 else 0,
            widths >> (6 * field) & 63,
            blocks,
            at,
        )
    state[_USED] = at
    state[_PREVIOUS] = last
    state[_BLOCKS] += 1
    state[_PENDING] = 0


@leaf
def _begin_list(state: Ints) -> None:
    state[_PENDING] = 0
    state[_BLOCKS] = 0
    state[_USED] = 0
    state[_PREVIOUS] = -1
    state[_PLACE] = 0


@allocating_leaf
def _end_list(
    state: Ints,
    documents: Ints,
    frequencies: Ints,
    lengths: Lengths,
    skips: Words,
    blocks: Words,
    points: Ints,
    data: Bytes,
    words: Words,
    at: int,
) -> int:
    """Write the list to data[at:], of which `words` is another view; return the index after it."""
    if state[_BLOCKS] == 0 and state[_PENDING] < BLOCK:
        return _write_rare(state[_PENDING], documents, frequencies, data, at)
    if state[_PENDING]:
        _flush_block(state, documents, frequencies, lengths, skips, blocks, points)
    _summarise(state, skips, points)
    start = table_at(at)
    for i in range(at, start << 2):
        data[i] = 0
    n_skip_words = SKIP_WORDS * (1 + state[_BLOCKS])
    words[start : start + n_skip_words] = skips[:n_skip_words]
    start += n_skip_words
    words[start : start + state[_USED]] = blocks[: state[_USED]]
    return int((start + state[_USED]) << 2)


@leaf
def _write_rare(n: int, documents: Ints, frequencies: Ints, data: Bytes, at: int) -> int:
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


@allocating_leaf
def _summarise(state: Ints, skips: Words, points: Ints) -> None:
    """Write the summary, which bounds all blocks."""
    most = np.zeros(FIELD_COUNT, np.int64)
    least = np.full(FIELD_COUNT, 1 << 62, np.int64)
    n_points = 0
    for block in range(state[_BLOCKS]):
        entry = SKIP_WORDS * (1 + block)
        for i in range(POINTS):
            point = int64(skips[entry + POINTS_AT + i])
            if point:
                n_points = _add_point(points, n_points, point >> 16, point & 0xFFFF)
        for i in range(FIELD_COUNT - 1):
            bounds = field_bounds(skips, entry, i)
            if bounds:
                field = _other_field(i)
                most[field] = max(most[field], bounds >> 16)
                least[field] = min(least[field], bounds & 0xFFFF)
    skips[0] = np.uint32(state[_PREVIOUS])
    skips[1] = np.uint32(state[_USED])
    skips[2] = 0
    _write_points(points, n_points, skips, 0)
    _write_fields(most, least, skips, 0)


@leaf
def _scratch_words(n_postings: int) -> int:
    """Return how many words the blocks of a list may have."""
    return (n_postings + BLOCK) * (POSTING_BYTES_MAX // 4) + ENTRY_BYTES_MAX


@leaf
def skip_varints(data: Bytes, at: int, n: int) -> int:
    """Return the index after n varints."""
    while n:
        if data[at] < 128:
            n -= 1
        at += 1
    return at


@kernel(
    IN_INTS,
    IN_INTS,
    IN_INTS,
    IN_BYTES,
    IN_LENGTHS,
    MUTABLE_BYTES,
    MUTABLE_WORDS,
    MUTABLE_BYTES,
    MUTABLE_INTS,
    MUTABLE_INTS,
    MUTABLE_INTS,
)
def encode(
    starts: Ints,
    keys: Ints,
    order: Ints,
    is_atom: Bytes,
    lengths: Lengths,
    postings: Bytes,
    postings_words: Words,
    positions: Bytes,
    postings_starts: Ints,
    positions_starts: Ints,
    doc_freqs: Ints,
) -> int:
    """Write the postings and positions of entries from their grouped, ascending occurrences.

    Args:
      starts, keys: where the occurrences of each group start, and the occurrences.
      order: the group of each entry. is_atom: of each entry; only atoms get positions.
      lengths: (documents, fields).
      postings, postings_words: two views of room for POSTING_BYTES_MAX an occurrence and ENTRY_BYTES_MAX an
        entry of at least BLOCK occurrences.
      positions: room for 5 bytes an occurrence.
      postings_starts, positions_starts, doc_freqs: zeros; become those of the entries.

    Returns:
      The number of postings.
    """
    widest = 0
    for term in range(len(order)):
        widest = max(widest, starts[order[term] + 1] - starts[order[term]])
    widest = min(widest, len(lengths))
    state = np.zeros(_N_STATE, np.int64)
    documents = np.empty(BLOCK + 4, np.int64)
    frequencies = np.zeros(FIELD_COUNT * BLOCK, np.int64)
    points = np.empty(2 * _POINTS_COLLECTED + 2, np.int64)
    skips = np.empty(SKIP_WORDS * (2 + widest // BLOCK + 1), np.uint32)
    blocks = np.empty(_scratch_words(widest), np.uint32)
    at = 0
    place = 0
    n_postings = 0
    for term in range(len(order)):
        i = starts[order[term]]
        end = starts[order[term] + 1]
        atom = is_atom[term] != 0
        first_place = place
        _begin_list(state)
        while i < end:
            if state[_PENDING] == BLOCK:
                _flush_block(state, documents, frequencies, lengths, skips, blocks, points)
            document = keys[i] >> DOCUMENT_SHIFT
            n = state[_PENDING]
            if n == 0:
                state[_PLACE] = place - first_place
            documents[n] = document
            for field in range(FIELD_COUNT):
                frequencies[field * BLOCK + n] = 0
            last_field = -1
            last_position = 0
            while i < end and keys[i] >> DOCUMENT_SHIFT == document:
                field = keys[i] >> FIELD_SHIFT & 15
                frequencies[field * BLOCK + n] += 1
                if atom:
                    position = keys[i] & POSITION_MASK
                    if field != last_field:
                        last_field = field
                        last_position = 0
                    place = write_varint(positions, place, position - last_position)
                    last_position = position
                i += 1
            state[_PENDING] = n + 1
            doc_freqs[term] += 1
        n_postings += doc_freqs[term]
        at = _end_list(
            state, documents, frequencies, lengths, skips, blocks, points, postings, postings_words, at
        )
        postings_starts[term + 1] = at
        positions_starts[term + 1] = place
    return n_postings


@kernel(
    IN_BYTES,
    IN_WORDS,
    IN_BYTES,
    IN_INTS,
    IN_INTS,
    IN_INTS,
    IN_INTS,
    IN_INTS,
    IN_INTS,
    IN_INTS,
    IN_INTS,
    IN_LENGTHS,
    types.int64,
    MUTABLE_BYTES,
    MUTABLE_WORDS,
    MUTABLE_BYTES,
    MUTABLE_INTS,
    MUTABLE_INTS,
    MUTABLE_INTS,
)
def merge_postings(
    data: Bytes,
    words: Words,
    positions: Bytes,
    starts: Ints,
    n_postings: Ints,
    places: Ints,
    place_ends: Ints,
    sources: Ints,
    order_starts: Ints,
    document_bases: Ints,
    documents: Ints,
    lengths: Lengths,
    first_term: int,
    out_data: Bytes,
    out_words: Words,
    out_positions: Bytes,
    out_starts: Ints,
    out_places: Ints,
    out_doc_freqs: Ints,
) -> int:
    """Merge the postings of each term over segments, renumbering documents and leaving out the dead.

    Args:
      data, words: two views of the postings of all segments. starts, n_postings, places, place_ends: of each
        source (a term in a segment) in these.
      sources, order_starts: the sources of each term, and where these start (n_terms + 1).
      document_bases: of each source, where its segment starts in `documents`.
      documents: new number of every document of every segment, ascending within a segment; -1 when dead.
      lengths: of the new documents.
      first_term: where to begin; what is before it has been written, up to out_starts and out_places of it.
      out_starts, out_places: n_terms + 1. out_doc_freqs: zeros.

    Returns:
      The first term for which there was no room, or how many there are.
    """
    n_terms = len(order_starts) - 1
    n_sources_max = 0
    widest = 0
    for term in range(n_terms):
        n_sources_max = max(n_sources_max, order_starts[term + 1] - order_starts[term])
        total = 0
        for i in range(order_starts[term], order_starts[term + 1]):
            total += n_postings[sources[i]]
        widest = max(widest, total)
    state = np.zeros(_N_STATE, np.int64)
    pending = np.empty(BLOCK + 4, np.int64)
    frequencies = np.zeros(FIELD_COUNT * BLOCK, np.int64)
    points = np.empty(2 * _POINTS_COLLECTED + 2, np.int64)
    skips = np.empty(SKIP_WORDS * (2 + widest // BLOCK + 1), np.uint32)
    blocks = np.empty(_scratch_words(widest), np.uint32)
    in_documents = np.empty((n_sources_max, BLOCK + 4), np.int64)
    in_frequencies = np.empty((n_sources_max, FIELD_COUNT * BLOCK), np.int64)
    new = np.empty(n_sources_max, np.int64)  # document that each source stands at
    block = np.empty(n_sources_max, np.int64)
    within = np.empty(n_sources_max, np.int64)
    size = np.empty(n_sources_max, np.int64)
    place = np.empty(n_sources_max, np.int64)
    done = int64(1) << 62
    at = out_starts[first_term]
    out_place = out_places[first_term]
    for term in range(first_term, n_terms):
        first = order_starts[term]
        n_sources = order_starts[term + 1] - first
        total = 0
        n_position_bytes = 0
        for s in range(n_sources):
            source = sources[first + s]
            total += n_postings[source]
            n_position_bytes += place_ends[source] - places[source]
        room = total * POSTING_BYTES_MAX + ENTRY_BYTES_MAX
        if at + room > len(out_data) or out_place + n_position_bytes > len(out_positions):
            return term
        for s in range(n_sources):
            block[s] = -1
            within[s] = 0
            size[s] = 0
            new[s] = -1
            place[s] = places[sources[first + s]]
        first_place = out_place
        _begin_list(state)
        while True:
            least = -1
            for s in range(n_sources):
                if new[s] < 0:
                    source = sources[first + s]
                    has_positions = place_ends[source] > places[source]
                    while new[s] < 0:
                        if within[s] == size[s]:
                            block[s] += 1
                            if block[s] * BLOCK >= n_postings[source]:
                                new[s] = done
                                break
                            size[s] = load_block(
                                data,
                                words,
                                starts[source],
                                n_postings[source],
                                block[s],
                                in_documents[s],
                                0,
                                in_frequencies[s],
                            )
                            within[s] = 0
                        new[s] = documents[document_bases[source] + in_documents[s, within[s]]]
                        if new[s] < 0:
                            if has_positions:
                                n = 0
                                for field in range(FIELD_COUNT):
                                    n += in_frequencies[s, field * BLOCK + within[s]]
                                place[s] = skip_varints(positions, place[s], n)
                            within[s] += 1
                if new[s] < done and (least < 0 or new[s] < new[least]):
                    least = s
            if least < 0:
                break
            if state[_PENDING] == BLOCK:
                _flush_block(state, pending, frequencies, lengths, skips, blocks, points)
            to = state[_PENDING]
            if to == 0:
                state[_PLACE] = out_place - first_place
            pending[to] = new[least]
            n = 0
            for field in range(FIELD_COUNT):
                frequency = in_frequencies[least, field * BLOCK + within[least]]
                frequencies[field * BLOCK + to] = frequency
                n += frequency
            state[_PENDING] = to + 1
            source = sources[first + least]
            if place_ends[source] > places[source]:
                from_place = place[least]
                while n:
                    byte = positions[from_place]
                    out_positions[out_place] = byte
                    from_place += 1
                    out_place += 1
                    if byte < 128:
                        n -= 1
                place[least] = from_place
            within[least] += 1
            new[least] = -1
            out_doc_freqs[term] += 1
        if out_doc_freqs[term]:
            at = _end_list(
                state, pending, frequencies, lengths, skips, blocks, points, out_data, out_words, at
            )
        out_starts[term + 1] = at
        out_places[term + 1] = out_place
    return n_terms


# No posting of a term is left; more than any document.
SLICED = 1 << 62


@kernel(IN_BYTES, IN_WORDS, IN_INTS, IN_INTS, MUTABLE_INTS)
def begin_slices(data: Bytes, words: Words, starts: Ints, doc_freqs: Ints, pending: Ints) -> int:
    """Set `pending` of `slice_postings` to the first document of each term."""
    documents = np.empty(BLOCK + 4, np.int64)
    frequencies = np.empty(FIELD_COUNT * BLOCK, np.int64)
    for term in range(len(doc_freqs)):
        if doc_freqs[term] < BLOCK:
            head, _ = read_varint(data, starts[term])
            pending[term] = (head >> 1) - 1
        else:
            load_block(data, words, starts[term], doc_freqs[term], 0, documents, 0, frequencies)
            pending[term] = documents[0]
    return len(pending)


@kernel(
    IN_BYTES,
    IN_WORDS,
    IN_BYTES,
    IN_INTS,
    IN_INTS,
    IN_BYTES,
    IN_INTS,
    IN_LENGTHS,
    types.int64,
    MUTABLE_INTS,
    MUTABLE_INTS,
    MUTABLE_INTS,
    MUTABLE_BYTES,
    MUTABLE_WORDS,
    MUTABLE_BYTES,
    MUTABLE_INTS,
    MUTABLE_INTS,
    MUTABLE_INTS,
    MUTABLE_INTS,
)
def slice_postings(
    data: Bytes,
    words: Words,
    positions: Bytes,
    starts: Ints,
    doc_freqs: Ints,
    is_atom: Bytes,
    documents: Ints,
    lengths: Lengths,
    stop: int,
    pending: Ints,
    taken: Ints,
    places: Ints,
    out_data: Bytes,
    out_words: Words,
    out_positions: Bytes,
    out_terms: Ints,
    out_starts: Ints,
    out_places: Ints,
    out_doc_freqs: Ints,
) -> int:
    """Take the postings of documents before `stop` that were not yet taken, and renumber them.

    Args:
      documents: new number of every document, ascending; -1 for those that are left out.
      lengths: of the new documents.
      pending: of each term the next posting's document, SLICED when there is none. taken: zeros at first; how
        many postings are before that one. places: where its positions start.
      out_data, out_words, out_positions: room for what the segment has, and more as `merge_postings` needs.
      out_terms: becomes the terms that are in the slice; out_starts, out_places (one more), out_doc_freqs:
        of these.

    Returns:
      The number of terms in the slice.
    """
    widest = 0
    for term in range(len(doc_freqs)):
        widest = max(widest, doc_freqs[term])
    state = np.zeros(_N_STATE, np.int64)
    slots = np.empty(BLOCK + 4, np.int64)
    frequencies = np.zeros(FIELD_COUNT * BLOCK, np.int64)
    points = np.empty(2 * _POINTS_COLLECTED + 2, np.int64)
    skips = np.empty(SKIP_WORDS * (2 + widest // BLOCK + 1), np.uint32)
    blocks = np.empty(_scratch_words(widest), np.uint32)
    in_documents = np.empty(BLOCK + 4, np.int64)
    in_frequencies = np.empty(FIELD_COUNT * BLOCK, np.int64)
    at = 0
    out_place = 0
    n_terms = 0
    for term in range(len(pending)):
        if pending[term] >= stop:
            continue
        place = places[term]
        first_place = out_place
        n_taken = taken[term]
        n_kept = 0
        loaded = -1
        _begin_list(state)
        pending[term] = SLICED
        while n_taken < doc_freqs[term]:
            if n_taken // BLOCK != loaded:
                loaded = n_taken // BLOCK
                load_block(
                    data, words, starts[term], doc_freqs[term], loaded, in_documents, 0, in_frequencies
                )
            i = n_taken % BLOCK
            document = in_documents[i]
            if document >= stop:
                pending[term] = document
                break
            n_taken += 1
            n = 0
            for field in range(FIELD_COUNT):
                n += in_frequencies[field * BLOCK + i]
            end = place
            if is_atom[term]:
                end = skip_varints(positions, place, n)
            new = documents[document]
            if new >= 0:
                if state[_PENDING] == BLOCK:
                    _flush_block(state, slots, frequencies, lengths, skips, blocks, points)
                to = state[_PENDING]
                if to == 0:
                    state[_PLACE] = out_place - first_place
                slots[to] = new
                for field in range(FIELD_COUNT):
                    frequencies[field * BLOCK + to] = in_frequencies[field * BLOCK + i]
                state[_PENDING] = to + 1
                for j in range(place, end):
                    out_positions[out_place] = positions[j]
                    out_place += 1
                n_kept += 1
            place = end
        places[term] = place
        taken[term] = n_taken
        if n_kept:
            at = _end_list(state, slots, frequencies, lengths, skips, blocks, points, out_data, out_words, at)
            out_terms[n_terms] = term
            out_doc_freqs[n_terms] = n_kept
            n_terms += 1
            out_starts[n_terms] = at
            out_places[n_terms] = out_place
    return n_terms


# --- Inspection -------------------------------------------------------------------------------

# 35 bits: more than a document number and its flag, a frequency or a length has.
_VARINT_BYTES_MAX = 5


@leaf
def read_checked(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return (value, index after it) of a varint; value -1 when it is none or longer than need be."""
    value = 0
    for i in range(_VARINT_BYTES_MAX):
        if at + i >= end:
            return -1, at
        byte = int(int64(data[at + i]))
        value |= (byte & 127) << (7 * i)
        if byte < 128:
            if byte == 0 and i > 0:
                return -1, at
            return value, at + i + 1
    return -1, at


@leaf
def _inspect_positions(positions: Bytes, place: int, end: int, frequencies: Ints, i: int) -> int:
    """Return the index after the positions of a posting; -1 when they are not ascending in each field."""
    for field in range(FIELD_COUNT):
        position = 0
        for n in range(frequencies[field * BLOCK + i]):
            step, place = read_checked(positions, place, end)
            position += step
            if step < min(n, 1) or position > POSITION_MASK:
                return -1
    return place


@leaf
def _inspect_rare(data: Bytes, at: int, end: int, n: int, documents: Ints, frequencies: Ints) -> bool:
    document = -1
    for i in range(n):
        head, at = read_checked(data, at, end)
        if head < 2:
            return False
        document += head >> 1
        documents[i] = document
        for field in range(FIELD_COUNT):
            frequencies[field * BLOCK + i] = 0
        if head & 1:
            frequencies[BODY * BLOCK + i] = 1
            continue
        if at >= end:
            return False
        bits = int(int64(data[at]))
        at += 1
        if bits == 0 or bits >= 1 << FIELD_COUNT:
            return False
        for field in range(FIELD_COUNT):
            if bits >> field & 1:
                frequencies[field * BLOCK + i], at = read_checked(data, at, end)
                if frequencies[field * BLOCK + i] < 1:
                    return False
    return bool(at == end)


@leaf
def _inspect_block(
    words: Words, at: int, end: int, n: int, previous: int, documents: Ints, frequencies: Ints
) -> int:
    """Decode a block that nobody vouches for; return the index after it, -1 when it does not fit."""
    if at + HEAD_WORDS > end:
        return -1
    widths = int64(words[at + 1])
    if (int64(words[at]) & 63) > 32:
        return -1
    for field in range(FIELD_COUNT):
        if (widths >> (6 * field) & 63) > 32:
            return -1
    after = at + block_words(words, at, n)
    if after > end:
        return -1
    decode_documents(words, at, n, previous, documents, 0)
    decode_frequencies(words, at, n, frequencies)
    return after


@kernel(
    IN_BYTES,
    IN_WORDS,
    IN_BYTES,
    IN_INTS,
    IN_INTS,
    IN_INTS,
    IN_BYTES,
    IN_LENGTHS,
    MUTABLE_INTS,
)
def inspect_postings(
    data: Bytes,
    words: Words,
    positions: Bytes,
    starts: Ints,
    places: Ints,
    doc_freqs: Ints,
    counts_for_length: Bytes,
    lengths: Lengths,
    totals: Ints,
) -> int:
    """Check postings and positions that nobody vouches for: that they are to the bit as `encode` writes them.

    Args:
      starts, places: n_terms + 1, ascending from 0 to the ends of postings and positions.
      doc_freqs: at least 1 each. counts_for_length: whether occurrences of a term count.
      lengths: (documents, fields), as they are claimed.
      totals: zeros, FIELD_COUNT a document; become the occurrences in each field.

    Returns:
      The first term that is wrong, -1 when all are right.
    """
    n_documents = len(lengths)
    widest = 0
    for term in range(len(doc_freqs)):
        if doc_freqs[term] > n_documents or doc_freqs[term] < 1:
            return term
        widest = max(widest, doc_freqs[term])
    state = np.zeros(_N_STATE, np.int64)
    documents = np.empty(BLOCK + 4, np.int64)
    frequencies = np.zeros(FIELD_COUNT * BLOCK, np.int64)
    points = np.empty(2 * _POINTS_COLLECTED + 2, np.int64)
    skips = np.empty(SKIP_WORDS * (2 + widest // BLOCK + 1), np.uint32)
    blocks = np.empty(_scratch_words(widest), np.uint32)
    again = np.empty(_scratch_words(widest) + len(skips), np.uint32)
    again_bytes = again.view(np.uint8)
    for term in range(len(doc_freqs)):
        start = starts[term]
        end = starts[term + 1]
        place = places[term]
        first_place = place
        place_end = places[term + 1]
        is_atom = place_end > place
        n_left = doc_freqs[term]
        n_blocks = block_count(n_left)
        at = table_at(start) + SKIP_WORDS * (1 + n_blocks)
        previous = -1
        _begin_list(state)
        for _ in range(n_blocks):
            n = min(n_left, BLOCK)
            n_left -= n
            if doc_freqs[term] < BLOCK:
                if not _inspect_rare(data, start, end, n, documents, frequencies):
                    return term
            else:
                at = _inspect_block(words, at, end >> 2, n, previous, documents, frequencies)
                if at < 0:
                    return term
            state[_PLACE] = place - first_place
            for i in range(n):
                if documents[i] <= previous or documents[i] >= n_documents:
                    return term
                previous = documents[i]
                total = 0
                for field in range(FIELD_COUNT):
                    frequency = frequencies[field * BLOCK + i]
                    if frequency > POSITION_MASK:
                        return term
                    total += frequency
                    if counts_for_length[term]:
                        totals[previous * FIELD_COUNT + field] += frequency
                if total == 0:
                    return term
                if is_atom:
                    place = _inspect_positions(positions, place, place_end, frequencies, i)
                    if place < 0:
                        return term
            state[_PENDING] = n
            if doc_freqs[term] >= BLOCK:
                _flush_block(state, documents, frequencies, lengths, skips, blocks, points)
        if place != place_end:
            return term
        # Written again at the same place between words, so that the padding is the same.
        first = start & 3
        again_end = _end_list(
            state, documents, frequencies, lengths, skips, blocks, points, again_bytes, again, first
        )
        if again_end - first != end - start:
            return term
        for i in range(end - start):
            if again_bytes[first + i] != data[start + i]:
                return term
    return -1


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
