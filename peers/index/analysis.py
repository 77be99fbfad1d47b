"""Turn text into terms: what the index stores of a text and what a query asks for.

Theory of operation
  `fold` makes spellings equal: NFKC, lower case, latin accents dropped. It works on the odd stretches of
  a text only, because full NFKC costs 150 ns a character and common Chinese and ASCII text needs none.
  A folded text is a sequence of *runs* with separators between them:

  * a Han run, [\\u4e00-\\u9fd5]+: jieba's search mode (words of the sentence plus the dictionary words
    of two and three characters inside them). Only Han runs go to the segmenter: on these rjieba and
    jieba agree token for token, on mixed text they do not.
  * a run of kana, Hangul or rare ideographs: overlapping bigrams, or the character when it is alone.
  * a word: letters and digits of any other script.

  Stop words are kept: the ranking makes them cheap, and phrases need them.

Positions
  jieba's search mode emits overlapping words and cuts a phrase otherwise than the sentence it came from,
  so positions of *words* cannot answer phrase queries. Positions therefore count **atoms**: an atom is
  one Han, kana or Hangul character, or one word of another script. Separators take no position. The atoms
  of a text do not depend on context, so any stretch of a text cut at atom borders, asked as a phrase,
  has atoms that are consecutive in the text: it is found, always, and nothing else is. Segmented words
  have no positions, only frequencies, so positions cost no more than they would for words.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple, Protocol

import msgspec

ANALYSIS_VERSION = 1  # stored in every segment; raise it whenever the same text gives other terms or atoms

# No natural word is longer; a base64 blob cut here costs one dictionary entry of bounded size.
TERM_CHARS_MAX = 64

_HAN = "\u4e00-\u9fd5"
_OTHER_CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u9fd6-\u9fff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\u1100-\u11ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_HAN}]+|[{_OTHER_CJK}]+|[^\\W_{_HAN}{_OTHER_CJK}]+")

# The same brackets, arrows and accented letters come again and again: a cached one costs a twentieth.
ODD_STRETCHES_CACHED = 16_384

# Everything but ASCII, Han and punctuation that separates before folding as well as after it.
_ODD = re.compile(f"[^\x00-\x7f{_HAN}\u3000-\u3003\u3008-\u3011。，、！（）：；？“”‘’…—·～\u00a0]+")


def _latin_table() -> dict[int, str | None]:
    """Map accented latin letters to their base, Greek final sigma to sigma, combining accents to nothing."""
    table: dict[int, str | None] = dict.fromkeys(range(0x300, 0x370))
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        base = unicodedata.normalize("NFD", chr(code))[0]
        if base.isascii():
            table[code] = base.lower()
    for spellings in ("ßss", "æae", "œoe", "øo", "łl", "đd", "ðd", "þth", "ħh", "ŧt", "ıi", "ŋn", "ςσ"):
        table[ord(spellings[0])] = spellings[1:]
    return table


_LATIN = _latin_table()


def fold(text: str) -> str:
    """Return `text` in the spelling that terms have: NFKC, lower case, latin accents dropped."""
    if text.isascii():
        return text.lower()
    return _ODD.sub(lambda odd: _fold_odd(odd[0]), text).lower()


@lru_cache(maxsize=ODD_STRETCHES_CACHED)
def _fold_odd(stretch: str) -> str:
    # Twice: lower case can leave a spelling that NFKC changes again (U+0130, the Kelvin sign's like).
    lowered = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", stretch).lower())
    return lowered.translate(_LATIN)


class RunKind(IntEnum):
    """How a run is cut into terms."""

    SEPARATOR = 0
    WORD = 1
    HAN = 2
    OTHER_CJK = 3


def _kinds_of_characters() -> bytes:
    kinds = bytearray(sys.maxunicode + 1)
    for run in _RUN.finditer("".join(map(chr, range(sys.maxunicode + 1)))):
        first = run[0][0]
        kind = RunKind.OTHER_CJK if re.match(f"[{_OTHER_CJK}]", first) else RunKind.WORD
        kinds[run.start() : run.end()] = bytes([kind]) * len(run[0])
    kinds[0x4E00:0x9FD6] = bytes([RunKind.HAN]) * (0x9FD6 - 0x4E00)
    return bytes(kinds)


# The `RunKind` of every code point: the same rule as _RUN, for bulk work.
KIND_OF_CHARACTER = _kinds_of_characters()


def runs_of(folded: str) -> list[str]:
    """Return the runs of a folded text in order, without the separators."""
    return _RUN.findall(folded)


def kind_of(run: str) -> RunKind:
    """Tell how a run of `runs_of` is to be cut."""
    return RunKind(KIND_OF_CHARACTER[ord(run[0])])


class Segmenter(Protocol):
    """Cuts Han runs; what jieba does, and every replacement must do alike."""

    def cut(self, run: str) -> list[str]:
        """Return the words of one run, in order, covering it."""

    def search(self, joined: str) -> list[str]:
        """Return the search-mode terms of runs joined by line breaks, and the line breaks."""


class RjiebaSegmenter:
    """The fast twin; ImportError where it has no wheel."""

    def __init__(self) -> None:
        import rjieba

        self.cut: Callable[[str], list[str]] = rjieba.cut
        self.search: Callable[[str], list[str]] = rjieba.cut_for_search


class JiebaSegmenter:
    """The reference: ten times slower, the same terms."""

    def __init__(self) -> None:
        import jieba

        jieba.setLogLevel(60)
        self.cut: Callable[[str], list[str]] = jieba.lcut
        self._search: Callable[[str], list[str]] = jieba.lcut_for_search

    def search(self, joined: str) -> list[str]:
        tokens: list[str] = []
        for run in joined.split("\n"):
            tokens += self._search(run)
            tokens.append("\n")
        tokens.pop()
        return tokens


def available_segmenter() -> Segmenter:
    """Return the fastest segmenter installed; all give the same terms."""
    try:
        return RjiebaSegmenter()
    except ImportError:
        return JiebaSegmenter()


_segmenter = available_segmenter()


def segment_han(joined: str) -> list[str]:
    """Cut Han runs joined by line breaks: their terms in order, and the line breaks.

    Joined runs cost half of what one call for each costs, and give the same terms.
    """
    return _segmenter.search(joined)


def bigrams(run: str) -> list[str]:
    """Cut a run of kana, Hangul or rare ideographs: overlapping pairs, or the one character it has."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def analyse(text: str) -> list[str]:
    """Return the terms of a text in order; deterministic, and the same on every peer of one version."""
    return [term for run in runs_of(fold(text)) for term in _terms_of_run(run)]


class QueryTerms(NamedTuple):
    """What a typed text is searched by; dictionary entries, distinct, in the order of the text."""

    required: tuple[str, ...]  # each must occur where all words must
    scoring: tuple[str, ...]  # what a document's score is the sum over
    weights: tuple[float, ...]  # the factor on the score of each of them; 1.0 for a term as it was typed


def query_terms(text: str) -> QueryTerms:
    """Say by which entries of the dictionary documents about a typed text are found and scored."""
    terms = tuple(dict.fromkeys(analyse(text)))
    return QueryTerms(terms, terms, (1.0,) * len(terms))


def _terms_of_run(run: str) -> Sequence[str]:
    kind = kind_of(run)
    if kind is RunKind.WORD:
        return (run[:TERM_CHARS_MAX],)
    return segment_han(run) if kind is RunKind.HAN else bigrams(run)


def atoms(text: str) -> list[str]:
    """Return the atoms of a text in order: its characters in CJK runs, its words elsewhere.

    The position of an atom is its index. Terms and atoms are separate name spaces for CJK characters:
    see `atom_key`.
    """
    found: list[str] = []
    for run in runs_of(fold(text)):
        if kind_of(run) is RunKind.WORD:
            found.append(run[:TERM_CHARS_MAX])
        else:
            found += run
    return found


CHARACTER_PREFIX = "\x01"  # before a CJK character as an atom; no term starts with a control character


def atom_key(atom: str) -> str:
    """Return the dictionary entry that holds an atom's positions.

    A word is its own entry. A CJK character as an atom stands beside the same character as a word.
    """
    return atom if kind_of(atom) is RunKind.WORD else CHARACTER_PREFIX + atom


def is_atom_key(entry: str) -> bool:
    """Tell whether a dictionary entry has positions: a word, or a character as an atom."""
    first = entry[0]
    return first == CHARACTER_PREFIX or (first > " " and KIND_OF_CHARACTER[ord(first)] == RunKind.WORD)


class TermSpan(msgspec.Struct, frozen=True, array_like=True):
    """A term and the characters of the original text it came from: text[start:end]."""

    term: str
    start: int
    end: int


def offsets(text: str) -> list[TermSpan]:
    """Return the terms of `analyse(text)` with their places in the text as it was given.

    Where folding changes the number of characters (½, ㌔, a letter and its combining accent) the span
    covers all characters that took part.
    """
    aligned = AlignedText(text)
    return [
        TermSpan(term, *aligned.span(match.start() + start, match.start() + end))
        for match in _RUN.finditer(aligned.folded)
        for term, start, end in _places(match[0])
    ]


def _places(run: str) -> list[tuple[str, int, int]]:
    """Return (term, start, end) of every term in a folded run, in the order of `analyse`."""
    kind = kind_of(run)
    if kind is RunKind.WORD:
        return [(run[:TERM_CHARS_MAX], 0, len(run))]
    if kind is RunKind.OTHER_CJK:
        return [(term, i, i + len(term)) for i, term in enumerate(bigrams(run))]
    return _han_places(run)


def _han_places(run: str) -> list[tuple[str, int, int]]:
    # Before a word, search mode emits its dictionary pairs from left to right, then its triples.
    terms = iter(segment_han(run))
    places: list[tuple[str, int, int]] = []
    word_start = 0
    for word in _segmenter.cut(run):
        after_last = {2: 0, 3: 0}
        for term in terms:
            if len(term) == len(word):
                places.append((term, word_start, word_start + len(word)))
                break
            inside = word.index(term, after_last[len(term)])
            after_last[len(term)] = inside + 1
            places.append((term, word_start + inside, word_start + inside + len(term)))
        word_start += len(word)
    return places


class AlignedText:
    """A folded text that knows where its characters came from."""

    def __init__(self, text: str) -> None:
        self.folded = fold(text)
        self.original_chars = len(text)
        self._starts: list[int] | None = None  # None: character i came from character i
        self._ends: list[int] = []
        pieces = [] if text.isascii() else [m for m in _ODD.finditer(text) if _is_uneven(m[0])]
        if pieces:
            self._align(text, pieces)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the (start, end) in the original of folded[start:end], which must not be empty."""
        if self._starts is None:
            return start, end
        return self._starts[start], self._ends[end - 1]

    def _align(self, text: str, pieces: Sequence[re.Match[str]]) -> None:
        starts: list[int] = []
        ends: list[int] = []
        done = 0
        for piece in pieces:
            starts += range(done, piece.start())
            ends += range(done + 1, piece.start() + 1)
            for start, end, length in _clusters(piece[0]):
                starts += [piece.start() + start] * length
                ends += [piece.start() + end] * length
                if length == 0 and ends:
                    ends[-1] = piece.start() + end  # an accent belongs to the letter before it
            done = piece.end()
        starts += range(done, len(text))
        ends += range(done + 1, len(text) + 1)
        self._starts, self._ends = starts, ends


@lru_cache(maxsize=ODD_STRETCHES_CACHED)
def _is_uneven(stretch: str) -> bool:
    return any(len(_fold_odd(c)) != 1 for c in stretch) or len(_fold_odd(stretch)) != len(stretch)


def _clusters(stretch: str) -> list[tuple[int, int, int]]:
    """Cut a stretch into (start, end, folded length) so that the foldings add up to that of the whole."""
    lengths = [len(_fold_odd(c)) for c in stretch]
    if "".join(_fold_odd(c) for c in stretch) == _fold_odd(stretch):
        return [(i, i + 1, length) for i, length in enumerate(lengths)]
    return [(0, len(stretch), len(_fold_odd(stretch)))]  # characters joined: all of them are one place
