"""In which order new pages are visited: what a person wants, as a policy or a configuration has it.

What the orders are says `peers.crawler.orders`, which follows them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

GUIDE_WORDS_MAX: Final = 64
GuideWord = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^\S+( \S+)*$")]


class Order(StrEnum):
    """Which of the pages of a host that are known, and never were visited, comes next."""

    BREADTH = "breadth"
    DEPTH = "depth"
    WEIGHT = "weight"
    FISH = "fish"
    FOCUSED = "focused"


class Ordering(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """An order with all that it goes by."""

    order: Annotated[
        Order,
        Meta(
            description="which new page comes next: breadth (those nearest to a seed), depth (those furthest "
            "from one), weight (by URL, the page that links there, link text, citations), fish (what "
            "relevant pages link to), focused (what is likely to be relevant)"
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

    def __post_init__(self) -> None:
        if self.order in (Order.FISH, Order.FOCUSED) and not self.guide_words:
            raise ValueError(f"the order {self.order} goes by guide_words, and there are none")

    @property
    def is_plain(self) -> bool:
        """Is a page's turn a matter of how far it is from a seed, and of nothing else?"""
        return self.order is Order.BREADTH and not self.starts_anew


PLAIN: Final = Ordering()
