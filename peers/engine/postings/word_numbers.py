"""Distinct words of texts, found among code points: of each word a string is made only once.

A text has ten times as many words as distinct ones. To cut all of them out as strings, and to look each up in
a dictionary, was a quarter of indexing. And a segment has most words of the one before it: what is known of
them, their forms above all, is kept from one to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final, NamedTuple, TypeVar

import numpy as np

from peers.engine.native.compiled import kernel
from peers.kernel import Codes, Ints, Sums
from peers.text.compounds import COMPOUND_PREFIX
from peers.text.line_languages import function_masks
from peers.text.spellings import spelling_of
from peers.text.stemming import form_of, native_form_of

Array = TypeVar("Array", Ints, Sums, Codes)

SEED: Final = hash("words")  # of hashes of words, another one in every process

NO_ENTRY: Final = 0  # the place of the entry of texts that have none
_UNKNOWN: Final = -1
# Code points and entries that are kept: some 65,000 words of eight letters, with their forms 15 MB.
KEPT_CODES_MAX: Final = 1 << 19
KEPT_ENTRIES_MAX: Final = 1 << 17
# Of the tables that find them, whose room is for the occurrences of a batch: most have 10 MB at most.
KEPT_TABLES_BYTES_MAX: Final = 32 << 20


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

    @property
    def code_count(self) -> int:
        """How many code points all of them have."""
        return int(self._starts[self._count])

    @property
    def table_bytes(self) -> int:
        """How many bytes its tables take."""
        return sum(table.nbytes for table in (self._slots, self._hashes, self._starts, self._store))

    def find(self, codes: Codes, starts: Ints, lengths: Ints) -> tuple[Ints, list[str]]:
        """Return which word is at each place, and the words that are new."""
        self._make_room(len(starts), int(lengths.sum()))
        found = np.empty(len(starts), np.int64)
        first = self._count
        self._count = _find_words(
            codes,
            starts,
            lengths,
            SEED,
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


class KnownTexts:
    """Words or signs between words, in the order of their first use, and the entry that is made of each."""

    def __init__(self, entry_of: Callable[[str], str]) -> None:
        self.texts: list[str] = []
        self.entries: list[str] = [""]  # each once; the first is that of NO_ENTRY
        self.entry_of: Ints = np.zeros(0, np.int64)  # by the place of a text: that of its entry
        self._make_entry = entry_of
        self._distinct = DistinctWords()
        self._places: dict[str, int] = {"": NO_ENTRY}

    @property
    def is_small(self) -> bool:
        """May it be kept?"""
        is_small = self._distinct.code_count <= KEPT_CODES_MAX and len(self.entries) <= KEPT_ENTRIES_MAX
        return is_small and self._distinct.table_bytes <= KEPT_TABLES_BYTES_MAX

    def find(self, codes: Codes, starts: Ints, lengths: Ints) -> Ints:
        """Return the place of each text."""
        found, new = self._distinct.find(codes, starts, lengths)
        if new:
            self.texts += new
            entries = list(map(self.place_of, map(self._make_entry, new)))
            self.entry_of = np.concatenate([self.entry_of, np.array(entries, np.int64)])
        return found

    def place_of(self, entry: str) -> int:
        """Return the place of an entry, which is among them from now on."""
        place = self._places.setdefault(entry, len(self.entries))
        if place == len(self.entries):
            self.entries.append(entry)
        return place


class KnownWords(KnownTexts):
    """Words, their forms, and the rest that does not depend on the text that they are in."""

    def __init__(self) -> None:
        super().__init__(form_of)
        self.mask_of: Ints = np.zeros(0, np.int64)  # by the place of a word: its `function_masks`
        # By language, likewise the place of a form that it has there alone, _UNKNOWN until it is asked for.
        self._native_form_of: dict[str, Ints] = {}

    def find(self, codes: Codes, starts: Ints, lengths: Ints) -> Ints:
        """Return the place of each word."""
        found = super().find(codes, starts, lengths)
        if new := self.texts[len(self.mask_of) :]:
            self.mask_of = np.concatenate([self.mask_of, function_masks(new)])
        return found

    def native_forms(self, found: Ints, language: str) -> Ints:
        """Return the place of each word's own form in a language, NO_ENTRY where it is `form_of` the word.

        Args:
          found: places of words.
        """
        known = self._native_form_of.get(language, np.zeros(0, np.int64))
        if len(known) < len(self.texts):
            more = np.full(len(self.texts) - len(known), _UNKNOWN)
            known = self._native_form_of[language] = np.concatenate([known, more])
        forms = known[found]
        for place in _distinct(found[forms == _UNKNOWN], len(known)):
            form = self.place_of(native_form_of(self.texts[place], language))
            known[place] = NO_ENTRY if form == self.entry_of[place] else form
        return known[found]


class Known(NamedTuple):
    """All that is known."""

    words: KnownWords
    spellings: KnownTexts  # of words as they are written
    compounds: KnownTexts


class PlacedNumbers:
    """Numbers that one segment gives to some of the texts that are known, by their places."""

    def __init__(self, texts: list[str], numbers: Callable[[list[str]], Ints]) -> None:
        """Args: texts: which grow. numbers: of texts that have none so far."""
        self._texts = texts
        self._numbers = numbers
        self._number_of: Ints = np.zeros(0, np.int64)

    def numbers(self, places: Ints) -> Ints:
        """Return the number of the text at each place."""
        if len(self._number_of) < len(self._texts):
            n_known = len(self._number_of)
            self._number_of = _grown(self._number_of, len(self._texts))
            self._number_of[n_known:] = _UNKNOWN
        numbers = self._number_of[places]
        if new := _distinct(places[numbers == _UNKNOWN], len(self._number_of)):
            self._number_of[new] = self._numbers([self._texts[place] for place in new])
            numbers = self._number_of[places]
        return numbers


# At most one, of whoever was done last; without it the next segment finds out all of its words anew.
_kept: list[Known] = []


def borrow_known() -> Known:
    """Return all that is known, for one thread until it returns it."""
    try:
        return _kept.pop()
    except IndexError:
        return Known(KnownWords(), KnownTexts(spelling_of), KnownTexts(COMPOUND_PREFIX.__add__))


def return_known(known: Known) -> None:
    """Keep all that is known for the next segment, unless it is too much."""
    if all(each.is_small for each in known):
        _kept[:] = [known]


def _distinct(places: Ints, n_places: int) -> list[int]:
    """Return each place once, ascending; as `np.unique`, in a fraction of its time."""
    if not len(places):
        return []
    is_there = np.zeros(n_places, np.bool_)
    is_there[places] = True
    return np.flatnonzero(is_there).tolist()


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
