"""Simulated readers: from the log of some rankings the worth of another one is estimated as it is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import NamedTuple

import msgspec
import pytest

from mesh.tables.memory_table import MemoryTable
from peers.handover.item_store import ItemStore
from peers.judging.counterfactual import Estimate, RankingWorth, gain_at, worth_of
from peers.judging.examination import Examination, ShownList, examination_of
from peers.judging.team_draft import DRAWS, coins_of, team_draft
from peers.policy.log_rules import query_digest
from peers.query_log.click_weights import click_weights
from peers.query_log.log_part import log_part
from peers.query_log.log_row import GatewayRow, LogRow, RowName, is_row, join, list_of, number_in, row_bytes
from peers.query_log.wire_messages import ListShown
from simulations.model.click_models import CLICKED_SHARES, cascade_clicks, position_clicks

N_RESULTS = 10
Clicks = Callable[[Sequence[int], Random], list[int]]
MODELS = {"position": position_clicks, "cascade": cascade_clicks}


class Asked(NamedTuple):
    """A query, the grades of its results, and the rankings of them: two that are shown, one that is not."""

    text: str
    grades: Sequence[int]
    first: Sequence[int]
    second: Sequence[int]
    other: Sequence[int]


def name(item: int) -> bytes:
    return item.to_bytes(4, "big")


def ranking(grades: Sequence[int], noise: float, random: Random) -> list[int]:
    return sorted(range(len(grades)), key=lambda each: -(grades[each] + random.gauss(0.0, noise)))


def queries_of(random: Random, count: int) -> list[Asked]:
    found = []
    for number in range(count):
        grades = random.choices((0, 1, 2), (6, 3, 1), k=N_RESULTS)
        found.append(
            Asked(f"q{number}", grades, *(ranking(grades, noise, random) for noise in (1.5, 1.0, 0.3)))
        )
    return found


def logged(queries: Sequence[Asked], n_clients: int, clicks: Clicks, random: Random) -> list[ShownList]:
    """The lists that clients were shown by turns of two rankings, and their clicks, as the log tells them."""
    clients = Counter[tuple[int, tuple[int, ...]]]()
    clicked: dict[tuple[int, tuple[int, ...]], list[int]] = defaultdict(lambda: [0] * N_RESULTS)
    for _ in range(n_clients):
        number = random.randrange(len(queries))
        asked = queries[number]
        coin = coins_of(asked.text, random.randint(1, DRAWS))
        shown = number, tuple(item for item, _ in team_draft(asked.first, asked.second, coin))
        clients[shown] += 1
        for rank in clicks([asked.grades[item] for item in shown[1]], random):
            clicked[shown][rank - 1] += 1
    return [
        ShownList(queries[number].text, [*map(name, items)], count, clicked[number, items])
        for (number, items), count in sorted(clients.items())
    ]


def true_worth(queries: Sequence[Asked], lists: Sequence[ShownList]) -> tuple[float, float]:
    """The worth of the ranking that nobody was shown, for those that asked, by what readers look for."""
    asked_by = Counter[str]()
    for shown in lists:
        asked_by[shown.query] += shown.clients
    gained = looked_for = 0.0
    for asked in queries:
        wanted = [CLICKED_SHARES[asked.grades[item]] for item in asked.other]
        gained += asked_by[asked.text] * sum(each * gain_at(place) for place, each in enumerate(wanted))
        looked_for += asked_by[asked.text] * sum(wanted)
    return gained / asked_by.total(), gained / looked_for


def estimated(queries: Sequence[Asked], lists: Sequence[ShownList], shares: Examination) -> RankingWorth:
    rankings = {asked.text: [*map(name, asked.other)] for asked in queries}
    return worth_of(rankings, lists, shares)


def is_within(truth: float, estimate: Estimate) -> bool:
    return estimate.low <= truth <= estimate.high


@pytest.mark.parametrize("model", MODELS)
def test_the_worth_of_a_ranking_that_nobody_saw_is_within_its_error_bars(model: str) -> None:
    """Two of six may be outside: of 52 such estimates 48 were within, and of six 4 or more are, mostly."""
    within = 0
    for seed in range(3):
        random = Random(seed)
        queries = queries_of(random, 60)
        lists = logged(queries, 4_000, MODELS[model], random)
        examination = examination_of(lists)
        truth, found = true_worth(queries, lists), estimated(queries, lists, examination)
        within += is_within(truth[0], found.clipped) + is_within(truth[1], found.normalised)
        assert (examination.model == "cascade") == (model == "cascade")
        assert found.clicks > 0
        assert found.unknown == found.unplaced == 0
        assert 0 < found.normalised.high - found.normalised.low < 0.4 * truth[1]
    assert within >= 4


def test_clicks_as_they_are_say_something_else() -> None:
    """Weighed by no propensity, the log prefers what its own rankings showed first."""
    random = Random(3)
    queries = queries_of(random, 60)
    lists = logged(queries, 4_000, position_clicks, random)
    truth, found = true_worth(queries, lists), examination_of(lists)
    naive = estimated(queries, lists, found._replace(by_list=found.by_list * 0 + 1.0))
    assert naive.clipped.value < 0.8 * truth[0]
    assert abs(estimated(queries, lists, found).clipped.value - truth[0]) < 0.15 * truth[0]


def test_shares_of_places_are_found_from_results_that_moved_and_no_others() -> None:
    """Two queries, whose results are of another worth: 40 and 80 % of those that look click."""
    looked = (1.0, 0.5, 0.25)
    lists = [
        ShownList(
            f"q{number}",
            [bytes([place]) for place in order],
            1_000,
            [int(1_000 * share * worth) for share in looked],
        )
        for number, worth in enumerate((0.4, 0.8))
        for order in ((1, 2, 3), (2, 3, 1))
    ]
    found = examination_of(lists)
    assert found.ranks[:3] == pytest.approx(looked, abs=0.01)
    assert found.ranks[3:] == (None,) * 7
    still = examination_of(lists[::2])
    assert (still.moved, still.ranks[1:]) == (0, (None,) * 9)


def test_where_nothing_moved_only_the_first_place_is_looked_at_by_all() -> None:
    found = examination_of([ShownList("q", [b"a", b"b", b"c"], 8, [4, 1, 1])])
    assert found.moved == 0
    assert found.ranks[:2] == (1.0, None), "half of the readers clicked there: no fewer can have looked"


def test_a_flood_of_one_client_moves_no_weight_and_a_count_by_one() -> None:
    """One row a query and day, whatever it does: on 20 days, of all pages, in lists that it makes up."""
    random = Random(8)
    urls = [f"http://h{item}.test/" for item in range(N_RESULTS)]
    listed = list_of(urls)
    by_day = {
        day: [row_of(urls, listed, position_clicks((2, 1, 0, 0, 0), random)) for _ in range(30)]
        for day in range(20)
    }
    flood = row_of(["http://spam.test/", *urls[1:]], listed, range(1, 11))
    made_up = msgspec.structs.replace(flood, lists=(list_of(reversed(urls)),))
    flooded = {day: [*rows, flood if day % 2 else made_up] for day, rows in by_day.items()}
    before, after = (
        click_weights({day: [GatewayRow(b"a", row) for row in rows] for day, rows in each.items()}, 20)
        for each in (by_day, flooded)
    )
    assert "http://spam.test/" not in {each.url for each in after}
    assert {each.url for each in before} == {each.url for each in after} >= set(urls[:2])
    assert (
        max(abs(a.weight - b.weight) for a, b in zip(before, after, strict=True)) <= 1_000 / 20
    )  # clicks a day
    assert [each.url for each in before[:2]] == [each.url for each in after[:2]]
    counted, flooded_too = (told_of([*by_day[0], *more]) for more in ((), (made_up,)))
    assert flooded_too == counted
    (shown,) = told_of([*by_day[0], flood])
    assert shown.clients == counted[0].clients + 1
    assert all(0 <= b - a <= 1 for a, b in zip(counted[0].clicks, shown.clicks, strict=True))


def row_of(urls: Sequence[str], listed: bytes, ranks: Iterable[int]) -> LogRow:
    clicks = tuple((rank, urls[rank - 1]) for rank in ranks)
    return LogRow("q", ((1, N_RESULTS),), clicks, (), (listed,))


def told_of(rows: Sequence[LogRow]) -> tuple[ListShown, ...]:
    """The lists that the log tells of the rows of a query and day."""
    store = ItemStore(MemoryTable(), join)
    for client, row in enumerate(rows):
        row_name = RowName(query_digest("q"), 1, client.to_bytes(8, "big")).encoded
        assert is_row(row_name, row_bytes(row))
        store.put(number_in(row_name) % 64, row_name, row_bytes(row))
    (query,) = log_part(store, b"", lambda item: True).queries
    return query.lists
