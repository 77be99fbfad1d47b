"""Each claim of each experiment holds of a right result, and of no wrong one; all are planted."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from mesh.trace import write_trace
from simulations.model.flow import Flow
from simulations.model.hosts import drawn_hosts
from simulations.outcomes.study import Claim, Outcome, Row
from simulations.studies import (
    balance,
    cache,
    machines,
    multicast,
    pagerank,
    partition,
    plan,
    querylog,
    recovery,
    search,
    weights,
)
from simulations.studies.catalogue import STUDIES
from simulations.studies.crawls import SLOTS
from simulations.studies.postings import SEARCHED
from simulations.traces.columns import columns_of
from tests.simulations.studies.test_studies import small
from tests.simulations.traces.test_columns import recorded

Values = Callable[[Row], dict[str, Any]]  # that take the place of those of a row

# What a small run has to have so that a study claims everything.
GIVEN: dict[str, dict[str, Any]] = {
    "cache": {"sizes": "100,300"},
    "orders": {"orders": "breadth,depth,weight,fish,focused", "shares": "0.1"},
}


def by_policy(**values: float) -> Callable[[str], Values]:
    return lambda column: lambda row: {column: values.get(str(row.get("policy") or row["order"]), 0.5)}


def asked_for(**values: float) -> Values:
    return lambda row: {"asked": values.get(row["by"], 0.5)}


def moved(row: Row) -> dict[str, Any]:
    return {"moved": 10 / 11 if row["scheme"] == "1: mod n" else 1 / 11}


def longest(row: Row) -> dict[str, Any]:
    return {"longest": 1.0 if row["rule"] == weights.WITH else 2.0}


def figure(name: str, value: float) -> Values:
    return lambda row: {"value": value} if row["figure"] == name else {}


def hit_rate(policy: str, rate: Callable[[Any], float]) -> Values:
    return lambda row: {"hit_rate": rate(row["size"])} if row["policy"] == policy else {}


def sick(row: Row, times: float) -> float:
    return float(row["peers"]) * (times if row["state"] == multicast.SICK else 1.0)


def on(*webs: str, **changed: Callable[[int], float]) -> Values:
    """Values of the rows of some webs, by their number of machines; a speed-up of n for those of others."""
    linear: dict[str, Callable[[int], float]] = {"speed_up": float}
    return lambda row: {
        name: value(row["machines"]) for name, value in (changed if row["web"] in webs else linear).items()
    }


def value(number: float) -> Values:
    return lambda row: {"value": number} if row["cost"] == recovery.BROKEN else {}


def ranked(course: str, **wrong: float) -> Values:
    """Right values of all rows, but for those of a course on the largest mesh."""
    right = {"distance": 5e-4, "tau": 0.995, "sums_page": 5.0}
    return lambda row: right | (wrong if row["course"] == course and row["peers"] > 1 else {})


# By study and the beginning of what is claimed: a right result, and wrong ones.
PLANTED: dict[tuple[str, str], tuple[Values, ...]] = {
    ("balance", "the variance is below"): (
        lambda row: {"variance": 0.001},
        lambda row: {"variance": 0.02},
        lambda row: {"variance": 0.011 if row["unit"] == 1 else 0.0},
    ),
    ("balance", "it is smaller for more peers"): (
        lambda row: {"variance": 0.1 / row["peers"]},
        lambda row: {"variance": 0.1 * row["peers"]},
    ),
    ("balance", "in all, the pages"): (
        lambda row: {"variation": row["by_hash"]},
        lambda row: {"variation": 2 * row["by_hash"]},
        lambda row: {"variation": 0.0},
    ),
    ("speedup", "the speed-up"): (
        lambda row: {"speed_up": row["peers"]},
        lambda row: {"speed_up": row["peers"] ** 0.5},
        lambda row: {"speed_up": 1.3 * row["peers"]},
    ),
    ("speedup", "so it is against"): (
        lambda row: {"efficiency": 1.0},
        lambda row: {"efficiency": 0.5},
        lambda row: {"efficiency": 1.5},
    ),
    ("speedup", "of n peers, another"): (
        lambda row: {"cross_of_leaving": 1 - 1 / row["peers"]},
        lambda row: {"cross_of_leaving": 1 / row["peers"] ** 2},
    ),
    ("speedup", "a cross URL takes"): (
        lambda row: {"cross_urls": 1e6, "cross_mb": 50.0},
        lambda row: {"cross_urls": 1e6, "cross_mb": 500.0},
    ),
    ("machines", "the speed-up"): (
        on(machines.PROCESSORS, machines.DISKS, speed_up=lambda n: 0.9 * n),
        on(machines.PROCESSORS, speed_up=lambda n: 0.8 * n),
        on(machines.DISKS, speed_up=lambda n: 1.2 * n),
    ),
    ("machines", "machines that share"): (
        on(machines.OUTLET, speed_up=lambda n: 1.9, outlet=lambda n: 0.95),
        on(machines.OUTLET, speed_up=lambda n: 1.9, outlet=lambda n: 0.5),
        on(machines.OUTLET, speed_up=float, outlet=lambda n: 0.95),
    ),
    ("machines", "where hosts want"): (
        on(machines.HOSTS, speed_up=lambda n: 1.1, hosts=lambda n: 0.9),
        on(machines.HOSTS, speed_up=lambda n: 1.1, hosts=lambda n: 0.5),
        on(machines.HOSTS, speed_up=lambda n: 1.5, hosts=lambda n: 0.9),
    ),
    ("partition", "most hosts change"): (moved, lambda row: {"moved": 1 / 11}),
    ("partition", "m/(n+1) entries move"): (moved, lambda row: {"moved": 10 / 11}),
    ("partition", "as with the array"): (moved, lambda row: {"moved": 0.2}),
    ("partition", "divided by URLs"): (
        lambda row: {"shared_hosts": 0.95},
        lambda row: {"shared_hosts": 0.0},
    ),
    ("partition", "divided by hosts"): (
        lambda row: {"cross_share": 0.9 if row["by"] == "URL" else 0.05},
        lambda row: {"cross_share": 0.9},
    ),
    ("churn", "one copy of each slot"): (
        lambda row: {"covered": row["present"]},
        lambda row: {"covered": row["present"] + 0.02},
    ),
    ("churn", "most who are present"): (
        lambda row: {"long_sessions": 0.2, "long_time": 0.8},
        lambda row: {"long_sessions": 0.6, "long_time": 0.8},
        lambda row: {"long_sessions": 0.2, "long_time": 0.4},
    ),
    ("churn", "with the same means"): (
        lambda row: {"copied_gb": 10.0 * row["shape"]},
        lambda row: {"copied_gb": 10.0},
        lambda row: {"copied_gb": 10.0 / row["shape"]},
    ),
    ("weights", "moving from the longest"): (longest, lambda row: {"longest": 2.0}),
    ("politeness", "where hosts want"): (
        lambda row: {"pages_s": 10.0},
        lambda row: {"pages_s": 10.0 * row["peers"]},
    ),
    ("politeness", "hosts that share"): (
        lambda row: {"hours": row["planned_hours"]},
        lambda row: {"hours": 2 * row["planned_hours"]},
        lambda row: {"hours": 0.5 * row["planned_hours"]},
    ),
    ("freshness", "half of the pages"): (
        lambda row: {"changed_50d": 0.5},
        lambda row: {"changed_50d": 0.7},
    ),
    ("freshness", "all pages alike"): (
        by_policy(fixed=0.6, cho=0.5)("freshness"),
        by_policy(fixed=0.5, cho=0.6)("freshness"),
    ),
    ("freshness", "who knows the rates"): (lambda row: {"optimum": 1.0}, lambda row: {"optimum": 0.0}),
    ("orders", "breadth-first fetches"): (
        by_policy(breadth=0.6, depth=0.5)("importance"),
        by_policy(breadth=0.5, depth=0.6)("importance"),
    ),
    ("orders", "at a tenth of the pages"): (lambda row: {"sites": 0.95}, lambda row: {"sites": 0.5}),
    **{
        ("orders", f"more of what the order {order}"): (
            by_policy(**{order: 0.6, "breadth": 0.5})("harvest"),
            by_policy(**{order: 0.5, "breadth": 0.6})("harvest"),
        )
        for order in ("fish", "focused")
    },
    ("demand", "more of what is asked for"): (
        asked_for(searches=0.6, weight=0.5, breadth=0.5),
        asked_for(searches=0.5, weight=0.6, breadth=0.4),
        asked_for(searches=0.5, weight=0.4, breadth=0.6),
    ),
    ("demand", "what is shown is fresher"): (
        asked_for(**{"asked sooner": 0.1, "all sooner": 0.2, "all alike": 0.2}),
        asked_for(**{"asked sooner": 0.2, "all sooner": 0.1, "all alike": 0.3}),
        asked_for(**{"asked sooner": 0.2, "all sooner": 0.3, "all alike": 0.2}),
    ),
    ("demand", "no host is asked sooner"): (lambda row: {"pause_s": 1.0}, lambda row: {"pause_s": 0.1}),
    ("pagerank", "ranks that peers find"): (
        ranked(pagerank.FROM_NOTHING),
        ranked(pagerank.FROM_NOTHING, distance=2e-3),
        ranked(pagerank.FROM_NOTHING, tau=0.98),
    ),
    ("pagerank", "crashes, hand-overs"): (
        ranked(pagerank.AFTER_FAULTS),
        ranked(pagerank.AFTER_FAULTS, distance=2e-3),
        ranked(pagerank.AFTER_FAULTS, tau=0.98),
    ),
    ("pagerank", "ten messages"): (
        ranked(pagerank.FROM_NOTHING),
        ranked(pagerank.FROM_NOTHING, sums_page=10.5),
    ),
    ("search", "with many servers"): (
        lambda row: {"p99_ms": 10.0 * row["peers"], "coverage": 1.0},
        lambda row: {"p99_ms": 10.0, "coverage": 1.0},
        lambda row: {"p99_ms": 10.0 * row["peers"], "coverage": 0.0},
    ),
    ("search", "asking a second time"): (
        lambda row: {"p99_ms": 20.0 if row["hedging"] == search.HEDGED else 100.0, "coverage": 1.0},
        lambda row: {"p99_ms": 100.0, "coverage": 1.0},
        lambda row: {"p99_ms": 20.0 if row["hedging"] == search.HEDGED else 100.0, "coverage": 0.0},
    ),
    ("multicast", "an answer that claims"): (
        lambda row: {"false": 0.0, "whole": 1.0},
        lambda row: {"false": 0.01, "whole": 1.0},
        lambda row: {"false": 0.0, "whole": 0.9},
    ),
    ("multicast", "a peer more costs"): (
        lambda row: {"calls": 1_000.0 + 100 * row["peers"]},
        lambda row: {"calls": float(row["peers"] ** 2)},
    ),
    ("multicast", "asking others for those"): (
        lambda row: {"messages": sick(row, 4.0), "calls": sick(row, 4.0)},
        lambda row: {"messages": sick(row, 20.0), "calls": sick(row, 4.0)},
        lambda row: {"messages": sick(row, 4.0), "calls": sick(row, 20.0)},
    ),
    ("postings", "k queries of terms"): (
        lambda row: {"real_over_model": 1.0},
        lambda row: {"real_over_model": 1.5},
    ),
    ("postings", "the model is on the safe side"): (
        lambda row: {"real_kb": row["book_kb"] / 2},
        lambda row: {"real_kb": row["book_kb"] * 2},
    ),
    ("postings", "the model reads whole lists"): (
        lambda row: {},
        lambda row: {"real_kb": 1e12} if row["read"] == SEARCHED else {},
    ),
    ("cache", "LRU:"): (
        hit_rate("LRU", lambda size: cache.LRU_OF_BOOK.get(size, 0.5)),
        hit_rate("LRU", lambda size: 0.9),
    ),
    ("cache", "LFU, tuned decay:"): (
        hit_rate("LFU, tuned decay", lambda size: cache.LFU_OF_BOOK.get(size, 0.5)),
        hit_rate("LFU, tuned decay", lambda size: 0.9),
    ),
    ("cache", "FIFO is the worst"): (
        hit_rate("FIFO", lambda size: 0.0),
        hit_rate("FIFO", lambda size: 1.0),
    ),
    ("cache", "whole lists by GD-Size(1)"): (
        hit_rate("lists, GD-Size(1)", lambda size: 1.0),
        hit_rate("lists, GD-Size(1)", lambda size: 0.0),
    ),
    ("cache", "reads come again sooner"): (
        lambda row: {"slope": cache.SLOPES_OF_BOOK.get(row["policy"], 0.0)},
        lambda row: {"slope": 0.9},
        lambda row: {"slope": -1.0},
    ),
    ("cache", "of strings of 1 to 9 reads"): (
        lambda row: (
            {"strings": [cache.READS, cache.PAGES, cache.AT_RANDOM].index(row["policy"])}
            if row["of"] == cache.LOCALITY
            else {}
        ),
        lambda row: {"strings": 9 if row["policy"] == cache.READS else 5},
        lambda row: {"strings": 5 if row["policy"] == cache.AT_RANDOM else 9},
    ),
    ("querylog", "20 % of the queries"): (
        figure("share of queries, top 20%", 0.8),
        figure("share of queries, top 20%", 0.5),
    ),
    ("querylog", "the series is self-similar"): (
        figure(querylog.HURST, 0.67),
        figure(querylog.HURST, 0.5),
    ),
    ("recovery", "nothing is lost"): (value(0.0), value(1.0)),
}


def planted(outcome: Outcome, values: Values) -> Outcome:
    return replace(outcome, runs=tuple(tuple(row | values(row) for row in run) for run in outcome.runs))


def claim_of(outcome: Outcome, says: str) -> Claim:
    (claim,) = (claim for claim in outcome.claims() if claim.says.startswith(says))
    return claim


@functools.cache
def of_all_claims(name: str) -> Outcome:
    if name != "speedup":
        return small(STUDIES[name], **GIVEN.get(name, {}))
    with TemporaryDirectory() as folder:  # only a trace has URLs whose length means something
        trace = Path(folder, "web.trace")
        write_trace(trace, recorded(300))
        return small(STUDIES[name], trace=str(trace), peers="1,2")


@pytest.mark.parametrize("name", [name for name in STUDIES if name != "plan"])
def test_each_claim_holds_of_a_right_result_and_of_no_wrong_one(name: str) -> None:
    outcome = of_all_claims(name)
    beginnings = {says for study, says in PLANTED if study == name}
    told = [claim.says for claim in outcome.claims()]
    assert [says for says in told if not says.startswith(tuple(beginnings))] == [], (
        "no wrong result is planted"
    )
    for says in beginnings:
        right, *wrong = PLANTED[name, says]
        assert claim_of(planted(outcome, right), says).holds, says
        assert wrong
        for values in wrong:
            assert not claim_of(planted(outcome, values), says).holds, says


@pytest.mark.parametrize("name", STUDIES)
def test_every_claim_in_the_code_of_a_study_is_made_of_its_small_run(name: str) -> None:
    module = ast.parse(inspect.getsource(inspect.getmodule(STUDIES[name].run) or plan))
    calls = [node.func for node in ast.walk(module) if isinstance(node, ast.Call)]
    written = sum(isinstance(each, ast.Name) and each.id == "Claim" for each in calls)
    assert len(of_all_claims(name).claims()) >= written


def test_the_claim_of_a_plan_fails_where_its_hours_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = small(plan.STUDY)
    assert [claim.holds for claim in outcome.claims()] == [True, True]
    monkeypatch.setattr(plan, "run", lambda parameters, seed: [{"hours": 25.0}])
    assert [claim.holds for claim in outcome.claims()] == [False, True]
    monkeypatch.setattr(plan, "disk_searches_s", lambda reads, read_bytes, iops, mb_s: iops / reads)
    assert [claim.holds for claim in outcome.claims()] == [False, False]


@pytest.mark.parametrize(("pages_a_unit", "holds"), [((50, 51), True), ((40, 65), False)])
def test_book_6_5_a_peer_that_is_faster_than_another_is_out_of_balance(
    pages_a_unit: tuple[int, int], holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = np.cumsum(np.tile(np.array(pages_a_unit, np.float64), (10, 1)), axis=0)
    busy_s = np.cumsum(np.full((10, 2), 40.0), axis=0)
    hosts = drawn_hosts(10_000, SLOTS)
    course = balance.Crawled(columns_of([]), hosts, 10.0, {2: Flow(done, busy_s, np.zeros((10, 2)))})
    monkeypatch.setattr(balance, "crawled", lambda parameters, counts, seed: course)
    outcome = balance.STUDY.repeat(balance.DrawnWebParameters(peers="2"), [1, 2])
    assert claim_of(outcome, "the variance is below").holds == holds


def test_a_mesh_that_is_dead_says_nothing_as_said() -> None:
    outcome = small(search.STUDY, dead=1.0)
    assert {row["coverage"] for row in outcome.summary()} == {0.0}
    assert [claim.holds for claim in outcome.claims()] == [False, False]


def test_schemes_are_compared_seed_by_seed_so_that_what_both_share_cancels_out() -> None:
    def run(parameters: Any, seed: int) -> list[Row]:
        return [{"scheme": name, "value": 100.0 * seed + extra} for name, extra in (("a", 1.0), ("b", 0.0))]

    study = replace(partition.STUDY, run=run, keys=("scheme",))
    outcome = study.repeat(study.parameters(), range(1, 4))
    first, second = outcome.summary()
    assert first["value low"] < second["value high"]  # the spread of either hides the difference
    difference = outcome.paired("value", {"scheme": "a"}, {"scheme": "b"})
    assert (difference.mean, difference.low, difference.high) == (1.0, 1.0, 1.0)
    assert difference.is_above
    assert not outcome.paired("value", {"scheme": "b"}, {"scheme": "a"}).is_above
