"""Where the crawl goes next: orders of pages that were never visited, by names. Pure.

An order is two functions of one shape. One says of a link, where it is taken in, which place its target has
in the queue of its host, the least first; the other of a page that was parsed which of its links are
followed, and what they carry to who takes them in. None knows of another, nor of peers, hosts or time: hosts
have their turns by politeness, and an order only says which of those that may be asked now goes first
(`lane_of`).

    breadth   by depth; every host gives one page before any gives its second (`host_turns`)
    layers    by depth, over all hosts that may be asked: layer k + 1 of any after layer k of all, 16 layers
    depth     the furthest from a seed first, as far as `depth_max`: depth-first, bounded
    weight    N by weight, then M at random. The weight of what was not fetched is predicted: by its URL, by
              the page that links to it, by the text of that link, by how many hosts do. The true one is known
              after the fetch, and is what its links go by
    fish      links of relevant pages first, of others behind these; links to other sites before links within
              one. A relevant page may have more of its links followed (`width`), and those who lead away from
              relevant pages get `steps` clicks to find another one; then that branch ends
    focused   by what is likely to be relevant: the text of the link and its path, and the page that has it.
              What is not likely is visited behind all that is, and only for `steps` clicks (tunnelling)

With `starts_anew` what is reached from new seeds goes before all that was known. Breadth and depth, each from
what is known or anew, are the four starts of RBSE's spider. A seed may have `levels`, as in WWWW: so many
clicks from it, and no more.

Sources: Eichmann 1994 (RBSE); McBryan 1994 (WWWW); De Bra and Post 1994 (fish); Chakrabarti et al. 1999
(focused); Li, Yan, Wang 2004, 3.5 (weight of a URL), 6.1 (prediction), 13.2 (layers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import log2
from typing import Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from peers.crawler.frontier.relevance import GuideWords
from peers.crawler.model.course import UNLIMITED, Course
from peers.crawler.model.wire_messages import WEIGHT_MAX, FoundLink, LinkUse
from peers.engine.pages.linkers import LINKERS_MAX
from peers.policy.crawl_order import CrawlOrder, Order

BEHIND: Final = 0x8000  # bit of the rank of what comes after all that is ahead
_SPAN: Final = BEHIND - 1
_LANE_BITS: Final = 6  # ranks in a lane: 64
_LANES_OF_SPAN: Final = 16
LANES: Final = 2 * _LANES_OF_SPAN
URL_WEIGHT: Final = 10  # that a URL begins with
RELEVANT_WIDTH: Final = 1.5  # times `width`, for a relevant page
LIKELY: Final = 0.6  # of a link: one guide word
_CLASS: Final = 256  # ranks of each class of fish


class PageSeen(NamedTuple):
    """The course, relevance and weight of a page when its links go on their way."""

    course: Course | None
    relevance: float  # by the guide words, 0 to 1
    weight: float  # 0 to 1


UNSEEN: Final = PageSeen(None, 0.0, 0.0)


class LinkTarget(NamedTuple):
    """A link where it is taken in, with the citations of its target."""

    found: FoundLink
    citations: int  # other domains that link to its target, as far as is known


def weight_of_url(url: str) -> int:
    """Return the weight of a URL, 0 to 10.

    10, minus its directory depth, minus 1 for each / ? & below its root, minus 2 for each of search, proxy,
    gate in it. Source: Li, Yan, Wang 2004, 3.5. A level costs 2, as depth and slash both count.
    """
    path = url[url.index("/", 8) :].lower()
    n_levels = path.partition("?")[0].rstrip("/").count("/")
    n_marks = sum(path.rstrip("/").count(mark) for mark in "/?&")
    n_words = sum(url.lower().count(word) for word in ("search", "proxy", "gate"))
    return max(0, URL_WEIGHT - n_levels - n_marks - 2 * n_words)


def weight_of_citations(count: int) -> float:
    """Return the part of a page's weight that comes from the hosts that link to it, 0 to 1."""
    return min(1.0, log2(1 + count) / log2(1 + LINKERS_MAX))


def predicted_weight(link: LinkTarget, guide: GuideWords) -> float:
    """Return the predicted weight of a page that was not fetched, 0 to 1.

    (.3 URL + .3 page that links there + .1 citations) / .7, and with guide words + .3 promise of the link, /
    1.
    """
    found = link.found
    known = 0.3 * weight_of_url(found.url) / URL_WEIGHT + 0.3 * found.parent / WEIGHT_MAX
    known += 0.1 * weight_of_citations(link.citations)
    return known + 0.3 * guide.of_link(found.url, found.anchor) if guide else known / 0.7


# --- Where a link stands ---


def _breadth(link: LinkTarget, ordering: CrawlOrder, guide: GuideWords) -> int:
    return link.found.depth


def _layers(link: LinkTarget, ordering: CrawlOrder, guide: GuideWords) -> int:
    """Return a rank in the lane of the depth: hosts with a page of a layer go before those of the next."""
    return min(link.found.depth, _LANES_OF_SPAN - 1) << _LANE_BITS


def _depth(link: LinkTarget, ordering: CrawlOrder, guide: GuideWords) -> int:
    return _SPAN - min(link.found.depth, _SPAN)


def _weight(link: LinkTarget, ordering: CrawlOrder, guide: GuideWords) -> int:
    return _place(predicted_weight(link, guide))


def _fish(link: LinkTarget, ordering: CrawlOrder, guide: GuideWords) -> int:
    found = link.found
    is_of_relevant = found.depth == 0 or found.parent >= ordering.relevant_from * WEIGHT_MAX
    number = 2 * (not is_of_relevant) + (not found.linker)
    return number * _CLASS + min(found.depth, _CLASS - 1)


def _focused(link: LinkTarget, ordering: CrawlOrder, guide: GuideWords) -> int:
    found = link.found
    if found.depth == 0:
        return 0
    is_near = min(found.steps, ordering.steps) / max(1, ordering.steps)
    promise = guide.of_link(found.url, found.anchor)
    return _place(0.5 * promise + 0.4 * found.parent / WEIGHT_MAX + 0.1 * is_near)


def _place(weight: float) -> int:
    """Return the rank of a weight, 0 to 1; each sixteenth of the weights is a lane."""
    return min(int((1.0 - weight) * _LANES_OF_SPAN * (1 << _LANE_BITS)), _SPAN)


# --- Which links of a page are followed ---


def _all(
    seen: PageSeen, links: Iterable[FoundLink], ordering: CrawlOrder, guide: GuideWords
) -> Iterator[FoundLink]:
    return iter(links)


def _school(
    seen: PageSeen, links: Iterable[FoundLink], ordering: CrawlOrder, guide: GuideWords
) -> Iterator[FoundLink]:
    """Have as many links followed as the page is worth: those that promise most, then those to others."""
    is_relevant = seen.relevance >= ordering.relevant_from
    width = int(ordering.width * (RELEVANT_WIDTH if is_relevant else 1.0))
    by_promise = sorted(links, key=lambda link: (-guide.of_link(link.url, link.anchor), not link.linker))
    for place, link in enumerate(_tunnelled(seen, by_promise, ordering, guide)):
        yield link if place < width else replace(link, use=LinkUse.TEXT)


def _tunnelled(
    seen: PageSeen, links: Iterable[FoundLink], ordering: CrawlOrder, guide: GuideWords
) -> Iterator[FoundLink]:
    """Count the clicks since the last relevant page; a link that promises to be relevant begins anew."""
    left = ordering.steps if seen.course is None else min(seen.course.steps, ordering.steps)
    for link in links:
        is_likely = guide.of_link(link.url, link.anchor) >= LIKELY
        if is_likely or seen.relevance >= ordering.relevant_from:
            yield replace(link, steps=ordering.steps)
        elif left:
            yield replace(link, steps=left - 1)
        else:
            yield replace(link, use=LinkUse.TEXT)


Rank: TypeAlias = Callable[[LinkTarget, CrawlOrder, GuideWords], int]
Onward: TypeAlias = Callable[[PageSeen, Iterable[FoundLink], CrawlOrder, GuideWords], Iterator[FoundLink]]

ORDERS: Final[dict[Order, tuple[Rank, Onward]]] = {
    Order.BREADTH: (_breadth, _all),
    Order.LAYERS: (_layers, _all),
    Order.DEPTH: (_depth, _all),
    Order.WEIGHT: (_weight, _all),
    Order.FISH: (_fish, _school),
    Order.FOCUSED: (_focused, _tunnelled),
}


def rank_of(link: LinkTarget, ordering: CrawlOrder, guide: GuideWords) -> int:
    """Return the rank of a link's target; it has one for each way to it, of which the least counts."""
    rank = min(ORDERS[ordering.order][0](link, ordering, guide), _SPAN)
    return rank | BEHIND if ordering.starts_anew and not link.found.is_ahead else rank


def onward(
    seen: PageSeen, links: Iterable[FoundLink], ordering: CrawlOrder, guide: GuideWords
) -> Iterator[FoundLink]:
    """Yield the links of a page with the values they carry; of links not followed only the text is kept."""
    course = seen.course
    levels = UNLIMITED if course is None else course.levels
    carried = {
        "parent": round(seen.weight * WEIGHT_MAX),
        "levels": levels if levels == UNLIMITED else max(0, levels - 1),
        "is_ahead": ordering.starts_anew and course is not None and course.is_ahead,
    }
    for link in ORDERS[ordering.order][1](seen, links, ordering, guide):
        is_left_out = levels == 0 and link.use is LinkUse.FETCH
        yield replace(link, **carried, use=LinkUse.TEXT if is_left_out else link.use)


def is_random_turn(number: int, turns: tuple[int, int]) -> bool:
    """Is a turn, by its number, one of those for a page at random?

    Args:
      turns: of how many how many, the last ones.
    """
    return number % turns[0] >= turns[0] - turns[1]


def lane_of(rank: int) -> int:
    """Return the lane in which a host waits by the rank of its next page; hosts in a lower lane go first."""
    return (rank // BEHIND) * _LANES_OF_SPAN + min((rank & _SPAN) >> _LANE_BITS, _LANES_OF_SPAN - 1)
