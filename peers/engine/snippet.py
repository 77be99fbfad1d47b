"""The pieces of a page that show why it was found.

Words are looked for in the folded text as they stand, without segmentation: a Chinese term wherever its
characters are, a latin one where it is a whole word, or another form of it. That costs a fraction of
analysing the page again, and marks what a reader would.

One window is shown where that has all words that are seen; else two or three shorter ones, if together they
have more: the best one first, then those that are best for the words still missing. What loops over
characters and places is in `windows`.

Measured (54,000 pages on three peers, 600 of the help's queries, on a machine with other work, both in one
run): 170 us of CPU an excerpt with all that belongs to it, 350 when the loops were Python's, every page was
read from its block and looked for in all segments. The excerpts are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import NamedTuple

import msgspec
import numpy as np

from peers.engine.effort import Effort
from peers.engine.query import Query
from peers.engine.windows import (
    ANYWHERE,
    FORMS,
    FRAGMENT_COLUMNS,
    FRAGMENTS_MAX,
    PLACES_MAX,
    TERM_MASK,
    UNKNOWN_MAX,
    WHOLE,
    FormTable,
    choose_fragments,
    find_terms,
    hash_of,
    spans_of,
)
from peers.kernel import Codes, Ints, Sums
from peers.text.characters import character_classes, codes_of, fold_evenly, text_of
from peers.text.compounds import COMPOUND_PREFIX
from peers.text.folding import AlignedText
from peers.text.runs import RunKind, kind_of
from peers.text.stemming import FORM_PREFIX, form_of

# Two columns for a CJK character, one for any other: 160 Chinese characters, or 320 latin ones.
SNIPPET_COLUMNS = 320
# Text that is looked through for matches: what is behind this is not worth the time.
_SEARCHED_CHARS_MAX = 200_000
# For more terms than these less in proportion: few have so many, and each costs for each character.
_TERMS_FOR_ALL = 16
# What looking through text costs: 3 ns a character for a few terms, 20 for a hundred and more.
_CHARS_PER_VISIT = 8
_TERMS_PER_COST = 16
_PIECE_CHARS = 3_000

_OTHER_SPACE = re.compile(r"[^\S ]")
_ELLIPSIS = "…"
# A query is the same for all pages that it has found on a peer.
QUERIES_CACHED = 64
# Of the letters that all forms of a word begin with; fewer would be found everywhere.
_STEM_CHARS_MIN = 3

_forms = FormTable()
_NO_ORIGINS: Ints = np.empty(0, np.int64)


class Snippet(msgspec.Struct, frozen=True, array_like=True):
    """Text to show and what to mark in it."""

    text: str = ""  # one line; begins or ends with "…" where the page goes on
    highlights: tuple[tuple[int, int], ...] = ()  # text[start:end], ascending, apart from each other


class _Piece(NamedTuple):
    """A stretch of a text, folded, as kernels take it."""

    folded: Codes
    starts: Ints  # where each character comes from; empty where that is its own place
    ends: Ints
    chars: int  # of the text


class SearchedText:
    """A text in which words are looked for, once or again: what was folded for one query serves the next."""

    def __init__(self, text: str) -> None:
        self.text = text[:_SEARCHED_CHARS_MAX]
        self.codes = codes_of(self.text)
        self._pieces: list[_Piece] = []
        self._folded_chars = 0

    @property
    def size_bytes(self) -> int:
        """What it takes in memory when all of it has been folded, about."""
        return 10 * len(self.text)

    def pieces(self) -> Iterator[_Piece]:
        """Yield the text folded piece by piece, about to the ends of lines."""
        yield from self._pieces
        while self._folded_chars < len(self.text):
            piece = self._fold(self._folded_chars)
            self._pieces.append(piece)
            self._folded_chars += piece.chars
            yield piece

    def _fold(self, start: int) -> _Piece:
        end = _piece_end(self.text, start)
        even = fold_evenly(self.codes[start:end])
        if even is not None:
            return _Piece(even, _NO_ORIGINS, _NO_ORIGINS, end - start)
        aligned = AlignedText(self.text[start:end])
        starts, ends = aligned.origins or (_NO_ORIGINS, _NO_ORIGINS)
        return _Piece(
            codes_of(aligned.folded), np.array(starts, np.int64), np.array(ends, np.int64), end - start
        )


def searched_chars(text: str, query: Query) -> int:
    """Return how many characters of a page's text are looked through for a query, at most."""
    return min(len(text), _SEARCHED_CHARS_MAX * _TERMS_FOR_ALL // max(_TERMS_FOR_ALL, len(query.scoring)))


def snippet_of(
    text: str | SearchedText, query: Query, columns: int = SNIPPET_COLUMNS, effort: Effort | None = None
) -> Snippet:
    """Choose the best window of a page's text: most of the query's distinct words, then most matches.

    Without any match it is the beginning of the text.

    Args:
      columns: width in latin characters; a CJK character counts for two.
      effort: what looking through the text is paid with.

    Raises:
      EffortSpentError: that was not enough.
    """
    searched = SearchedText(text) if isinstance(text, str) else text
    wanted = _wanted(query.scoring)
    matches = _matches(searched, wanted, searched_chars(searched.text, query), effort or Effort())
    fragments = np.empty((FRAGMENTS_MAX, FRAGMENT_COLUMNS), np.int64)
    spans = np.empty((len(matches), 2), np.int64)
    counted = np.empty(2, np.int64)
    n_fragments = choose_fragments(
        searched.codes, character_classes(), matches, wanted.worths, columns, fragments, spans, counted
    )
    line = ""
    for start, end, has_before in fragments[:n_fragments].tolist():
        line += (_ELLIPSIS if has_before else "") + searched.text[start:end]
    n_spans, has_after = counted.tolist()
    line = _OTHER_SPACE.sub(" ", line) + (_ELLIPSIS if has_after else "")
    return Snippet(line, tuple(map(tuple, spans[:n_spans].tolist())))


def highlights_of(text: str | SearchedText, query: Query) -> tuple[tuple[int, int], ...]:
    """Return where the words of the query are in a short text, such as a title."""
    searched = SearchedText(text) if isinstance(text, str) else text
    matches = _matches(searched, _wanted(query.scoring), len(searched.text), Effort())
    return _united(spans_of(matches)) if len(matches) else ()


class _Wanted(NamedTuple):
    """The terms to be looked for, as kernels take them."""

    codes: Codes  # of all, one after the other
    starts: Ints  # of each, and the end
    kinds: Ints
    numbers: Ints  # equal ones have the same
    forms: Sums  # hashes
    worths: Ints  # of each number: a long word is worth more than the short ones it is made of


def _matches(searched: SearchedText, wanted: _Wanted, chars_max: int, effort: Effort) -> Ints:
    """Return the places of the terms in the original text, sorted; about so many characters are looked at.

    A long text is read piece by piece until every term has been seen: what is best among the first matches
    is good enough.
    """
    n_terms = len(wanted.kinds)
    found = np.empty(4 * n_terms * PLACES_MAX, np.int64)
    n_found = start = 0
    missing = set(range(len(wanted.worths)))
    for piece in searched.pieces() if missing else ():
        if len(found) < n_found + n_terms * PLACES_MAX:
            found = np.append(found[:n_found], np.empty(4 * n_terms * PLACES_MAX, np.int64))
        effort.spend(piece.chars * (_TERMS_PER_COST + n_terms) // (_TERMS_PER_COST * _CHARS_PER_VISIT))
        before = n_found
        n_found = _find(piece, wanted, start, n_found, found)
        if n_found > before:
            missing.difference_update((found[before:n_found] & TERM_MASK).tolist())
            if not missing:
                break
        start += piece.chars
        if start >= chars_max:
            break
    matches = found[:n_found]
    matches.sort()
    return matches


def _find(piece: _Piece, wanted: _Wanted, start: int, first: int, found: Ints) -> int:
    """Find the terms in a piece; what words are forms of is learnt on the way."""
    unknown = np.empty((UNKNOWN_MAX, 2), np.int64)
    while True:
        n_found = find_terms(
            piece.folded,
            character_classes(),
            wanted.codes,
            wanted.starts,
            wanted.kinds,
            wanted.numbers,
            wanted.forms,
            _forms.words,
            _forms.forms,
            piece.starts,
            piece.ends,
            start,
            first,
            found,
            unknown,
        )
        if n_found >= 0:
            return n_found
        for a, b in unknown[:-n_found].tolist():
            _forms.learn(text_of(piece.folded[a:b]))


def _common_start(a: str, b: str) -> str:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    return "".join(character for character, _ in same)


@lru_cache(maxsize=QUERIES_CACHED)
def _wanted(scoring: tuple[str, ...]) -> _Wanted:
    """Return what to look for: words in all their forms, compounds with their signs, other terms as such."""
    words = [entry for entry in scoring if entry >= " "]
    given = {entry for entry in scoring if entry.startswith(FORM_PREFIX)}
    wanted: list[tuple[str, int, int]] = []  # what it begins with, kind, hash of the form
    for word in words:
        form = form_of(word)
        start = _common_start(word, form.removeprefix(FORM_PREFIX)) if form in given else ""
        if len(start) >= _STEM_CHARS_MIN:
            wanted.append((start, FORMS, hash_of(form)))
        else:
            wanted.append((word, WHOLE if kind_of(word) is RunKind.WORD else ANYWHERE, 0))
    compounds = (
        entry.removeprefix(COMPOUND_PREFIX) for entry in scoring if entry.startswith(COMPOUND_PREFIX)
    )
    wanted += [(compound, ANYWHERE, 0) for compound in compounds if compound]  # none: not from an honest peer
    terms = [term for term, _, _ in wanted]
    number_of = {term: number for number, term in enumerate(dict.fromkeys(terms))}
    return _Wanted(
        codes_of("".join(terms)),
        np.fromiter(accumulate(map(len, terms), initial=0), np.int64, len(terms) + 1),
        np.array([kind for _, kind, _ in wanted], np.int64),
        np.array([number_of[term] for term in terms], np.int64),
        np.array([form for _, _, form in wanted], np.uint64),
        np.array([len(term) for term in number_of], np.int64),
    )


def _piece_end(text: str, start: int) -> int:
    """Return where the next piece of a text ends, at the end of a line where that is near."""
    end = start + _PIECE_CHARS
    if end >= len(text):
        return len(text)
    line_end = text.rfind("\n", start + _PIECE_CHARS // 2, end)
    return line_end + 1 if line_end > 0 else end


def _united(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Join spans that overlap or touch."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)
