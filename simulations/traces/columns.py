"""The pages and links of a trace as arrays, for code that counts all of them at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mesh.trace import TracedPage
from mesh.urls import host_of

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TraceColumns:
    """A trace; pages by the order in which they were fetched, each with its first visit."""

    urls: tuple[str, ...]
    hosts: tuple[str, ...]  # of pages first, then those that are only linked to
    page_host: Ints  # position in `hosts`
    seconds: Floats
    n_bytes: Ints
    parent: Ints  # the first page that links to it, or -1: a seed
    link_page: Ints  # of each link: the page that has it
    link_host: Ints  # the host it leads to
    link_target: Ints  # the page it leads to, or -1 - k for the k-th URL that is not in the trace
    missing_urls: tuple[str, ...]  # linked to and not in the trace
    missing_host: Ints  # their host
    missing_parent: Ints  # and the first page that links to them
    url_bytes: int  # of all links

    @property
    def page_count(self) -> int:
        return len(self.urls)

    @property
    def host_count(self) -> int:
        """Hosts with pages."""
        return int(self.page_host.max()) + 1 if len(self.page_host) else 0

    @property
    def host_sizes(self) -> Ints:
        """Pages of each host that has some."""
        return np.bincount(self.page_host, minlength=self.host_count)

    @property
    def is_inside(self) -> npt.NDArray[np.bool_]:
        """Of each link: does it stay on its host?"""
        inside: npt.NDArray[np.bool_] = self.page_host[self.link_page] == self.link_host
        return inside


def columns_of(pages: Iterable[TracedPage]) -> TraceColumns:
    """Gather the columns of a trace; of a page that was fetched several times the first counts."""
    known: dict[str, TracedPage] = {}
    for page in pages:
        known.setdefault(page.url, page)
    position = {url: number for number, url in enumerate(known)}
    hosts: dict[str, int] = {}
    page_host = [hosts.setdefault(host_of(url), len(hosts)) for url in known]
    parent = [-1] * len(known)
    missing: dict[str, tuple[int, int, int]] = {}
    link_page, link_host, link_target = [], [], []
    url_bytes = 0
    for source, page in enumerate(known.values()):
        for link in page.links:
            target = position.get(link, -1)
            host = page_host[target] if target >= 0 else hosts.setdefault(host_of(link), len(hosts))
            if target < 0:
                target = -1 - missing.setdefault(link, (host, source, len(missing)))[2]
            elif parent[target] < 0 and source < target:
                parent[target] = source
            link_page.append(source)
            link_host.append(host)
            link_target.append(target)
            url_bytes += len(link)
    ends = np.array(list(missing.values()), np.int64).reshape(-1, 3)
    return TraceColumns(
        urls=tuple(known),
        hosts=tuple(hosts),
        page_host=np.array(page_host, np.int64),
        seconds=np.array([page.seconds for page in known.values()], np.float64),
        n_bytes=np.array([page.n_bytes for page in known.values()], np.int64),
        parent=np.array(parent, np.int64),
        link_page=np.array(link_page, np.int64),
        link_host=np.array(link_host, np.int64),
        link_target=np.array(link_target, np.int64),
        missing_urls=tuple(missing),
        missing_host=ends[:, 0],
        missing_parent=ends[:, 1],
        url_bytes=url_bytes,
    )
