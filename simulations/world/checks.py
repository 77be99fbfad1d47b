"""The rules that hold after every crawl, for any seed: the promises of the mesh, seen from outside.

Everything is judged by what the virtual servers logged and what the peers' disks hold, not by what the
peers say of themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from mesh.urls import host_of, origin_of
from simulations.webs.web import Web
from simulations.world.ports import LoggedRequest

EXAMPLES_MAX = 5  # of each kind of violation that are told
CLOCK_ERROR_S = 1e-6  # sums of floats

# Answers after which a crawler may ask again.
_PASSING = frozenset((0, 408, 425, 429, 500, 502, 503, 504))


class Findings(msgspec.Struct, frozen=True):
    """How often each promise was broken; all zero in a crawl that is right."""

    duplicates: int  # URLs asked again after an answer that settles them
    politeness_violations: int  # requests to a host before its delay was over, or during another
    forbidden: int  # requests for what robots.txt forbids
    unreached: int  # pages that a breadth-first walk finds and the crawl did not
    under_replicated: int  # copies of fetched pages missing on peers of their team
    unbalanced_messages: int  # sent, but neither on their way nor delivered, lost or refused
    examples: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return (
            self.duplicates
            + self.politeness_violations
            + self.forbidden
            + self.unreached
            + self.under_replicated
            + self.unbalanced_messages
        )


def duplicates(log: Iterable[LoggedRequest]) -> list[str]:
    """URLs that were asked for again though they had been answered for good; robots.txt may be."""
    settled: set[str] = set()
    again = []
    for request in log:
        if request.url in settled:
            again.append(request.url)
        elif request.status not in _PASSING and not request.url.endswith("/robots.txt"):
            settled.add(request.url)
    return again


def impolite(log: Iterable[LoggedRequest], delay_of: Callable[[str], float]) -> list[str]:
    """Requests that came sooner after the end of the one before than their host allows.

    Args:
      log: in order of time.
      delay_of: seconds that must pass after a request to an origin.
    """
    free_at: dict[str, float] = {}
    early = []
    for request in log:
        host = host_of(request.url)
        at = free_at.get(host)
        if at is not None and request.at_s < at - CLOCK_ERROR_S:
            early.append(f"{request.url} at {request.at_s:.3f} s, {at - request.at_s:.3f} s early")
        free_at[host] = request.until_s + delay_of(origin_of(request.url))
    return early


def reachable(web: Web, is_read: Callable[[str], bool] = lambda url: True) -> dict[str, None]:
    """All pages that a plain breadth-first walk finds, in its order.

    Args:
      is_read: whether what a page links to can be known.
    """
    found = dict.fromkeys(web.seeds)
    pages: dict[str, None] = {}
    waiting = list(found)
    for url in waiting:
        if web.is_forbidden(url):
            continue
        served = web.serve(url)
        links = [served.location] if served.location else []
        if served.status == 200:
            pages[url] = None
            links += web.targets(url)
        new = [link for link in links if link not in found] if is_read(url) else []
        found.update(dict.fromkeys(new))
        waiting += new
    return pages


def missing_copies(
    pages: Iterable[str],
    teams: Callable[[str], Sequence[str]],
    stored: Mapping[str, Mapping[str, object]],
) -> list[str]:
    """Copies that should be and are not.

    Args:
      pages: URLs that were fetched.
      teams: the peers that must hold a URL.
      stored: URLs on the disk of each peer.
    """
    return [f"{url} on {peer}" for url in pages for peer in teams(url) if url not in stored[peer]]


def judge(
    log: Sequence[LoggedRequest],
    web: Web,
    *,
    delay_of: Callable[[str], float],
    teams: Callable[[str], Sequence[str]],
    stored: Mapping[str, Mapping[str, object]],
    unbalanced_messages: int,
) -> Findings:
    """Check everything about a crawl that has come to rest; the arguments are those of the checks above."""
    fetched = dict.fromkeys(request.url for request in log if request.status == 200)
    violations = {
        "asked twice": duplicates(log),
        "asked too soon": impolite(log, delay_of),
        "forbidden": [request.url for request in log if web.is_forbidden(request.url)],
        "not reached": [url for url in reachable(web) if url not in fetched],
        "copy missing": missing_copies(
            (url for url in fetched if not url.endswith("/robots.txt")), teams, stored
        ),
    }
    return Findings(
        duplicates=len(violations["asked twice"]),
        politeness_violations=len(violations["asked too soon"]),
        forbidden=len(violations["forbidden"]),
        unreached=len(violations["not reached"]),
        under_replicated=len(violations["copy missing"]),
        unbalanced_messages=unbalanced_messages,
        examples=tuple(
            f"{kind}: {what}" for kind, found in violations.items() for what in found[:EXAMPLES_MAX]
        ),
    )


def pages_by_peer(log: Iterable[LoggedRequest], peers: Iterable[str]) -> dict[str, list[float]]:
    """When each peer had fetched each of its pages (status 200, robots.txt aside), in order of time."""
    times: dict[str, list[float]] = defaultdict(list, {peer: [] for peer in peers})
    for request in log:
        if request.status == 200 and not request.url.endswith("/robots.txt"):
            times[request.peer].append(request.until_s)
    for until in times.values():
        until.sort()
    return dict(times)
