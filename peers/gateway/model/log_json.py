"""The JSON of /api/log, as commands and other programs read it."""

from __future__ import annotations

from datetime import date

import msgspec

from peers.gateway.model.messages import LogFound
from peers.policy.log_rules import day_of
from peers.query_log.log_row import results_in
from peers.query_log.wire_messages import ListShown


class PageShownJson(msgspec.Struct, frozen=True):
    """A page of results of a query on a day."""

    page: int
    clients: int
    hits: int  # on it, at most


class ClickJson(msgspec.Struct, frozen=True):
    """Clicks on a result of a query on a day."""

    rank: int
    url: str
    clients: int


class ListShownJson(msgspec.Struct, frozen=True):
    """A first page of results that at least five clients were shown on a day, and no other one."""

    results: tuple[str, ...]  # digests of URLs, in hexadecimal digits
    clients: int
    clicks: tuple[int, ...]  # clients that clicked on each


class LoggedQueryJson(msgspec.Struct, frozen=True, omit_defaults=True):
    """A query that at least five clients have asked on a day, or a part of very many."""

    day: date
    query: str
    clients: int
    pages: tuple[PageShownJson, ...]
    clicks: tuple[ClickJson, ...]
    lists: tuple[ListShownJson, ...] = ()


class RareQueriesJson(msgspec.Struct, frozen=True):
    """How many queries of a day were asked by one client, by two, three and four."""

    day: date
    queries: tuple[int, ...]


class ComparedJson(msgspec.Struct, frozen=True):
    """The preferences of readers between two rankings on one day, each once for a query."""

    day: date
    comparison: str  # name of the second ranking, and a digest of its weights
    first: int  # preferred the ranking in force
    second: int
    ties: int


class LogPartJson(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of the log; `peer` and `next` lead on to the one behind it, `peers` to those of others."""

    peers: tuple[str, ...]  # all that have a part of the log
    peer: str  # whose this is
    queries: tuple[LoggedQueryJson, ...]
    rare: tuple[RareQueriesJson, ...]
    next: str  # for `after`; "" at the end of this peer
    compared: tuple[ComparedJson, ...] = ()


def log_json(found: LogFound) -> LogPartJson:
    """Return the part of the log that a peer has told."""
    queries = tuple(
        LoggedQueryJson(
            day_of(each.day),
            each.query,
            each.clients,
            tuple(PageShownJson(*page) for page in each.pages),
            tuple(ClickJson(*click) for click in each.clicks),
            tuple(_list_json(shown) for shown in each.lists),
        )
        for each in found.told.queries
    )
    rare = tuple(RareQueriesJson(day_of(each.day), each.queries) for each in found.told.rare)
    compared = tuple(
        ComparedJson(day_of(each.day), each.comparison, each.first, each.second, each.ties)
        for each in found.told.compared
    )
    return LogPartJson(found.peers, found.peer, queries, rare, found.told.next.hex(), compared)


def _list_json(shown: ListShown) -> ListShownJson:
    results = tuple(each.hex() for each in results_in(shown.results))
    return ListShownJson(results, shown.clients, shown.clicks)
