"""Hubs and authorities, by links between hosts, of a whole graph or around some of its pages.

Kleinberg, "Authoritative sources in a hyperlinked environment", 1999; Li, Yan, Wang 2004, section 10.2:
`x_p = sum of y_q over links q -> p`, `y_p = sum of x_q over links p -> q`, both of length 1 after each round.
Links inside of a host say where to go on rather than that a page is worth it, so they do not count.

A host with many pages of one template makes hubs of all of them, and authorities of what that links to. So
there is a second form, in which each host has one voice: Bharat and Henzinger, "Improved algorithms for topic
distillation in a hyperlinked environment", 1998, where of k links from the pages of a host to a page each
counts 1/k for the authority, and of k links from a page to the pages of a host each 1/k for the hub.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from simulations.link_graphs.graph import LinkGraph
from simulations.traces.columns import Floats, Ints

TOLERANCE: Final = 1e-6  # L2, by which no round changes hubs nor authorities any more
ROUNDS_MAX: Final = 1_000
INLINKS_MAX: Final = 50  # of each page of a root set, that bring pages to its base set; Kleinberg
BASE_PAGES_MAX: Final = 5_000  # to which Kleinberg's root sets of 200 grow


class HubScores(NamedTuple):
    """Of each page how good a hub and how good an authority it is, from 0; squares sum to 1."""

    hubs: Floats
    authorities: Floats
    rounds: int
    change: float  # in the last round, L2; of hubs or authorities, the larger one


class VoiceWeights(NamedTuple):
    """Of each link how much it counts: for the authority that it leads to, and for the hub that has it."""

    authority: Floats
    hub: Floats


def hub_scores(
    graph: LinkGraph,
    tolerance: float = TOLERANCE,
    rounds_max: int = ROUNDS_MAX,
    weights: VoiceWeights | None = None,
) -> HubScores:
    """Iterate from equal scores; of a graph without links all scores are 0, after no round.

    Args:
      weights: None for all links alike.
    """
    n = graph.page_count
    given, had = weights or VoiceWeights(np.ones(graph.link_count), np.ones(graph.link_count))
    if not graph.link_count:
        return HubScores(np.zeros(n), np.zeros(n), 0, 0.0)
    hubs = authorities = np.full(n, n**-0.5)
    change, rounds = np.inf, 0
    while change > tolerance and rounds < rounds_max:
        before = (authorities, hubs)
        authorities = _of_length_1(np.bincount(graph.target, given * hubs[graph.source], n))
        hubs = _of_length_1(np.bincount(graph.source, had * authorities[graph.target], n))
        change = max(float(np.linalg.norm(authorities - before[0])), float(np.linalg.norm(hubs - before[1])))
        rounds += 1
    return HubScores(hubs, authorities, rounds, change)


def voices_of_hosts(graph: LinkGraph, host: Ints) -> VoiceWeights:
    """Return the weights by which each host has one voice for a page, and each page one for a host."""
    return VoiceWeights(
        _one_over_count(host[graph.source], graph.target), _one_over_count(graph.source, host[graph.target])
    )


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


def _one_over_count(one: Ints, other: Ints) -> Floats:
    """Return for each pair of numbers 1 over how often it is there."""
    pairs = one * (int(other.max(initial=0)) + 1) + other
    _, place, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    share: Floats = 1.0 / counts[place]
    return share


def _of_length_1(values: Floats | Ints) -> Floats:
    scaled: Floats = values / np.linalg.norm(values)
    return scaled
