"""One live search: which pages it reads links from, which of these it wants visited, when it ends. Pure.

The best pages that the index has for the query are its sources. Links in them that were never visited are
offered to the owners of their hosts, who choose by what is known of them and move these to the front
(`peers.crawler.wishes`); then they are fetched in ordinary turns and indexed as any page. The query is asked
again round by round, so that a page that was found becomes a source if it is among the best. As a fish search
it swims on from pages that are not, too, for some steps, and takes links to other sites first.

    of what is left of the pages each round spends a half at most, since later rounds know more

It ends with enough new pages among the first, with its time, or when nothing is left to come.

Sources: Pinkerton 1994 (WebCrawler); De Bra and Post 1994 (fish); Hersovici et al. 1998 (links inherit).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from enum import StrEnum
from heapq import nlargest
from itertools import islice
from math import inf
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from peers.crawler.frontier.orders import PageSeen, onward
from peers.crawler.frontier.relevance import GuideWords
from peers.crawler.model.course import Course
from peers.crawler.model.wire_messages import HASTENED_MAX, FoundLink, LinkUse
from peers.engine.pages.linkers import linker_of
from peers.gateway.model.messages import PagesFound
from peers.gateway.search.demand import words_of_query
from peers.policy.crawl_order import CrawlOrder, Order
from peers.storage.wire_messages import PAGES_CHECKED_MAX

SECONDS_MAX: Final = 60.0
PAGES_MAX: Final = 200
WORDS_MAX: Final = 16
ROUND_S: Final = 2.0  # a page is fetched, stored twice and indexed in one to three
TURNS_S: Final = ROUND_S  # of a host so much is wanted at a time: the next round may know better
SOURCES_AMONG: Final = 20  # the first hits
SOURCES_A_ROUND: Final = 8  # some 50 ms each
ROUND_PAGES_MIN: Final = 8
SETTLING_S: Final = 4.0  # after the last page that was waited for is stored, until it is in the index
CANDIDATES_MAX: Final = 20_000  # links that are kept to be chosen from; further ones are not looked at


class LiveRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The JSON of POST /api/search/live."""

    q: str
    k: Annotated[int, Meta(ge=1, le=100)] = 10
    pages: Annotated[int, Meta(ge=1, le=PAGES_MAX)] = 50  # that may be moved forward
    seconds: Annotated[float, Meta(ge=1.0, le=SECONDS_MAX)] = 20.0
    enough: Annotated[int, Meta(ge=1, le=100)] = 10  # new pages among the `k`
    fish: bool = False
    width: Annotated[int, Meta(ge=1, le=1_000)] = 20  # of fish: links of a page, half as many more of a hit
    steps: Annotated[int, Meta(ge=0, le=100)] = 3  # clicks that may be made without meeting a hit


class LiveEnd(StrEnum):
    """Why a live search is over."""

    NOT_YET = ""
    ENOUGH = "enough"  # new pages
    TIME = "time"
    NOTHING_LEFT = "nothing left"  # no page is waited for, and no link is left to choose


class LiveSearch:
    """Takes the answers of the mesh, and tells the next questions."""

    def __init__(self, wish: LiveRequest, now: float) -> None:
        self.wish = wish
        self.words = words_of_query(wish.q)[:WORDS_MAX]
        self.found: PagesFound | None = None  # the last answer
        self.hastened: dict[str, float] = {}  # pages that were moved forward, each with its promise
        self.stored: set[str] = set()  # pages that are known to be stored: of these, and of those linked to
        self._ends_s = now + wish.seconds
        self._settled_s = -inf  # when a page that was waited for was stored last
        self._at_first: frozenset[str] = frozenset()
        self._read: set[str] = set()  # pages whose links are known
        self._links: dict[str, FoundLink] = {}  # of these, by their targets
        self._is_spent = False  # the owners have chosen none of the last links

    @property
    def hits_wanted(self) -> int:
        """How many hits to ask for: those to be shown, and those to read links from."""
        return max(self.wish.k, SOURCES_AMONG)

    @property
    def new(self) -> list[str]:
        """The pages among those to be shown that were not there at first."""
        hits = self.found.hits[: self.wish.k] if self.found else ()
        return [hit.url for hit in hits if hit.url not in self._at_first]

    @property
    def waiting(self) -> set[str]:
        """The pages that were moved forward and are not stored so far."""
        return self.hastened.keys() - self.stored

    def take_found(self, found: PagesFound) -> None:
        """Take an answer to the query."""
        if self.found is None:
            self._at_first = frozenset(hit.url for hit in found.hits)
        self.found = found

    def sources(self) -> list[str]:
        """Return the best pages whose links are to be read now."""
        hits = [hit.url for hit in self.found.hits] if self.found else []
        caught = [url for url in self.hastened if url in self.stored] if self.wish.fish else []
        unread = (url for url in dict.fromkeys((*hits, *caught)) if url not in self._read)
        return list(islice(unread, SOURCES_A_ROUND))

    def take_links(self, url: str, targets: Iterable[str]) -> None:
        """Take the links of a page, canonical URLs; none where it cannot be read."""
        self._read.add(url)
        weight = self._weight_of(url)
        way = self._links.get(url)
        course = None if way is None else Course(0, steps=way.steps)
        depth = 1 if way is None else way.depth + 1
        links = [FoundLink(each, depth=depth, linker=linker_of(url, each)) for each in targets]
        seen = PageSeen(course, 1.0 if weight else 0.0, weight)
        for link in onward(seen, links, self._ordering, GuideWords(self.words)):
            known = self._links.get(link.url)
            is_new = known is None and len(self._links) < CANDIDATES_MAX and link.use is not LinkUse.TEXT
            if is_new or (known is not None and known.parent < link.parent):
                self._links[link.url] = link
                self._is_spent = False

    def to_check(self) -> tuple[str, ...]:
        """Return pages of which it is to be asked whether they are stored: those waited for first."""
        waiting = self.waiting
        asked = [url for url in self.hastened if url in waiting]
        return tuple(dict.fromkeys((*asked, *(link.url for link in self._best()))))[:PAGES_CHECKED_MAX]

    def take_stored(self, stored: Set[str], now: float) -> None:
        """Note that pages are stored."""
        if self.waiting.intersection(stored):
            self._settled_s = now
        self.stored.update(stored)

    def links_to_offer(self) -> tuple[FoundLink, ...]:
        """Return the links of which the owners are to choose."""
        return tuple(self._best()) if self.words and self.count_to_hasten() and not self._is_spent else ()

    def count_to_hasten(self) -> int:
        """Return how many pages may be moved forward in this round."""
        left = self.wish.pages - len(self.hastened)
        return min(left, max(ROUND_PAGES_MIN, left // 2))

    def take_hastened(self, pages: Sequence[tuple[str, float]]) -> None:
        """Take the choice of the owners."""
        self._is_spent = not pages
        self.hastened.update(pages)

    def pause_s(self, now: float) -> float:
        """Return for how long to wait until the next round."""
        return max(0.0, min(ROUND_S, self._ends_s - now))

    def end(self, now: float) -> LiveEnd:
        """Tell whether it is over, after an answer to the query."""
        if len(self.new) >= min(self.wish.enough, self.wish.k):
            return LiveEnd.ENOUGH
        if now >= self._ends_s:
            return LiveEnd.TIME
        is_waiting = bool(self.waiting) or now < self._settled_s + SETTLING_S
        return (
            LiveEnd.NOT_YET if is_waiting or self.sources() or self.links_to_offer() else LiveEnd.NOTHING_LEFT
        )

    @property
    def _ordering(self) -> CrawlOrder:
        wish = self.wish
        order = Order.FISH if wish.fish else Order.FOCUSED
        return CrawlOrder(order=order, guide_words=self.words or ("-",), steps=wish.steps, width=wish.width)

    def _weight_of(self, url: str) -> float:
        """Return the score of a page as a part of the best one's; 0.0 for one that is no hit."""
        hits = self.found.hits if self.found else ()
        scores = {hit.url: hit.score for hit in hits}
        return max(0.0, scores.get(url, 0.0)) / max(1e-9, *scores.values()) if url in scores else 0.0

    def _best(self) -> list[FoundLink]:
        """Return the links of the best pages to others that are not known to be stored or moved forward."""
        known = self.hastened.keys() | self.stored
        links = (link for url, link in self._links.items() if url not in known)
        return nlargest(HASTENED_MAX, links, key=lambda link: link.parent)
