"""Where a page speaks of an entity: the sentences with one of its names, its namesakes left out.

Texts are folded first, so that traditional characters, width and case make no difference. A name in Chinese
is found anywhere, one of letters as a whole. All is linear in the length of the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from peers.entities.relations import Occurrence
from peers.text.folding import fold

PAGE_CHARS_MAX: Final = 200_000  # of a page that are looked at
MENTIONS_MAX: Final = 200  # sentences; behind them a page tells nothing new
SENTENCE_CHARS_MAX: Final = 300  # to each side of a name
_END: Final = re.compile(r"[。！？!?；;\n]|\.(?=\s)")


class PageText(NamedTuple):
    """A page as its gateway tells it."""

    url: str
    title: str
    text: str


class Mention(NamedTuple):
    """A sentence with a name; folded."""

    text: str
    names: list[Occurrence]


class FoldedPage(NamedTuple):
    """A page with all its spellings made equal."""

    title: str
    text: str


def folded(page: PageText) -> FoldedPage:
    return FoldedPage(fold(page.title), fold(page.text[:PAGE_CHARS_MAX]))


@lru_cache(maxsize=256)
def pattern_of(texts: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern that finds any of some texts in a folded one, the longest first."""
    words = sorted({fold(text).strip() for text in texts} - {""}, key=len, reverse=True)
    return re.compile("|".join(map(_whole, words)) or r"(?!)")


def spans_in(texts: tuple[str, ...], folded_text: str) -> list[Occurrence]:
    """Return the places of some texts in a folded one, in their order."""
    return [Occurrence(*match.span()) for match in pattern_of(texts).finditer(folded_text)]


def mentions_in(names: tuple[str, ...], text: str) -> list[Mention]:
    """Return the sentences of a folded text that have a name, in their order, the first ones."""
    mentions: list[Mention] = []
    start = end = 0
    for match in pattern_of(names).finditer(text):
        if mentions and match.start() < end:
            mentions[-1].names.append(Occurrence(match.start() - start, match.end() - start))
            continue
        if len(mentions) == MENTIONS_MAX:
            break
        start, end = _sentence_around(text, match.start(), match.end(), end)
        mentions.append(Mention(text[start:end], [Occurrence(match.start() - start, match.end() - start)]))
    return mentions


def _sentence_around(text: str, start: int, end: int, after: int) -> tuple[int, int]:
    """Return the bounds of the sentence with a place. Args: after: the end of the one before."""
    earliest = max(after, start - SENTENCE_CHARS_MAX)
    ends = [match.end() for match in _END.finditer(text, earliest, start)]
    following = _END.search(text, end, end + SENTENCE_CHARS_MAX)
    last = following.end() if following is not None else min(len(text), end + SENTENCE_CHARS_MAX)
    return (ends[-1] if ends else earliest), last


def without_namesakes(mentions: Sequence[Mention], excluded: tuple[str, ...]) -> list[Mention]:
    """Return the mentions in whose sentence no excluded word stands."""
    if not excluded:
        return list(mentions)
    pattern = pattern_of(excluded)
    return [mention for mention in mentions if pattern.search(mention.text) is None]


def _whole(word: str) -> str:
    """Return the pattern of a text: letters and digits at its ends go on in no other."""
    before = r"(?<![^\W\u3400-\u9fff])" if _is_letter(word[0]) else ""
    behind = r"(?![^\W\u3400-\u9fff])" if _is_letter(word[-1]) else ""
    return f"{before}{re.escape(word)}{behind}"


def _is_letter(character: str) -> bool:
    return character.isalnum() and not "\u3400" <= character <= "\u9fff"
