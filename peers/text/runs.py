"""Cut a folded text into runs: stretches of characters that are cut into terms by one rule.

  * a Han run, [\\u4e00-\\u9fd5]+: words of a dictionary. Only such runs go to the segmenter: on these
    rjieba and jieba agree token for token, on mixed text they do not.
  * a run of kana, Hangul or rare ideographs: overlapping pairs.
  * a word: letters and digits of any other script.

Between runs are separators.
"""

from __future__ import annotations

import re
import sys
from enum import IntEnum

_HAN = "\u4e00-\u9fd5"
_OTHER_CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u9fd6-\u9fff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\u1100-\u11ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
RUN = re.compile(f"[{_HAN}]+|[{_OTHER_CJK}]+|[^\\W_{_HAN}{_OTHER_CJK}]+")


class RunKind(IntEnum):
    """How a run is cut into terms."""

    SEPARATOR = 0
    WORD = 1
    HAN = 2
    OTHER_CJK = 3


_LETTERS_END = 0x40000  # Unicode has none from plane 4 on: not worth a look at each start of a command


def _kinds_of_characters() -> bytes:
    kinds = bytearray(sys.maxunicode + 1)
    for run in RUN.finditer("".join(map(chr, range(_LETTERS_END)))):
        first = run[0][0]
        kind = RunKind.OTHER_CJK if re.match(f"[{_OTHER_CJK}]", first) else RunKind.WORD
        kinds[run.start() : run.end()] = bytes([kind]) * len(run[0])
    kinds[0x4E00:0x9FD6] = bytes([RunKind.HAN]) * (0x9FD6 - 0x4E00)
    return bytes(kinds)


# The `RunKind` of every code point: the same rule as RUN, for bulk work.
KIND_OF_CHARACTER = _kinds_of_characters()


def runs_of(folded: str) -> list[str]:
    """Return the runs of a folded text in order, without the separators."""
    return RUN.findall(folded)


def kind_of(run: str) -> RunKind:
    """Tell how a run of `runs_of` is to be cut."""
    return RunKind(KIND_OF_CHARACTER[ord(run[0])])
