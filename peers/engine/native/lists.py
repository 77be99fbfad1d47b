"""Posting lists that are open: each stands at one of its blocks and goes forward only.

What kernels of a search share: how a list is opened, how the block with a document is found and entered, and
where documents that have been found are in other lists. Every block is checked against its sum before it is
used: the first that is not as it was written is noted in `damage`, and what a kernel returns is worth nothing
then. A posting is remembered by its index, so that its frequencies and positions can be read later without
decoding anything again.

A list of fewer than BLOCK postings is one block, decoded with its frequencies when it is opened.

Reads can be recorded (`Postings.reads`), for studies of disks and caches: see `peers.engine.read_recorder`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from peers.engine.native.compiled import kernel
from peers.kernel import (
    Bytes,
    Ints,
    Sums,
    Words,
)

# Of a recorded read: its part, its first byte there, and the byte behind its last.
OF_POSTINGS, OF_POSITIONS = range(2)
READ_COLUMNS = 3
NOT_RECORDED: Final[Ints] = np.empty(0, np.int64)


class Postings(NamedTuple):
    """The postings and positions of a segment: views of the same bytes, and the sums of their blocks."""

    data: Bytes
    words: Words
    summed: Sums
    sums: Sums
    positions: Bytes
    positions_summed: Sums
    positions_sums: Sums
    reads: Ints = NOT_RECORDED  # how many reads there were, then as many of these as have room, one thread's


@kernel
def find_damage(postings: Postings, starts: Ints, ends: Ints) -> int:
    """Return the first block with another sum among those that have bytes start to end, or -1."""
