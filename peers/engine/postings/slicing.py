"""The kernels that cut the lists of a segment into those of slices, from the first document to the last."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from peers.engine.kernels import FIELD_COUNT, read_varint
from peers.engine.postings.format import BLOCK, load_block
from peers.engine.postings.reader import (
    AT,
    INVERTED,
    PLACE,
    Inverted,
    begin_reading,
    copy_posting,
    document_at,
    new_readers,
    skip_posting,
)
from peers.engine.postings.writer import WRITTEN, Written, begin_list, end_list, new_writer
from peers.kernel import IN_BYTES, IN_INTS, IN_LENGTHS, MUTABLE_INTS, Bytes, Ints, Lengths, kernel, record


class Cursors(NamedTuple):
    """How far the terms of a segment have been taken."""

    pending: Ints  # of each term the document of the posting that is next, NO_POSTING when there is none
    taken: Ints  # how many postings are before that one
    places: Ints  # where its positions start


CURSORS = record(Cursors, MUTABLE_INTS, MUTABLE_INTS, MUTABLE_INTS)


@kernel(INVERTED, IN_INTS, IN_INTS, MUTABLE_INTS)
def begin_slices(lists: Inverted, starts: Ints, doc_freqs: Ints, pending: Ints) -> int:
    """Set `pending` to the first document of each term; none is taken."""
    documents = np.empty(BLOCK + 4, np.int64)
    frequencies = np.empty(FIELD_COUNT * BLOCK, np.int64)
    for term in range(len(doc_freqs)):
        if doc_freqs[term] < BLOCK:
            head, _ = read_varint(lists.postings, starts[term])
            pending[term] = (head >> 1) - 1
        else:
            start, n_postings = starts[term], doc_freqs[term]
            load_block(lists.postings, lists.words, start, n_postings, 0, documents, 0, frequencies)
            pending[term] = documents[0]
    return len(pending)


@kernel(
    INVERTED,
    IN_INTS,
    IN_INTS,
    IN_BYTES,
    IN_INTS,
    IN_LENGTHS,
    types.int64,
    CURSORS,
    MUTABLE_INTS,
    WRITTEN,
)
def slice_postings(
    lists: Inverted,
    starts: Ints,
    doc_freqs: Ints,
    is_atom: Bytes,
    documents: Ints,
    lengths: Lengths,
    stop: int,
    cursors: Cursors,
    terms: Ints,
    written: Written,
) -> int:
    """Take the postings of documents before `stop` that were not yet taken, and renumber them.

    Args:
      starts, doc_freqs, is_atom: of each term.
      documents: new number of every document, ascending; -1 for those that are left out.
      lengths: of the new documents.
      cursors: are moved on.
      terms: becomes the terms that are in the slice.
      written: of these; room for what the segment has, and more as `merge_postings` needs.

    Returns:
      The number of terms in the slice.
    """
    widest = 0
    for term in range(len(doc_freqs)):
        widest = max(widest, doc_freqs[term])
    writer = new_writer(widest, lengths)
    readers = new_readers(lists, 1)
    state = readers.states[0]
    at = 0
    place = 0
    n_terms = 0
    for term in range(len(doc_freqs)):
        if cursors.pending[term] >= stop:
            continue
        # Go on where the slice before ended.
        atom = is_atom[term] != 0
        taken, taken_place = cursors.taken[term], cursors.places[term]
        begin_reading(readers, 0, starts[term], doc_freqs[term], taken, taken_place, atom)
        first_place = place
        n_kept = 0
        begin_list(writer)
        document = document_at(readers, 0)
        while document < stop:
            new = documents[document]
            if new >= 0:
                place = copy_posting(readers, 0, writer, new, written.positions, first_place, place)
                n_kept += 1
            else:
                skip_posting(readers, 0)
            document = document_at(readers, 0)
        # Note where the next slice begins.
        cursors.pending[term] = document
        cursors.taken[term] = state[AT]
        cursors.places[term] = state[PLACE]
        if n_kept:
            at = end_list(writer, written.postings, written.words, at)
            terms[n_terms] = term
            written.doc_freqs[n_terms] = n_kept
            n_terms += 1
            written.starts[n_terms] = at
            written.places[n_terms] = place
    return n_terms
