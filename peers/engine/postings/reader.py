"""Read lists posting by posting, positions too: what merging and slicing share.

A reader stands at a posting, or behind the last one. What is read has been checked: what nobody vouches for
is read by `inspection`, and a search, which skips, goes through `lists`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from peers.engine.kernels import FIELD_COUNT
from peers.engine.postings.format import BLOCK, BLOCK_BITS, load_block, skip_varints
from peers.engine.postings.writer import Writer, begin_posting
from peers.kernel import (
    IN_BYTES,
    IN_WORDS,
    Bytes,
    Ints,
    Words,
    allocating_leaf,
    inlined,
    leaf,
    read_only,
    record,
)

# State of a reader. AT: the number of the posting it stands at. LOADED: the block that is decoded. PLACE:
# where the positions of the posting start.
_START, _COUNT, _HAS_POSITIONS, AT, _LOADED, PLACE, _N_STATE = range(7)

# Behind the last posting; more than any document.
NO_POSTING = 1 << 62


class Inverted(NamedTuple):
    """Lists of entries as they are read."""

    postings: Bytes
    words: Words  # another view of these bytes
    positions: Bytes


INVERTED = record(Inverted, IN_BYTES, IN_WORDS, IN_BYTES)


def inverted(postings: Bytes, words: Words, positions: Bytes) -> Inverted:
    """Return what kernels read."""
    return Inverted(read_only(postings), read_only(words), read_only(positions))


class Readers(NamedTuple):
    """Readers of lists, a row each."""

    lists: Inverted
    states: Ints  # (readers, _N_STATE)
    documents: Ints  # (readers, BLOCK + 4): of the block that is decoded
    frequencies: Ints  # (readers, FIELD_COUNT * BLOCK)


@allocating_leaf
def new_readers(lists: Inverted, n_readers: int) -> Readers:
    """Make room for readers."""
    return Readers(
        lists,
        np.empty((n_readers, _N_STATE), np.int64),
        np.empty((n_readers, BLOCK + 4), np.int64),
        np.empty((n_readers, FIELD_COUNT * BLOCK), np.int64),
    )


@leaf
def begin_reading(
    readers: Readers, row: int, start: int, n_postings: int, at: int, place: int, has_positions: bool
) -> None:
    """Stand at a posting of a list.

    Args:
      start, n_postings: where the list starts, and how many postings it has.
      at, place: the number of the posting, and where its positions start.
    """
    state = readers.states[row]
    state[_START] = start
    state[_COUNT] = n_postings
    state[_HAS_POSITIONS] = 1 if has_positions else 0
    state[AT] = at
    state[_LOADED] = -1
    state[PLACE] = place


@inlined
def document_at(readers: Readers, row: int) -> int:
    """Return the document of the posting, NO_POSTING behind the last one."""
    state = readers.states[row]
    at = state[AT]
    if at == state[_COUNT]:
        return NO_POSTING
    if at >> BLOCK_BITS != state[_LOADED]:
        _load(readers, row, at >> BLOCK_BITS)
    return int(readers.documents[row, at & (BLOCK - 1)])


@leaf
def _load(readers: Readers, row: int, block: int) -> None:
    state = readers.states[row]
    lists = readers.lists
    state[_LOADED] = block
    load_block(
        lists.postings,
        lists.words,
        state[_START],
        state[_COUNT],
        block,
        readers.documents[row],
        0,
        readers.frequencies[row],
    )


@inlined
def skip_posting(readers: Readers, row: int) -> None:
    """Go on to the next posting, after `document_at`."""
    state = readers.states[row]
    i = state[AT] & (BLOCK - 1)
    if state[_HAS_POSITIONS]:
        n = 0
        for field in range(FIELD_COUNT):
            n += readers.frequencies[row, field * BLOCK + i]
        state[PLACE] = skip_varints(readers.lists.positions, state[PLACE], n)
    state[AT] += 1


@inlined
def copy_posting(
    readers: Readers, row: int, writer: Writer, document: int, positions: Bytes, first: int, place: int
) -> int:
    """Write the posting, as one of another document, and go on to the next, after `document_at`.

    Args:
      positions: where its positions are written, at `place`. first: where those of the list start there.

    Returns:
      The index after its positions.
    """
    state = readers.states[row]
    i = state[AT] & (BLOCK - 1)
    to = begin_posting(writer, document, place - first)
    n = 0
    for field in range(FIELD_COUNT):
        frequency = readers.frequencies[row, field * BLOCK + i]
        writer.frequencies[field * BLOCK + to] = frequency
        n += frequency
    if state[_HAS_POSITIONS]:
        at = state[PLACE]
        while n:
            byte = readers.lists.positions[at]
            positions[place] = byte
            at += 1
            place += 1
            if byte < 128:
                n -= 1
        state[PLACE] = at
    state[AT] += 1
    return place
