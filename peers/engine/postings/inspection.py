"""The kernel that inspects lists that nobody vouches for."""

from __future__ import annotations

from peers.engine.native.compiled import kernel
from peers.engine.postings.reader import Inverted
from peers.kernel import Bytes, Ints, Lengths


@kernel
def inspect_postings(
    lists: Inverted,
    starts: Ints,
    places: Ints,
    doc_freqs: Ints,
    counts_for_length: Bytes,
    lengths: Lengths,
    totals: Ints,
) -> int:
    """Check that postings and positions are to the bit as `build_postings` would have written them.

    Each list is read with every step checked, and written again.

    Args:
      starts, places: n_terms + 1, ascending from 0 to the ends of postings and positions.
      doc_freqs: at least 1 each. counts_for_length: whether occurrences of a term count.
      lengths: (documents, fields), as they are claimed.
      totals: zeros, FIELD_COUNT a document; become the occurrences in each field.

    Returns:
      The first term that is wrong, -1 when all are right.
    """
