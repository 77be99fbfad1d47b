"""Find the few places of a text where an entry of a watch list may begin, by its first characters.

Most of a page begins no entry, and to cut it into symbols costs more than to read its markup. The first
characters of each entry, up to four, are hashed into a table of bits for their number. Of a text all hashes
are made at once, an array at a time, and the few places that a table has are looked at one by one: 3,000
characters of Chinese take 0.1 ms.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peers.text.runs import KIND_OF_CHARACTER, RUN, RunKind

PREFIX_CHARS_MAX: Final = 4
TABLE_BITS: Final = 20
# Numbers without a pattern, for the first to the fourth character: fractions of the roots of 2, 3, 5, 7.
_FACTORS: Final = tuple(np.uint32(factor) for factor in (0x6A09E667, 0xBB67AE85, 0x3C6EF373, 0xA54FF53B))
_KINDS: Final = np.frombuffer(KIND_OF_CHARACTER, np.uint8)


class EntryStarts:
    """The first characters of all entries of a list."""

    def __init__(self, first_runs: Iterable[str]) -> None:
        """Enter them.

        Args:
          first_runs: of each entry, folded: stretches that one rule cuts, see `text.runs`.
        """
        self._tables: dict[int, NDArray[np.bool_]] = {}
        self._runs = frozenset(first_runs)
        self._prefixes = frozenset(run[:PREFIX_CHARS_MAX] for run in self._runs)
        self._has_unspaced = False
        for run in self._runs:
            self._has_unspaced |= KIND_OF_CHARACTER[ord(run[0])] == RunKind.UNSPACED
            prefix = run[:PREFIX_CHARS_MAX]
            if len(prefix) not in self._tables:
                self._tables[len(prefix)] = np.zeros(1 << TABLE_BITS, np.bool_)
            self._tables[len(prefix)][_hashes(_codes(prefix), len(prefix))] = True

    def places_in(self, folded: str) -> list[int] | None:
        """Return the places in order where an entry may begin; None where that cannot be told.

        Clusters of scripts without spaces are told from the beginning of their run.
        """
        codes = _codes(folded)
        kinds = _KINDS[codes]
        if self._has_unspaced and bool((kinds == RunKind.UNSPACED).any()):
            return None
        is_start = kinds != RunKind.SEPARATOR
        is_word = kinds == RunKind.WORD
        is_start[1:] &= ~(is_word[1:] & is_word[:-1])  # words begin where they begin
        is_known = np.zeros(len(codes), np.bool_)
        for length, table in self._tables.items():
            if length <= len(codes):
                is_known[: len(codes) - length + 1] |= table[_hashes(codes, length)]
        places: list[int] = np.flatnonzero(is_start & is_known).tolist()
        return [place for place in places if self._may_begin(folded, place)]

    def _may_begin(self, folded: str, place: int) -> bool:
        if KIND_OF_CHARACTER[ord(folded[place])] != RunKind.WORD:
            return any(folded[place : place + length] in self._prefixes for length in self._tables)
        match = RUN.match(folded, place)
        return match is not None and match[0] in self._runs


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _hashes(codes: NDArray[np.uint32], length: int) -> NDArray[np.uint32]:
    """Return for each place a number from the characters there, so many of them."""
    count = len(codes) - length + 1
    mixed = codes[:count] * _FACTORS[0]
    for place in range(1, length):
        mixed ^= codes[place : place + count] * _FACTORS[place]
    return mixed >> np.uint32(32 - TABLE_BITS)
