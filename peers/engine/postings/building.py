"""The kernel that builds lists from the occurrences of entries in documents."""

from __future__ import annotations

from peers.engine.kernels import DOCUMENT_SHIFT, FIELD_COUNT, FIELD_SHIFT, POSITION_MASK, write_varint
from peers.engine.postings.format import BLOCK
from peers.engine.postings.writer import (
    WRITTEN,
    Writer,
    Written,
    begin_list,
    begin_posting,
    end_list,
    new_writer,
)
from peers.kernel import IN_BYTES, IN_INTS, IN_LENGTHS, Bytes, Ints, Lengths, inlined, kernel


@inlined
def _count(
    writer: Writer, to: int, keys: Ints, i: int, end: int, is_atom: bool, positions: Bytes, place: int
) -> tuple[int, int]:
    """Set the frequencies of a posting from the occurrences in its document, and write their positions.

    Returns:
      (the index of the first occurrence in another document, the index after the positions).
    """
    frequencies = writer.frequencies
    for field in range(FIELD_COUNT):
        frequencies[field * BLOCK + to] = 0
    document = keys[i] >> DOCUMENT_SHIFT
    last_field = -1
    last_position = 0
    while i < end and keys[i] >> DOCUMENT_SHIFT == document:
        field = keys[i] >> FIELD_SHIFT & 15
        frequencies[field * BLOCK + to] += 1
        if is_atom:
            position = keys[i] & POSITION_MASK
            if field != last_field:
                last_field = field
                last_position = 0
            place = write_varint(positions, place, position - last_position)
            last_position = position
        i += 1
    return i, place


@kernel(IN_INTS, IN_INTS, IN_INTS, IN_BYTES, IN_LENGTHS, WRITTEN)
def build_postings(
    starts: Ints, keys: Ints, order: Ints, is_atom: Bytes, lengths: Lengths, written: Written
) -> int:
    """Write the postings and positions of entries from their grouped, ascending occurrences.

    Args:
      starts, keys: where the occurrences of each group start, and the occurrences.
      order: the group of each entry. is_atom: of each entry; only atoms get positions.
      lengths: (documents, fields).
      written: room for POSTING_BYTES_MAX an occurrence and ENTRY_BYTES_MAX an entry of at least BLOCK
        occurrences, and for 5 bytes an occurrence of positions; starts, places and doc_freqs are zeros.

    Returns:
      The number of postings.
    """
    widest = 0
    for term in range(len(order)):
        widest = max(widest, starts[order[term] + 1] - starts[order[term]])
    writer = new_writer(min(widest, len(lengths)), lengths)
    at = 0
    place = 0
    n_postings = 0
    for term in range(len(order)):
        i = starts[order[term]]
        end = starts[order[term] + 1]
        atom = is_atom[term] != 0
        first_place = place
        begin_list(writer)
        while i < end:
            to = begin_posting(writer, keys[i] >> DOCUMENT_SHIFT, place - first_place)
            i, place = _count(writer, to, keys, i, end, atom, written.positions, place)
            written.doc_freqs[term] += 1
        n_postings += written.doc_freqs[term]
        at = end_list(writer, written.postings, written.words, at)
        written.starts[term + 1] = at
        written.places[term + 1] = place
    return n_postings
