"""How often a comparison of engines comes out the other way when it is made again a little differently.

Each repetition compares the means of every two runs. Means that are within FUZZINESS of the larger one count
as equal. With |A>B| the repetitions in which A is better, |B>A| and |A==B| likewise, over all pairs of runs

    error rate = sum min(|A>B|, |B>A|) / sum (|A>B| + |B>A| + |A==B|)

Source: Buckley and Voorhees 2000, Evaluating evaluation measure stability; Li, Yan, Wang 2004, section 10.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

if TYPE_CHECKING:
    from random import Random

FUZZINESS: Final = 0.05  # as Buckley and Voorhees take it
Values: TypeAlias = Mapping[str, float]  # of one measure, by query


class Factor(StrEnum):
    """The choice that differs from repetition to repetition."""

    QUERIES = "queries"
    ASSESSOR = "assessor"
    MEASURE = "measure"


class PairOutcome(msgspec.Struct, frozen=True):
    """Two runs, by their places, and how many repetitions ended which way."""

    one: int
    other: int
    better: int  # the first was better
    worse: int
    equal: int


def outcomes_of(repetitions: Iterable[Sequence[float]], fuzziness: float = FUZZINESS) -> list[PairOutcome]:
    """Compare the runs in each repetition.

    Args:
      repetitions: of each the mean of every run, not negative.
      fuzziness: share of the larger mean that makes a difference.
    """
    rows = list(repetitions)
    found = []
    for one, other in combinations(range(len(rows[0])), 2):
        differences = [_difference(row[one], row[other], fuzziness) for row in rows]
        better, worse = sum(each > 0 for each in differences), sum(each < 0 for each in differences)
        found.append(PairOutcome(one, other, better, worse, len(rows) - better - worse))
    return found


def error_rate(outcomes: Iterable[PairOutcome]) -> float:
    """Return the share of comparisons that came out against most others of their pair: 0 to 0.5."""
    listed = list(outcomes)
    against = sum(min(each.better, each.worse) for each in listed)
    return against / sum(each.better + each.worse + each.equal for each in listed)


def by_queries(runs: Sequence[Values], size: int, repeat: int, random: Random) -> list[list[float]]:
    """Return the means of runs over sets of queries that are drawn without replacement.

    Args:
      runs: one value for each query, the same queries in all.
      size: queries in a set, at most as many as there are.
    """
    queries = sorted(runs[0])
    sets = [random.sample(queries, size) for _ in range(repeat)]
    return [[sum(of_query[query] for query in chosen) / size for of_query in runs] for chosen in sets]


def by_assessor(runs: Sequence[Sequence[Values]], repeat: int, random: Random) -> list[list[float]]:
    """Return the means of runs where for each query one of its assessors is drawn, the same for all runs.

    Args:
      runs: of each run the values by each assessor, for the queries that this one has judged.
    """
    assessors: dict[str, list[int]] = {}
    for number, of_query in enumerate(runs[0]):
        for query in of_query:
            assessors.setdefault(query, []).append(number)
    queries = sorted(assessors)
    draws = [[random.choice(assessors[query]) for query in queries] for _ in range(repeat)]
    return [
        [
            sum(run[number][query] for query, number in zip(queries, drawn, strict=True)) / len(queries)
            for run in runs
        ]
        for drawn in draws
    ]


def _difference(one: float, other: float, fuzziness: float) -> float:
    """Return the difference of two means, 0 where it is within the fuzziness."""
    return one - other if min(one, other) < (1.0 - fuzziness) * max(one, other) else 0.0
