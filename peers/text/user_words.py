"""Words that the owner of a mesh adds to the dictionary by which queries are cut: 爱心社, 单片机.

They are written as in a user dictionary of jieba, `word [frequency [tag]]`, so that one can be shared with
other programs. Only queries are cut by them, never pages: these keep the terms of the version of analysis by
which they were indexed, whatever a policy says later.

Where such a word stands between borders of base words (those of the dictionary, and single characters), it is
one word, the longest first, from the left; the rest of the run is cut as always. So none takes a character
from a word of the dictionary. Frequency and tag decide nothing.

They are for terms of art of the pages. MRR@10 without and with those found in titles and in one half of the
queries, on queries of the other half that have one (`tests/benchmarks/bench_user_words.py`): Chinese
LibreOffice help (379) .671 and .693, 57 better and 35 worse; QBQTC (366) .803 and .798, 15 and 22; CMRC 2018
(406) .997 and .994, 1 and 3. Those found in queries alone win nowhere: .639 and .636 (177), .821 and .774
(26), 1 and 1 (39). So a mesh has none by default. With their parts scoring as well the help had .675, with
.4 more for the pairs inside .656.

Source: Li, Yan, Wang 2004, section 8.4, the second pass: forward maximum matching over base words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final

from peers.text.folding import fold
from peers.text.runs import HAN
from peers.text.segmentation import UserWords, known_words_of, words_of

CHARS_MAX: Final = 10
LINE_CHARS_MAX: Final = 64
_LINE: Final = re.compile(r"(?P<word>\S{1,40})(?: (?P<frequency>[0-9]{1,12}))?(?: (?P<tag>[a-z]{1,8}))?")
_WORD: Final = re.compile(f"[{HAN}]{{2,{CHARS_MAX}}}")


def word_in(line: str) -> str | None:
    """Return the word of a line of a user dictionary, folded; None where it has none that can be used.

    That is 2 to CHARS_MAX Chinese characters.
    """
    match = _LINE.fullmatch(line) if len(line) <= LINE_CHARS_MAX else None
    word = fold(match["word"]) if match else ""
    return word if _WORD.fullmatch(word) else None


def user_words_of(lines: Iterable[str]) -> UserWords:
    """Return the words of a user dictionary; a line that has none is left out."""
    return frozenset(filter(None, map(word_in, lines)))


def cut_with(run: str, user_words: UserWords) -> list[str]:
    """Cut a folded Han run into words of the sentence, which cover it, with those of a mesh."""
    cut: list[str] = []
    done = 0
    for start, end in _places(run, user_words):
        cut += words_of(run[done:start]) if done < start else ()
        cut.append(run[start:end])
        done = end
    return cut + (words_of(run[done:]) if done < len(run) else [])


def _places(run: str, user_words: UserWords) -> Iterator[tuple[int, int]]:
    """Yield start and end of the words of the mesh of a run that base words make up, none in another."""
    borders = [0, *accumulate(map(len, known_words_of(run)))]
    behind = set(borders)
    done = 0
    for start in borders:
        if start < done:
            continue
        for end in range(min(len(run), start + CHARS_MAX), start + 1, -1):
            if end in behind and run[start:end] in user_words:
                yield start, end
                done = end
                break
