"""The pages and hosts with the highest ranks as the API tells them."""

from __future__ import annotations

from heapq import nlargest

import msgspec

from peers.gateway.model.messages import RanksGathered


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
