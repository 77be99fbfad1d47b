"""The order by which a peer crawls now, and its effects on links and pages, held in one place.

What the policy of the mesh says of it counts, else what the peer's own settings say; what searchers want may
come to its guide words. As long as that is breadth-first, and no seed has levels, a link costs no more than a
look at that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from peers.crawler.frontier.orders import (
    URL_WEIGHT,
    LinkTarget,
    PageSeen,
    lane_of,
    onward,
    rank_of,
    weight_of_citations,
    weight_of_url,
)
from peers.crawler.frontier.relevance import GuideWords
from peers.crawler.model.course import UNLIMITED, Course, as_kept
from peers.crawler.model.wire_messages import FoundLink
from peers.engine.pages.linkers import is_linker
from peers.policy.crawl_order import CrawlOrder, Order

if TYPE_CHECKING:
    from peers.engine.pages.document import Document


class OrderInForce:
    """The crawl order in force, asked for its opinion of every link and page."""

    def __init__(self, own: CrawlOrder) -> None:
        """Go by the peer's own settings."""
        self._own = own
        self._decreed: CrawlOrder | None = None
        self._searched: tuple[str, ...] = ()
        self._follow()

    def change_own(self, own: CrawlOrder) -> None:
        """Go by other settings."""
        self._own = own
        self._follow()

    def change_decreed(self, decreed: CrawlOrder | None) -> None:
        """Go by another policy; None when it says nothing of it."""
        self._decreed = decreed
        self._follow()

    def change_searched(self, words: tuple[str, ...]) -> None:
        """Take other words that searchers want, those that most want first."""
        self._searched = words
        self._follow()

    def _follow(self) -> None:
        ordering = self._own if self._decreed is None else self._decreed
        self.ordering = ordering.with_searched(self._searched)
        self.guide = GuideWords(self.ordering.guide_words)
        self.is_plain = self.ordering.is_plain  # asked for each link

    @property
    def searched_words(self) -> tuple[str, ...]:
        """Those of the guide words that are there since searchers want them."""
        own = self._own if self._decreed is None else self._decreed
        return self.ordering.guide_words[len(own.guide_words) :]

    @property
    def goes_by_citations(self) -> bool:
        """Does it matter how many hosts link to a page?"""
        return self.ordering.order is Order.WEIGHT

    @property
    def random_turns(self) -> tuple[int, int]:
        """Of how many turns how many, the last ones, are for a page at random."""
        ordering = self.ordering
        if ordering.order is not Order.WEIGHT:
            return 1, 0
        return ordering.by_weight + ordering.at_random, ordering.at_random

    def lane_of(self, rank: int) -> int:
        """Return the lane in which a host waits by the rank of its next page."""
        return 0 if self.is_plain else lane_of(rank)

    # --- links ---

    def course_of(self, link: FoundLink, entries: Iterable[str] = ()) -> Course | None:
        """Return the course of a link's target.

        Args:
          entries: what is known of other links there, see `peers.engine.pages.linkers`, where that matters.
        """
        ordering = self.ordering
        if link.moved_from:  # or nothing is found of a page that was, until its host comes to it
            return as_kept(Course(0, link.levels, link.steps, link.is_ahead), link.depth)
        if self.is_plain and link.levels == UNLIMITED:
            return None
        citations = max(sum(map(is_linker, entries)), int(bool(link.linker)))
        rank = rank_of(LinkTarget(link, citations), ordering, self.guide)
        is_ahead = ordering.starts_anew and link.is_ahead
        return as_kept(Course(rank, link.levels, link.steps, is_ahead), link.depth)

    def onward(self, seen: PageSeen, links: Iterable[FoundLink]) -> Iterator[FoundLink]:
        """Yield the links of a page as they go on their way."""
        if self.is_plain and seen.course is None:
            return iter(links)
        return onward(seen, links, self.ordering, self.guide)

    # --- pages ---

    def seen(
        self, url: str, course: Course | None, document: Document | None, entries: Iterable[str] = ()
    ) -> PageSeen:
        """Return the relevance and weight of a page that was parsed.

        Its true weight is its relevance, if anything is wanted; else what its URL says, and the hosts that
        link to it.

        Args:
          entries: what is known of links to it, see `peers.engine.pages.linkers`.
        """
        relevance = self.guide.of_page(document)
        if self.guide or self.ordering.order is not Order.WEIGHT:
            return PageSeen(course, relevance, relevance)
        cited = weight_of_citations(sum(map(is_linker, entries)))
        weight = 0.75 * weight_of_url(url) / URL_WEIGHT + 0.25 * cited
        return PageSeen(course, relevance, weight)
