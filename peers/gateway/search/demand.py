"""The words and pages that several ask for, as far as the crawl goes by them. Pure.

Kept are words and addresses of pages, never queries, each with digests of who asked, by a key that nobody has
after the next start; no addresses of clients, nothing on the disk, and nothing at all unless the order of the
crawl is to go by it. A word counts when `ASKERS_MIN` clients have asked for it, in vain if the order says so;
a page when they were shown it among the first. Who asks again counts once, and has so many of each and no
more. Those who asked half a week ago weigh half as much, and after three and a half to seven days in which
nobody has asked a word or page is forgotten.

Source: Li, Yan, Wang 2004, 9.4: what is gathered should follow what is asked for.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import Final

from mesh.urls import URL_CHARS_MAX
from peers.crawler.model.wire_messages import PAGES_TOLD_MAX, WORD_CHARS_MAX, WORDS_TOLD_MAX, DemandTold
from peers.engine.queries.query_language import Remarks, plain_texts, read
from peers.gateway.model.messages import PagesFound
from peers.policy.crawl_order import CrawlOrder
from peers.text.analysis import analyse
from peers.text.function_words import function_words_of

LITTLE: Final = 10  # pages; the first ten are what most people look at
SHOWN_FIRST: Final = 3  # pages of an answer that whoever asked has most likely seen
QUERY_WORDS_MAX: Final = 6  # of one query; with more it is a sentence
ASKERS_MIN: Final = 5
ASKERS_KEPT: Final = 16  # of one word or page; more make it no more wanted
OF_ASKER_MAX: Final = 64  # words, and pages, in a span
KEPT_MAX: Final = 4_096  # of each in a span, some 4 MB at most; the oldest one goes
CLIENTS_MAX: Final = 65_536  # in a span; of further ones nothing is noted
SPAN_S: Final = 302_400.0  # three and a half days; this span and the one before count
_CHARS_MIN: Final = 2


def asked_words(text: str, found: PagesFound, ordering: CrawlOrder) -> tuple[str, ...]:
    """Return the words of a query that count: it found little, unless all searches do, and is about words.

    A query with conditions, as on a site or a date, may find little for these. An answer without all slots
    says nothing of what there is.
    """
    relaxed = found.relaxed
    total = (relaxed.with_all or 0) if relaxed.is_any or relaxed.nowhere else found.total
    if not ordering.counts_all_searches and (total >= LITTLE or found.coverage.missing):
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


class Demand:
    """Counts the words and pages that clients of this gateway ask for, as the crawl order wants."""

    def __init__(self, ordering: CrawlOrder) -> None:
        self.ordering = ordering
        self._words = AskedFor()
        self._pages = AskedFor()

    def note(self, asker: int, text: str, found: PagesFound, now: float) -> None:
        """Note that a client has asked for something, and was shown this.

        Args:
          asker: a digest that tells it from others.
        """
        if self.ordering.goes_by_searches:
            self._words.note(asker, asked_words(text, found, self.ordering), now)
        if self.ordering.asked_pages_max and not found.relaxed.is_any:
            pages = (each.url for each in found.hits[:SHOWN_FIRST])
            self._pages.note(asker, tuple(url for url in pages if len(url) <= URL_CHARS_MAX), now)

    def told(self, now: float) -> DemandTold:
        """Return the message to the crawls: words and pages, the most wanted first."""
        pages_max = min(self.ordering.asked_pages_max, PAGES_TOLD_MAX)
        return DemandTold(self._words.wanted(now, WORDS_TOLD_MAX), self._pages.wanted(now, pages_max))


class AskedFor:
    """Counts the clients that have asked for each of some things."""

    def __init__(self) -> None:
        self._askers: dict[str, set[int]] = {}  # by thing, in this span
        self._askers_before: dict[str, set[int]] = {}  # in the one before
        self._given: Counter[int] = Counter()  # things by asker, in this span
        self._span_ends_s = inf

    def note(self, asker: int, things: tuple[str, ...], now: float) -> None:
        """Note that a client has asked for these."""
        self._turn(now)
        if asker not in self._given and len(self._given) >= CLIENTS_MAX:
            return
        for thing in things:
            askers = self._askers.get(thing, set())
            if asker in askers or len(askers) >= ASKERS_KEPT:
                continue
            if self._given[asker] >= OF_ASKER_MAX:
                return
            self._given[asker] += 1
            if thing not in self._askers and len(self._askers) >= KEPT_MAX:
                del self._askers[next(iter(self._askers))]
            self._askers.setdefault(thing, set()).add(asker)

    def wanted(self, now: float, most: int) -> tuple[str, ...]:
        """Return the things that several have asked for, the most wanted first, so many at most."""
        self._turn(now)
        weights: dict[str, float] = {}
        for thing in self._askers.keys() | self._askers_before.keys():
            lately = self._askers.get(thing, set())
            before = self._askers_before.get(thing, set()) - lately
            if len(lately) + len(before) >= ASKERS_MIN:
                weights[thing] = len(lately) + len(before) / 2
        return tuple(sorted(weights, key=lambda thing: (-weights[thing], thing))[:most])

    def _turn(self, now: float) -> None:
        """Begin another span when one has ended."""
        if self._span_ends_s == inf:
            self._span_ends_s = now + SPAN_S
        while self._span_ends_s <= now:
            self._askers_before, self._askers, self._given = self._askers, {}, Counter()
            self._span_ends_s += SPAN_S
