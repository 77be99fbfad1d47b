"""Figures of a ranking: nDCG@10, MAP, MRR@10, P@k and S@k by ir-measures, and whether two rankings differ.

The order of a run is that of its lines: ir-measures sorts by score and breaks ties in its own way, so it is
given scores made of the ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import ir_measures
import msgspec
from ir_measures import AP, RR, P, Success, nDCG
from scipy.stats import ttest_rel

from peers.judging.trec import Judgements, Run

MEASURES: Final = {
    "nDCG@10": nDCG @ 10,
    "MAP": AP,
    "MRR@10": RR @ 10,
    "P@5": P @ 5,
    "P@10": P @ 10,
    "S@1": Success @ 1,
    "S@10": Success @ 10,
    "S@100": Success @ 100,
}
SIGNIFICANT: Final = 0.05

PerQuery = Mapping[str, Mapping[str, float]]  # measure -> query -> value


class PairedDifference(msgspec.Struct, frozen=True):
    """Two rankings of the same queries by one measure: a paired t-test, two-sided."""

    measure: str
    mean: float
    other_mean: float
    better: int  # queries
    worse: int
    t: float
    p: float  # probability of such a difference between equals

    @property
    def is_significant(self) -> bool:
        return self.p < SIGNIFICANT


def measured(run: Run, judgements: Judgements) -> dict[str, dict[str, float]]:
    """Return every measure of every judged query; a query without hits has 0."""
    scored = {
        query: {hit.document: float(len(hits) - rank) for rank, hit in enumerate(hits)}
        for query, hits in run.items()
        if query in judgements
    }
    values: dict[str, dict[str, float]] = {name: dict.fromkeys(judgements, 0.0) for name in MEASURES}
    names = {str(measure): name for name, measure in MEASURES.items()}
    grades = {query: dict(of_query) for query, of_query in judgements.items()}
    for each in ir_measures.iter_calc(list(MEASURES.values()), grades, scored):
        values[names[str(each.measure)]][each.query_id] = float(each.value)
    return values


def means(values: PerQuery) -> dict[str, float]:
    """Return the mean of each measure over the queries."""
    return {name: sum(of_query.values()) / max(1, len(of_query)) for name, of_query in values.items()}


def differences(values: PerQuery, others: PerQuery) -> list[PairedDifference]:
    """Compare two rankings of the same queries, measure by measure."""
    found = []
    for name, of_query in values.items():
        queries = sorted(of_query)
        ours = [of_query[query] for query in queries]
        theirs = [others[name].get(query, 0.0) for query in queries]
        found.append(_difference(name, ours, theirs))
    return found


def _difference(name: str, ours: Sequence[float], theirs: Sequence[float]) -> PairedDifference:
    pairs = list(zip(ours, theirs, strict=True))
    better, worse = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    t, p = 0.0, 1.0  # when no query differs, the test would divide by zero
    if len(pairs) > 1 and better + worse:
        result = ttest_rel(ours, theirs)
        t, p = float(result.statistic), float(result.pvalue)
    return PairedDifference(name, sum(ours) / len(ours), sum(theirs) / len(theirs), better, worse, t, p)
