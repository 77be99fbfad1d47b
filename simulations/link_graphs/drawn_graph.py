"""A drawn graph that is alike to webs: hosts of unlike size, links that stay inside, few famous pages."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from simulations.link_graphs.graph import LinkGraph, graph_of
from simulations.traces.columns import Ints

LINKS_MEAN: Final = 8.0  # of a page, geometric, so that one of nine has none; cnr-2000 has 9.9
INSIDE: Final = 0.94  # of the links stay inside their host, as in `simulations.webs.web`
FAME: Final = 3.0  # the u-th page of n is linked to as if drawn from n * u^3, u even in (0, 1)
SIZES: Final = 1.7  # likewise pages among hosts


class DrawnGraph(NamedTuple):
    """A graph, and the host of each page, by number."""

    graph: LinkGraph
    host: Ints


def drawn_graph(page_count: int, host_count: int, seed: int) -> DrawnGraph:
    """Draw a graph."""
    random = np.random.default_rng(seed)
    host = np.sort((host_count * random.random(page_count) ** SIZES).astype(np.int64))
    n_links = random.geometric(1 / (1 + LINKS_MEAN), page_count) - 1
    source = np.repeat(np.arange(page_count), n_links)
    starts = np.searchsorted(host, np.arange(host_count + 1))
    first, size = starts[host[source]], np.diff(starts)[host[source]]
    fame = random.random(len(source)) ** FAME
    outside = random.permutation(page_count)[(page_count * fame).astype(np.int64)]
    is_inside = random.random(len(source)) < INSIDE
    target = np.where(is_inside, first + (size * fame).astype(np.int64), outside)
    return DrawnGraph(graph_of(page_count, source, target), host)
