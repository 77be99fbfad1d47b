"""Make spellings equal: NFKC, lower case, latin accents dropped, traditional characters simplified.

`fold` works on the odd stretches of a text only, because full NFKC costs 150 ns a character and common
Chinese and ASCII text needs none. Traditional characters become simplified ones by a table, one character
one, whatever the context (`traditional.txt`, whose head says where it is from): what simplified text uses
itself is left alone, so 乾隆 stays what it is, and 乾燥 in traditional text does not become 干燥. Texts
are stored as they were written; `AlignedText` says where in them a folded character came from.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# The same brackets, arrows and accented letters come again and again: a cached one costs a twentieth.
ODD_STRETCHES_CACHED = 16_384

# Everything but ASCII, Han and punctuation that separates before folding as well as after it.
_ODD = re.compile("[^\x00-\x7f\u4e00-\u9fd5\u3000-\u3003\u3008-\u3011。，、！（）：；？“”‘’…—·～\u00a0]+")


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


def _traditional_table() -> dict[str, str]:
    """Return the simplified character of each traditional one."""
    lines = Path(__file__).with_name("traditional.txt").read_text("utf-8").splitlines()
    pairs = " ".join(line for line in lines if not line.startswith("#")).split()
    return {pair[0]: pair[1] for pair in pairs}


def _simplified_codes() -> NDArray[np.uint32]:
    codes = np.arange(sys.maxunicode + 1, dtype=np.uint32)
    for traditional, simplified in _SIMPLIFIED_OF.items():
        codes[ord(traditional)] = ord(simplified)
    return codes


_SIMPLIFIED_OF = _traditional_table()
_TRADITIONAL = re.compile(f"[{''.join(_SIMPLIFIED_OF)}]")

# The code point that stands for every code point: the same rule as `simplify`, for bulk work.
SIMPLIFIED = _simplified_codes()


def fold(text: str) -> str:
    """Return `text` in the spelling that terms have: NFKC, lower case, latin accents dropped."""
    return simplify(fold_letters(text))


def fold_letters(text: str) -> str:
    """Do all of `fold` but simplify Chinese characters."""
    if text.isascii():
        return text.lower()
    return _ODD.sub(lambda odd: _fold_odd(odd[0]), text).lower()


def simplify(text: str) -> str:
    """Replace traditional characters; the length stays as it is."""
    if _TRADITIONAL.search(text) is None:
        return text
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return SIMPLIFIED[codes].tobytes().decode("utf-32-le", "surrogatepass")


@lru_cache(maxsize=ODD_STRETCHES_CACHED)
def _fold_odd(stretch: str) -> str:
    # Twice: lower case can leave a spelling that NFKC changes again (U+0130, the Kelvin sign's like).
    lowered = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", stretch).lower())
    return lowered.translate(_LATIN)


class AlignedText:
    """A folded text that knows where its characters came from."""

    def __init__(self, text: str) -> None:
        self.folded = fold(text)
        self._starts: list[int] | None = None  # None: character i came from character i
        self._ends: list[int] = []
        pieces = [] if text.isascii() else [m for m in _ODD.finditer(text) if _is_uneven(m[0])]
        if pieces:
            self._align(text, pieces)

    @property
    def origins(self) -> tuple[list[int], list[int]] | None:
        """Start and end in the original of each folded character; None when each is the one at its place."""
        return None if self._starts is None else (self._starts, self._ends)

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
