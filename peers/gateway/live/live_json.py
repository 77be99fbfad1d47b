"""The JSON of a live search, one after each round."""

from __future__ import annotations

import msgspec

from peers.gateway.live.live_search import LiveEnd, LiveSearch
from peers.gateway.site.found_json import FoundJson, found_json


class WantedJson(msgspec.Struct, frozen=True):
    """A page that was moved to the front of its host's queue."""

    url: str
    promise: float  # of the texts of links to it and of its path, 0 to 1
    is_stored: bool


class LiveJson(msgspec.Struct, frozen=True):
    """The state of a live search."""

    is_over: bool
    why_over: LiveEnd
    seconds: float
    wanted: list[WantedJson]  # in the order in which they were chosen
    new: list[str]  # those of the hits that were none at first
    found: FoundJson


def live_json(search: LiveSearch, began: float, now: float, end: LiveEnd) -> LiveJson:
    """Return the state after an answer has come."""
    assert search.found is not None
    shown = msgspec.structs.replace(search.found, hits=search.found.hits[: search.wish.k], next="")
    return LiveJson(
        is_over=bool(end),
        why_over=end,
        seconds=round(now - began, 1),
        wanted=[WantedJson(url, promise, url in search.stored) for url, promise in search.hastened.items()],
        new=search.new,
        found=found_json(search.wish.q, shown, search.found.seconds),
    )
