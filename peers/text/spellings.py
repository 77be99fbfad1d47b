"""Words as they are written, where folding makes another word of that: résumé, Ελλάδα, كِتَاب, שָׁלוֹם, नुक़्ता.

Such a word is an entry of its own, without positions, besides the folded one by which all spellings find each
other: a query for it scores pages that have it so before those that have it otherwise. Only a query that
is typed with marks means any: one without them has no such entry, since most people type none.
"""

from __future__ import annotations

import sys
import unicodedata
from bisect import bisect_right
from itertools import chain
from typing import Final

import numpy as np

from peers.kernel import Codes, Ints
from peers.text.characters import codes_of, text_of
from peers.text.folding import INVISIBLE, NASAL, fold
from peers.text.function_words import FUNCTION_WORDS_OF
from peers.text.runs import KIND_OF_CHARACTER, RUN, RunKind, kind_of

SPELLING_PREFIX: Final = "\x08"
# As long as a term may be.
SPELLED_CHARS_MAX: Final = 64
# Of the words of a main text: above it none has an entry. French help pages have .12 (p99 .21), Greek .66.
SPELLED_SHARE_MAX: Final = 1 / 3

# French and Greek pages are full of them (où, έναν), and nobody looks for a spelling of theirs.
_UNSPELLED: Final = frozenset(chain.from_iterable(FUNCTION_WORDS_OF.values()))
_VIRAMA: Final = ord("\u094d")


def spellings_of(text: str, share_max: float = 1.0) -> list[str]:
    """Return the entries of the words of a text that folding changes, in their order.

    Args:
      share_max: of words that may be spelled; in a text with more of them none has an entry.
    """
    if text.isascii():
        return []
    seen = INVISIBLE.sub("", text)
    spans = [match.span() for match in RUN.finditer(seen) if kind_of(match[0]) is RunKind.WORD]
    marked = marked_places(codes_of(seen)).tolist()
    starts = [start for start, _ in spans]
    places = {bisect_right(starts, place) - 1 for place in marked}
    if len(places) > share_max * len(spans):
        return []
    words = (seen[slice(*spans[place])] for place in sorted(places))
    return [entry for word in words if (entry := spelling_of(word))]


def spelling_of(word: str) -> str:
    """Return the entry of a word as it is written; "" where that is how it is folded, and of function words.

    Capitals, compatibility forms of letters (NFKC), and the sigma at the end of words are no spellings.
    """
    if word.isascii():
        return ""
    word = word[:SPELLED_CHARS_MAX]
    folded = fold(word)
    written = _written(word)
    return "" if not folded or written == folded or folded in _UNSPELLED else SPELLING_PREFIX + written


def marked_places(codes: Codes) -> Ints:
    """Return the places in a text, rising, of all characters for which a word can have a spelling."""
    states = _states[codes]
    if len(unknown := codes[states == _UNKNOWN]):
        for code in np.unique(unknown).tolist():
            _states[code] = _CHANGED if _is_changed(code) else _UNCHANGED
        states = _states[codes]
    is_marked = states == _CHANGED
    if (codes == _VIRAMA).any():
        is_marked[[match.start() for match in NASAL.finditer(text_of(codes))]] = True
    return np.flatnonzero(is_marked)


_UNKNOWN, _UNCHANGED, _CHANGED = range(3)
# Of every code point, as soon as a text has it: there are 130,000 that words are made of.
_states: Final = np.zeros(sys.maxunicode + 1, np.uint8)


def _is_changed(code: int) -> bool:
    """Tell whether folding makes something else of a character of words."""
    return KIND_OF_CHARACTER[code] == RunKind.WORD and _written(chr(code)) != fold(chr(code))


def _written(word: str) -> str:
    lowered = unicodedata.normalize("NFKC", word).lower()
    return unicodedata.normalize("NFKC", lowered).replace("ς", "σ")
