"""Write the list of one entry, posting by posting: shared by building, merging, slicing and inspection.

A list is begun, its postings are begun one after the other and given their frequencies, and it is ended: only
then it is known whether it is short or has blocks, so until then all is in the writer. Postings are collected
until they fill a block, which is packed when the next posting comes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from peers.kernel import (
    Bytes,
    Ints,
    Words,
)


class Written(NamedTuple):
    """The lists of entries as they are written, one after the other."""

    postings: Bytes
    words: Words  # another view of these bytes
    positions: Bytes
    starts: Ints  # entries + 1: where the postings of each start
    places: Ints  # entries + 1: where its positions do
    doc_freqs: Ints


def new_lists(n_entries: int, words: Words, positions: Bytes) -> Written:
    """Return room for so many lists, of which nothing is written."""
    starts, places = np.zeros(n_entries + 1, np.int64), np.zeros(n_entries + 1, np.int64)
    return Written(words.view(np.uint8), words, positions, starts, places, np.zeros(n_entries, np.int64))
