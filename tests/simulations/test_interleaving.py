"""Simulated readers of two rankings: a better one is found, equal ones are not, floods move nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

import pytest

from mesh.tables.memory_table import MemoryTable
from peers.handover.item_store import ItemStore
from peers.judging.sign_test import LEVEL, SignTest, sign_test
from peers.judging.team_draft import DRAWS, coins_of, team_draft
from peers.policy.log_rules import query_digest
from peers.query_log.log_part import log_part
from peers.query_log.log_row import LogRow, RowName, join, joined, number_in, row_bytes
from simulations.model.click_models import CLICKED_SHARES, cascade_clicks, position_clicks

COMPARISON = "other.00000000"
N_RESULTS = 10
SLOTS = 64
Clicks = Callable[[Sequence[int], Random], list[int]]
MODELS = (position_clicks, cascade_clicks)


class Asked(NamedTuple):
    """A query, the grades of its results, and two rankings of them."""

    text: str
    grades: Sequence[int]
    first: Sequence[int]
    second: Sequence[int]


def ranking(grades: Sequence[int], noise: float, random: Random) -> list[int]:
    """Order results by their grades, of which a ranking knows the less the more noise there is."""
    return sorted(range(len(grades)), key=lambda each: -(grades[each] + random.gauss(0.0, noise)))


def queries_of(random: Random, noise: tuple[float, float], count: int) -> list[Asked]:
    """Return queries; with the same noise each also with the rankings exchanged, so that they are equal."""
    found = []
    for number in range(count):
        grades = random.choices((0, 1, 2), (6, 3, 1), k=N_RESULTS)
        first, second = (ranking(grades, each, random) for each in noise)
        found.append(Asked(f"q{number}", grades, first, second))
        if noise[0] == noise[1]:
            found.append(Asked(f"mirrored {number}", grades, second, first))
    return found


def row_of(asked: Asked, draw: int, clicks: Clicks, random: Random) -> LogRow:
    """Return what is logged of one client that asks this."""
    drafted = list(team_draft(asked.first, asked.second, coins_of(asked.text, draw)))
    row = LogRow(asked.text, ((1, N_RESULTS),))
    for rank in clicks([asked.grades[item] for item, _ in drafted], random):
        credited = ((COMPARISON, rank, int(drafted[rank - 1][1])),)
        row = joined(row, LogRow(asked.text, (), ((rank, f"http://h/{rank}"),), credited))
    return row


def told(rows: dict[bytes, bytes]) -> SignTest:
    """Test by the counts that the log tells of such rows."""
    store = ItemStore(MemoryTable(), join)
    for name, value in rows.items():
        store.put(number_in(name) % SLOTS, name, value)
    part = log_part(store, b"", lambda item: True, rows_max=len(rows) + 1)
    (compared,) = part.compared
    assert compared.comparison == COMPARISON
    return sign_test(compared.second, compared.first, compared.ties)


def counted(queries: Sequence[Asked], n_clients: int, clicks: Clicks, random: Random) -> SignTest:
    """Test by the rows of clients that each ask one of the queries."""
    outcomes = [0, 0, 0]
    for _ in range(n_clients):
        row = row_of(random.choice(queries), random.randint(1, DRAWS), clicks, random)
        more = sum(1 if team else -1 for _, _, team in row.credits)
        if row.credits:
            outcomes[(more > 0) - (more < 0)] += 1
    return sign_test(outcomes[1], outcomes[-1], outcomes[0])


@pytest.mark.parametrize("clicks", MODELS)
def test_a_planted_better_ranking_is_found(clicks: Clicks) -> None:
    random = Random(5)
    queries = queries_of(random, (1.5, 0.3), 100)
    rows: dict[bytes, bytes] = {}
    for client in range(2_000):
        asked = random.choice(queries)
        name = RowName(query_digest(asked.text), 1, client.to_bytes(8, "big")).encoded
        rows[name] = row_bytes(row_of(asked, random.randint(1, DRAWS), clicks, random))
    found = told(rows)
    assert found.p < 0.001
    assert found.low > 0.5
    assert found.wins + found.losses + found.ties <= 2_000


@pytest.mark.parametrize("clicks", MODELS)
def test_the_worse_ranking_is_found_to_be_worse(clicks: Clicks) -> None:
    found = counted(queries_of(Random(6), (0.3, 1.5), 100), 2_000, clicks, Random(7))
    assert found.p < 0.001
    assert found.high < 0.5


@pytest.mark.parametrize("clicks", MODELS)
def test_equal_rankings_are_told_apart_no_more_often_than_the_level_says(clicks: Clicks) -> None:
    """Of 400 comparisons at most 5 % are expected: 20, of standard deviation 4.4."""
    wrong = 0
    for seed in range(400):
        random = Random(10_000 + seed)
        wrong += counted(queries_of(random, (0.8, 0.8), 20), 150, clicks, random).p < LEVEL
    assert wrong <= 20 + 3 * 4.4


@pytest.mark.parametrize("clicks", MODELS)
def test_better_rankings_are_found_the_more_often_the_more_people_ask(clicks: Clicks) -> None:
    shares = []
    for n_clients in (50, 800):
        found = 0
        for seed in range(40):
            random = Random(20_000 + seed)
            found += counted(queries_of(random, (1.2, 0.6), 50), n_clients, clicks, random).p < LEVEL
        shares.append(found / 40)
    assert shares[0] < shares[1]
    assert shares[1] > 0.8


def test_a_client_that_clicks_on_everything_again_and_again_counts_once() -> None:
    random = Random(8)
    queries = queries_of(random, (0.8, 0.8), 20)
    rows = {
        RowName(query_digest(asked.text), 1, client.to_bytes(8, "big")).encoded: row_bytes(
            row_of(asked, random.randint(1, DRAWS), position_clicks, random)
        )
        for client, asked in enumerate(random.choices(queries, k=200))
    }
    before = told(rows)
    flooding = RowName(query_digest(queries[0].text), 1, b"flooding").encoded
    row = row_bytes(LogRow(queries[0].text, ((1, N_RESULTS),)))
    drafted = list(team_draft(queries[0].first, queries[0].second, coins_of(queries[0].text, 3)))
    for _ in range(300):
        for rank, (_, team) in enumerate(drafted, 1):
            if team:
                credited = LogRow(queries[0].text, (), ((rank, "http://h/"),), ((COMPARISON, rank, 1),))
                row = join(row, row_bytes(credited))
    after = told(rows | {flooding: row})
    assert (after.wins, after.losses, after.ties) == (before.wins + 1, before.losses, before.ties)


def test_the_models_of_readers_are_what_they_say() -> None:
    random = Random(9)
    grades = (2, 0, 1, 2)
    by_place, by_cascade = [0] * 4, [0] * 4
    for _ in range(20_000):
        for rank in position_clicks(grades, random):
            by_place[rank - 1] += 1
        for rank in cascade_clicks(grades, random):
            by_cascade[rank - 1] += 1
    for place, grade in enumerate(grades):
        assert by_place[place] / 20_000 == pytest.approx(CLICKED_SHARES[grade] / (place + 1), abs=0.012)
    # The first result is looked at by all; 0.8 click, and 0.8 of these stop: 0.36 look at the second.
    assert by_cascade[0] / 20_000 == pytest.approx(0.8, abs=0.012)
    assert by_cascade[1] / 20_000 == pytest.approx(0.36 * 0.05, abs=0.005)
