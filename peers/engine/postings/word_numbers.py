"""Distinct words of texts, found among code points: of each word a string is made only once.

A text has ten times as many words as distinct ones. To cut all of them out as strings, and to look each up in
a dictionary, was a quarter of indexing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, TypeVar

import numpy as np

from peers.engine.native.compiled import kernel
from peers.kernel import Codes, Ints, Sums

Array = TypeVar("Array", Ints, Sums, Codes)

_SEED: Final = hash("words")  # another one in every process


class DistinctWords:
    """Words in the order of their first use."""

    def __init__(self) -> None:
        self._count = 0
        self._slots: Ints = np.zeros(2, np.int64)  # a hash table of words + 1, its size a power of two
        self._hashes: Sums = np.zeros(1, np.uint64)
        self._starts: Ints = np.zeros(2, np.int64)  # of each word in the store, and where the last ends
        self._store: Codes = np.zeros(1, np.uint32)

    def __len__(self) -> int:
        return self._count

    def find(self, codes: Codes, starts: Ints, lengths: Ints) -> tuple[Ints, list[str]]:
        """Return which word is at each place, and the words that are new."""
        self._make_room(len(starts), int(lengths.sum()))
        found = np.empty(len(starts), np.int64)
        first = self._count
        self._count = _find_words(
            codes,
            starts,
            lengths,
            _SEED,
            self._slots,
            self._hashes,
            self._starts,
            self._store,
            first,
            found,
        )
        return found, self._words_from(first)

    def _words_from(self, first: int) -> list[str]:
        starts = self._starts[first : self._count + 1]
        text = self._store[starts[0] : starts[-1]].tobytes().decode("utf-32-le")
        ends = (starts - starts[0]).tolist()
        return [text[start:end] for start, end in pairwise(ends)]

    def _make_room(self, n_words: int, n_codes: int) -> None:
        words_max = self._count + n_words
        if len(self._hashes) < words_max:
            self._hashes = _grown(self._hashes, words_max)
            self._starts = _grown(self._starts, len(self._hashes) + 1)
        used = int(self._starts[self._count])
        if len(self._store) < used + n_codes:
            self._store = _grown(self._store, used + n_codes)
        size = len(self._slots)
        while size < 2 * words_max:
            size *= 2
        if size > len(self._slots):
            self._slots = np.zeros(size, np.int64)
            _place_words(self._hashes[: self._count], self._slots)


def _grown(array: Array, size: int) -> Array:
    grown = np.zeros(max(size, 2 * len(array)), array.dtype)
    grown[: len(array)] = array
    return grown


@kernel
def _find_words(
    codes: Codes,
    starts: Ints,
    lengths: Ints,
    seed: int,
    slots: Ints,
    hashes: Sums,
    word_starts: Ints,
    store: Codes,
    n_known: int,
    found: Ints,
) -> int:
    """Find each word, or enter it as the next one; return how many there are. There is room for all."""


@kernel
def _place_words(hashes: Sums, slots: Ints) -> int:
    """Enter the words with these hashes into an empty table that has room."""
