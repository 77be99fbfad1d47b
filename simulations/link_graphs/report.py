"""The figures of a graph of links: degrees, bow-tie, depth, mirrors, and the first by their ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec
import numpy as np

from mesh.domains import registrable_domain
from mesh.errors import ConfigError
from mesh.urls import host_of
from simulations.link_graphs.graph import LinkGraph, graph_of_sites, part_of
from simulations.link_graphs.graph_files import NamedGraph
from simulations.link_graphs.hubs import TOLERANCE, base_set, between_hosts, hub_scores, voices_of_hosts
from simulations.link_graphs.ranks import exact_ranks
from simulations.traces.columns import Floats, Ints
from simulations.traces.link_structure import BowTie, Flags, structure_of
from simulations.traces.statistics import QuantitySpread, spread_of

DEPTH_MAX: Final = 20  # that is told by itself
FIRST: Final = 10  # pages and sites that are named


class RankedName(msgspec.Struct, frozen=True):
    """A page or a site and its rank: by PageRank, of which the mean is 1 at most, or as it is said."""

    name: str
    rank: float


class GraphShape(msgspec.Struct, frozen=True):
    """The structure of the pages and the links between them."""

    strong_components: int
    bow_tie: BowTie
    depth: QuantitySpread  # links from the nearest entrance
    unreached_share: float  # of the pages: no entrance leads to them
    pages_by_depth: list[int]  # from 0; the last has those of more, too


class MirrorDegrees(msgspec.Struct, frozen=True):
    """How often the same content is there: the mirror degree of a page counts it with those like it.

    Source: C(P) of Li, Yan, Wang 2004, section 9.4.
    """

    contents: int  # that differ
    replication: float  # pages for each of them
    mirrored_share: float  # of the pages: those that others are like
    degree: QuantitySpread  # of a page
    most: list[RankedName]  # of each of the contents that are there most often the first page, and its degree


class HubReport(msgspec.Struct, frozen=True):
    """Hubs and authorities: see `hubs`."""

    pages: int  # looked at: all, or those around the given ones
    links: int  # between their hosts
    rounds: int
    change: float  # by the last round
    has_settled: bool  # by less than the tolerance
    hubs: list[RankedName]
    authorities: list[RankedName]
    by_hosts: bool = False  # each host has one voice


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
    first_hosts: list[RankedName]  # likewise, of the graph of hosts, see `graph_of_sites`
    domains: int = 0
    domain_links: int = 0  # pairs of domains
    first_domains: list[RankedName] = []
    mirrors: MirrorDegrees | None = None  # None where the graph does not tell contents
    hubs: HubReport | None = None  # None of a graph without names
    hubs_by_hosts: HubReport | None = None  # likewise, where each host has one voice


def report_of(named: NamedGraph, roots: Sequence[int] = ()) -> GraphReport:
    """Count; ranks are those of `ranks.exact_ranks`.

    Args:
      roots: pages around which hubs and authorities are looked for; none: in all of the graph.

    Raises:
      ConfigError: there are no pages, or scipy is not installed, which finds the structure of links.
    """
    graph, urls, is_page, host, _ = named
    if not is_page.any():
        raise ConfigError("the graph has no pages")
    n_hosts = int(host.max()) + 1 if urls else 0
    pages = part_of(graph, is_page > 0)
    shape = shape_of(pages, _is_entrance(urls, pages, is_page > 0))
    host_names = [host_of(urls[int(at)]) for at in np.unique(host, return_index=True)[1]]
    domains: dict[str, int] = {}
    numbers = [domains.setdefault(registrable_domain(name), len(domains)) for name in host_names]
    domain = np.array(numbers, np.int64)[host] if urls else host
    host_graph, host_weight = graph_of_sites(graph, host, n_hosts) if urls else _NO_SITES
    domain_graph, domain_weight = graph_of_sites(graph, domain, len(domains)) if urls else _NO_SITES
    outlinks = np.bincount(graph.source, minlength=graph.page_count)
    inlinks = np.bincount(graph.target, minlength=graph.page_count)
    is_inside = host[graph.source] == host[graph.target] if urls else np.zeros(0, np.bool_)
    return GraphReport(
        pages=pages.page_count,
        linked_only=graph.page_count - pages.page_count,
        links=graph.link_count,
        hosts=n_hosts,
        inside_share=float(is_inside.mean()) if len(is_inside) else 0.0,
        host_links=host_graph.link_count,
        outlinks=spread_of(outlinks[is_page > 0]),
        inlinks=spread_of(inlinks[is_page > 0]),
        host_inlinks=spread_of(np.bincount(host_graph.target, minlength=n_hosts)),
        strong_components=shape.strong_components,
        bow_tie=shape.bow_tie,
        depth=shape.depth,
        unreached_share=shape.unreached_share,
        first_pages=_first(urls, exact_ranks(graph)),
        first_hosts=_first(host_names, exact_ranks(host_graph, host_weight.astype(np.float64))),
        domains=len(domains),
        domain_links=domain_graph.link_count,
        first_domains=_first(list(domains), exact_ranks(domain_graph, domain_weight.astype(np.float64))),
        mirrors=_mirrors(named),
        hubs=_hubs(named, roots, by_hosts=False) if urls else None,
        hubs_by_hosts=_hubs(named, roots, by_hosts=True) if urls else None,
    )


def shape_of(pages: LinkGraph, is_entrance: Flags) -> GraphShape:
    """Find components, bow-tie and depths of at least one page.

    Raises:
      ConfigError: scipy is not installed.
    """
    structure = structure_of(pages.source, pages.target, is_entrance)
    depths = np.array(structure.depths)
    return GraphShape(
        structure.strong_components,
        structure.bow_tie,
        spread_of(depths[depths >= 0]),
        float((depths < 0).mean()),
        np.bincount(np.minimum(depths[depths >= 0], DEPTH_MAX)).tolist(),
    )


def mirror_degrees(same_as: Ints) -> Ints:
    """Count for each page those with its content, itself among them.

    Args:
      same_as: of each page a number from 0 that those with the same content have in common.
    """
    degrees: Ints = np.bincount(same_as)[same_as]
    return degrees


def is_root(url: str) -> bool:
    """Tell whether a URL is that of the entrance of a host."""
    parts = urlsplit(url)
    return parts.path in ("", "/") and not parts.query


def is_linked(pages: LinkGraph) -> Flags:
    """Tell of each page whether another one links to it."""
    is_other = pages.source != pages.target
    linked: Flags = np.bincount(pages.target[is_other], minlength=pages.page_count) > 0
    return linked


_NO_SITES: Final = (LinkGraph(0, np.zeros(0, np.int64), np.zeros(0, np.int64)), np.zeros(0, np.int64))


def _is_entrance(urls: Sequence[str], pages: LinkGraph, is_page: Flags) -> Flags:
    is_entrance: Flags = ~is_linked(pages)
    chosen = (urls[int(at)] for at in np.flatnonzero(is_page)) if urls else ()
    for page, url in enumerate(chosen):
        is_entrance[page] |= is_root(url)
    return is_entrance


def _mirrors(named: NamedGraph) -> MirrorDegrees | None:
    if not len(named.same_as):
        return None
    pages = np.flatnonzero(named.is_page)
    degrees = mirror_degrees(named.same_as[pages])
    is_first = np.zeros(len(pages), np.int64)
    is_first[np.unique(named.same_as[pages], return_index=True)[1]] = 1
    return MirrorDegrees(
        contents=int(is_first.sum()),
        replication=len(pages) / int(is_first.sum()),
        mirrored_share=float((degrees > 1).mean()),
        degree=spread_of(degrees),
        most=_first(named.urls, degrees * is_first * (degrees > 1), pages),
    )


def _hubs(named: NamedGraph, roots: Sequence[int], *, by_hosts: bool) -> HubReport:
    graph, host = named.graph, named.host
    chosen = np.arange(graph.page_count)
    if len(roots):
        chosen = base_set(graph, roots)
        is_in = np.zeros(graph.page_count, np.bool_)
        is_in[chosen] = True
        graph, host = part_of(graph, is_in), host[chosen]
    across = between_hosts(graph, host)
    found = hub_scores(across, weights=voices_of_hosts(across, host) if by_hosts else None)
    return HubReport(
        pages=len(chosen),
        links=across.link_count,
        rounds=found.rounds,
        change=found.change,
        has_settled=found.change <= TOLERANCE,
        hubs=_first(named.urls, found.hubs, chosen),
        authorities=_first(named.urls, found.authorities, chosen),
        by_hosts=by_hosts,
    )


def _first(names: Sequence[str], ranks: Floats | Ints, at: Ints | None = None) -> list[RankedName]:
    """Name those with the highest ranks, and none whose rank is 0.

    Args:
      at: the places of their names; None for all in order.
    """
    order = np.argsort(-ranks, kind="stable")[: FIRST if names else 0]
    chosen = [(int(each if at is None else at[each]), float(ranks[each])) for each in order]
    return [RankedName(names[place], round(rank, 6)) for place, rank in chosen if round(rank, 6) > 0]
