"""A recorded crawl as a web: every page answers as it did when it was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mesh.trace import TracedPage
from mesh.urls import host_of
from peers.crawler.model.web_request import FailureReason
from peers.crawler.model.wire_messages import FoundLink
from simulations.webs.web import Served, Web

ERROR_SECONDS = 0.1  # of answers that the trace does not have


class _Page(NamedTuple):
    seconds: float
    n_bytes: int
    links: tuple[str, ...]


class TraceWeb:
    """Plays a trace; a `simulations.webs.web.Web`.

    What was not fetched does not exist: a link to it gets a 404 on a known host, and no answer on others.
    There is no robots.txt: the recording crawl has obeyed it, so what is here may be fetched.
    """

    def __init__(self, pages: Iterable[TracedPage]) -> None:
        """Take in the pages; of a page that was fetched several times the first counts."""
        self._pages: dict[str, _Page] = {}
        once: dict[str, str] = {}  # a URL that many pages link to is in memory once
        for page in pages:
            links = tuple([once.setdefault(link, link) for link in page.links])
            self._pages.setdefault(page.url, _Page(page.seconds, page.n_bytes, links))
        self._hosts = frozenset(map(host_of, self._pages))

    @property
    def pages(self) -> int:
        return len(self._pages)

    @property
    def host_count(self) -> int:
        return len(self._hosts)

    @property
    def seeds(self) -> tuple[str, ...]:
        """The pages that no page recorded before them links to: seeds, and targets of redirects."""
        found: set[str] = set()
        seeds = []
        for url, page in self._pages.items():
            if url not in found:
                seeds.append(url)
            found.update(page.links)
        return tuple(seeds)

    def serve(self, url: str) -> Served:
        page = self._pages.get(url)
        if page is not None:
            return Served(200, page.seconds, page.n_bytes)
        if host_of(url) in self._hosts:
            return Served(404, ERROR_SECONDS, 0)
        return Served(0, ERROR_SECONDS, 0, failure=FailureReason.DNS)

    def links(self, url: str) -> tuple[FoundLink, ...]:
        return tuple([FoundLink(link) for link in self.targets(url)])

    def targets(self, url: str) -> tuple[str, ...]:
        return self._pages[url].links

    def crawl_delay_s(self, origin: str) -> float:
        """A trace has no robots.txt."""
        return 0.0

    def is_forbidden(self, url: str) -> bool:
        """A trace has no robots.txt."""
        return False


def recorded(web: Web) -> Iterator[TracedPage]:
    """Yield the pages of a web as a crawl would record them, breadth first, without waiting for any host."""
    queue, seen = list(web.seeds), set(web.seeds)
    count = 0
    for url in queue:
        served = web.serve(url)
        if served.status == 200:
            links = tuple(web.targets(url))
            yield TracedPage(url, float(count), served.seconds, served.n_bytes, links)
            count += 1
            queue += [link for link in links if link not in seen]
            seen.update(links)
