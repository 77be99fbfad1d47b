"""The contact address for webmasters: without one nothing is asked of public hosts.

Who writes a crawler's user agent into a log looks there for a person first. A mesh that is tried out, of a
laboratory, an intranet or of files, meets no webmaster and needs no address.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import msgspec

from mesh.urls import host_of
from peers.crawler.addresses.addresses import is_among, is_public
from peers.crawler.model.robots import product_token
from peers.crawler.model.settings import CrawlConfig

# Names that no public host has: RFC 6761, RFC 8375 and ICANN's decision of 2024 on `internal`.
_PRIVATE_ENDINGS: Final = (
    "localhost",
    "test",
    "example",
    "invalid",
    "local",
    "internal",
    "home.arpa",
)
ADVICE: Final = (
    "no public host is asked without an address at which its webmaster reaches you: give --contact "
    "you@example.org to `tianmesh up`, `init` or `join`; for peers that run say `tianmesh config set "
    "crawl.contact you@example.org`, or in a lab `contact` in lab.toml and `tianmesh lab launch`, and start "
    "them again"
)


class Visitor(msgspec.Struct, frozen=True):
    """How this peer presents itself to the web."""

    agent: str  # the whole User-Agent
    token: str  # what it is called in robots.txt
    contact: str
    is_anonymous: bool  # no public host is asked
    known_names: Collection[str] = ()  # hosts that may be private, so that they need no contact

    def refused(self, urls: Iterable[str]) -> list[str]:
        """Return those of some canonical URLs that this peer would ask nobody for."""
        return [url for url in urls if self.is_anonymous and is_public_name(host_of(url), self.known_names)]


def visitor_of(settings: CrawlConfig, allow_private: Collection[str], *, is_closed: bool) -> Visitor:
    """Return how a peer with these settings presents itself.

    Args:
      is_closed: a table stands for the whole web, in which nobody is a stranger.
    """
    return Visitor(
        settings.agent,
        product_token(settings.agent),
        settings.contact,
        not (settings.has_contact or is_closed),
        tuple(allow_private),
    )


def is_public_name(host: str, known_names: Collection[str] = ()) -> bool:
    """Tell whether a host is somebody else's, by its name: it is no private address and no name for tests."""
    host = host.strip("[]").rstrip(".")
    if is_among(host, known_names):
        return False
    if ":" in host or host.rpartition(".")[2].isdigit():
        return is_public(host)
    return "." in host and not any(f".{host}".endswith(f".{ending}") for ending in _PRIVATE_ENDINGS)
