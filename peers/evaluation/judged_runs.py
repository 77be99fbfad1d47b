"""Runs that are judged by several assessors, and the means that repetitions of their comparison give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mesh.counts import counted
from mesh.errors import ConfigError
from peers.evaluation.error_rate import Factor, by_assessor, by_queries
from peers.evaluation.judgement_names import by_suffix
from peers.evaluation.measures import MEASURES, PairedDifference, differences, means, measured
from peers.judging.agreement import joined
from peers.judging.trec import Judgements, Run

if TYPE_CHECKING:
    from random import Random


class JudgedRuns:
    """Runs of the same queries, measured by the joined judgements and by those of each assessor."""

    def __init__(
        self,
        runs: Sequence[Run],
        assessors: Sequence[Judgements],
        measure: str,
        named: Callable[[Run, Judgements], Run] = by_suffix,
    ) -> None:
        """Measure the runs.

        Args:
          measure: one of `MEASURES`.
          named: gives the hits of a run the names that judgements have.

        Raises:
          ConfigError: there is no such measure, or no run has a query that is judged.
        """
        if measure not in MEASURES:
            raise ConfigError(f"{measure!r} is no measure: take one of {', '.join(MEASURES)}")
        together = joined(assessors)
        if not any(run.keys() & together.keys() for run in runs):
            raise ConfigError("no run has any query that is judged")
        self.queries = sorted(together)
        self._runs, self._assessors, self._measure, self._named = runs, assessors, measure, named
        self._values = [measured(named(run, together), together) for run in runs]

    def repetitions(self, vary: Factor, size: int | None, repeat: int, random: Random) -> list[list[float]]:
        """Return of each repetition the means of all runs.

        Args:
          size: queries in a set, None for half of them; counts only where queries vary.
          repeat: so many, but where measures vary: then each is one.

        Raises:
          ConfigError: there is one assessor alone to vary, or fewer queries than a set wants.
        """
        match vary:
            case Factor.QUERIES:
                size = size or max(1, len(self.queries) // 2)
                if size > len(self.queries):
                    raise ConfigError(
                        f"only {counted(len(self.queries), 'query')} judged: give a smaller --size"
                    )
                of_measure = [values[self._measure] for values in self._values]
                return by_queries(of_measure, size, repeat, random)
            case Factor.ASSESSOR:
                if len(self._assessors) < 2:
                    raise ConfigError("give the judgements of two assessors or more, each by a --qrels")
                by_each = [
                    [measured(self._named(run, each), each)[self._measure] for each in self._assessors]
                    for run in self._runs
                ]
                return by_assessor(by_each, repeat, random)
            case Factor.MEASURE:
                of_runs = [means(values) for values in self._values]
                return [[of_run[name] for of_run in of_runs] for name in MEASURES]

    def difference(self, one: int, other: int) -> PairedDifference:
        """Compare two runs, by their places, over all queries by the joined judgements."""
        found = differences(self._values[one], self._values[other])
        return next(each for each in found if each.measure == self._measure)
