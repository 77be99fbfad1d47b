from __future__ import annotations

import math

import pytest

from peers.evaluation.measures import differences, means, measured
from peers.judging.trec import Ranked

JUDGED = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}}


def run(**hits: str) -> dict[str, list[Ranked]]:
    """Return a run with hits named by single letters, all with the same score."""
    return {query: [Ranked(name, 1.0) for name in names] for query, names in hits.items()}


def test_measures_are_those_of_their_definitions() -> None:
    values = measured(run(q1="xa", q2="c"), JUDGED)
    ideal = 1 + 1 / math.log2(3)
    assert values["nDCG@10"]["q1"] == pytest.approx(1 / math.log2(3) / ideal)
    assert values["MRR@10"] == {"q1": 0.5, "q2": 1.0}
    assert values["MAP"]["q1"] == pytest.approx(0.25)
    assert values["P@5"]["q1"] == pytest.approx(0.2)
    assert (values["S@1"]["q1"], values["S@10"]["q1"]) == (0.0, 1.0)
    assert means(values)["MRR@10"] == pytest.approx(0.75)


def test_the_order_of_the_run_breaks_ties_in_its_scores() -> None:
    assert measured(run(q1="zxa", q2=""), JUDGED)["MRR@10"]["q1"] == pytest.approx(1 / 3)
    assert measured(run(q1="azx", q2=""), JUDGED)["MRR@10"]["q1"] == 1.0


def test_a_judged_query_without_hits_counts_as_nothing_found() -> None:
    assert means(measured(run(q2="c"), JUDGED))["MRR@10"] == pytest.approx(0.5)


def test_a_query_without_judgements_does_not_count() -> None:
    assert means(measured(run(q1="a", q2="c", q3="x"), JUDGED))["MRR@10"] == 1.0


def test_a_t_test_tells_a_difference_from_chance() -> None:
    judged = {f"q{n}": {"a": 1} for n in range(30)}
    good = {query: [Ranked("a", 1.0)] for query in judged}
    bad = {query: [Ranked("x", 2.0), Ranked("a", 1.0)] for query in judged}
    bad["q0"] = good["q0"]
    other = {each.measure: each for each in differences(measured(good, judged), measured(bad, judged))}
    assert other["MRR@10"].is_significant
    assert (other["MRR@10"].better, other["MRR@10"].worse) == (29, 0)
    assert not other["S@10"].is_significant
    assert other["S@10"].p == 1.0


def test_scipy_and_the_formula_agree_on_t() -> None:
    judged = {f"q{n}": {"a": 1} for n in range(4)}
    ours = measured({"q0": [Ranked("a", 1.0)], "q1": [Ranked("a", 1.0)]}, judged)
    theirs = measured({"q2": [Ranked("x", 2.0), Ranked("a", 1.0)]}, judged)
    (difference,) = (each for each in differences(ours, theirs) if each.measure == "MRR@10")
    deltas = [1.0, 1.0, -0.5, 0.0]
    mean = sum(deltas) / 4
    deviation = math.sqrt(sum((delta - mean) ** 2 for delta in deltas) / 3)
    assert difference.t == pytest.approx(mean / (deviation / 2))
