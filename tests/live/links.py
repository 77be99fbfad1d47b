"""The links of a page, read with other tools than the crawler's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ada_url import join_url
from selectolax.lexbor import LexborHTMLParser

LINKS: Final = "a[href],area[href],frame[src],iframe[src]"


def links_of(url: str, body: bytes) -> Iterator[str]:
    """Yield where the links of a page lead, joined to its base as browsers do it.

    urllib's urljoin drops the empty segment of `zh-CN//text`, which browsers keep; ada keeps it.
    """
    tree = LexborHTMLParser(body)
    base = tree.css_first("base[href]")
    if base is not None:
        url = join_url(url, base.attributes["href"] or "")
    for node in tree.css(LINKS):
        link = node.attributes.get("href") or node.attributes.get("src")
        if link:
            try:
                yield join_url(url, link)
            except ValueError:
                continue
