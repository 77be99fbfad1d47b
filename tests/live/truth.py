"""What a whole crawl of a web must bring, and by which pages answers are checked. [io]"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.live.known_pages import KnownPage, known_pages
from tests.live.reachable import reachable
from tests.live.sites import Site
from tests.live.web import served_web

KNOWN_PER_HOST = 6


class Truth(NamedTuple):
    """It is the same wherever and whenever the same sites are served."""

    pages: frozenset[str]
    known: tuple[KnownPage, ...]  # those of the first rank of every host first

    def of(self, hosts: Collection[str]) -> Truth:
        """What a crawl of some of the hosts must bring; no links lead from one to another."""
        return Truth(
            frozenset(url for url in self.pages if urlsplit(url).netloc in hosts),
            tuple(page for page in self.known if page.host in hosts),
        )

    def some(self, count: int, hosts: Collection[str] | None = None) -> list[KnownPage]:
        """So many known pages of these hosts, of as many hosts as there are."""
        chosen = [page for page in self.known if hosts is None or page.host in hosts]
        assert chosen, f"no known page on {hosts}"
        return chosen[:count]


def truth_of(sites: Sequence[Site]) -> Truth:
    """Serve these sites, and follow their links."""
    with served_web(sites) as web:
        found = reachable(web, with_bodies=True)
    return Truth(frozenset(found.pages), tuple(known_pages(found.bodies, KNOWN_PER_HOST)))
