"""A part of a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from mesh.trace import TracedPage
from mesh.urls import host_of


def cut(
    pages: Sequence[TracedPage],
    *,
    hosts_max: int | None = None,
    pages_max: int | None = None,
    from_s: float = 0.0,
    to_s: float | None = None,
) -> Iterator[TracedPage]:
    """Yield the chosen pages, as they are: the targets of their links may be missing then.

    Args:
      hosts_max: so many of the hosts, those with the most pages.
      pages_max: the first pages of what else is left.
      from_s, to_s: after the first page was fetched.
    """
    begin = min((page.fetched_at for page in pages), default=0.0)
    chosen: Iterable[TracedPage] = pages
    if hosts_max is not None:
        largest = Counter(host_of(page.url) for page in pages).most_common(hosts_max)
        kept = {host for host, _ in largest}
        chosen = (page for page in chosen if host_of(page.url) in kept)
    wanted = (
        page
        for page in chosen
        if from_s <= page.fetched_at - begin and (to_s is None or page.fetched_at - begin < to_s)
    )
    return islice(wanted, pages_max)
