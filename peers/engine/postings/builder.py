"""The kernel that builds lists from the occurrences of entries in documents."""

from __future__ import annotations

from peers.engine.native.compiled import kernel
from peers.engine.postings.writer import (
    Written,
)
from peers.kernel import Bytes, Ints, Lengths


@kernel
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
