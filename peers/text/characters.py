"""Characters as kernels see them: code points, and the kind and the folded form of each.

Both tables say the same as what they are made of: patterns, and `folding.fold`, which is asked for a
character when it is first met.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache
from typing import Final

import numpy as np

from peers.kernel import Bytes, Codes, Ints, kernels_of
from peers.text.folding import INVISIBLE, fold
from peers.text.runs import KIND_OF_CHARACTER, RunKind

WIDE: Final = 1  # two columns
LETTER: Final = 2  # or mark of a script whose words are written apart
ALPHANUMERIC: Final = 4  # of any script, its marks, and what joins them
SPACE: Final = 8
SENTENCE_END: Final = 16
SENTENCE_END_BEFORE_SPACE: Final = 32
UNSEEN: Final = 64  # folded to nothing

_PATTERNS: Final[dict[int, str | re.Pattern[str]]] = {
    WIDE: "[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60"
    "\uffe0-\uffe6\U0001f300-\U0001faff\U00020000-\U0003ffff]+",
    ALPHANUMERIC: "[\u00ad\u200c\u200d\u2060]+",  # and what is part of a run
    SPACE: r"\s+",
    SENTENCE_END: "[\n。！？；]+",
    SENTENCE_END_BEFORE_SPACE: "[.!?]+",
    UNSEEN: INVISIBLE,
}

# Of which some are beyond U+FFFF; each of the others is looked for in a seventeenth of the time.
_BEYOND_BMP: Final = (WIDE, UNSEEN)

UNEVEN: Final = np.iinfo(np.uint32).max
# Jamo join into syllables, as marks do with letters.
_JAMO: Final = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")

# What each code point is folded to, + 1; 0 when nobody has asked yet; `UNEVEN` when that depends on its
# neighbours, or is not one character.
_folded_to: Codes = np.zeros(sys.maxunicode + 1, np.uint32)
_apart: dict[int, str] = {}  # to what those are folded that are not even, but whatever stands beside them


def codes_of(text: str) -> Codes:
    """Return the code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def text_of(codes: Codes) -> str:
    """Return the text of code points."""
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


@cache
def character_classes() -> Bytes:
    """Return the classes of every code point: a bit each."""
    classes = np.zeros(sys.maxunicode + 1, np.uint8)
    everything = text_of(np.arange(sys.maxunicode + 1, dtype=np.uint32))
    for bit, pattern in _PATTERNS.items():
        last = sys.maxunicode if bit in _BEYOND_BMP else 0xFFFF
        for run in re.compile(pattern).finditer(everything, 0, last + 1):
            classes[run.start() : run.end()] |= bit
    kinds = np.frombuffer(KIND_OF_CHARACTER, np.uint8)
    classes[kinds != int(RunKind.SEPARATOR)] |= ALPHANUMERIC
    classes[kinds == int(RunKind.WORD)] |= LETTER
    return classes


def fold_evenly(codes: Codes) -> Codes | None:
    """Return a text as `fold` makes it, None unless every character is folded to one in any context."""
    folded = np.empty(len(codes), np.uint32)
    done = 0
    while (done := _fold_known(codes, _folded_to, folded, done)) < len(codes):
        code = int(codes[done])
        if _folded_to[code]:
            return None
        _learn(code)
    return folded


def fold_apart(codes: Codes) -> tuple[Codes, Ints, Ints] | None:
    """Fold a text in which characters may be folded to none or to several, as `AlignedText` does.

    Returns:
      The folded text, and of each of its characters start and end in the text before; None unless every
      character is folded to the same in any context.
    """
    distinct, which = np.unique(codes, return_inverse=True)
    for code in distinct[_folded_to[distinct] == 0].tolist():
        _learn(code)
    is_uneven = _folded_to[distinct] == UNEVEN
    parts = [_apart.get(code) for code in distinct[is_uneven].tolist()]
    told = [part for part in parts if part is not None]
    if len(told) < len(parts):
        return None
    table = np.concatenate((codes_of("".join(told)), _folded_to[distinct] - np.uint32(1)))
    sizes = np.ones(len(distinct), np.int64)
    sizes[is_uneven] = list(map(len, told))
    in_table = np.arange(len(table) - len(distinct), len(table))  # where what each is folded to begins
    in_table[is_uneven] = np.cumsum(sizes[is_uneven]) - sizes[is_uneven]
    lengths = sizes[which]
    behind = np.cumsum(lengths)
    starts = np.repeat(np.arange(len(codes)), lengths)
    folded = table[np.arange(len(starts)) + np.repeat(in_table[which] - behind + lengths, lengths)]
    ends = starts + 1
    unseen = np.flatnonzero((lengths == 0) & (behind > 0))
    ends[behind[unseen] - 1] = unseen + 1  # what nobody sees belongs to the character before it
    return folded, starts, ends


def _learn(code: int) -> None:
    """Learn how a character is folded that was never met."""
    character = chr(code)
    folded = fold(character)
    is_apart = not any(map(_may_join, character + unicodedata.normalize("NFKC", character) + folded))
    is_even = is_apart and len(folded) == 1
    if is_apart and not is_even:
        _apart[code] = folded
    _folded_to[code] = ord(folded) + 1 if is_even else UNEVEN


def _may_join(character: str) -> bool:
    return unicodedata.category(character).startswith("M") or bool(_JAMO.match(character))


@kernels_of("peers.text._kernels")
def _fold_known(codes: Codes, folded_to: Codes, folded: Codes, done: int) -> int:
    """Fold from a place on, to the end or to the first character of which that is not known to be even."""
