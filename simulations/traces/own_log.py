"""The log of searches of a running mesh, read from a gateway as the logs of other engines are. [io]

A gateway tells counts: of a query and day how many clients were shown which page, and clicked on which
result. They become entries again, of as many clients; which of these clicked on what is not told, nor in
which order they came, so no figure is drawn of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from itertools import count

import msgspec
from msgspec.structs import replace

from mesh.client.gateway_client import GatewayClient
from peers.gateway.model.log_json import LoggedQueryJson, LogPartJson, RareQueriesJson
from peers.options import read_told
from peers.query_log.log_files import PAGE_RESULTS, LoggedQuery, QueryLog
from peers.query_log.log_row import is_loggable
from simulations.traces.query_statistics import QueryStatistics, statistics_of

LAYOUT = "the log of this mesh"


def read_parts(client: GatewayClient) -> Iterator[LogPartJson]:
    """Read the whole log, peer by peer.

    Raises:
      GatewayError: a peer does not tell its part.
    """
    peers = read_told(client.log(), LogPartJson).peers
    for peer in peers:
        after = ""
        while True:
            part = read_told(client.log(peer, after), LogPartJson)
            yield part
            after = part.next
            if not after:
                break


def entries_of(queries: Iterable[LoggedQueryJson]) -> Iterator[LoggedQuery]:
    """Yield a request for each client and page, and behind it the clicks there, in the order of days."""
    numbers = count(1)
    for query in sorted(queries, key=lambda each: each.day):
        at = _seconds(query.day)
        clients = [str(next(numbers)) for _ in range(query.clients)] if is_loggable(query.query) else []
        for place, client in enumerate(clients):
            for page in query.pages:
                if place < page.clients:
                    yield LoggedQuery(query.query, at, client, page.page)
                    yield from _clicks(query, at, client, place, page.page)


def _clicks(query: LoggedQueryJson, at: float, client: str, place: int, page: int) -> Iterator[LoggedQuery]:
    for click in query.clicks:
        is_there = (click.rank - 1) // PAGE_RESULTS + 1 == page
        if is_there and place < click.clients and click.url.isprintable():
            yield LoggedQuery(query.query, at, client, page, click.rank, click.url)


def _rare_entries(rare: Iterable[RareQueriesJson]) -> Iterator[LoggedQuery]:
    """Yield requests for queries that have no text: they count as others do."""
    numbers = count(1)
    for each in sorted(rare, key=lambda each: each.day):
        for clients, n_queries in enumerate(each.queries, 1):
            for _ in range(n_queries):
                nameless = f"\0{next(numbers)}"
                yield from (LoggedQuery(nameless, _seconds(each.day)) for _ in range(clients))


class Unmet(msgspec.Struct, frozen=True):
    """A query that many ask and for which the mesh has little."""

    query: str
    clients: int  # summed over days
    hits: int  # on the first page, on the last day on which it was asked
    day: date  # that day


def unmet(parts: Iterable[LogPartJson], hits_min: int) -> list[Unmet]:
    """Return the queries with fewer hits than `hits_min`, those of most clients first.

    Of a query that found more on a later day the later day counts. Where the first page was shown to nobody,
    as by a link to the second, that day does not count.
    """
    clients = Counter[str]()
    last: dict[str, tuple[date, int]] = {}
    for query in (query for part in parts for query in part.queries if is_loggable(query.query)):
        clients[query.query] += query.clients
        hits = [page.hits for page in query.pages if page.page == 1]
        if hits:
            last[query.query] = max(last.get(query.query, (date.min, 0)), (query.day, hits[0]))
    found = [Unmet(text, clients[text], hits, day) for text, (day, hits) in last.items() if hits < hits_min]
    return sorted(found, key=lambda each: (-each.clients, each.query))


def own_statistics(parts: Iterable[LogPartJson]) -> QueryStatistics:
    """Return the figures of the log: of all queries how often they are asked, of those told all else.

    Raises:
      ConfigError: scipy is not installed.
    """
    queries: list[LoggedQueryJson] = []
    rare: list[RareQueriesJson] = []
    for part in parts:
        queries += part.queries
        rare += part.rare
    told = statistics_of(QueryLog(LAYOUT, entries_of(queries)))
    entries = (entry for some in (entries_of(queries), _rare_entries(rare)) for entry in some)
    found = statistics_of(QueryLog(LAYOUT, entries))
    return replace(
        found,
        clients=0,
        page_shares=told.page_shares,
        late_pages_share=told.late_pages_share,
        backwards_share=0.0,
        order=None,
        repeats=None,
    )


def _seconds(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
