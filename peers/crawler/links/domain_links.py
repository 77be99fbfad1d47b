"""Links that lead to another registrable domain, told from those that stay within one. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from mesh.domains import registrable_domain
from mesh.urls import host_of
from peers.crawler.model.wire_messages import FoundLink, LinkUse


def marked(page: str, links: Iterable[FoundLink]) -> list[FoundLink]:
    """Return the links of a page, of this canonical URL; those to another registrable domain say so."""
    origin = page[: page.index("/", 8) + 1]
    domain = registrable_domain(host_of(page))
    told: list[FoundLink] = []
    for link in links:  # most are of one origin, which costs nothing
        is_followed = link.use is LinkUse.FETCH and not link.url.startswith(origin)
        if is_followed and registrable_domain(host_of(link.url)) != domain:
            told.append(replace(link, use=LinkUse.ABROAD))
        else:
            told.append(link)
    return told
