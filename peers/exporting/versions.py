"""The versions of several peers together, each once. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import groupby
from operator import attrgetter

from mesh.stamp import Stamp
from mesh.urls import canonical, host_of
from peers.exporting.peer_files import Version


def all_versions(of_peers: Iterable[Iterable[Version]]) -> Iterator[list[Version]]:
    """Yield every version of every page once, the oldest first, each as the copies there are of it."""
    for copies in _pages(of_peers):
        by_stamp: dict[Stamp, list[Version]] = {}
        for copy in copies:
            by_stamp.setdefault(copy.place.stamp, []).append(copy)
        for stamp in sorted(by_stamp):
            yield by_stamp[stamp]


def newest_versions(of_peers: Iterable[Iterable[Version]]) -> Iterator[list[Version]]:
    """Yield the newest version of every page, as the copies there are of it."""
    for copies in _pages(of_peers):
        newest = max(copy.place.stamp for copy in copies)
        yield [copy for copy in copies if copy.place.stamp == newest]


def _pages(of_peers: Iterable[Iterable[Version]]) -> Iterator[list[Version]]:
    """Bring the same pages of several peers together; all walk in the order of identities."""
    by_identity = attrgetter("identity")
    for _, copies in groupby(merge(*of_peers, key=by_identity), by_identity):
        yield list(copies)


def of_sites(sites: Iterable[str]) -> Callable[[str], bool]:
    """Return whether a URL is of one of some sites: of a host, on any scheme and port, or of one below it.

    Args:
      sites: host names, or URLs of which only the host counts; no sites are all.
    """
    names = tuple(map(_name_of, sites))
    below = tuple(f".{name}" for name in names)

    def is_wanted(url: str) -> bool:
        host = host_of(url)
        return not names or host in names or host.endswith(below)

    return is_wanted


def _name_of(site: str) -> str:
    url = canonical(site if "://" in site else f"http://{site}")
    return host_of(url) if url is not None else site
