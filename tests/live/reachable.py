"""What a complete crawl must find: a plain breadth-first search, with other tools than the crawler's. [io]

One request after the other, no robots.txt, selectolax for the links, ada for joining them to their base
(urllib's urljoin drops the empty segment of `zh-CN//text`, which browsers keep). Only the canonical form
of URLs is ours, because two forms of one URL must not count as two pages.
"""

from __future__ import annotations

import http.client
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ada_url import join_url

from mesh.urls import canonical
from tests.live.links import links_of
from tests.live.web import PORT, ServedWeb


@dataclass(slots=True)
class Reachable:
    """URLs that links lead to from the seeds, by what the server says to them."""

    pages: set[str] = field(default_factory=set)  # HTML with status 200
    by_status: dict[int, set[str]] = field(default_factory=dict)  # HTML pages included
    bodies: dict[str, bytes] = field(default_factory=dict)  # of the pages, where wanted


def reachable(web: ServedWeb, *, without: Collection[str] = (), with_bodies: bool = False) -> Reachable:
    """Follow http links from the seeds through the hosts of the web, but those `without`."""
    found = Reachable()
    hosts = web.addresses.keys() - set(without)
    queue = deque(seed for seed in web.seeds if urlsplit(seed).netloc in hosts)
    seen = set(queue)
    connections = {
        host: http.client.HTTPConnection(address, PORT, timeout=100)
        for host, address in web.addresses.items()
    }
    while queue:
        url = queue.popleft()
        for link in _visit(url, connections[urlsplit(url).hostname or ""], found, with_bodies):
            target = canonical(link)
            if target is None or target in seen or not _is_of(target, hosts):
                continue
            seen.add(target)
            queue.append(target)
    for connection in connections.values():
        connection.close()
    return found


def _visit(
    url: str, connection: http.client.HTTPConnection, found: Reachable, with_bodies: bool
) -> Iterator[str]:
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    connection.request("GET", target, headers={"Host": parts.netloc, "User-Agent": "oracle"})
    response = connection.getresponse()
    body = response.read()
    found.by_status.setdefault(response.status, set()).add(url)
    if response.status in (301, 302):
        yield join_url(url, response.getheader("Location") or "")
    elif response.status == 200 and (response.getheader("Content-Type") or "").startswith("text/html"):
        found.pages.add(url)
        if with_bodies:
            found.bodies[url] = body
        yield from links_of(url, body)


def _is_of(url: str, hosts: Collection[str]) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.netloc in hosts
