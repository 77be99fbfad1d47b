"""Hubs and authorities, by links between hosts, of a whole graph or around some of its pages.

The arithmetic, with its sources, is that of gateways, `peers.gateway.hubs.hits`, for hosts. Links
inside of a host say where to go on rather than that a page is worth it, so they do not count. A host with
many pages of one template makes hubs of all of them, and authorities of what that links to: so there are two
forms, in which all links are alike, and in which each host has one voice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from peers.gateway.hubs import hits
from peers.gateway.hubs.hits import HubScores, Voices
from simulations.link_graphs.graph import LinkGraph
from simulations.traces.columns import Ints

TOLERANCE: Final = 1e-6  # L2, by which no round changes hubs nor authorities any more
ROUNDS_MAX: Final = 1_000
INLINKS_MAX: Final = 50  # of each page of a root set, that bring pages to its base set; Kleinberg
BASE_PAGES_MAX: Final = 5_000  # to which Kleinberg's root sets of 200 grow


def hub_scores(
    graph: LinkGraph,
    tolerance: float = TOLERANCE,
    rounds_max: int = ROUNDS_MAX,
    weights: Voices | None = None,
) -> HubScores:
    """Score all pages, as gateways do; of a graph without links all scores are 0, after no round.

    Args:
      weights: None for all links alike.
    """
    if not graph.link_count:
        nothing = np.zeros(graph.page_count)
        return HubScores(nothing, nothing, 0, 0.0)
    alike = np.ones(graph.link_count)
    voices = weights or Voices(alike, alike)
    return hits.hub_scores(graph.page_count, graph.source, graph.target, voices, tolerance, rounds_max)


def voices_of_hosts(graph: LinkGraph, host: Ints) -> Voices:
    """Return the weights by which each host has one voice for a page, and each page one for a host."""
    return hits.voices_of(graph.source, graph.target, host)


def between_hosts(graph: LinkGraph, host: Ints) -> LinkGraph:
    """Leave out links that stay on their host; without hosts all links are kept."""
    if not len(host):
        return graph
    is_across = host[graph.source] != host[graph.target]
    return LinkGraph(graph.page_count, graph.source[is_across], graph.target[is_across])


def base_set(graph: LinkGraph, roots: Sequence[int]) -> Ints:
    """Return the numbers of pages, those of a root set with those around it, in order.

    Around a page are all that it links to, and of those that link to it at most `INLINKS_MAX`, evenly spread
    over their numbers. No pages are added any more when there are `BASE_PAGES_MAX`.
    """
    found = dict.fromkeys(roots)
    starts = graph.starts
    backward = np.argsort(graph.target, kind="stable")
    ends = np.searchsorted(graph.target[backward], np.arange(graph.page_count + 1))
    for page in dict.fromkeys(roots):
        linking = graph.source[backward[ends[page] : ends[page + 1]]]
        places = np.linspace(0, len(linking) - 1, min(len(linking), INLINKS_MAX)).astype(np.int64)
        around = (*graph.target[starts[page] : starts[page + 1]].tolist(), *linking[places].tolist())
        for each in around:
            if len(found) >= BASE_PAGES_MAX:
                break
            found[each] = None
    return np.sort(np.fromiter(found, np.int64, len(found)))
