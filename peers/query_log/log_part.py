"""The part of the log that leaves the peers that keep it: queries of several clients, and counts of others.

A group is the rows of one query and day. Where fewer than `CLIENTS_TOLD_MIN` clients are in it, only that
there is one more of so many clients is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from peers.handover.item_store import Item, ItemStore, key_of
from peers.query_log.log_row import (
    CLIENTS_TOLD_MIN,
    GROUP_BYTES,
    LogRow,
    name_in,
    preferences_of,
    result_digest,
    results_in,
    row_in,
)
from peers.query_log.wire_messages import (
    GROUPS_MAX,
    LISTS_TOLD_MAX,
    ComparedDay,
    ListShown,
    QueryOfDay,
    RareQueries,
)

ROW_BYTES_READ_MAX: Final = 1 << 20  # of one part: some 10 ms, whatever members write


class LogPart(NamedTuple):
    """The part of some rows that is told."""

    queries: tuple[QueryOfDay, ...]
    rare: tuple[RareQueries, ...]
    next: bytes  # the place of the last of these rows; empty when there are none behind it
    compared: tuple[ComparedDay, ...] = ()


def log_part(
    store: ItemStore, after: bytes, is_told: Callable[[Item], bool], rows_max: int = GROUPS_MAX
) -> LogPart:
    """Read the rows behind a place.

    Args:
      is_told: of the first row of a group, whether that group is told at all.
    """
    items = store.items_after(after, rows_max, ROW_BYTES_READ_MAX)
    groups = [list(group) for _, group in groupby(items, _group_of)]
    is_cut = len(items) == rows_max or sum(len(item.value) for item in items) >= ROW_BYTES_READ_MAX
    # A group that goes on behind these rows is left for the next part, but for one that is larger than parts.
    if is_cut and len(groups) > 1:
        groups.pop()
    queries: list[QueryOfDay] = []
    rare: dict[int, Counter[int]] = {}
    preferred: dict[tuple[int, str], Counter[int]] = {}  # -1 the first, 1 the second, 0 neither
    for group in groups:
        if not is_told(group[0]):
            continue
        day = name_in(group[0].name).day
        _count_preferences(day, group, preferred)
        if len(group) >= CLIENTS_TOLD_MIN or _is_of_many(store, group[0]):
            queries.append(_query_of(day, group))
        else:
            rare.setdefault(day, Counter())[len(group)] += 1
    counts = tuple(
        RareQueries(day, tuple(by_clients[n] for n in range(1, CLIENTS_TOLD_MIN)))
        for day, by_clients in sorted(rare.items())
    )
    compared = tuple(
        ComparedDay(day, comparison, counted[-1], counted[1], counted[0])
        for (day, comparison), counted in sorted(preferred.items())[:GROUPS_MAX]
    )
    return LogPart(tuple(queries), counts, key_of(groups[-1][-1]) if is_cut else b"", compared)


def _count_preferences(
    day: int, group: Sequence[Item], preferred: dict[tuple[int, str], Counter[int]]
) -> None:
    """Add the preferences of the clients of a query and day between two rankings, each once."""
    for item in group:
        row = row_in(item.value)
        if row.credits:
            for comparison, more in preferences_of(row).items():
                preferred.setdefault((day, comparison), Counter())[(more > 0) - (more < 0)] += 1


def _group_of(item: Item) -> tuple[int, bytes]:
    return item.slot, item.name[:GROUP_BYTES]


def _is_of_many(store: ItemStore, item: Item) -> bool:
    """Are there more rows of this group than stand here?"""
    return len(store.items_below(item.slot, item.name[:GROUP_BYTES], CLIENTS_TOLD_MIN)) == CLIENTS_TOLD_MIN


def _query_of(day: int, group: Sequence[Item]) -> QueryOfDay:
    rows: list[LogRow] = [row_in(item.value) for item in group]
    clients, shown = Counter[int](), Counter[int]()
    clicks = Counter[tuple[int, str]]()
    for row in rows:
        for page, n_shown in row.pages:
            clients[page] += 1
            shown[page] = max(shown[page], n_shown)
        clicks.update(row.clicks)
    pages = tuple((page, clients[page], shown[page]) for page in sorted(clients)[:GROUPS_MAX])
    clicked = tuple((rank, url, count) for (rank, url), count in sorted(clicks.items()))
    return QueryOfDay(day, rows[0].query, len(rows), pages, clicked, _lists_of(rows))


def _lists_of(rows: Sequence[LogRow]) -> tuple[ListShown, ...]:
    """Count the clients that were shown one list alone, and their clicks on it, by list."""
    clients = Counter(row.lists[0] for row in rows if len(row.lists) == 1)
    common = [(-count, listed) for listed, count in clients.items() if count >= CLIENTS_TOLD_MIN]
    if not common:
        return ()
    clicks = {listed: [0] * len(results_in(listed)) for _, listed in sorted(common)[:LISTS_TOLD_MAX]}
    for row in rows:
        counts = clicks.get(row.lists[0]) if len(row.lists) == 1 else None
        if counts is not None:
            clicked = {result_digest(url) for _, url in row.clicks}
            for place, result in enumerate(results_in(row.lists[0])):
                counts[place] += result in clicked
    return tuple(ListShown(listed, clients[listed], tuple(counts)) for listed, counts in clicks.items())
