"""The kernels that cut the lists of a segment into those of slices, from the first document to the last."""

from __future__ import annotations

from typing import NamedTuple

from peers.engine.native.compiled import kernel
from peers.engine.postings.reader import (
    Inverted,
)
from peers.engine.postings.writer import Written
from peers.kernel import Bytes, Ints, Lengths


class Cursors(NamedTuple):
    """How far the terms of a segment have been taken."""

    pending: Ints  # of each term the document of the posting that is next, NO_POSTING when there is none
    taken: Ints  # how many postings are before that one
    places: Ints  # where its positions start


@kernel
def begin_slices(lists: Inverted, starts: Ints, doc_freqs: Ints, pending: Ints) -> int:
    """Set `pending` to the first document of each term; none is taken."""


@kernel
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
