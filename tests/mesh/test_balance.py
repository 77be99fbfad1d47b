"""Weights by queue length: the thesis's rule, its bounds, and that it comes to rest."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from random import Random

import pytest

from mesh.membership.own.balance import (
    RETURN_INTERVALS,
    BalanceSettings,
    MemberLoad,
    fraction_to_move,
    weight_for,
)

SETTINGS = BalanceSettings(threshold=1_000, ratio=2.0, interval_s=60.0)


def shares(**queues: int | None) -> dict[str, MemberLoad]:
    return {peer: MemberLoad(100, 100, queue) for peer, queue in queues.items()}


def decided(now: dict[str, MemberLoad], settings: BalanceSettings = SETTINGS) -> dict[str, int]:
    return {peer: weight_for(peer, 100, now, settings, unchanged_s=inf) for peer in now}


@pytest.mark.parametrize(
    ("longest", "shortest", "expected"),
    [(100, 100, 0.0), (200, 100, 0.25), (400, 100, 0.375), (100, 0, 0.5), (0, 0, 0.0)],
)
def test_thesis_fraction_is_a_half_less_a_half_of_the_inverse_ratio(
    longest: int, shortest: int, expected: float
) -> None:
    assert fraction_to_move(longest, shortest) == expected


def test_the_longest_gives_to_the_shortest_and_nobody_else_moves() -> None:
    assert decided(shares(a=8_000, b=1_000, c=5_000)) == {"a": 56, "b": 144, "c": 100}


@pytest.mark.parametrize("first", ["a", "b"])
def test_the_second_to_act_reckons_with_the_same_shares_as_the_first(first: str) -> None:
    now = shares(a=8_000, b=1_000, c=5_000)
    expected = decided(now)
    now[first] = now[first]._replace(weight=expected[first])
    assert decided(now) == expected


@pytest.mark.parametrize(
    "now",
    [
        shares(a=999, b=0),  # below N
        shares(a=2_000, b=1_000),  # K is not above a
        shares(a=8_000, b=None),
        shares(a=8_000, b=1_000) | {"c": MemberLoad(100, 0, 5_000)},  # a move is under way
        {"a": MemberLoad(100, 100, 8_000), "b": MemberLoad(0, 0, 0)},  # b is drained, or crawls nothing
    ],
)
def test_nothing_moves(now: dict[str, MemberLoad]) -> None:
    assert decided(now) == {peer: share.weight for peer, share in now.items()}


def test_a_policy_that_is_off_moves_nothing() -> None:
    assert set(decided(shares(a=8_000, b=1_000), BalanceSettings(is_enabled=False)).values()) == {100}


def test_a_weight_stays_within_half_and_double_of_what_was_wanted() -> None:
    now = {"a": MemberLoad(55, 55, 90_000), "b": MemberLoad(190, 190, 0)}
    assert decided(now) == {"a": 50, "b": 200}
    for wanted in (1, 3, 5):
        near = {"a": MemberLoad(wanted, wanted, 90_000), "b": MemberLoad(wanted, wanted, 0)}
        least, most = (weight_for(peer, wanted, near, SETTINGS, unchanged_s=inf) for peer in "ab")
        assert wanted / 2 <= least <= most <= 2 * wanted


def test_the_band_around_the_wanted_weight_is_a_setting() -> None:
    settings = BalanceSettings(threshold=1_000, ratio=2.0, stretch_max=4.0)
    now = {"a": MemberLoad(30, 30, 90_000), "b": MemberLoad(390, 390, 0)}
    assert decided(now, settings) == {"a": 25, "b": 400}


def test_a_queue_that_is_short_beside_the_pages_to_be_carried_moves_nothing() -> None:
    kept = MemberLoad(100, 100, 8_000, pages=80_001)
    assert decided({"a": kept, "b": MemberLoad(100, 100, 100)}) == {"a": 100, "b": 100}
    assert decided({"a": kept._replace(pages=80_000), "b": MemberLoad(100, 100, 0)}) == {"a": 50, "b": 150}


def test_weights_go_back_at_once_when_nothing_has_been_queued_for_an_interval() -> None:
    now = {"a": MemberLoad(55, 55, 0), "b": MemberLoad(190, 190, 0)}
    for peer, share in now.items():
        for empty_s, expected in ((SETTINGS.interval_s - 1, share.weight), (SETTINGS.interval_s, 100)):
            weight = weight_for(peer, 100, now, SETTINGS, unchanged_s=90.0, empty_s=empty_s)
            assert weight == expected


def test_weights_go_back_later_while_a_little_is_queued() -> None:
    now = {"a": MemberLoad(190, 190, 10), "b": MemberLoad(100, 100, 0)}
    late_s = RETURN_INTERVALS * SETTINGS.interval_s
    assert weight_for("a", 100, now, SETTINGS, unchanged_s=late_s - 1) == 190
    assert weight_for("a", 100, now, SETTINGS, unchanged_s=late_s) == 168
    now = {"a": MemberLoad(100, 100, 10), "b": MemberLoad(100, 100, 0)}
    assert weight_for("a", 100, now, SETTINGS, unchanged_s=inf) == 100


def test_nothing_moves_again_before_its_time() -> None:
    now = shares(a=8_000, b=1_000)
    assert weight_for("a", 100, now, SETTINGS, unchanged_s=SETTINGS.interval_s - 1) == 100
    assert weight_for("a", 100, now, SETTINGS, unchanged_s=SETTINGS.interval_s) == 56


class Crawl:
    """Peers with queues: slots bring URLs by their share, the queue of a slot moves with it.

    Time goes in steps of a policy's interval; within each, peers act one after the other in random order, and
    a move is over before the next step.
    """

    def __init__(self, capacities: list[float], arrivals: float, queues: list[float], seed: int) -> None:
        self.random = Random(seed)
        self.capacities, self.arrivals, self.queues = capacities, arrivals, queues
        self.weights = [100] * len(capacities)
        self.changed_at = [-inf] * len(capacities)
        self.signs: list[list[int]] = [[] for _ in capacities]  # of the changes, in order
        self.now = 0.0

    def run(self, steps: int) -> int:
        """Return how often a weight was changed."""
        before = sum(map(len, self.signs))
        for _ in range(steps):
            self._step()
        return sum(map(len, self.signs)) - before

    def reversals(self) -> int:
        return sum(a != b for signs in self.signs for a, b in pairwise(signs))

    def _step(self) -> None:
        self.now += BalanceSettings().interval_s
        served = list(self.weights)
        for peer in self.random.sample(range(len(served)), len(served)):
            self._decide(peer, served)
        self._move(served)
        total = sum(self.weights)
        for i, (weight, capacity) in enumerate(zip(self.weights, self.capacities, strict=True)):
            self.queues[i] = max(0.0, self.queues[i] + self.arrivals * weight / total - capacity)

    def _decide(self, peer: int, served: list[int]) -> None:
        now = {
            f"p{i}": MemberLoad(weight, served[i], round(self.queues[i] * self.random.uniform(0.9, 1.1)))
            for i, weight in enumerate(self.weights)
        }
        unchanged_s = self.now - self.changed_at[peer]
        weight = weight_for(f"p{peer}", 100, now, BalanceSettings(), unchanged_s=unchanged_s)
        if weight != self.weights[peer]:
            self.signs[peer].append(1 if weight > self.weights[peer] else -1)
            self.weights[peer] = weight
            self.changed_at[peer] = self.now

    def _move(self, served: list[int]) -> None:
        """Who has a smaller share now gives that part of its queue to those that have a larger one."""
        before, after = ([weight / sum(weights) for weight in weights] for weights in (served, self.weights))
        gains = [max(0.0, a - b) for a, b in zip(after, before, strict=True)]
        kept = [min(1.0, a / b) for a, b in zip(after, before, strict=True)]
        pool = sum(queue * (1 - part) for queue, part in zip(self.queues, kept, strict=True))
        for i, gain in enumerate(gains):
            self.queues[i] = self.queues[i] * kept[i] + (pool * gain / sum(gains) if gain else 0.0)


# Pages a minute that each peer can fetch, URLs a minute that all find, and what waits at the beginning.
SHAPES = {
    "one is slow": ([200.0, 800.0, 800.0, 800.0], 2_400.0, [0.0] * 4),
    "one has all": ([600.0] * 5, 2_900.0, [200_000.0, 0.0, 0.0, 0.0, 0.0]),
    "all are slow": ([200.0] * 4, 1_600.0, [0.0] * 4),
    "steps": ([200.0, 400.0, 600.0, 800.0, 1_000.0], 3_200.0, [10_000.0] * 5),
    "two of ten have much": ([400.0] * 10, 3_900.0, [60_000.0, 40_000.0] + [200.0] * 8),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", SHAPES)
def test_once_balanced_a_peer_changes_its_weight_less_than_once_an_hour(shape: str, seed: int) -> None:
    capacities, arrivals, queues = SHAPES[shape]
    crawl = Crawl(capacities, arrivals, list(queues), seed)
    crawl.run(240)
    assert crawl.run(120) <= 2 * len(capacities)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", ["one is slow", "one has all", "all are slow", "steps"])
def test_weights_do_not_swing(shape: str, seed: int) -> None:
    capacities, arrivals, queues = SHAPES[shape]
    crawl = Crawl(capacities, arrivals, list(queues), seed)
    crawl.run(360)
    assert crawl.reversals() <= 3 * len(capacities)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", ["one is slow", "one has all", "steps", "two of ten have much"])
def test_the_longest_queue_is_less_than_half_of_what_it_would_be(shape: str, seed: int) -> None:
    capacities, arrivals, queues = SHAPES[shape]
    crawl = Crawl(capacities, arrivals, list(queues), seed)
    crawl.run(360)
    alone = [
        queue + 360 * (arrivals / len(queues) - capacity)
        for queue, capacity in zip(queues, capacities, strict=True)
    ]
    assert max(crawl.queues) < max(alone) / 2
