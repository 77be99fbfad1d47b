"""Words that the segmenter's dictionary lacks, from queries. Pure.

A person who types a name by itself, or sets it apart, has cut it out already. So a query is taken apart at
its operators and spaces, and a part is a word if

* it is of Han characters alone, two to eight of them
* enough clients have asked for it
* it is neither in the dictionary nor made of words of two characters and more that are (地震照片), or of such
  and of other words found here (哇嘎下载), nor has it a character or word that forms no words (的, 什么).

So a character remains that no word of the dictionary took: of a name (何炅), or beside a word (爱心社).

Of 600 that one client alone had asked for in a sample of SogouQ, 100 were drawn by lot and read by one
person: 60 are words or names, 56 of the 71 of up to four characters and 4 of the 29 longer ones, which are
mostly sentences. Of the 56 that two clients or more had asked for 34 are.

Source: Li, Yan, Wang 2004, section 10.2, which leaves the length and the frequency open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import Final

import msgspec

from peers.text.folding import fold
from peers.text.runs import HAN
from peers.text.segmentation import known_words_of
from peers.text.word_discovery import FORMING_NO_WORDS

CHARS_MIN: Final = 2
CHARS_MAX: Final = 8  # longer ones are sentences and titles
_APART: Final = re.compile(r"[\W_]+")
_HAN_ALONE: Final = re.compile(f"[{HAN}]{{{CHARS_MIN},{CHARS_MAX}}}")


class QueryWord(msgspec.Struct, frozen=True):
    """A word that people search for and the dictionary lacks."""

    word: str
    client_count: int


def simple_queries(query: str) -> Iterator[str]:
    """Take a query apart at spaces and operators; yield each part once that may be a word, folded.

    A part with a letter or digit of another script is none: 天网 of 天网+北大 is one, 天网 of 天网2.0 is not.
    """
    yield from dict.fromkeys(part for part in _APART.split(fold(query)) if _HAN_ALONE.fullmatch(part))


def unknown_words(clients: Mapping[str, int], min_clients: int) -> list[QueryWord]:
    """Return the parts of queries that are words which the dictionary lacks, the most frequent first.

    Args:
      clients: of each part how many have asked for it.
    """
    unknown = {
        part for part, count in clients.items() if count >= min_clients and _is_unknown(known_words_of(part))
    }
    found = [QueryWord(part, clients[part]) for part in unknown if not _is_phrase(part, unknown)]
    return sorted(found, key=lambda each: (-each.client_count, each.word))


def _is_unknown(words: list[str]) -> bool:
    return len(words) > 1 and FORMING_NO_WORDS.isdisjoint(words)


def _is_phrase(part: str, unknown: Set[str]) -> bool:
    """Tell whether words cover a part: of the dictionary, or beside one of these an unknown one."""
    covered = {0: False}  # ends of words side by side from the beginning, and whether the dictionary has one
    for end in range(CHARS_MIN, len(part) + 1):
        for start in range(end - CHARS_MIN + 1):
            word = part[start:end]
            if start in covered and word != part:
                is_known = known_words_of(word) == [word]
                if is_known or word in unknown:
                    covered[end] = covered.get(end, False) or covered[start] or is_known
    return covered.get(len(part), False)
