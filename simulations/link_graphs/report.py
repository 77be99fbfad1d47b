"""The figures of a graph of links: degrees, bow-tie, depth, and the pages and hosts that rank first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec
import numpy as np

from mesh.errors import ConfigError
from mesh.urls import host_of
from simulations.link_graphs.graph import LinkGraph, graph_of
from simulations.link_graphs.graph_files import NamedGraph
from simulations.link_graphs.ranks import exact_ranks
from simulations.traces.columns import Floats
from simulations.traces.link_structure import BowTie, Flags, structure_of
from simulations.traces.statistics import QuantitySpread, spread_of

FIRST: Final = 10  # pages and hosts that are named


class RankedName(msgspec.Struct, frozen=True):
    """A page or a host, and its rank, of which the mean is 1 at most."""

    name: str
    rank: float


class GraphReport(msgspec.Struct, frozen=True):
    """A graph in some numbers."""

    pages: int  # exported
    linked_only: int  # URLs that pages link to, and that are no pages here
    links: int
    hosts: int  # of a graph without names nothing is known of hosts: 0
    inside_share: float  # of all links: to the same host
    host_links: int  # pairs of hosts
    outlinks: QuantitySpread  # of a page
    inlinks: QuantitySpread  # of a page
    host_inlinks: QuantitySpread  # of a host: hosts that link to it
    strong_components: int  # of the pages and the links between them, as the bow-tie and depths
    bow_tie: BowTie
    depth: QuantitySpread  # links from the nearest entrance: the root of a host, or a page without inlinks
    unreached_share: float  # of the pages: no entrance leads to them
    first_pages: list[RankedName]  # by PageRank; none of a graph without names
    first_hosts: list[RankedName]  # likewise, of the graph of hosts


def report_of(named: NamedGraph) -> GraphReport:
    """Count; ranks are those of `ranks.exact_ranks`.

    Raises:
      ConfigError: there are no pages, or scipy is not installed, which finds the structure of links.
    """
    graph, urls, is_page, host = named
    if not is_page.any():
        raise ConfigError("the graph has no pages")
    n_hosts = int(host.max()) + 1 if urls else 0
    pages = _part(graph, is_page > 0)
    structure = structure_of(pages.source, pages.target, _is_entrance(urls, pages, is_page > 0))
    depths = np.array(structure.depths)
    source, target = (host[graph.source], host[graph.target]) if urls else (host, host)
    of_hosts = graph_of(n_hosts, source[source != target], target[source != target])
    host_names = [host_of(urls[int(at)]) for at in np.unique(host, return_index=True)[1]]
    outlinks = np.bincount(graph.source, minlength=graph.page_count)
    inlinks = np.bincount(graph.target, minlength=graph.page_count)
    return GraphReport(
        pages=pages.page_count,
        linked_only=graph.page_count - pages.page_count,
        links=graph.link_count,
        hosts=n_hosts,
        inside_share=float((source == target).mean()) if len(source) else 0.0,
        host_links=of_hosts.link_count,
        outlinks=spread_of(outlinks[is_page > 0]),
        inlinks=spread_of(inlinks[is_page > 0]),
        host_inlinks=spread_of(np.bincount(of_hosts.target, minlength=n_hosts)),
        strong_components=structure.strong_components,
        bow_tie=structure.bow_tie,
        depth=spread_of(depths[depths >= 0]),
        unreached_share=float((depths < 0).mean()),
        first_pages=_first(urls, exact_ranks(graph)),
        first_hosts=_first(host_names, exact_ranks(of_hosts)),
    )


def _part(graph: LinkGraph, is_in: Flags) -> LinkGraph:
    """The pages of a part, with new numbers, and the links between them."""
    number = np.cumsum(is_in) - 1
    stays = is_in[graph.source] & is_in[graph.target]
    return graph_of(int(is_in.sum()), number[graph.source[stays]], number[graph.target[stays]])


def _is_entrance(urls: Sequence[str], pages: LinkGraph, is_page: Flags) -> Flags:
    is_other = pages.source != pages.target
    is_entrance: Flags = np.bincount(pages.target[is_other], minlength=pages.page_count) == 0
    chosen = (urls[int(at)] for at in np.flatnonzero(is_page)) if urls else ()
    for page, url in enumerate(chosen):
        parts = urlsplit(url)
        is_entrance[page] |= parts.path in ("", "/") and not parts.query
    return is_entrance


def _first(names: Sequence[str], ranks: Floats) -> list[RankedName]:
    order = np.argsort(-ranks, kind="stable")[: FIRST if names else 0]
    return [RankedName(names[int(at)], round(float(ranks[at]), 6)) for at in order]
