"""Cut a folded text into runs: stretches of characters that are cut into terms by one rule.

  * a Han run, [\\u4e00-\\u9fd5]+: words of a dictionary. Only such runs go to the segmenter: on these
    rjieba and jieba agree token for token, on mixed text they do not.
  * a run of kana, Hangul or rare ideographs: overlapping pairs.
  * a run of Thai, Lao, Khmer or Burmese, which write no spaces between words: pairs of `clusters`.
  * a word: letters, digits and marks of any other script, as in UAX 29 but for what stands between letters.

Between runs are separators.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from enum import IntEnum
from itertools import chain, starmap

HAN = "\u4e00-\u9fd5"
OTHER_CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u9fd6-\u9fff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\u1100-\u11ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf\u1000-\u103f\u104e"
    "\u1050-\u108f\u109a-\u109d\u1780-\u17d3\u17d7\u17dc\u17dd\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"
)


def _marks() -> str:
    """Return the ranges of all marks that are part of words, of spaced scripts that are written today."""
    unspaced = re.compile(f"[{_UNSPACED}]")
    blocks = ((0x300, 0x1D00), (0x1DC0, 0x2100), (0x2CE0, 0x3100), (0xA660, 0xAC00), (0xFB1E, 0xFE30))
    living = ((0x11100, 0x11148), (0x1E944, 0x1E94B))  # Chakma, Adlam
    marks: list[list[int]] = []
    for code in chain.from_iterable(starmap(range, blocks + living)):
        if unicodedata.category(chr(code)) not in ("Mn", "Mc") or unspaced.match(chr(code)):
            continue
        if marks and marks[-1][1] == code - 1:
            marks[-1][1] = code
        else:
            marks.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in marks)


MARKS = _marks()
ANY_LETTER = rf"[^\W_{HAN}{OTHER_CJK}{_UNSPACED}]"
RUN = re.compile(
    f"[{HAN}]+|[{OTHER_CJK}]+|[{_UNSPACED}]+|(?:{ANY_LETTER}+|[{MARKS}]{ANY_LETTER}*)(?:[{MARKS}]{ANY_LETTER}*)*"
)

# Vowels that are written before their consonant, consonants and vowels that stand alone, what is written
# after or around them, and the signs that put the next consonant below; by script: Thai, Lao, Burmese, Khmer.
_BEFORE = "\u0e40-\u0e44\u0ec0-\u0ec4"
_BASE = (
    "\u0e01-\u0e2f\u0e46\u0e81-\u0eaf\u0ec6\u0edc-\u0edf\u1000-\u102a\u103f\u104e\u1050-\u1055\u105a-\u105d"
    "\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e\u1780-\u17b3\u17d7\u17dc\ua9e0-\ua9ef\uaa60-\uaa7a"
)
_AFTER = (
    "\u0e30-\u0e3a\u0e45\u0e47-\u0e4e\u0eb0-\u0ebd\u0ec8-\u0ece\u102b-\u1038\u103a-\u103e\u1056-\u1059"
    "\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b6-\u17d1\u17d3\u17dd"
    "\uaa7b-\uaa7d"
)
_BELOW = "\u1039\u17d2"
_CLOSED = "\u0e31\u0e47\u0eb1"  # short vowels after which a syllable goes on to its last consonant
_CLUSTER = re.compile(
    f"[{_BEFORE}]?[{_BASE}](?:[{_BELOW}][{_BASE}]|[{_AFTER}]){{0,8}}"
    f"(?:(?<=[{_CLOSED}])[{_BASE}]|(?<=[{_CLOSED}][\u0e48-\u0e4b\u0ec8-\u0ecb])[{_BASE}])?"
    # Consonants that are silent, or close the syllable, as a sign above them says.
    f"(?:[{_BASE}](?:[\u0e34\u0e38]?\u0e4c|\u0ecc|\u1037?\u103a[\u1037\u1038]?)(?:[{_BELOW}][{_BASE}])?){{0,3}}"
    f"|.",
    re.DOTALL,
)


class RunKind(IntEnum):
    """How a run is cut into terms."""

    SEPARATOR = 0
    WORD = 1
    HAN = 2
    OTHER_CJK = 3
    UNSPACED = 4


_KINDS = tuple(RunKind)  # by number: an enumeration takes two calls to look its own up
_RANGES = ((RunKind.HAN, HAN), (RunKind.OTHER_CJK, OTHER_CJK), (RunKind.UNSPACED, _UNSPACED))
# Where words may be: not in the large blocks that the ranges above cover, nor from plane 2 on. All of
# Unicode would take each start of a peer 46 ms, these take 13.
_BLOCKS = ((0, 0x3400), (0xA000, 0xAC00), (0xFB00, 0x20000))


def _kinds_of_characters() -> bytes:
    kinds = bytearray(sys.maxunicode + 1)
    for start, end in _BLOCKS:
        for run in RUN.finditer("".join(map(chr, range(start, end)))):
            kinds[start + run.start() : start + run.end()] = bytes([RunKind.WORD]) * len(run[0])
    for kind, ranges in _RANGES:
        for first, last in re.findall("(.)(?:-(.))?", ranges):
            size = ord(last or first) + 1 - ord(first)
            kinds[ord(first) : ord(first) + size] = bytes([kind]) * size
    return bytes(kinds)


# The `RunKind` of every code point: the same rule as RUN, for bulk work.
KIND_OF_CHARACTER = _kinds_of_characters()


def runs_of(folded: str) -> list[str]:
    """Return the runs of a folded text in order, without the separators."""
    return RUN.findall(folded)


def clusters_of(run: str) -> list[str]:
    """Cut an unspaced run into clusters, which cover it: syllables or parts of them that no word ends inside.

    They are told by a few characters around, so they are the same in a word and in a sentence with it. None
    has more than a few dozen characters, of real text seven.

    Source: Theeramunkong et al., "Character cluster based Thai information retrieval", IRAL 2000.
    """
    return _CLUSTER.findall(run)


def kind_of(run: str) -> RunKind:
    """Tell how a run of `runs_of` is to be cut."""
    return _KINDS[KIND_OF_CHARACTER[ord(run[0])]]
