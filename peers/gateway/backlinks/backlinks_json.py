"""The pages that link to one as the API tells them."""

from __future__ import annotations

import msgspec

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
