"""The weight that readers' clicks give the pages of a query: WUD, WUA and WUC of the book. Pure.

Of one day, WUD is the sum of a page's clicks, each times the position effect c of its rank: how many times
less results of that rank are looked at than the first, CLIP at most. Over days, WUA = WUD + k WUA of the day
before, k = KEPT_SHARE. A page that is new to a query has WUC = NEW_SHARE of the largest WUA instead, where
that is more. The weight is WU = max(WUA, WUC) / (the largest of the query), 0 to 1.

Clients count, once for a query and day. A page of which fewer than `CLIENTS_TOLD_MIN` clients have opened the
link on a day has no clicks on that day, so that one client moves nothing, however many days it goes on. Today
does not count yet: weights change at midnight only, and a flood has to last until then.

Source: Li, Yan, Wang 2004, section 10.3, (10-1) to (10-5); the book's c are P(page 1) / P(page) of clicks of
whole pages of results, up to 40. Clipped weights are Joachims, Swaminathan, Schnabel, WSDM 2017.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from peers.query_log.log_row import (
    CLIENTS_TOLD_MIN,
    WEIGHT_WHOLE,
    WEIGHTS_MAX,
    LogRow,
    result_digest,
    results_in,
)

CLIP: Final = 10.0
KEPT_SHARE: Final = 0.9  # of a weight from day to day: half of it after 6.6 days
NEW_SHARE: Final = 0.1
NEW_DAYS: Final = 7  # since a page was first in a list of the query, and the query had lists before
DAYS_COUNTED: Final = 21  # those before count for a ninth at most


class ClickWeight(NamedTuple):
    """The weight of a page for a query."""

    url: str
    weight: int  # in thousandths, 1 to WEIGHT_WHOLE


def click_weights(
    by_day: Mapping[int, Sequence[LogRow]], today: int, examined: Sequence[float] = ()
) -> list[ClickWeight]:
    """Return the weights of the pages of a query that several clients have opened, the greatest first.

    Args:
      by_day: the rows of a query, by days since the epoch, each of another client.
      today: its rows and those of later days do not count.
      examined: the share of readers that look at each rank, from the first one on. Those of ranks behind are
        not known: they count as the last one. Empty where none is known: each click counts 1.
    """
    days = [day for day in sorted(by_day) if today - DAYS_COUNTED <= day < today]
    weights: dict[str, float] = {}
    before = 0
    for day in days:
        kept = KEPT_SHARE ** (day - before)
        weights = {url: weight * kept for url, weight in weights.items()}
        for url, weight in _weights_of_day(by_day[day], examined).items():
            weights[url] = weights.get(url, 0.0) + weight
        before = day
    if not weights:
        return []
    greatest = max(weights.values())
    for url in _new_urls(by_day, days, weights):
        weights[url] = max(weights[url], NEW_SHARE * greatest)
    told = (ClickWeight(url, round(WEIGHT_WHOLE * weight / greatest)) for url, weight in weights.items())
    return sorted((each for each in told if each.weight), key=lambda each: (-each.weight, each.url))[
        :WEIGHTS_MAX
    ]


def position_effect(rank: int, examined: Sequence[float]) -> float:
    """Return c of a rank, 1 to CLIP."""
    if not examined:
        return 1.0
    share = examined[min(rank, len(examined)) - 1]
    return min(CLIP, max(1.0, examined[0] / share)) if share > 0 else CLIP


def _weights_of_day(rows: Iterable[LogRow], examined: Sequence[float]) -> dict[str, float]:
    """Return WUD by URL. A client that has clicked on a page at several ranks counts at the first of them."""
    clients, weights = Counter[str](), defaultdict[str, float](float)
    for row in rows:
        ranks = {url: rank for rank, url in reversed(row.clicks)}
        for url, rank in ranks.items():
            clients[url] += 1
            weights[url] += position_effect(rank, examined)
    return {url: weight for url, weight in weights.items() if clients[url] >= CLIENTS_TOLD_MIN}


def _new_urls(by_day: Mapping[int, Sequence[LogRow]], days: Sequence[int], urls: Iterable[str]) -> list[str]:
    """Return the pages that were first shown lately, and others before."""
    first_shown: dict[bytes, int] = {}
    for day in days:
        for row in by_day[day]:
            for listed in row.lists:
                for result in results_in(listed):
                    first_shown.setdefault(result, day)
    if not first_shown:
        return []
    first_day = min(first_shown.values())
    new = {url: first_shown.get(result_digest(url), first_day) for url in urls}
    return [url for url, day in new.items() if day > max(first_day, days[-1] - NEW_DAYS)]
