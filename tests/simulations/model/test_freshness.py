"""The model of a web that changes: what it finds is what is known of it, and its policies are the peers'."""

from __future__ import annotations

import numpy as np
import pytest

from peers.crawler.model.revisit_policies import POLICIES, Finding
from peers.crawler.model.settings import CrawlSettings, Revisit
from peers.crawler.model.visit_memory import VisitMemory
from simulations.model.freshness import (
    LEAST,
    LONGEST,
    Visiting,
    compare,
    freshness_at,
    intervals_by,
    optimum,
)


def test_cho_and_garcia_molina_2003_the_optimum_leaves_out_what_changes_too_fast() -> None:
    rates = np.array([1.0, 2.0, 3.0, 4.0, 5.0])  # a day; their example: one visit a day for each in the mean
    assert optimum(rates, 1.0) == pytest.approx(0.35, abs=0.05)
    assert optimum(rates, 1.0) > freshness_at(rates, np.ones(5))
    assert optimum(np.full(5, 2.0), 1.0) == pytest.approx(freshness_at(np.full(5, 2.0), np.ones(5)), abs=1e-3)


def test_a_fixed_cycle_is_as_fresh_as_its_formula_and_no_policy_spends_more_than_the_budget() -> None:
    result = compare(list(Visiting), pages=2_000, days=240, period_days=20.0)
    told = {each.policy: each for each in result.policies}
    assert told["fixed"].beside_fixed == pytest.approx(1.0, abs=0.05)
    assert 0.5 < result.changed_in_50_days < 0.75
    for each in result.policies:
        assert each.visits_per_page * 20.0 < 1.02
        assert each.freshness < result.optimum + 0.02


def test_peers_have_the_two_policies_that_keep_most_pages_fresh() -> None:
    told = compare(list(Visiting), pages=5_000, days=480, period_days=30.0).policies
    best = sorted(told, key=lambda each: each.freshness)[-2:]
    assert {each.policy for each in best} == set(Revisit)


def test_the_model_has_the_policy_that_peers_learn_by() -> None:
    day = 86_400
    settings = CrawlSettings(
        revisit=Revisit.OPTIMAL,
        revisit_after_s=8.0 * day,
        revisit_min_s=8 * LEAST * day,
        revisit_max_s=8 * LONGEST * day,
    )
    for last, checks, changes, is_changed in ((8, 1, 0, False), (16, 9, 3, True), (4, 20, 20, True)):
        memory = VisitMemory(last * day, checks, changes, checks * last * day)
        finding = Finding.CHANGED if is_changed else Finding.SAME
        expected = POLICIES[Revisit.OPTIMAL](memory, finding, 1e9, settings) / day
        counts = [np.array([float(each)]) for each in (checks, changes, checks * last)]
        (made,) = intervals_by(
            Visiting.OPTIMAL,
            np.array([float(last)]),
            np.array([is_changed]),
            (counts[0], counts[1], counts[2]),
            8.0,
        )
        assert made == pytest.approx(expected, rel=5e-3)
