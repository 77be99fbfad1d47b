"""The pages that link to one, and those with the highest ranks, as the API tells them."""

from __future__ import annotations

from heapq import nlargest

import msgspec

from peers.gateway.model.messages import RanksGathered
from peers.link_graph.wire_messages import LISTED_MAX, BacklinksListed


class BacklinkJson(msgspec.Struct, frozen=True):
    """A page that links to the one asked for."""

    url: str
    title: str
    text: str  # of the link; "" when it has none
    fetched_at: float  # seconds since the epoch, when the page was seen to have it


class BacklinksJson(msgspec.Struct, frozen=True):
    """The pages that link to one: the newest of each domain, then the next of each, its own domain last."""

    url: str
    n_links: int  # pages of the mesh that link to it
    n_domains: int  # registrable domains that these are of
    is_exact: bool  # false: there are so many that both numbers are estimates, and not all are listed
    start: int  # so many were left out at the beginning
    next: int | None  # `start` of the next part; null at the end
    links: list[BacklinkJson]
    rank: float | None = None  # PageRank of the page, about 1 in the mean; null where pages are not ranked


def backlinks_json(told: BacklinksListed, start: int) -> BacklinksJson:
    return BacklinksJson(
        told.url,
        told.n_links,
        told.n_domains,
        told.is_exact,
        start,
        next_start(told, start),
        [BacklinkJson(link.url, link.title, link.text, link.fetched_at) for link in told.links],
        told.rank,
    )


def next_start(told: BacklinksListed, start: int) -> int | None:
    """Return where the next part begins; None at the end."""
    return start + LISTED_MAX if start + LISTED_MAX < told.n_kept else None


class RankedPageJson(msgspec.Struct, frozen=True):
    """A visited page."""

    url: str
    rank: float  # PageRank, about 1 in the mean


class RankedHostJson(msgspec.Struct, frozen=True):
    """A host, with the sum of the ranks of its visited pages."""

    host: str
    rank: float
    n_pages: int


class RanksJson(msgspec.Struct, frozen=True):
    """The first pages and hosts of the mesh by rank."""

    n_pages: int  # visited, that have a rank
    n_left_out: int  # of these: pages whose links count for nothing, for want of memory
    is_settled: bool  # false: ranks are still changing
    silent: list[str]  # peers that have not answered: their pages are missing
    pages: list[RankedPageJson]
    hosts: list[RankedHostJson]


def ranks_json(found: RanksGathered, most: int) -> RanksJson:
    """Merge the answers of all peers."""
    told = [answer for _, answer in found.told if answer.is_on]
    pages = nlargest(most, (page for each in told for page in each.pages), key=lambda page: page.rank)
    hosts = nlargest(most, (host for each in told for host in each.hosts), key=lambda host: host.rank)
    return RanksJson(
        sum(each.n_pages for each in told),
        sum(each.n_left_out for each in told),
        bool(told) and not found.silent and all(answer.is_settled for _, answer in found.told),
        list(found.silent),
        [RankedPageJson(page.url, page.rank) for page in pages],
        [RankedHostJson(host.host, host.rank, host.n_pages) for host in hosts],
    )
