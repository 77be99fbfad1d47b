"""In which order new pages are visited: the wish of a person, as a policy or a configuration has it.

What the orders are says `peers.crawler.frontier.orders`, which follows them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

GUIDE_WORDS_MAX: Final = 64
GuideWord = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^\S+( \S+)*$")]


class Order(StrEnum):
    """Which of the pages of a host that are known, and never were visited, comes next."""

    BREADTH = "breadth"
    LAYERS = "layers"
    DEPTH = "depth"
    WEIGHT = "weight"
    FISH = "fish"
    FOCUSED = "focused"


GUIDED: Final = (Order.WEIGHT, Order.FISH, Order.FOCUSED)  # orders that go by guide words


class CrawlOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """An order with all that it goes by."""

    order: Annotated[
        Order,
        Meta(
            description="which new page comes next: breadth (those nearest to a seed), layers (of all hosts "
            "those nearest to a seed), depth (those furthest from one), weight (by URL, the page that links "
            "there, link text, citations), fish (what relevant pages link to), focused (what is likely to be "
            "relevant)"
        ),
    ] = Order.BREADTH
    starts_anew: Annotated[
        bool,
        Meta(
            description="what is reached from seeds that are given from now on comes before all that was "
            "known, as RBSE's start from a given URL; false: all that is known is in one line"
        ),
    ] = False
    guide_words: Annotated[
        tuple[GuideWord, ...],
        Meta(
            max_length=GUIDE_WORDS_MAX,
            description="words of what is wanted: pages, texts of links and paths that have them count as "
            "relevant",
        ),
    ] = ()
    relevant_from: Annotated[
        float,
        Meta(gt=0, le=1, description="a page is relevant from this relevance on: .6 are three guide words"),
    ] = 0.6
    steps: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="of fish and focused: clicks that may be made from a relevant page without meeting "
            "another one",
        ),
    ] = 3
    width: Annotated[
        int,
        Meta(ge=1, le=10_000, description="of fish: links of a page that are followed; half as many more"),
    ] = 20
    by_weight: Annotated[
        int,
        Meta(ge=1, le=1_000, description="of weight: so many pages of a host are chosen by weight, and then"),
    ] = 4
    at_random: Annotated[
        int, Meta(ge=0, le=1_000, description="so many at random, so that nothing waits for ever")
    ] = 1

    searched_words_max: Annotated[
        int,
        Meta(
            ge=0,
            le=GUIDE_WORDS_MAX,
            description="of weight, fish and focused: words that several searched for and found little of "
            "are guide words as well, so many at most; 0 counts no searches",
        ),
    ] = 0

    counts_all_searches: Annotated[
        bool,
        Meta(
            description="of these words: those of all searches count, as what most ask for; false: of "
            "searches that found little alone"
        ),
    ] = False
    asked_pages_max: Annotated[
        int,
        Meta(
            ge=0,
            le=256,
            description="pages that several searchers were shown first are visited again after half of their "
            "interval, so many at most of each gateway; 0 counts none",
        ),
    ] = 0

    def __post_init__(self) -> None:
        if self.order in (Order.FISH, Order.FOCUSED) and not self.guide_words:
            raise ValueError(f"the order {self.order} goes by guide_words, and there are none")

    @property
    def goes_by_searches(self) -> bool:
        """Are words that searchers want guide words, too?"""
        return self.searched_words_max > 0 and self.order in GUIDED

    @property
    def goes_by_demand(self) -> bool:
        """Does the crawl go by the demand of searchers, in words or in pages?"""
        return self.goes_by_searches or self.asked_pages_max > 0

    def with_searched(self, words: tuple[str, ...]) -> CrawlOrder:
        """Return it with those guide words as well that searchers want, as far as it goes by them.

        Args:
          words: those that most want first.
        """
        if not self.goes_by_searches:
            return self
        guide_words = dict.fromkeys((*self.guide_words, *words[: self.searched_words_max]))
        return replace(self, guide_words=tuple(guide_words)[:GUIDE_WORDS_MAX])

    @property
    def is_plain(self) -> bool:
        """Is a page's turn a matter of how far it is from a seed, and of nothing else?"""
        return self.order is Order.BREADTH and not self.starts_anew


PLAIN: Final = CrawlOrder()
