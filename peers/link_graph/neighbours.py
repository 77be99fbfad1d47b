"""The pages around some pages in the link graph, as a gateway asks for them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from peers.link_graph.source_row import source_row_in, targets_of
from peers.link_graph.target_row import by_domains, purged, target_row_in
from peers.link_graph.wire_messages import (
    SOURCES_LISTED_MAX,
    TARGETS_LISTED_MAX,
    LinkingPage,
    ListNeighbours,
    MarkedPage,
    NeighboursListed,
    PageNeighbours,
)


class PageRows(NamedTuple):
    """The rows of a page, as they are stored."""

    url: str
    own: Sequence[bytes]  # its source row, if it has one
    linking: Sequence[bytes]  # its target rows, as many as are looked at


def neighbours_listed(
    asked: ListNeighbours,
    pages: Sequence[PageRows],
    named: Sequence[bytes],
    now: float,
    is_hidden: Callable[[str], bool],
) -> NeighboursListed:
    """Return the pages that link to some, and those they link to.

    Args:
      named: a target row of each page whose URL is wanted.
      is_hidden: of pages that the policy takes down.
    """
    urls = dict.fromkeys(target_row_in(value).url for value in named)
    shown = tuple(url for url in urls if url and not is_hidden(url))
    told = tuple(_neighbours(each, now, is_hidden) for each in pages)
    known = tuple(each for each in told if each.sources or each.targets)
    return NeighboursListed(asked.request, True, known, shown)


def _neighbours(page: PageRows, now: float, is_hidden: Callable[[str], bool]) -> PageNeighbours:
    rows = [purged(target_row_in(value), now, is_hidden) for value in page.linking]
    sources = [LinkingPage(link.url, link.title) for link in by_domains(page.url, rows)]
    return PageNeighbours(page.url, tuple(sources[:SOURCES_LISTED_MAX]), tuple(_targets(page.own)))


def _targets(own: Sequence[bytes]) -> Iterator[MarkedPage]:
    for value in own:
        for slot, mark in targets_of(source_row_in(value))[:TARGETS_LISTED_MAX]:
            yield MarkedPage(slot, mark)
