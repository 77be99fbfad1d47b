"""What a whole crawl of a web must bring, and by which pages answers are checked. [io]"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from tests.live.known_pages import KnownPage, known_pages
from tests.live.reachable import reachable
from tests.live.web import served_web

KNOWN_PER_HOST = 6


class Truth(NamedTuple):
    """It is the same wherever and whenever the same sites are served."""

    pages: frozenset[str]
    known: tuple[KnownPage, ...]  # those of the first rank of every host first

    def some(self, count: int, hosts: Collection[str] | None = None) -> list[KnownPage]:
        """So many known pages of these hosts, of as many hosts as there are."""
        chosen = [page for page in self.known if hosts is None or page.host in hosts]
        assert chosen, f"no known page on {hosts}"
        return chosen[:count]


def truth_of(packages: Path, hosts: Collection[str], *, gbk: bool) -> Truth:
    """Serve these sites, each under a host of its own, and follow their links."""
    with served_web(packages, hosts, gbk=gbk, is_split=True) as web:
        found = reachable(web, with_bodies=True)
    return Truth(frozenset(found.pages), tuple(known_pages(found.bodies, KNOWN_PER_HOST)))
