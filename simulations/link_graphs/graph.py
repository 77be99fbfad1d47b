"""A graph of links as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulations.traces.columns import Ints


class LinkGraph(NamedTuple):
    """Pages by number, from 0, and the links between them, each once, by source and then by target."""

    page_count: int
    source: Ints  # of each link
    target: Ints

    @property
    def link_count(self) -> int:
        return len(self.source)

    @property
    def starts(self) -> Ints:
        """Where the links of each page begin, and in the end their number."""
        return np.searchsorted(self.source, np.arange(self.page_count + 1))

    @property
    def successors(self) -> Sequence[Ints]:
        """The pages that each page links to."""
        return np.split(self.target, self.starts[1:-1])


def graph_of(page_count: int, source: Ints, target: Ints) -> LinkGraph:
    """Gather links in any order, where some may stand twice.

    Raises:
      ValueError: there is no page of such a number.
    """
    ends = np.concatenate((source, target))
    if len(ends) and not 0 <= ends.min() <= ends.max() < page_count:
        raise ValueError("a link leads to what there is not")
    return LinkGraph(page_count, *graph_of_pairs(source, target, page_count))


def graph_of_sites(graph: LinkGraph, site: Ints, n_sites: int) -> tuple[LinkGraph, Ints]:
    """Make the graph of the sites, hosts or domains, of pages; of each link how many pages it stands for.

    A link stands for the distinct pages of its source that link to pages of its target. Links inside of a
    site are left out.

    Args:
      site: the number of each page's.
    """
    to = site[graph.target]
    is_across = site[graph.source] != to
    pages = graph_of_pairs(graph.source[is_across], to[is_across], n_sites)
    links, weight = np.unique(site[pages[0]] * n_sites + pages[1], return_counts=True)
    return LinkGraph(n_sites, links // n_sites, links % n_sites), weight


def graph_of_pairs(source: Ints, target: Ints, n_targets: int) -> tuple[Ints, Ints]:
    """Return each pair once, in order."""
    pairs = np.unique(source.astype(np.int64) * n_targets + target)
    return pairs // n_targets, pairs % n_targets


def part_of(graph: LinkGraph, is_in: npt.NDArray[np.bool_]) -> LinkGraph:
    """Return the pages of a part, with new numbers, and the links between them."""
    number = np.cumsum(is_in) - 1
    stays = is_in[graph.source] & is_in[graph.target]
    return LinkGraph(int(is_in.sum()), number[graph.source[stays]], number[graph.target[stays]])


def graph_of_successors(successors: Sequence[Sequence[int]]) -> LinkGraph:
    counts = np.array([len(each) for each in successors], np.int64)
    target = np.fromiter((page for each in successors for page in each), np.int64, int(counts.sum()))
    return graph_of(len(successors), np.repeat(np.arange(len(successors)), counts), target)
