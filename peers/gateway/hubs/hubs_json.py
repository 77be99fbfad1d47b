"""The JSON of /api/graph/hubs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import msgspec

from peers.gateway.hubs.hits import HubsAndAuthorities, LinkedPage
from peers.gateway.model.messages import Coverage


class LinkedPageJson(msgspec.Struct, frozen=True):
    """A page; as a hub it has `n_links`, as an authority so many lead to it, as far as they count."""

    url: str
    title: str  # "" where it is not known
    score: float  # above 0; the squares of all sum to 1
    n_links: int
    is_result: bool  # it is one of the results of the search


class HubsJson(msgspec.Struct, frozen=True):
    """Hubs and authorities around the first results of a search, the best first."""

    query: str
    n_results: int  # around which they were looked for
    n_pages: int  # with links to pages of other domains, or from these
    n_links: int  # between domains
    coverage: Coverage  # of the search
    silent: list[str]  # peers that have not told what is around their pages: it is missing
    hubs: list[LinkedPageJson]
    authorities: list[LinkedPageJson]


def hubs_json(
    query: str,
    results: Set[str],
    titles: Mapping[str, str],
    coverage: Coverage,
    silent: Set[str],
    found: HubsAndAuthorities,
) -> HubsJson:
    """Return the lists as programs get them."""

    def pages(scored: Sequence[LinkedPage]) -> list[LinkedPageJson]:
        return [
            LinkedPageJson(each.url, titles.get(each.url, ""), each.score, each.n_links, each.url in results)
            for each in scored
        ]

    lists = pages(found.hubs), pages(found.authorities)
    return HubsJson(query, len(results), found.n_pages, found.n_links, coverage, sorted(silent), *lists)
