"""The page of hubs and authorities. Without script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from peers.gateway.hubs.hubs_json import HubsJson, LinkedPageJson
from peers.gateway.site.pages import Here, Reader, Wish, address_of, render


class _Row(NamedTuple):
    url: str
    title: str
    address: str
    links: str
    is_result: bool


def hubs_page(reader: Reader, told: HubsJson) -> str:
    """Show both lists."""
    numbers = {"results": told.n_results, "pages": f"{told.n_pages:,}", "links": f"{told.n_links:,}"}
    return render(
        "hubs.html",
        reader,
        Here("/hubs", {"q": told.query}),
        query=told.query,
        count=reader.say("hubs_count", **numbers) if told.n_links else reader.say("hubs_none"),
        is_covered=not (told.silent or told.coverage.missing),
        all_results=Wish(told.query).link(reader),
        authorities=_rows(reader, told.authorities, "hubs_links_to"),
        hubs=_rows(reader, told.hubs, "hubs_links_from"),
    )


def _rows(reader: Reader, pages: Sequence[LinkedPageJson], text: str) -> list[_Row]:
    return [
        _Row(
            each.url,
            each.title or address_of(each.url),
            address_of(each.url),
            reader.say(text, links=each.n_links),
            each.is_result,
        )
        for each in pages
    ]
