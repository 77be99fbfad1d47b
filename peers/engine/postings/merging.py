"""The kernel that merges the lists of several segments into those of one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from peers.engine.postings.format import ENTRY_BYTES_MAX, POSTING_BYTES_MAX
from peers.engine.postings.reader import (
    INVERTED,
    NO_POSTING,
    Inverted,
    Readers,
    begin_reading,
    copy_posting,
    document_at,
    new_readers,
    skip_posting,
)
from peers.engine.postings.writer import WRITTEN, Written, begin_list, end_list, new_writer
from peers.kernel import IN_INTS, IN_LENGTHS, Ints, Lengths, inlined, kernel, leaf, record


class Sources(NamedTuple):
    """Terms of segments, and how they become those of one segment."""

    starts: Ints  # of each source: where its postings start
    doc_freqs: Ints  # how many these are
    places: Ints  # where its positions start
    place_ends: Ints  # and end
    bases: Ints  # where the documents of its segment start in `documents`
    order: Ints  # the sources, those of one term side by side
    order_starts: Ints  # terms + 1: where the sources of each term start in `order`


SOURCES = record(Sources, *[IN_INTS] * len(Sources._fields))


@leaf
def _sizes(sources: Sources, term: int) -> tuple[int, int]:
    """Return how many postings a term has in all segments, and how many bytes of positions."""
    n_postings = 0
    n_position_bytes = 0
    for i in range(sources.order_starts[term], sources.order_starts[term + 1]):
        source = sources.order[i]
        n_postings += sources.doc_freqs[source]
        n_position_bytes += sources.place_ends[source] - sources.places[source]
    return n_postings, n_position_bytes


@leaf
def _begin_source(readers: Readers, row: int, sources: Sources, source: int) -> None:
    place = sources.places[source]
    has_positions = sources.place_ends[source] > place
    begin_reading(readers, row, sources.starts[source], sources.doc_freqs[source], 0, place, has_positions)


@inlined
def _next_live(readers: Readers, row: int, documents: Ints, base: int) -> int:
    """Go on to the next posting of a live document, return its new number; NO_POSTING when there is none."""
    while True:
        document = document_at(readers, row)
        if document == NO_POSTING:
            return NO_POSTING
        new = documents[base + document]
        if new >= 0:
            return int(new)
        skip_posting(readers, row)


@inlined
def _least(numbers: Ints, n: int) -> int:
    """Return where the least of the first n numbers is, at least one; the first of equal ones."""
    least = 0
    for i in range(1, n):
        if numbers[i] < numbers[least]:
            least = i
    return least


@kernel(INVERTED, SOURCES, IN_INTS, IN_LENGTHS, types.int64, WRITTEN)
def merge_postings(
    lists: Inverted, sources: Sources, documents: Ints, lengths: Lengths, first_term: int, written: Written
) -> int:
    """Merge the postings of each term over segments, renumbering documents and leaving out the dead.

    Args:
      lists: of all segments.
      documents: new number of every document of every segment, ascending within a segment; -1 when dead.
      lengths: of the new documents.
      first_term: where to begin; what is before it has been written, up to starts and places of it.
      written: doc_freqs are zeros.

    Returns:
      The first term for which there was no room, or how many there are.
    """
    n_terms = len(sources.order_starts) - 1
    n_sources_max = 0
    widest = 0
    for term in range(n_terms):
        n_sources_max = max(n_sources_max, sources.order_starts[term + 1] - sources.order_starts[term])
        widest = max(widest, _sizes(sources, term)[0])
    writer = new_writer(widest, lengths)
    readers = new_readers(lists, n_sources_max)
    next_documents = np.empty(n_sources_max, np.int64)  # what each reader has to give, by its new number
    at = written.starts[first_term]
    place = written.places[first_term]
    for term in range(first_term, n_terms):
        # Whether there is room is asked by the worst case, before anything of the term is written.
        first = sources.order_starts[term]
        n_sources = sources.order_starts[term + 1] - first
        n_postings, n_position_bytes = _sizes(sources, term)
        room = n_postings * POSTING_BYTES_MAX + ENTRY_BYTES_MAX
        if at + room > len(written.postings) or place + n_position_bytes > len(written.positions):
            return term
        # Each reader goes to the first live posting of its source.
        for row in range(n_sources):
            source = sources.order[first + row]
            _begin_source(readers, row, sources, source)
            next_documents[row] = _next_live(readers, row, documents, sources.bases[source])
        first_place = place
        begin_list(writer)
        # The posting with the least new document is next, as often as there is one.
        while True:
            row = _least(next_documents, n_sources)
            document = next_documents[row]
            if document == NO_POSTING:
                break
            place = copy_posting(readers, row, writer, document, written.positions, first_place, place)
            written.doc_freqs[term] += 1
            base = sources.bases[sources.order[first + row]]
            next_documents[row] = _next_live(readers, row, documents, base)
        # A term of deleted documents only has no list; its start is that of the next term.
        if written.doc_freqs[term]:
            at = end_list(writer, written.postings, written.words, at)
        written.starts[term + 1] = at
        written.places[term + 1] = place
    return n_terms
