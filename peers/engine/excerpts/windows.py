"""Kernels that find the words of a query in a page's text and choose the parts of it to be shown.

Texts come as code points, folded ones to look for words in and original ones to cut. A place where a word was
found is one int64, start << 40 | (2^24 - 1 - length) << 16 | term: so they sort by where they start, at one
place the longest first.

That one word is a form of another only the stemmer can tell. It is asked once for each word: `FormTable`
remembers the answers by the hashes of both, for all queries, and a kernel that meets a word that is not there
gives it back to be asked for.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from peers.engine.native.compiled import kernel
from peers.engine.postings.word_numbers import SEED
from peers.kernel import Bytes, Codes, Ints, Numbers, Sums
from peers.text.characters import codes_of
from peers.text.stemming import native_form_of

# How far a cut may move to fall between words; a longer "word" is cut inside.
CUT_MOVE_MAX: Final = 24
PLACES_MAX: Final = 16  # of one term in one piece; the best window is rarely behind them
FRAGMENTS_MAX: Final = 3
FRAGMENT_COLUMNS: Final = 3  # start and end without space around, and 1 if there is text before it

# Kinds of terms.
ANYWHERE: Final = 0  # wherever its characters stand
WHOLE: Final = 1  # only as a whole word
FORMS: Final = 2  # any word that begins so and has the same form

UNKNOWN_MAX: Final = 32  # words given back at a time

# How far a text has been looked through, and why no further.
PIECES_DONE, IS_PAID, CHARS_DONE, N_FOUND, N_UNKNOWN, IS_OVER, IS_SPENT, PROGRESS_SIZE = range(8)

CHOSEN_NUMBERS: Final = 2 + FRAGMENTS_MAX * FRAGMENT_COLUMNS

_START_SHIFT: Final = 40
_LENGTH_SHIFT: Final = 16
_LENGTH_MASK: Final = (1 << 24) - 1
TERM_MASK: Final = (1 << 16) - 1

_FORMS_KEPT: Final = 1 << 15  # 0.5 MB
_FORMS_USED_MAX: Final = _FORMS_KEPT * 3 // 4


def spans_of(matches: Ints) -> list[tuple[int, int]]:
    """Return start and end of matches."""
    spans = []
    for match in matches.tolist():  # few, as a rule: arrays would take longer
        start = match >> _START_SHIFT
        spans.append((start, start + _LENGTH_MASK - (match >> _LENGTH_SHIFT & _LENGTH_MASK)))
    return spans


class FormTable:
    """The forms in a language of words that have been met, as hashes; emptied when it is full.

    Attributes:
      words: hashes of words, by open addressing; 0 where there is none.
      forms: of each, the hash of its form, 0 when it has none.
      known: both, as kernels take them.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self.words: Sums = np.zeros(_FORMS_KEPT, np.uint64)
        self.forms: Sums = np.zeros(_FORMS_KEPT, np.uint64)
        self.known = self.words, self.forms, SEED
        self._used = 0

    def learn(self, word: str) -> None:
        """Take in a word."""
        if self._used == _FORMS_USED_MAX:
            self.words[:] = 0
            self._used = 0
        form = native_form_of(word, self._language)
        hashed = hash_of(word)
        place = hashed % _FORMS_KEPT
        while self.words[place] and self.words[place] != hashed:
            place = (place + 1) % _FORMS_KEPT
        self.words[place] = hashed
        self.forms[place] = hash_of(form) if form else 0
        self._used += 1


def hash_of(text: str, seed: int = SEED) -> int:
    """Return the hash by which kernels compare words, never 0.

    Without a seed a page could have thousands of words that share a place in a table, each behind all others.
    """
    hashed = np.empty(1, np.uint64)
    _hash_text(codes_of(text), seed, hashed)
    return int(hashed[0])


@kernel
def _hash_text(codes: Codes, seed: int, hashed: Sums) -> int:
    """Set `hashed`, of one number, to the hash of a text."""


class Stretch(NamedTuple):
    """A stretch of a text, folded, in pieces that are looked through each by itself."""

    folded: Codes
    origin_starts: Ints  # in its piece, of each folded character; empty where that is its own place
    origin_ends: Ints
    ends: Numbers  # of the pieces in it
    chars: Numbers  # of each piece in the text


class Wanted(NamedTuple):
    """The terms to be looked for, as kernels take them."""

    codes: Codes  # of all, one after the other
    starts: Ints  # of each, and the end
    kinds: Ints
    numbers: Ints  # equal ones have the same
    forms: Sums  # hashes
    worths: Ints  # of each number: a long word is worth more than the short ones it is made of


@kernel
def find_terms(
    stretch: Stretch,
    classes: Bytes,
    wanted: Wanted,
    known: tuple[Sums, Sums, int],
    chars_max: int,
    effort: Ints,
    before: Numbers,
    found: Ints,
    unknown: Ints,
    progress: int,
) -> tuple[list[int]]:
    """Find where terms stand in a text, at most `PLACES_MAX` times each in a piece, until each was seen.

    Args:
      stretch: the next one of the text.
      known: that of a `FormTable`.
      chars_max: no more pieces are begun when so many characters have been looked through; below 0 all are
        looked through, also when each term was seen.
      effort: what each piece is paid with before it is begun (`Effort.cells`).
      before: how far that was: what was returned last, zeros at first; `PIECES_DONE` are of the stretch.
      found: the places so far, with room for `PLACES_MAX` of each term in each piece of the stretch.
      unknown: where to put start and end of words of unknown form, of `UNKNOWN_MAX`.
      progress: room for `PROGRESS_SIZE`.

    Returns:
      How far it is now: to the end of the stretch unless words are `N_UNKNOWN`, which are to be learnt before
      it is called again, the text `IS_OVER`, since all were seen or it is enough, or the effort `IS_SPENT`.
    """


@kernel
def choose_fragments(
    text: Codes,
    classes: Bytes,
    matches: Ints,
    worths: Ints,
    columns: int,
    fragments: int,
    spans: int,
) -> tuple[list[int], list[int]]:
    """Choose the parts of a text to be shown: as few as show as much as any.

    Args:
      matches: sorted.
      worths: of each term.
      fragments: room for `CHOSEN_NUMBERS`. spans: for two of each match.

    Returns:
      How many fragments, 1 if text follows the last one, and `FRAGMENT_COLUMNS` of each, ascending and apart;
      what is to be marked, start and end of each in the line that is made of the fragments.
    """


@kernel
def tell_line(lines: Codes, matches: Ints, in_title: Ints, worths: Ints) -> int:
    """Choose the line whose distinct terms are worth most, but those of a title; the shortest, the first.

    Args:
      matches: in the lines, sorted. in_title: in the title.
      worths: of each term.

    Returns:
      The number of the line; -1 where it has no more than half of what all terms are worth.
    """
