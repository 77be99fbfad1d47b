"""The dictionary of a segment: its entries, sorted, and where the postings of each are.

Format: blocks of BLOCK_ENTRIES entries, each entry
    varint(bytes shared with the entry before; 0 for the first of a block)
    varint(bytes that follow), these bytes
    varint(documents), varint(bytes of postings), varint(bytes of positions)
and for every block three numbers: where it starts, where the postings and where the positions of its first
entry start; the last three are the lengths of dictionary, postings and positions. Some 14 bytes an entry,
where tables of fixed width took 45; looking one up takes 0.3 us. As the first entry of a block is whole, no
dictionary, hostile ones included, unpacks to more than BLOCK_ENTRIES times its strings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from peers.engine.native.compiled import kernel
from peers.kernel import Bytes, Ints, Strings, Sums

BLOCK_ENTRIES = 16
BLOCK_NUMBERS = 3
# Three numbers of entries, and two lengths of strings: varints of numbers below 2^35.
_ENTRY_OVERHEAD_MAX = 25

# Columns of what `look_up` finds
NUMBER, DOC_FREQ, START, END, PLACE, PLACE_END, FOUND_COLUMNS = range(7)


class Dictionary(NamedTuple):
    """The entries of a segment as arrays, for work on all of them."""

    terms: Bytes  # one after the other
    term_starts: Ints  # entries + 1, as the other starts
    doc_freqs: Ints
    postings_starts: Ints
    positions_starts: Ints


def pack_dictionary(dictionary: Dictionary) -> tuple[Bytes, Ints]:
    """Return (blocks one after the other, the numbers of each)."""
    n_entries = len(dictionary.doc_freqs)
    packed = np.empty(len(dictionary.terms) + _ENTRY_OVERHEAD_MAX * n_entries, np.uint8)
    numbers = np.zeros((-(-n_entries // BLOCK_ENTRIES) + 1) * BLOCK_NUMBERS, np.int64)
    n_bytes = _pack_entries(*dictionary, packed, numbers)
    return packed[:n_bytes].copy(), numbers


def unpack_dictionary(packed: Bytes, numbers: Ints, n_entries: int) -> Dictionary | None:
    """Return the entries as arrays; None when this is no dictionary of so many entries."""
    if len(numbers) != (-(-n_entries // BLOCK_ENTRIES) + 1) * BLOCK_NUMBERS:
        return None
    if n_entries * 5 > len(packed):
        return None
    term_starts, doc_freqs = np.zeros(n_entries + 1, np.int64), np.zeros(n_entries, np.int64)
    postings_starts, positions_starts = np.zeros(n_entries + 1, np.int64), np.zeros(n_entries + 1, np.int64)
    if _measure_entries(packed, n_entries, term_starts, doc_freqs, postings_starts, positions_starts) < 0:
        return None
    terms = np.empty(int(term_starts[-1]), np.uint8)
    _unpack_entries(packed, term_starts, terms)
    return Dictionary(terms, term_starts, doc_freqs, postings_starts, positions_starts)


def unpack_blocks(
    packed: Bytes, numbers: Ints, n_entries: int, first_block: int, end_block: int
) -> Dictionary | None:
    """Return the entries of some blocks of a dictionary of so many entries, likewise."""
    starts, postings_starts, positions_starts = numbers.reshape(-1, BLOCK_NUMBERS).T
    n_here = min(n_entries, end_block * BLOCK_ENTRIES) - first_block * BLOCK_ENTRIES
    here = unpack_dictionary(
        packed[starts[first_block] : starts[end_block]],
        numbers[first_block * BLOCK_NUMBERS : (end_block + 1) * BLOCK_NUMBERS],
        n_here,
    )
    if here is not None and first_block:
        here.postings_starts[:] += postings_starts[first_block]
        here.positions_starts[:] += positions_starts[first_block]
    return here


def sort_strings(strings: Bytes, starts: Ints) -> tuple[Ints, Bytes, Ints]:
    """Return the numbers of strings, sorted by their bytes; the strings in that order, and their starts."""
    order, sorted_starts = np.empty(len(starts) - 1, np.int64), np.empty(len(starts), np.int64)
    sorted_strings = np.empty(len(strings), np.uint8)
    _sort_strings(strings, starts, order, sorted_strings, sorted_starts)
    return order, sorted_strings, sorted_starts


@kernel
def _sort_strings(strings: Bytes, starts: Ints, order: Ints, to: Bytes, sorted_starts: Ints) -> int:
    """."""


@kernel
def _pack_entries(
    terms: Bytes,
    term_starts: Ints,
    doc_freqs: Ints,
    postings_starts: Ints,
    positions_starts: Ints,
    packed: Bytes,
    numbers: Ints,
) -> int:
    """."""


@kernel
def _measure_entries(
    packed: Bytes,
    n_entries: int,
    term_starts: Ints,
    doc_freqs: Ints,
    postings_starts: Ints,
    positions_starts: Ints,
) -> int:
    """Read the numbers of all entries; -1 when they are not exactly those."""


@kernel
def _unpack_entries(packed: Bytes, term_starts: Ints, terms: Bytes) -> int:
    """Write the strings of entries that `_measure` has seen."""


class Lexicon(NamedTuple):
    """A dictionary that is looked into."""

    packed: Bytes
    numbers: Ints
    heads: Sums  # of each block the first eight bytes of its first entry, as a number that sorts as they do
    n_entries: int


def lexicon_of(packed: Bytes, numbers: Ints, n_entries: int) -> Lexicon:
    """Prepare a dictionary, which is trusted, to be looked into: half a byte an entry more."""
    heads = np.empty(len(numbers) // BLOCK_NUMBERS - 1, np.uint64)
    _read_heads(packed, numbers, heads)
    return Lexicon(packed, numbers, heads, n_entries)


@kernel
def _read_heads(packed: Bytes, numbers: Ints, heads: Sums) -> int:
    """."""


@kernel
def look_up(lexicon: Lexicon, wanted: Strings, found: Ints) -> int:
    """Do as `find_entries`."""


@kernel
def list_entries(packed: Bytes, numbers: Ints, first: int, end: int, found: Ints) -> int:
    """Give the same numbers for the entries from `first` to before `end`."""
