"""The page that lists the pages that link to one. Without script."""

from __future__ import annotations

from typing import NamedTuple

from peers.gateway.backlinks.backlinks_json import next_start
from peers.gateway.model.time_words import utc
from peers.gateway.site.pages import Here, Reader, address_of, render
from peers.link_graph.wire_messages import LISTED_MAX, BacklinksListed


class _Row(NamedTuple):
    url: str
    title: str
    address: str
    text: str  # of the link
    seen: str  # the day
    stored: str  # address of the stored copy
    further: str  # of the pages that link to that one


def backlinks_page(reader: Reader, told: BacklinksListed, start: int) -> str:
    """List a part of the pages that link to one, and say how many there are of all."""
    url = told.url
    following = next_start(told, start)
    rows = [
        _Row(
            link.url,
            link.title or address_of(link.url),
            address_of(link.url),
            link.text,
            _day(link.fetched_at),
            reader.link("/page", url=link.url),
            reader.link("/backlinks", url=link.url),
        )
        for link in told.links
    ]
    return render(
        "backlinks.html",
        reader,
        Here("/backlinks", {"url": url, "start": str(start)} if start else {"url": url}),
        query="",
        address=address_of(url),
        count=_count(reader, told),
        is_exact=told.is_exact,
        rank="" if told.rank is None else reader.say("backlinks_rank", rank=f"{told.rank:,.2f}"),
        rows=rows,
        first=start + 1,
        stored=reader.link("/page", url=url),
        previous=_part(reader, url, max(0, start - LISTED_MAX)) if start else "",
        following="" if following is None else _part(reader, url, following),
    )


def _count(reader: Reader, told: BacklinksListed) -> str:
    if not told.n_links:
        return reader.say("backlinks_none")
    numbers = {"n": f"{told.n_links:,}", "domains": f"{told.n_domains:,}"}
    if told.is_exact:
        return reader.say("backlinks_count", **numbers)
    return reader.say("backlinks_about", **numbers)


def _part(reader: Reader, url: str, start: int) -> str:
    asked = {"url": url, "start": str(start)} if start else {"url": url}
    return reader.link("/backlinks", **asked)


def _day(seconds: float) -> str:
    at = utc(seconds)
    return "" if at is None else f"{at:%Y-%m-%d}"
