"""Words that the policy of the mesh lists (`text.user_words`), as completions and for words like them. Pure.

No page is asked about them: they are the owner's terms of art, and no index has them as one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import contains
from typing import Final

from peers.engine.pages.suggested_texts import typed_key
from peers.text.folding import fold
from peers.text.pinyin import has_initials, is_read_as, sounding_like
from peers.text.runs import HAN

WORDS_MAX: Final = 4  # completions among eight
LETTERS_MIN: Final = 2  # of pinyin
_LAST_RUN: Final = re.compile(f"[{HAN}]+$")
_RUNS: Final = re.compile(f"[{HAN}]+")


def completed(words: Iterable[str], typed: str) -> list[str]:
    """Return the texts that a typed beginning becomes with a listed word at its end, the shortest first.

    Its last characters begin the word, or all of it is pinyin of the word, or of the first letters of that.
    """
    key = typed_key(typed)
    run = _LAST_RUN.search(key)
    if run is not None:
        found = {
            key[: len(key) - n] + word for word in words if (n := _begun(word, run.group())) and len(word) > n
        }
    elif len(key) >= LETTERS_MIN and key.isascii() and key.isalpha():
        found = {word for word in words if is_read_as(word, key) or has_initials(word, key)}
    else:
        return []
    return sorted(found, key=lambda text: (len(text), text))[:WORDS_MAX]


def meant(words: frozenset[str], text: str) -> str:
    """Return a query with each run of Chinese that sounds like one listed word, and is none, replaced.

    Returns: "" where nothing is.
    """
    folded = fold(text)
    if len(folded) != len(text):
        return ""
    pieces, done = [], 0
    for run in _RUNS.finditer(folded):
        alike = _sounding_like(run.group(), words)
        if run.group() not in words and len(alike) == 1:
            pieces += [text[done : run.start()], alike[0]]
            done = run.end()
    return "".join((*pieces, text[done:])) if pieces else ""


def _begun(word: str, run: str) -> int:
    """Return how many of the last characters of a run the word begins with, the most."""
    return next((n for n in range(min(len(word), len(run)), 0, -1) if run.endswith(word[:n])), 0)


def _sounding_like(run: str, words: Iterable[str]) -> list[str]:
    """Return the words of as many characters, each of which is that of the run or has its syllable."""
    alike = [
        {character, *(each for each, is_same in sounding_like(character).items() if is_same)}
        for character in run
    ]
    return [word for word in words if len(word) == len(run) and all(map(contains, alike, word))]
