"""The kernel that inspects lists that nobody vouches for."""

from __future__ import annotations

import numpy as np

from peers.engine.kernels import BODY, FIELD_COUNT, POSITION_MASK, read_checked
from peers.engine.postings.format import (
    BLOCK,
    HEAD_WORDS,
    SKIP_WORDS,
    block_count,
    block_words,
    decode_documents,
    decode_frequencies,
    table_at,
)
from peers.engine.postings.reader import INVERTED, Inverted
from peers.engine.postings.writer import begin_block, begin_list, end_block, end_list, new_writer
from peers.kernel import (
    IN_BYTES,
    IN_INTS,
    IN_LENGTHS,
    MUTABLE_INTS,
    Bytes,
    Ints,
    Lengths,
    Words,
    int64,
    kernel,
    leaf,
)


@leaf
def _are_ascending(documents: Ints, n: int, previous: int, n_documents: int) -> bool:
    """Tell whether the documents of a block are behind those before, ascending, and there."""
    for i in range(n):
        if documents[i] <= previous or documents[i] >= n_documents:
            return False
        previous = documents[i]
    return True


@leaf
def _count(documents: Ints, frequencies: Ints, n: int, counts: bool, totals: Ints) -> bool:
    """Add the occurrences of a block to the totals, if they count; False when a posting cannot be."""
    for i in range(n):
        n_occurrences = 0
        for field in range(FIELD_COUNT):
            frequency = frequencies[field * BLOCK + i]
            if frequency > POSITION_MASK:
                return False
            n_occurrences += frequency
            if counts:
                totals[documents[i] * FIELD_COUNT + field] += frequency
        if n_occurrences == 0:
            return False
    return True


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
    """Decode a short list that nobody vouches for; False when it is none."""
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


@kernel(INVERTED, IN_INTS, IN_INTS, IN_INTS, IN_BYTES, IN_LENGTHS, MUTABLE_INTS)
def inspect_postings(
    lists: Inverted,
    starts: Ints,
    places: Ints,
    doc_freqs: Ints,
    counts_for_length: Bytes,
    lengths: Lengths,
    totals: Ints,
) -> int:
    """Check that postings and positions are to the bit as `build_postings` would have written them.

    Each list is read with every step checked, and written again.

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
    writer = new_writer(widest, lengths)
    documents, frequencies = writer.documents, writer.frequencies
    again = np.empty(len(writer.blocks) + len(writer.skips), np.uint32)
    again_bytes = again.view(np.uint8)
    for term in range(len(doc_freqs)):
        start = starts[term]
        end = starts[term + 1]
        place = places[term]
        n_left = doc_freqs[term]
        at = table_at(start) + SKIP_WORDS * (1 + block_count(n_left))
        previous = int64(-1)
        begin_list(writer)
        while n_left:
            n = min(n_left, BLOCK)
            n_left -= n
            # Read a block into the writer, with every step checked.
            begin_block(writer)
            if doc_freqs[term] < BLOCK:
                is_right = _inspect_rare(lists.postings, start, end, n, documents, frequencies)
            else:
                at = _inspect_block(lists.words, at, end >> 2, n, previous, documents, frequencies)
                is_right = at >= 0
            if not is_right or not _are_ascending(documents, n, previous, n_documents):
                return term
            if not _count(documents, frequencies, n, counts_for_length[term] != 0, totals):
                return term
            # Its positions are ascending in each field of each posting.
            previous = documents[n - 1]
            end_block(writer, n, place - places[term])
            if places[term + 1] > places[term]:
                for i in range(n):
                    place = _inspect_positions(lists.positions, place, places[term + 1], frequencies, i)
                    if place < 0:
                        return term
        if place != places[term + 1]:
            return term
        # Written again at the same place between words, so that the padding is the same, it is the same.
        first = start & 3
        again_end = end_list(writer, again_bytes, again, first)
        if again_end - first != end - start:
            return term
        for i in range(end - start):
            if again_bytes[first + i] != lists.postings[start + i]:
                return term
    return -1
