"""Posting lists that are open: each stands at one of its blocks and goes forward only.

What kernels of a search share: how a list is opened, how the block with a document is found and entered, and
where documents that have been found are in other lists. Every block is checked against its sum before it is
used: the first that is not as it was written is noted in `damage`, and what a kernel returns is worth nothing
then. A posting is remembered by its index, so that its frequencies and positions can be read later without
decoding anything again.

A list of fewer than BLOCK postings is one block, decoded with its frequencies when it is opened.
"""

from __future__ import annotations

from typing import NamedTuple

from peers.kernel import (
    Bytes,
    Sums,
    Words,
)


class Postings(NamedTuple):
    """The postings and positions of a segment: views of the same bytes, and the sums of their blocks."""

    data: Bytes
    words: Words
    summed: Sums
    sums: Sums
    positions: Bytes
    positions_summed: Sums
    positions_sums: Sums
