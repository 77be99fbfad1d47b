from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from mesh.errors import ConfigError
from peers.application import app
from peers.evaluation.error_rate import PairOutcome, by_assessor, by_queries, error_rate, outcomes_of
from peers.judging.trec import Ranked, write_qrels, write_run


def test_the_rate_is_the_share_of_repetitions_against_the_most() -> None:
    """Buckley and Voorhees 2000: (min(7, 2) + min(1, 9)) / (7 + 2 + 1 + 1 + 9 + 0)."""
    assert error_rate([PairOutcome(0, 1, 7, 2, 1), PairOutcome(0, 2, 1, 9, 0)]) == 3 / 20


def test_means_within_five_percent_of_the_larger_are_equal() -> None:
    repetitions = [(1.0, 0.95), (0.95, 1.0), (1.0, 0.949), (0.2, 0.3), (0.0, 0.0), (0.0, 0.001)]
    assert outcomes_of(repetitions) == [PairOutcome(0, 1, 1, 2, 3)]
    assert outcomes_of(repetitions, fuzziness=0.0) == [PairOutcome(0, 1, 2, 3, 1)]


def test_every_pair_of_runs_is_compared() -> None:
    assert outcomes_of([(3.0, 2.0, 1.0), (3.0, 2.0, 4.0)]) == [
        PairOutcome(0, 1, 2, 0, 0),
        PairOutcome(0, 2, 1, 1, 0),
        PairOutcome(1, 2, 1, 1, 0),
    ]


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=30))
def test_a_rate_is_no_more_than_half_and_does_not_depend_on_the_order_of_runs(
    repetitions: list[tuple[float, ...]],
) -> None:
    rate = error_rate(outcomes_of(repetitions))
    assert 0.0 <= rate <= 0.5
    assert error_rate(outcomes_of([row[::-1] for row in repetitions])) == rate


# By queries: A wins a, loses b and c by less, and is as good on d.
A = {"a": 1.0, "b": 0.2, "c": 0.4, "d": 0.5}
B = {"a": 0.3, "b": 0.5, "c": 0.9, "d": 0.5}
PAIRS = list(combinations("abcd", 2))


def test_sets_of_queries_are_drawn_as_each_is_as_likely() -> None:
    """Of the six sets of two A wins ab, ac and ad, B the others: the rate is near 3 / 6."""
    repetitions = by_queries([A, B], 2, 6_000, Random(1))
    sets = {(round((A[one] + A[other]) / 2, 9), round((B[one] + B[other]) / 2, 9)) for one, other in PAIRS}
    assert {(round(a, 9), round(b, 9)) for a, b in repetitions} == sets
    (outcome,) = outcomes_of(repetitions)
    assert abs(outcome.better - 3_000) < 4 * (6_000 / 4) ** 0.5
    assert outcome.equal == 0


def test_a_set_of_all_queries_always_ends_alike() -> None:
    assert error_rate(outcomes_of(by_queries([A, B], 4, 50, Random(0)))) == 0.0


def test_for_each_query_one_assessor_is_drawn_and_the_same_for_all_runs() -> None:
    ours: list[dict[str, float]] = [{"a": 1.0, "b": 1.0}, {"a": 0.0}]
    theirs: list[dict[str, float]] = [{"a": 0.0, "b": 1.0}, {"a": 1.0}]
    repetitions = by_assessor([ours, theirs], 4_000, Random(1))
    assert {tuple(row) for row in repetitions} == {(1.0, 0.5), (0.5, 1.0)}
    (outcome,) = outcomes_of(repetitions)
    assert abs(outcome.better - 2_000) < 4 * (4_000 / 4) ** 0.5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four queries with a good page each. A finds it first in two and second in one, B third everywhere."""
    ours = {"1": "g..", "2": "g..", "3": ".g.", "4": "..."}
    for name, found in (("a", ours), ("b", dict.fromkeys("1234", "..g"))):
        run = {
            query: [Ranked("good" if sign == "g" else f"bad{rank}", 1.0) for rank, sign in enumerate(signs)]
            for query, signs in found.items()
        }
        write_run(tmp_path / name, run.items())
    write_qrels(tmp_path / "ann", {query: {"good": 1} for query in "1234"})
    write_qrels(tmp_path / "bob", {query: {"good": 1, "bad0": 1} for query in "1234"})
    return tmp_path


def invoke(folder: Path, *words: str) -> Result:
    at = [str(folder / word) if (folder / word).exists() else word for word in words]
    return CliRunner().invoke(app, ["eval", "error-rate", *at])


def told(folder: Path, *words: str) -> dict[str, Any]:
    result = invoke(folder, *words, "--json")
    assert result.exit_code == 0, (result.output, result.exception)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_rate_of_measures_is_computed_by_hand(folder: Path) -> None:
    """Means of A and B over the four queries, by their definitions:

    nDCG@10  (1 + 1 + 1/log2(3)) / 4 = .658   1/log2(4) = .5    A
    MAP, MRR (1 + 1 + 1/2) / 4 = .625         1/3               A, A
    P@5      3/4/5 = .15                      1/5               B
    P@10     3/4/10                           1/10              B
    S@1      2/4                              0                 A
    S@10     3/4                              1                 B
    S@100    3/4                              1                 B

    So A wins four of eight and B four: the rate is 4/8.
    """
    report = told(folder, "a", "b", "--qrels", "ann", "--vary", "measure")
    (pair,) = report["pairs"]
    assert (pair["better"], pair["worse"], pair["equal"]) == (4, 4, 0)
    assert report["error_rate"] == 0.5
    assert "error rate 50.00%" in invoke(folder, "a", "b", "--qrels", "ann", "--vary", "measure").output


def test_the_rate_of_queries_is_that_of_the_sets_drawn(folder: Path) -> None:
    """By P@5 A has 1/5 for 1, 2 and 3 and nothing for 4, B 1/5 for each: A never wins, 4 alone tells them."""
    report = told(folder, "a", "b", "--qrels", "ann", "--measure", "P@5", "--size", "1", "--repeat", "4000")
    (pair,) = report["pairs"]
    assert pair["better"] == 0
    assert report["error_rate"] == 0.0
    assert pair["worse"] + pair["equal"] == 4_000
    assert abs(pair["worse"] - 1_000) < 4 * (4_000 * 3 / 16) ** 0.5
    # By nDCG@10 A wins with 1, 2 and 3, and B with 4.
    report = told(folder, "a", "b", "--qrels", "ann", "--size", "1", "--repeat", "4000", "--seed", "3")
    (pair,) = report["pairs"]
    assert pair["equal"] == 0
    assert report["error_rate"] == pair["worse"] / 4_000
    assert abs(pair["worse"] - 1_000) < 4 * (4_000 * 3 / 16) ** 0.5


def test_pages_that_nobody_judged_can_be_left_out(folder: Path) -> None:
    """Then A has its good page first everywhere but for query 4, where it has none, and B everywhere."""
    (pair,) = told(folder, "a", "b", "--qrels", "ann", "--condensed", "--measure", "MRR@10")["pairs"]
    assert (pair["t_test"]["mean"], pair["t_test"]["other_mean"]) == (0.75, 1.0)


def test_the_t_test_beside_is_over_all_queries(folder: Path) -> None:
    (pair,) = told(folder, "a", "b", "--qrels", "ann", "--measure", "MRR@10")["pairs"]
    test = pair["t_test"]
    assert (test["mean"], test["other_mean"]) == (pytest.approx(0.625), pytest.approx(1 / 3))
    assert (test["better"], test["worse"]) == (3, 1)


def test_assessors_vary_query_by_query(folder: Path) -> None:
    """By ann A has 1 1 0 0 and B nothing; by bob, for whom the first bad page is good, both have 1 for all.

    So B is never better, and as good where bob is drawn for the first two queries: in a quarter.
    """
    words = ("a", "b", "--qrels", "ann", "--qrels", "bob", "--vary", "assessor", "--measure", "S@1")
    report = told(folder, *words, "--repeat", "500")
    (pair,) = report["pairs"]
    assert (pair["worse"], pair["better"] + pair["equal"]) == (0, 500)
    assert abs(pair["equal"] - 125) < 4 * (500 * 3 / 16) ** 0.5
    assert told(folder, *words, "--repeat", "500") == report
    assert told(folder, *words, "--repeat", "500", "--seed", "1") != report


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--qrels", "ann", "--vary", "assessor"), "two assessors or more"),
        (("--qrels", "ann", "--measure", "P@7"), "no measure"),
        (("--qrels", "ann", "--size", "5"), "only 4 queries judged"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_refused(
    folder: Path, words: tuple[str, ...], reason: str
) -> None:
    result = invoke(folder, "a", "b", *words)
    assert isinstance(result.exception, ConfigError)
    assert reason in str(result.exception)


def test_one_run_alone_is_no_comparison(folder: Path) -> None:
    assert invoke(folder, "a", "--qrels", "ann").exit_code == 2


def test_runs_of_other_queries_are_refused(folder: Path) -> None:
    write_qrels(folder / "other", {"9": {"good": 1}})
    assert isinstance(invoke(folder, "a", "b", "--qrels", "other").exception, ConfigError)
