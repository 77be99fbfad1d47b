"""A web of sites with several names, and of hosts that only look like other names of each other.

    one.test, www.one.test, the-same.one.test    one site, under all three names
    park1.test, park2.test                   each says one thing under all paths, both the same
    splash1.test, splash2.test               the same home page, to choose a language; then they differ
    boiler1.test, boiler2.test               the same home page and manual, and pages of their own
    two.test, www.two.test                   one machine, two sites

All of them have a tree of pages. What a page says is its text, which tells it from the others; a site may
cease to be under one of its names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from xxhash import xxh3_64_intdigest

from mesh.urls import host_of
from peers.crawler.model.wire_messages import FoundLink
from peers.engine.pages.linkers import linker_of
from simulations.webs.web import CHILDREN, Served, page_of
from simulations.world.hardware import LIMITLESS, Hardware
from simulations.world.ports import VirtualParser

SITE: Final = "one.test"
NAMES: Final = (SITE, "www.one.test", "the-same.one.test")
LOOK_ALIKES: Final = (
    *("park1.test", "park2.test", "splash1.test", "splash2.test"),
    *("boiler1.test", "boiler2.test", "two.test", "www.two.test"),
)
HOSTS: Final = (*NAMES, *LOOK_ALIKES)
MANUAL: Final = 12  # pages, after home, that hosts may have in common
_IP: Final = "198.51.100.7"  # RFC 5737: for documentation


class AliasedWeb:
    """Implements `simulations.webs.web.Web`."""

    def __init__(self, pages_of_site: int, pages_of_others: int = 40, hosts: Iterable[str] = HOSTS) -> None:
        """Have some of the hosts; the others are nowhere."""
        self._sizes = {host: pages_of_site if host in NAMES else pages_of_others for host in hosts}
        self.split: frozenset[str] = frozenset()  # names that have become sites of their own

    @property
    def pages(self) -> int:
        return sum(self._sizes.values())

    @property
    def seeds(self) -> tuple[str, ...]:
        return tuple(f"http://{host}/" for host in self._sizes)

    def serve(self, url: str) -> Served:
        page, ip = self._page_in(url), _IP if "two." in url else ""
        if page is None or page >= self._sizes.get(host_of(url), 0):
            return Served(404, 0.1, 500, ip=ip)
        return Served(200, 0.1, 12_000, ip=ip)

    def links(self, url: str) -> tuple[FoundLink, ...]:
        return tuple(FoundLink(link, "link", linker=linker_of(url, link)) for link in self.targets(url))

    def targets(self, url: str) -> Iterable[str]:
        page = self._page_in(url)
        assert page is not None
        first = CHILDREN * page + 1
        children = range(first, min(first + CHILDREN, self._sizes[host_of(url)]))
        return [f"http://{host_of(url)}/p{child}" for child in children]

    def crawl_delay_s(self, origin: str) -> float:
        return 0.0

    def is_forbidden(self, url: str) -> bool:
        return False

    def text_of(self, url: str) -> str:
        """Return the text of a page."""
        host, page = host_of(url), self._page_in(url)
        assert page is not None
        if host in self.split:
            return f"page {page} of {host} by itself"
        if host in NAMES:
            return f"page {page} of one"
        if host.startswith("park"):
            return "this name is for sale"
        is_shared = page <= MANUAL if host.startswith("boiler") else host.startswith("splash") and page == 0
        return f"page {page} of many" if is_shared else f"page {page} of {host}"

    def _page_in(self, url: str) -> int | None:
        return page_of(url[url.index("/", 8) + 1 :])


class MarkingParser(VirtualParser):
    """Port `parser` of such a web."""

    def __init__(
        self, web: AliasedWeb, *, has_documents: bool = True, hardware: Hardware = LIMITLESS
    ) -> None:
        super().__init__(web, has_documents=has_documents, hardware=hardware)
        self._aliased = web

    def text_mark(self, url: str) -> int:
        return xxh3_64_intdigest(self._aliased.text_of(url).encode()) & 0xFFFFFFFF
