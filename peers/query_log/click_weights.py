"""The weight that readers' clicks give the pages of a query: WUD, WUA and WUC of the book. Pure.

Of one day, WUD is the sum of a page's clicks, each times the position effect c of its rank: how many times
less results of that rank are looked at than the first, CLIP at most. Over days, WUA = WUD + k WUA of the day
before, k = KEPT_SHARE. A page that is new to a query has WUC = NEW_SHARE of the largest WUA instead, where
that is more. The weight is WU = max(WUA, WUC) / (the largest of the query), 0 to 1.

Clients count, once for a query and day. A page of which fewer than `CLIENTS_TOLD_MIN` clients have opened the
link on a day has no clicks on that day, so that one client moves nothing, however many days it goes on. Today
does not count yet: weights change at midnight only, and a flood has to last until then.

Gateways are not believed either: of the clients of a page on a day, and of its WUD, none gives more than one
part in `gateways`, whatever it says. With 2 one that makes up clients gives a page that nobody else opens
nothing, and one that others open no more than these do together.

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
    GatewayRow,
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
    by_day: Mapping[int, Sequence[GatewayRow]],
    today: int,
    examined: Sequence[float] = (),
    gateways: int = 1,
) -> list[ClickWeight]:
    """Return the weights of the pages of a query that several clients have opened, the greatest first.

    Args:
      by_day: the rows of a query, by days since the epoch, each of another client.
      today: its rows and those of later days do not count.
      examined: the share of readers that look at each rank, from the first one on. Those of ranks behind are
        not known: they count as the last one. Empty where none is known: each click counts 1.
      gateways: that have to agree, see above.
    """
    days = [day for day in sorted(by_day) if today - DAYS_COUNTED <= day < today]
    weights: dict[str, float] = {}
    before = 0
    for day in days:
        kept = KEPT_SHARE ** (day - before)
        weights = {url: weight * kept for url, weight in weights.items()}
        for url, weight in _weights_of_day(by_day[day], examined, gateways).items():
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


def bounded_sum(parts: Iterable[float], gateways: int) -> float:
    """Return the sum of the parts of gateways, each counting for one in `gateways` of it at most.

    Where k of n gateways are cut down to the share c that each may have, and the others give R, it is
    k c + R = n c, so c = R / (n - k), and the sum the least of n R / (n - k).
    """
    by_size = sorted(parts, reverse=True)
    return min(gateways * sum(by_size[k:]) / (gateways - k) for k in range(gateways))


def _weights_of_day(rows: Iterable[GatewayRow], examined: Sequence[float], gateways: int) -> dict[str, float]:
    """Return WUD by URL. A client that has clicked on a page at several ranks counts at the first of them."""
    clients, weights = defaultdict[str, Counter[bytes]](Counter), defaultdict[str, dict[bytes, float]](dict)
    for gateway, row in rows:
        ranks = {url: rank for rank, url in reversed(row.clicks)}
        for url, rank in ranks.items():
            clients[url][gateway] += 1
            of_url = weights[url]
            of_url[gateway] = of_url.get(gateway, 0.0) + position_effect(rank, examined)
    return {
        url: bounded_sum(of_url.values(), gateways)
        for url, of_url in weights.items()
        if bounded_sum(clients[url].values(), gateways) >= CLIENTS_TOLD_MIN
    }


def _new_urls(
    by_day: Mapping[int, Sequence[GatewayRow]], days: Sequence[int], urls: Iterable[str]
) -> list[str]:
    """Return the pages that were first shown lately, and others before."""
    first_shown: dict[bytes, int] = {}
    for day in days:
        for _, row in by_day[day]:
            for listed in row.lists:
                for result in results_in(listed):
                    first_shown.setdefault(result, day)
    if not first_shown:
        return []
    first_day = min(first_shown.values())
    new = {url: first_shown.get(result_digest(url), first_day) for url in urls}
    return [url for url, day in new.items() if day > max(first_day, days[-1] - NEW_DAYS)]
