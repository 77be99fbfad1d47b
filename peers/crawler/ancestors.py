"""Guessing URLs: the folders above a page are often pages too, whether anything links there or not. Pure.

Source: Li, Yan, Wang 2004, 6.1: from http://www.pku.edu.cn/a/ to http://www.pku.edu.cn/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from peers.crawler.model.url_rows import ICON_HOPS
from peers.crawler.model.wire_messages import FoundLink, LinkUse


def ancestors_of(url: str) -> Iterator[str]:
    """Yield the folders above a canonical URL, the nearest first, its root last; nothing of a root."""
    root_end = url.index("/", 8)
    path_end = len(url.partition("?")[0])
    at = url.rfind("/", 0, path_end - 1 if path_end == len(url) else path_end)
    while at >= root_end:
        yield url[: at + 1]
        at = url.rfind("/", 0, at)


def with_ancestors(links: Iterable[FoundLink]) -> Iterator[FoundLink]:
    """Yield links of a page, and one without a text to each folder above their targets that none leads to."""
    found = list(links)
    yield from found
    known = {link.url for link in found}
    for link in found:
        if link.use is not LinkUse.FETCH or link.hops == ICON_HOPS:
            continue
        for url in ancestors_of(link.url):
            if url in known:
                break  # and those above it are, or come by it
            known.add(url)
            yield FoundLink(url)
