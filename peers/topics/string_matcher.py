"""Find the strings of topics in a page, by the automaton of watched words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from peers.text.folding import fold
from peers.topics.topic_list import RELATED_LEVEL, TOPIC_LEVEL, TopicList, TopicMarks
from peers.watch.matcher import Matcher, symbols_of
from peers.watch.watch_list import EntryKind, WatchEntry

_NAMELESS: Final = "-"


class StringMatcher:
    """The strings of all topics of a list, in one automaton."""

    def __init__(self, digest: bytes, topics: TopicList) -> None:
        """Build it; strings that are folded alike are one entry, of all topics that have them.

        Args:
          digest: of the list, which the marks of each page name.
        """
        self._digest = digest
        by_symbols: defaultdict[tuple[str, ...], list[tuple[bytes, int]]] = defaultdict(list)
        texts: dict[tuple[str, ...], str] = {}
        for key, level, text in _strings(topics):
            symbols = tuple(symbols_of(fold(text)).symbols)
            by_symbols[symbols].append((key, level))
            texts.setdefault(symbols, text)
        self._meanings = [by_symbols[symbols] for symbols in texts]
        entries = [WatchEntry(_NAMELESS, EntryKind.PHRASE, text) for text in texts.values()]
        self._matcher = Matcher(0, entries)

    def marks(self, title: str, text: str) -> TopicMarks:
        """Return the topics that a page has strings of."""
        levels: dict[bytes, int] = {}
        for entry in self._matcher.entries_in(title, text):
            for key, level in self._meanings[entry]:
                levels[key] = max(level, levels.get(key, 0))
        return TopicMarks(self._digest, tuple(sorted(levels.items())))


def _strings(topics: TopicList) -> Iterator[tuple[bytes, int, str]]:
    for topic in topics.topics:
        key = topics.key_of(topic)
        for text in topic.strings:
            yield key, TOPIC_LEVEL, text
        for text in topic.related:
            yield key, RELATED_LEVEL, text
