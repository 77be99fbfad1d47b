"""Whether what some readers of a query open says what others open: the clicks of a real log, in halves.

    python -m tests.benchmarks.bench_click_weights SogouQ_mini.csv

Clients are dealt into two halves. The weights of one half (`click_weights`) order the pages that anybody has
clicked on of a query, those without a weight behind, in the order in which they stood; the first click of
each client of the other half says how well: 1 / its rank in the one order and the other. Position effects
are none, and those of ranks by the share of clicks. The log has no judged pages, and is one source: this
says whether clicks tell, not whether a weight beside other features wins. [io]
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Final

from peers.judging.sign_test import sign_test
from peers.query_log.click_weights import click_weights
from peers.query_log.log_files import LoggedQuery, digest_of, read_log
from peers.query_log.log_row import CLICKS_MAX, GatewayRow, LogRow

RANKS: Final = 10


def rows_of(clicks: Sequence[LoggedQuery]) -> list[GatewayRow]:
    """A row a client, as a mesh logs it."""
    by_client: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for click in clicks:
        by_client[click.client].add((click.rank, click.url))
    return [
        GatewayRow(b"", LogRow(clicks[0].query, (), tuple(sorted(clicked)[:CLICKS_MAX])))
        for clicked in by_client.values()
    ]


def places_of(clicks: Sequence[LoggedQuery]) -> dict[str, int]:
    """The rank at which each page was clicked on most."""
    ranks: dict[str, Counter[int]] = defaultdict(Counter)
    for click in clicks:
        ranks[click.url][click.rank] += 1
    return {url: min(counts, key=lambda rank: (-counts[rank], rank)) for url, counts in ranks.items()}


def reciprocal(order: Sequence[str], url: str) -> float:
    return 1.0 / (1 + order.index(url))


def main(path: Path) -> None:
    """Print means and a sign test, over clients of the other half."""
    by_query: dict[str, list[LoggedQuery]] = defaultdict(list)
    at_rank = Counter[int]()
    for click in read_log(path).entries:
        if 0 < click.rank <= RANKS:
            by_query[click.query].append(click)
            at_rank[click.rank] += 1
    shares = [at_rank[rank] / at_rank[1] for rank in range(1, RANKS + 1)]
    for name, examined in (("every click counts 1", ()), ("by the share of clicks", shares)):
        values: list[tuple[float, float]] = []
        n_queries = 0
        for clicks in by_query.values():
            found = gains(clicks, examined)
            n_queries += bool(found)
            values += found
        told(name, n_queries, values)


def gains(clicks: Sequence[LoggedQuery], examined: Sequence[float]) -> list[tuple[float, float]]:
    """By client of the second half: the reciprocal rank of its first click, as it was and by weights."""
    halves: tuple[list[LoggedQuery], list[LoggedQuery]] = ([], [])
    for click in clicks:
        halves[digest_of(click.client) % 2].append(click)
    first, second = halves
    weights: Mapping[str, int] = dict(click_weights({0: rows_of(first)}, 1, examined)) if first else {}
    if not weights or not second:
        return []
    places = places_of(clicks)
    as_shown = sorted(places, key=lambda url: (places[url], url))
    by_clicks = sorted(as_shown, key=lambda url: -weights.get(url, 0))
    firsts = {click.client: click.url for click in reversed(second)}
    return [(reciprocal(as_shown, url), reciprocal(by_clicks, url)) for url in firsts.values()]


def told(name: str, n_queries: int, values: Sequence[tuple[float, float]]) -> None:
    if not values:
        print(f"{name}: no query has enough clients")
        return
    test = sign_test(
        sum(b > a for a, b in values), sum(b < a for a, b in values), sum(a == b for a, b in values)
    )
    print(
        f"{name}: {n_queries} queries, {len(values)} clients; MRR {mean(a for a, _ in values):.4f} as shown, "
        f"{mean(b for _, b in values):.4f} by clicks; {test.wins} better, {test.losses} worse, p {test.p:.3g}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
