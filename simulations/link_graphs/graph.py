"""A graph of links as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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
    links = np.unique(source.astype(np.int64) * page_count + target)
    return LinkGraph(page_count, links // page_count, links % page_count)


def graph_of_successors(successors: Sequence[Sequence[int]]) -> LinkGraph:
    counts = np.array([len(each) for each in successors], np.int64)
    target = np.fromiter((page for each in successors for page in each), np.int64, int(counts.sum()))
    return graph_of(len(successors), np.repeat(np.arange(len(successors)), counts), target)
