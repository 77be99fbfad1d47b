"""A web that does not exist: the answer of every URL is computed from the URL and a seed.

Theory of operation
===================
Hosts have sizes by a power law, page 0 of a host is its home page. A page links

* to its children in a tree over the pages of its host, so that every page can be reached from home;
* from home pages to those of the next hosts in a tree over the hosts, so that every host can be reached
  from the first;
* at random to pages of its own host, preferring those near home;
* at random to other hosts, preferring the large ones (`outside_share` of the random links), a few of
  which are dead: no such name, or nobody who answers;
* now and then to a page that does not exist, through a redirect, or to a path that robots.txt forbids.

Some hosts (`split_share`) serve their odd pages at a second origin, on another scheme or port, with a
robots.txt of its own.

Nothing is stored but the sizes of the hosts. Draws are the high bits of a linear congruential generator
seeded with a hash of the URL: a page costs some microseconds, which is what a simulation of
100,000 pages can afford. There are no bodies, only their lengths.

The shares are those of the real pages in the conformance data: 42 links a page, 94 % of them inside the
host, 1.4 % dead; `links_mean` is lower by default because a page's navigation repeats what its neighbours
link to, which the crawler's caches absorb and which teaches a simulation nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log
from typing import Final, NamedTuple, Protocol

import numpy as np
import xxhash

from peers.crawler.model.web_request import FailureReason
from peers.crawler.model.wire_messages import FoundLink
from peers.engine.pages.linkers import linker_of

_MASK: Final = (1 << 64) - 1
_MULTIPLIER: Final = 6_364_136_223_846_793_005  # Knuth's MMIX
_INCREMENT: Final = 1_442_695_040_888_963_407
_UNIT: Final = 1.0 / (1 << 53)
_24_BITS: Final = 1.0 / (1 << 24)

CHILDREN: Final = 8  # of a page in the tree of its host: 100,000 pages are 6 clicks deep
NEXT_HOSTS: Final = 3  # that a home page names
TIMEOUT_S: Final = 30.0  # after which a fetcher gives up on a host that does not answer


class Served(NamedTuple):
    """The answer of a server, or why there is none."""

    status: int  # HTTP; 0 when nobody answers
    seconds: float  # from the request to the last byte, or to giving up
    n_bytes: int  # received
    location: str = ""  # of a redirect, absolute
    body: bytes = b""  # of robots.txt; pages have none
    failure: FailureReason | None = None  # when status is 0
    ip: str = ""  # of a machine that serves several hosts; "" when each has one of its own
    etag: str = ""  # of the version; who asks by it is told that nothing has changed


class Web(Protocol):
    """The web as the virtual fetcher and parser see it."""

    def serve(self, url: str) -> Served:
        """Answer a request; every URL has an answer, if only that there is none."""

    @property
    def pages(self) -> int:
        """How many URLs answer with a page that may be fetched."""

    @property
    def seeds(self) -> tuple[str, ...]:
        """Where a crawl that is to find them all starts."""

    def links(self, url: str) -> tuple[FoundLink, ...]:
        """The links of a page that answers with status 200, in canonical form, each once."""

    def targets(self, url: str) -> Iterable[str]:
        """Where these links lead."""

    def crawl_delay_s(self, origin: str) -> float:
        """Return the seconds between two requests that an origin's robots.txt asks for; 0 for none."""

    def is_forbidden(self, url: str) -> bool:
        """Does robots.txt of the URL's origin forbid it?"""


@dataclass(frozen=True, slots=True)
class WebShape:
    """The shares and sizes of a synthetic web."""

    pages_per_host: float = 50.0  # mean
    size_exponent: float = 0.9  # the k-th largest host has 1/k^exponent of the pages of the largest
    links_mean: float = 12.0  # links on a page, without those that repeat
    outside_share: float = 0.06  # of the random links: to another host
    missing_share: float = 0.014  # of the random links: to a page that does not exist
    redirect_share: float = 0.003  # of the random links: through a redirect
    forbidden_share: float = 0.005  # of the random links: to what robots.txt forbids
    dead_hosts_share: float = 0.02  # hosts without any page, beside the others
    slow_hosts_share: float = 0.03  # hosts that take seconds
    split_share: float = 0.0  # hosts of two origins
    robots_share: float = 0.4  # origins with a robots.txt
    crawl_delay_share: float = 0.1  # of those: with a Crawl-delay
    has_domains: bool = False  # each host is of a registrable domain of its own, not all of one
    machines: int = 0  # that serve all hosts between them; 0 when each has one of its own
    seconds_median: float = 0.25  # a fast host's answer
    bytes_median: int = 12_000  # of a page as received, log-normal


class SyntheticWeb:
    """A web of a given number of pages, all of which can be reached from `seeds`."""

    def __init__(self, seed: int, pages: int, shape: WebShape = WebShape()) -> None:
        """Lay out the hosts.

        Args:
          seed: any integer; host names contain it, so two webs share no host.
          pages: number of URLs that answer with a page, without robots.txt and what it forbids.
        """
        assert pages >= 1
        self.seed = seed
        self._page_count = pages
        self.shape = shape
        self.sizes = _host_sizes(pages, max(1, round(pages / shape.pages_per_host)), shape.size_exponent)
        self.host_count = len(self.sizes)
        self._dead_count = round(self.host_count * shape.dead_hosts_share)
        self._hash_seed = seed & _MASK
        self._suffix = f"{'' if shape.has_domains else '.'}s{seed % 1_000_000_007}.test"
        self._first_origins = [self._first_origin(host) for host in range(self.host_count + self._dead_count)]
        self._host_index = {origin: host for host, origin in enumerate(self._first_origins)}
        self._second_origins = self._split_hosts()
        self._host_index |= {origin: host for host, origin in self._second_origins.items()}
        self._seconds = [self._host_seconds(host) for host in range(self.host_count)]
        self._limits = _limits(shape)

    @property
    def pages(self) -> int:
        return self._page_count

    @property
    def seeds(self) -> tuple[str, ...]:
        """The home page of the largest host; of each, where a crawl goes to no other domain by itself."""
        count = self.host_count if self.shape.has_domains else 1
        return tuple(f"{origin}/" for origin in self._first_origins[:count])

    def serve(self, url: str) -> Served:
        name_end = url.index("/", 8)
        origin = url[:name_end]
        host = self._host_index.get(origin)
        served = self._serve(url, origin, host)
        if not self.shape.machines or host is None:
            return served
        return served._replace(ip=address_of(host % self.shape.machines))

    def _serve(self, url: str, origin: str, host: int | None) -> Served:
        name_end = len(origin)
        path = url[name_end + 1 :]
        if host is None or host >= self.host_count:
            return self._nobody(origin)
        draw = xxhash.xxh3_64_intdigest(url.encode(), self._hash_seed)
        seconds = self._seconds[host] * (0.5 + (draw >> 11) * _UNIT)
        if path == "robots.txt":
            return self._serve_robots(origin, seconds)
        page = page_of(path)
        if page is None or page >= self.sizes[host] or self.origin_of_page(host, page) != origin:
            return Served(404, seconds, 500)
        if path.startswith("r"):
            return Served(301, seconds, 300, location=self._page_url(host, page))
        return Served(200, seconds, self._length(draw))

    def links(self, url: str) -> tuple[FoundLink, ...]:
        page = page_of(url[url.index("/", 8) + 1 :])
        assert page is not None
        # A page is called by its own name, but every eighth links to others in words of its own.
        words = "page" if page & 7 else f"see {page}"
        return tuple(
            [
                FoundLink(link, f"{words} {link[8:]}", linker=linker_of(url, link))
                for link in self.targets(url)
            ]
        )

    def targets(self, url: str) -> list[str]:
        name_end = url.index("/", 8)
        host = self._host_index[url[:name_end]]
        page = page_of(url[name_end + 1 :])
        assert page is not None
        return [link for link in self._draw_links(url, self._first_origins[host], host, page) if link != url]

    def crawl_delay_s(self, origin: str) -> float:
        host = self._host_index.get(origin)
        return 0.0 if host is None or host >= self.host_count else self._crawl_delay_s(origin)

    def is_forbidden(self, url: str) -> bool:
        name_end = url.index("/", 8)
        host = self._host_index.get(url[:name_end])
        if host is None or host >= self.host_count or not url.startswith("/private/", name_end):
            return False
        return self._has_robots(url[:name_end])

    def is_steady(self, url: str) -> bool:
        """Does a page answer the same for ever?"""
        return True

    def origin_of_page(self, host: int, page: int) -> str:
        """Return where a page of a host is served."""
        second = self._second_origins.get(host) if page & 1 else None
        return self._first_origins[host] if second is None else second

    def _draw_links(self, url: str, origin: str, host: int, page: int) -> dict[str, None]:
        """The links of a page, in order; a dict serves as the ordered set."""
        size = self.sizes[host]
        first = CHILDREN * page + 1
        links = dict.fromkeys([f"{origin}/p{child}" for child in range(first, min(first + CHILDREN, size))])
        links[f"{origin}/"] = None
        if page == 0:
            first = NEXT_HOSTS * host + 1
            for other in range(first, min(first + NEXT_HOSTS, self.host_count)):
                links[f"{self._first_origins[other]}/"] = None
        draw = xxhash.xxh3_64_intdigest(url.encode(), self._hash_seed)
        outside, missing, redirect, forbidden, count_range = self._limits
        for _ in range(1 + (draw >> 40) % count_range):
            draw = (draw * _MULTIPLIER + _INCREMENT) & _MASK
            kind = draw >> 48
            # The square of a uniform draw prefers small numbers: pages near home, large hosts.
            position = ((draw >> 24) & 0xFFFFFF) * _24_BITS
            position *= position
            if kind >= outside:
                target = int(position * size)
                links[f"{origin}/p{target}" if target else f"{origin}/"] = None
            elif kind < missing:
                links[f"{origin}/p{size + int(position * (1 + size // 32))}"] = None
            elif kind < redirect:
                links[f"{origin}/r{int(position * size)}"] = None
            elif kind < forbidden:
                links[f"{origin}/private/p{int(position * (1 + size // 32))}"] = None
            else:
                links[self._outside(draw, position)] = None
        if host in self._second_origins:
            return dict.fromkeys([self._where_served(link, origin, host) for link in links])
        return links

    def _where_served(self, link: str, origin: str, host: int) -> str:
        """The same page of a split host, at its own origin; a link to no page stays as it is."""
        page = page_of(link[len(origin) + 1 :]) if link.startswith(f"{origin}/") else None
        return link if page is None else f"{self.origin_of_page(host, page)}{link[len(origin) :]}"

    def _outside(self, draw: int, position: float) -> str:
        """A page of another host, mostly its home page."""
        host = int(position * len(self._first_origins))
        if host >= self.host_count or draw & 0x30000:
            return f"{self._first_origins[host]}/"
        page = (draw >> 20) % self.sizes[host]
        return self._page_url(host, page)

    def _page_url(self, host: int, page: int) -> str:
        return f"{self.origin_of_page(host, page)}/p{page}" if page else f"{self._first_origins[host]}/"

    def _first_origin(self, host: int) -> str:
        return f"http://h{host}{self._suffix}"

    def _split_hosts(self) -> dict[int, str]:
        """The second origins of those hosts that have one."""
        origins = self._first_origins[: self.host_count]
        draws = [self._draw(origin, "split") for origin in origins]
        share = self.shape.split_share
        return {
            host: f"{origin}:8080" if draw < share / 2 else origin.replace("http:", "https:")
            for host, (origin, draw) in enumerate(zip(origins, draws, strict=True))
            if draw < share
        }

    def _draw(self, origin: str, purpose: str) -> float:
        """A uniform number in [0, 1) that belongs to an origin."""
        name = f"{purpose} {origin}".encode()
        return (xxhash.xxh3_64_intdigest(name, self._hash_seed) >> 11) * _UNIT

    def _host_seconds(self, host: int) -> float:
        """How long a host takes on average: a factor of 4 between the fast ones, seconds for the slow."""
        origin = self._first_origins[host]
        spread = exp(log(4.0) * (self._draw(origin, "seconds") - 0.5))
        is_slow = self._draw(origin, "slow") < self.shape.slow_hosts_share
        return self.shape.seconds_median * spread * (20.0 if is_slow else 1.0)

    def _has_robots(self, origin: str) -> bool:
        return self._draw(origin, "robots") < self.shape.robots_share

    def _crawl_delay_s(self, origin: str) -> float:
        if not self._has_robots(origin) or self._draw(origin, "delay") >= self.shape.crawl_delay_share:
            return 0.0
        return 2.0 + int(self._draw(origin, "delay length") * 4)

    def _serve_robots(self, origin: str, seconds: float) -> Served:
        if not self._has_robots(origin):
            return Served(404, seconds, 500)
        delay_s = self._crawl_delay_s(origin)
        lines = ["User-agent: *", "Disallow: /private/"]
        if delay_s:
            lines.append(f"Crawl-delay: {delay_s:g}")
        body = "\n".join(lines).encode()
        return Served(200, seconds, len(body), body=body)

    def _nobody(self, host: str) -> Served:
        """Half of the dead hosts have no address, the others never answer."""
        if xxhash.xxh3_64_intdigest(host.encode(), self._hash_seed) & 1:
            return Served(0, 0.05, 0, failure=FailureReason.DNS)
        return Served(0, TIMEOUT_S, 0, failure=FailureReason.TIMEOUT)

    def _length(self, draw: int) -> int:
        """Log-normal with sigma 1, by the logistic approximation of the normal quantile."""
        uniform = ((draw & 0xFFFFFF) + 0.5) * _24_BITS
        return int(self.shape.bytes_median * exp(log(uniform / (1 - uniform)) / 1.702))


def address_of(machine: int) -> str:
    """The address of a machine that serves several hosts."""
    return f"198.51.100.{machine}"  # RFC 5737: for documentation


def page_of(path: str) -> int | None:
    """The number of the page at `p12`, `r12` (through a redirect) or the empty path of home."""
    if not path:
        return 0
    number = path[1:]
    return int(number) if path[0] in "pr" and number.isdecimal() and number.isascii() else None


def _host_sizes(pages: int, hosts: int, exponent: float) -> list[int]:
    """Distribute pages over hosts by a power law, at least one each, `pages` in total, falling."""
    weights = np.arange(1, hosts + 1, dtype=np.float64) ** -exponent
    spare = pages - hosts
    ends = np.round(np.cumsum(weights) / weights.sum() * spare).astype(np.int64)
    ends[-1] = spare
    sizes = np.diff(ends, prepend=0) + 1
    return sorted((int(size) for size in sizes), reverse=True)


def _limits(shape: WebShape) -> tuple[int, int, int, int, int]:
    """Bounds of a 16-bit draw: below the last of them a random link is not an ordinary one."""
    missing = shape.missing_share
    redirect = missing + shape.redirect_share
    forbidden = redirect + shape.forbidden_share
    outside = forbidden + shape.outside_share
    assert outside <= 1
    # Uniform over 1 .. 2m-1, less about two links of the trees (a page has one child on average, and home).
    links_max = max(1, round(2 * (shape.links_mean - 2) - 1))
    return _scaled(outside), _scaled(missing), _scaled(redirect), _scaled(forbidden), links_max


def _scaled(share: float) -> int:
    return round(share * 65_536)
