"""Constants that the kernels of the index share, and the kernels for strings and checksums.

The others are in `postings` (posting lists: format, building, merging, slicing), `dictionary`, and in those
that go through open `lists`. They trust their input: segments are checksummed, and `inspect_postings` has
seen those that came from elsewhere.
"""

from __future__ import annotations

from peers.engine.native.compiled import kernel
from peers.kernel import Bytes, Codes, Ints, Lengths, Strings, Sums

FIELD_COUNT = 6
ANCHORS = 1
BODY = 3
URL = 4
BOILERPLATE = 5
# Fields whose lengths count; that of the boilerplate, the last one, does not.
LENGTH_COUNT = 5

# An occurrence is one int64: document << 32 | field << 28 | position.
FIELD_SHIFT = 28
DOCUMENT_SHIFT = 32
POSITION_MASK = (1 << FIELD_SHIFT) - 1


# What a check covers: about six blocks of postings, 25 ns; the sums are 0.8 % of what they cover.
SUM_BLOCK_BYTES = 1024


@kernel
def sum_blocks(words: Sums, sums: Sums) -> int:
    """Sum every block of SUM_BLOCK_BYTES; the last one may be shorter, by a multiple of 32 bytes."""


# Three code points of 21 bits fit an int64: most Chinese words need no comparison of strings.
PACKED_CHARS_MAX = 3
PACKED_BITS = 21


@kernel
def number_tokens(
    codes: Codes, table_keys: Ints, table_numbers: Ints, next_number: int, numbers: Ints, new_keys: Ints
) -> int:
    """Give each short token its number, new ones the next.

    Args:
      codes: tokens, each followed by a 0.
      table_keys, table_numbers: an open-addressing table, never to be more than half full; 0 is free.
      numbers: becomes the number of each token; -1 for those longer than PACKED_CHARS_MAX.
      new_keys: room for all tokens; becomes the packed code points of the new ones, in order.

    Returns:
      How many are new.
    """


@kernel
def rehash(old_keys: Ints, old_numbers: Ints, keys: Ints, numbers: Ints) -> int:
    """Copy one table of `number_tokens` into a larger one."""


@kernel
def scatter(terms: Ints, keys: Ints, cursors: Ints, grouped: Ints) -> int:
    """Put each key where the cursor of its term is, and move the cursor on."""


@kernel
def find(blob: Bytes, starts: Ints, wanted: Strings, found: Ints) -> int:
    """Look strings up in a sorted list of distinct strings; `found` becomes their index or -1."""


@kernel
def sum_lengths(lengths: Lengths, allowed: Bytes, totals: Ints) -> int:
    """Add the field lengths of the documents that are allowed to `totals`; return how many these are."""


@kernel
def merge_order(blob: Bytes, starts: Ints, list_starts: Ints, is_live: Bytes, ranks: Ints) -> int:
    """Merge sorted lists of distinct strings.

    Args:
      blob, starts: all strings of all lists. list_starts: n_lists + 1, where each list starts.
      is_live: whether a string takes part.
      ranks: becomes the place of each string in the merged list, the same for equal ones, -1 for the dead.

    Returns:
      The length of the merged list.
    """


@kernel
def is_ascending(blob: Bytes, starts: Ints) -> int:
    """Return 1 when each string is greater than the one before it."""
