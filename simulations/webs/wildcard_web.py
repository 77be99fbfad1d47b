"""A web of honest sites, and a domain under which every name is a host that takes its time.

Each site is a registrable domain of its own with a tree of pages; home pages name those of the next sites in
a tree over the sites. The first one also links to the trap: a few pages, each with thousands of links to
names under one wildcard. Every such name has a home page and some more. To register the domain costs as much
as one site, the names cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mesh.domains import registrable_domain
from mesh.urls import host_of
from peers.crawler.model.wire_messages import FoundLink
from peers.engine.pages.linkers import linker_of
from simulations.webs.web import CHILDREN, NEXT_HOSTS, Served, page_of

TRAP_DOMAIN: Final = "trap.test"
_TRAP: Final = f"http://www.{TRAP_DOMAIN}"


@dataclass(frozen=True, slots=True)
class WildcardShape:
    """How many there are of everything."""

    sites: int = 100
    pages_per_site: int = 50
    site_seconds: float = 0.25  # an answer of a site takes
    trap_pages: int = 9
    names_per_trap_page: int = 6_000
    pages_per_name: int = 3
    trap_seconds: float = 10.0  # an answer of the trap takes; a fetcher waits for 30
    trap_ips: tuple[str, ...] = ()  # of the machines behind all names; none when each has one of its own


class WildcardWeb:
    """Implements `simulations.webs.web.Web`."""

    def __init__(self, shape: WildcardShape = WildcardShape()) -> None:
        self.shape = shape

    @property
    def pages(self) -> int:
        shape = self.shape
        names = shape.trap_pages * shape.names_per_trap_page
        return shape.sites * shape.pages_per_site + shape.trap_pages + names * shape.pages_per_name

    @property
    def seeds(self) -> tuple[str, ...]:
        """The first site's home page."""
        return ("http://site0.test/",)

    def serve(self, url: str) -> Served:
        shape = self.shape
        seconds, ip = (shape.trap_seconds, self._ip_of(url)) if is_of_trap(url) else (shape.site_seconds, "")
        page = _page_in(url)
        if page is None or page >= self._size_of(url):  # robots.txt, too
            return Served(404, seconds, 500, ip=ip)
        return Served(200, seconds, 12_000, ip=ip)

    def _ip_of(self, url: str) -> str:
        """A name of the trap with a number is at the machine with the remainder of that."""
        ips, label = self.shape.trap_ips, host_of(url).partition(".")[0][1:]
        return ips[(int(label) if label.isdigit() else 0) % len(ips)] if ips else ""

    def links(self, url: str) -> tuple[FoundLink, ...]:
        return tuple(FoundLink(link, "link", linker=linker_of(url, link)) for link in self.targets(url))

    def targets(self, url: str) -> Iterable[str]:
        origin, page = url[: url.index("/", 8)], _page_in(url)
        assert page is not None
        first = CHILDREN * page + 1
        links = [f"{origin}/p{child}" for child in range(first, min(first + CHILDREN, self._size_of(url)))]
        if origin == _TRAP:
            count = self.shape.names_per_trap_page
            links += [f"http://x{name}.{TRAP_DOMAIN}/" for name in range(page * count, (page + 1) * count)]
        elif not is_of_trap(url) and page == 0:
            links += self._next_sites(origin)
        return links

    def crawl_delay_s(self, origin: str) -> float:
        return 0.0

    def is_forbidden(self, url: str) -> bool:
        return False

    def _size_of(self, url: str) -> int:
        if url.startswith(f"{_TRAP}/"):
            return self.shape.trap_pages
        return self.shape.pages_per_name if is_of_trap(url) else self.shape.pages_per_site

    def _next_sites(self, origin: str) -> list[str]:
        site = int(origin.removeprefix("http://site").removesuffix(".test"))
        first = NEXT_HOSTS * site + 1
        sites = range(first, min(first + NEXT_HOSTS, self.shape.sites))
        return [f"http://site{each}.test/" for each in sites] + ([] if site else [f"{_TRAP}/"])


def is_of_trap(url: str) -> bool:
    """Is a URL under the wildcard?"""
    return registrable_domain(host_of(url)) == TRAP_DOMAIN


def _page_in(url: str) -> int | None:
    return page_of(url[url.index("/", 8) + 1 :])
