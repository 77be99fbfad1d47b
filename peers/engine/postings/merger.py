"""The kernel that merges the lists of several segments into those of one."""

from __future__ import annotations

from typing import NamedTuple

from peers.engine.native.compiled import kernel
from peers.engine.postings.reader import (
    Inverted,
)
from peers.engine.postings.writer import Written
from peers.kernel import Bytes, Ints, Lengths


class MergeSources(NamedTuple):
    """Terms of segments, and how they become those of one segment."""

    starts: Ints  # of each source: where its postings start
    doc_freqs: Ints  # how many these are
    places: Ints  # where its positions start
    place_ends: Ints  # and end
    bases: Ints  # where the documents of its segment start in `documents`
    order: Ints  # the sources, those of one term side by side
    order_starts: Ints  # terms + 1: where the sources of each term start in `order`


class Relinked(NamedTuple):
    """Documents with new data from links: the last segment has this data, and nothing else."""

    is_relinked: Bytes  # of each new document; empty when there is none, and no such segment
    fields: Bytes  # of each term the fields, a bit for each, that it has from links alone
    base: int  # where the documents of that segment start in `documents`


@kernel
def merge_postings(
    lists: Inverted,
    sources: MergeSources,
    relinked: Relinked,
    documents: Ints,
    lengths: Lengths,
    first_term: int,
    written: Written,
) -> int:
    """Merge the postings of each term over segments, renumbering documents and leaving out the dead.

    Args:
      lists: of all segments.
      relinked: of these documents the last segment has the fields that links tell, the others the rest.
      documents: new number of every document of every segment, ascending within a segment; -1 when dead.
      lengths: of the new documents.
      first_term: where to begin; what is before it has been written, up to starts and places of it.
      written: doc_freqs are zeros.

    Returns:
      The first term for which there was no room, or how many there are.
    """
