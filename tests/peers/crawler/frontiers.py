"""Frontiers that are told of one link at a time."""

from __future__ import annotations

from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.url_queues import LinkTo
from peers.crawler.model.course import Course


def queue(
    frontier: Frontier,
    url: str,
    host: str,
    slot: int,
    depth: int,
    hops: int,
    now: float,
    course: Course | None = None,
) -> bool:
    """Queue a URL unless it is known; tell whether it was new."""
    is_new = frontier.row_of(url, slot) is None
    frontier.add([LinkTo(url, host, slot, depth, hops, course)], now)
    return is_new


def tell(frontier: Frontier, url: str, slot: int, *entries: str) -> None:
    """Tell what a link says of a page, known or not."""
    frontier.add([LinkTo(url, "", slot, entries=entries, is_queued=False)], 0.0)
