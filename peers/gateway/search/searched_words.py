"""Which words several searched for and found little of. Pure.

Kept are words, never queries, each with digests of who asked, by a key that nobody has after the next start;
no addresses, nothing on the disk, and nothing at all unless the order of the crawl is to go by it. A word
counts when `ASKERS_MIN` clients have asked for it; who asks again counts once, and has so many words and no
more. It is forgotten after three and a half to seven days in which nobody has asked.

Source: Li, Yan, Wang 2004, 9.4: what is gathered should follow what is asked for.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import Final

from peers.crawler.model.wire_messages import WORD_CHARS_MAX, WORDS_TOLD_MAX
from peers.engine.queries.query_language import Remarks, plain_texts, read
from peers.gateway.model.messages import PagesFound
from peers.text.analysis import analyse
from peers.text.function_words import function_words_of

LITTLE: Final = 10  # pages; the first ten are what most people look at
QUERY_WORDS_MAX: Final = 6  # of one query; with more it is a sentence
ASKERS_MIN: Final = 5
ASKERS_KEPT: Final = 16  # of one word; more make it no more wanted
WORDS_OF_ASKER_MAX: Final = 64  # in a span
WORDS_MAX: Final = 4_096  # in a span, some 4 MB at most; the oldest one goes
CLIENTS_MAX: Final = 65_536  # in a span; of further ones nothing is noted
SPAN_S: Final = 302_400.0  # three and a half days; this span and the one before count
_CHARS_MIN: Final = 2


def words_in_vain(text: str, found: PagesFound) -> tuple[str, ...]:
    """Return the words of a query that found little; none where it found enough, or was not about words.

    A query with conditions, as on a site or a date, may find little for these. An answer without all slots
    says nothing of what there is.
    """
    relaxed = found.relaxed
    total = (relaxed.with_all or 0) if relaxed.is_any or relaxed.nowhere else found.total
    if total >= LITTLE or found.coverage.missing:
        return ()
    words = words_of_query(text)
    return words if len(words) <= QUERY_WORDS_MAX else ()


def words_of_query(text: str) -> tuple[str, ...]:
    """Return the words of a query that say anything of its subject."""
    texts = plain_texts(read(text, Remarks()))
    terms = dict.fromkeys(term for each in texts for term in analyse(each))
    empty = function_words_of(terms)
    return tuple(term for term in terms if _says(term) and term not in empty)


def _says(term: str) -> bool:
    return _CHARS_MIN <= len(term) <= WORD_CHARS_MAX and not term.isdigit()


class SearchedWords:
    """Counts the clients that have searched for each word in vain."""

    def __init__(self) -> None:
        self._askers: dict[str, set[int]] = {}  # by word, in this span
        self._askers_before: dict[str, set[int]] = {}  # in the one before
        self._given: Counter[int] = Counter()  # words by asker, in this span
        self._span_ends_s = inf

    def note(self, asker: int, words: tuple[str, ...], now: float) -> None:
        """Note that a client has searched for words and found little.

        Args:
          asker: a digest that tells it from others.
        """
        self._turn(now)
        if asker not in self._given and len(self._given) >= CLIENTS_MAX:
            return
        for word in words:
            askers = self._askers.get(word, set())
            if asker in askers or len(askers) >= ASKERS_KEPT:
                continue
            if self._given[asker] >= WORDS_OF_ASKER_MAX:
                return
            self._given[asker] += 1
            if word not in self._askers and len(self._askers) >= WORDS_MAX:
                del self._askers[next(iter(self._askers))]
            self._askers.setdefault(word, set()).add(asker)

    def wanted(self, now: float) -> tuple[str, ...]:
        """Return the words that several have asked for, those that most have asked for first."""
        self._turn(now)
        counts = {
            word: len(self._askers.get(word, set()) | self._askers_before.get(word, set()))
            for word in self._askers.keys() | self._askers_before.keys()
        }
        several = [word for word, count in counts.items() if count >= ASKERS_MIN]
        return tuple(sorted(several, key=lambda word: (-counts[word], word))[:WORDS_TOLD_MAX])

    def _turn(self, now: float) -> None:
        """Begin another span when one has ended."""
        if self._span_ends_s == inf:
            self._span_ends_s = now + SPAN_S
        while self._span_ends_s <= now:
            self._askers_before, self._askers, self._given = self._askers, {}, Counter()
            self._span_ends_s += SPAN_S
