"""Which languages the lines of a page are in, where these are not all that of the page.

A page names one language, but may have parts in others: a translation below the original, an abstract, an
article that nobody has translated. A line tells its language by its function words, or by its script, when it
has enough of them; most headings and items of lists do not. A page is of its own language, and of the one
other that most of its text is told to be of, if that is a part of it and no quotation.

On such a page words of lines that tell one of both languages have forms of that one only, and all else, as
the title, has forms of both. Pages in one language, which are nearly all, are analysed as if there were no
lines. All is counted in integers, so it is the same on every peer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peers.kernel import Bytes, Ints, kernels_of
from peers.text.function_words import FUNCTION_WORDS_OF
from peers.text.runs import RunKind
from peers.text.stemming import native_language

# What lines can tell: by function words, and by script.
_BY_WORDS: Final = tuple(language for language in FUNCTION_WORDS_OF if language != "zh")
LANGUAGES: Final = (*_BY_WORDS, "zh", "ja", "ko")
_ZH, _JA, _KO = range(len(_BY_WORDS), len(LANGUAGES))
NONE: Final = -1
SURE: Final = -2  # see `own_language`
# A line tells with so many function words, if they are such a share of it. Running text has a third;
# commands, names and numbers have few. Of East Asian characters a third is counted, so that examples tell
# nothing.
TELLING_MIN: Final = 4
TELLING_SHARE: Final = 5  # one in so many
SCRIPT_SHARE: Final = 3
KANA_SHARE: Final = 10  # one in so many of the characters makes Chinese ones Japanese
# The page's own language is told unless another has half as many again: those of one family share words.
OWN_TIMES, OTHER_TIMES = 3, 2
PART_SHARE: Final = 8  # one in so many of the words of a text, in the other language
PART_MIN: Final = 24  # and no fewer than these

_MASKS: Final = {
    word: sum(1 << i for i, each in enumerate(_BY_WORDS) if word in FUNCTION_WORDS_OF[each])
    for word in frozenset[str]().union(*(FUNCTION_WORDS_OF[each] for each in _BY_WORDS))
    if len(word) > 1  # single letters are names of things in all languages
}
_HANGUL: Final = ((0x1100, 0x1200), (0x3130, 0x3190), (0xA960, 0xA980), (0xAC00, 0xD800))
_KANA: Final = ((0x3040, 0x3100), (0x31F0, 0x3200))


@kernels_of("peers.text._kernels")
def count_runs(lines: Ints, sizes: Ints, masks: Ints, hits: Ints, totals: Ints) -> int:
    """Add the sizes of runs to the totals of their lines, and to the `hits` of the languages in their masks.

    Args:
      hits: a row of each language. totals: of each line.
    """


def function_masks(words: Sequence[str]) -> Ints:
    """Return of which of `LANGUAGES` folded words are function words, a bit for each."""
    return np.fromiter(map(_MASKS.get, words, repeat(0)), np.int64, len(words))


def script_masks(kinds: Bytes | Ints, firsts: NDArray[np.uint32]) -> Ints:
    """Return which of `LANGUAGES` East Asian runs tell, likewise, by their kinds and first characters."""
    masks = np.where(kinds == int(RunKind.HAN), 1 << _ZH, 0)
    masks[_is_in(firsts, _KANA)] = 1 << _JA
    masks[_is_in(firsts, _HANGUL)] = 1 << _KO
    return masks


def _is_in(codes: NDArray[np.uint32], ranges: tuple[tuple[int, int], ...]) -> NDArray[np.bool_]:
    found = np.zeros(len(codes), np.bool_)
    for first, end in ranges:
        found |= (codes >= first) & (codes < end)
    return found


def own_language(language: str) -> int:
    """Return the place in `LANGUAGES` of the language that a page names, `NONE` of one that no line tells.

    It is `SURE` where the page is taken at its word: its language has a stemmer, so it is written in latin
    letters, but no function words here, and those of its neighbours would be found in it.
    """
    native = native_language(language)
    if native and native not in _BY_WORDS:
        return SURE
    language = native or language
    return LANGUAGES.index(language) if language in LANGUAGES else NONE


class Runs(NamedTuple):
    """The runs of some texts, one by one."""

    lines: Ints  # the number of the line that it is in, ascending
    sizes: Ints  # in atoms: characters of East Asian ones, clusters of unspaced ones, 1 of a word
    masks: Ints  # `function_masks` of words, `script_masks` of others


class LineLanguages(NamedTuple):
    """The language told from each line, or none, and the size of the line."""

    told: Ints  # of each line its place in `LANGUAGES`, or NONE
    sizes: Ints  # how many words and East Asian characters it has


def line_languages(runs: Runs, own: Ints) -> LineLanguages:
    """Tell the language of each line.

    Args:
      own: of each line the `own_language` of its page.
    """
    sizes = np.zeros(len(own), np.int64)
    hits = np.zeros((len(LANGUAGES), len(own)), np.int64)
    count_runs(runs.lines, runs.sizes, runs.masks, hits, sizes)
    if hits[_ZH:].any():
        _share_characters(hits, own)
    every = np.arange(len(own))
    best = hits.argmax(0)
    own_hits = np.where(own < 0, 0, hits[own, every])
    is_own = OTHER_TIMES * hits[best, every] < OWN_TIMES * own_hits
    best = np.where(is_own, own, best)
    n_hits = hits[best, every]
    is_told = (n_hits >= TELLING_MIN) & (TELLING_SHARE * n_hits >= sizes) & (own != SURE)
    return LineLanguages(np.where(is_told, best, NONE), sizes)


def _share_characters(hits: Ints, own: Ints) -> None:
    """Give Chinese characters, which are counted as that, to Japanese where they are with kana."""
    han, kana = hits[_ZH], hits[_JA]
    is_japanese = (own == _JA) | ((kana > 0) & (KANA_SHARE * kana >= han + kana))
    hits[_JA] = np.where(is_japanese, han + kana, 0)
    hits[_ZH] = np.where(is_japanese, 0, han)
    hits[_ZH:] //= SCRIPT_SHARE


def _summed(lines: Ints, sizes: Ints, n_lines: int) -> Ints:
    return np.bincount(lines, sizes, n_lines).astype(np.int64)


def other_languages(found: LineLanguages, pages: Ints, own: Ints) -> Ints:
    """Return of each page the language besides its own that a part of it is in, or NONE.

    Args:
      pages: of each line of main text the number of its page, NONE of other lines.
      own: `own_language` of each page.
    """
    is_counted = pages != NONE
    pages, told, sizes = pages[is_counted], found.told[is_counted], found.sizes[is_counted]
    n_pages = len(own)
    totals = _summed(pages, sizes, n_pages)
    of_language = np.zeros((len(LANGUAGES), n_pages), np.int64)
    for i in np.unique(told[told != NONE]).tolist():
        of_language[i] = _summed(pages[told == i], sizes[told == i], n_pages)
    every = np.arange(n_pages)
    of_language[own, every] = np.where(own < 0, of_language[own, every], 0)
    best = of_language.argmax(0)
    n_told = of_language[best, every]
    return np.where((n_told >= PART_MIN) & (PART_SHARE * n_told >= totals), best, NONE)
