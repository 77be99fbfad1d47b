"""The parts of an experiment: parameters, a run from a seed, rows, a figure, and the claims of its source.

An experiment is a file like `politeness`: a class of parameters, a function that makes rows of them from a
seed, and a `Study` that names both. Everything else (repetitions, confidence intervals, tables, files, the
command) follows from that:

    outcome = STUDY.repeat(STUDY.parameters(peers="1,2,4"), seeds=range(5))
    outcome.summary()           # a row for each key, with means and 95 % intervals
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec

from mesh.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row: TypeAlias = dict[str, Any]  # values are numbers and texts

# Student's t for 95 %, two-sided, by degrees of freedom 1 to 30; 1.96 beyond.
_T95: Final = (
    12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
    2.12, 2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04,
)  # fmt: skip


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of an experiment; each field has a default, a range, and a description."""


class Claim(msgspec.Struct, frozen=True):
    """A statement of a source, beside our result."""

    source: str
    says: str
    ours: str
    holds: bool


class SchemeDifference(NamedTuple):
    """The mean difference of two schemes that had the same seeds, and its 95 % interval."""

    mean: float
    low: float  # all three are the same where there is one seed, which has no interval
    high: float

    @property
    def is_above(self) -> bool:
        """Is the first scheme above the second, by more than chance?"""
        return self.low > 0

    def __str__(self) -> str:
        return f"{self.mean:+.3g} [{self.low:.3g}, {self.high:.3g}]"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The rows of all repetitions."""

    study: Study
    parameters: Parameters
    seeds: tuple[int, ...]
    runs: tuple[tuple[Row, ...], ...]  # of each seed

    def summary(self) -> list[Row]:
        """Means over the seeds, key by key; `NAME low` to `NAME high` is the 95 % interval of each mean.

        A text is the most frequent one; behind it stands in how many seeds, where not all have it.
        """
        grouped: dict[tuple[Any, ...], list[Row]] = {}
        for row in (row for run in self.runs for row in run):
            grouped.setdefault(tuple(row[key] for key in self.study.keys), []).append(row)
        return [_mean(rows, self.study.keys) for rows in grouped.values()]

    def headline(self) -> list[Row]:
        """Those rows of the summary that a table shows."""
        return [row for row in self.summary() if self.study.is_headline(row)]

    def paired(
        self, name: str, first: Mapping[str, Any], second: Mapping[str, Any], other: str = ""
    ) -> SchemeDifference:
        """Compare two schemes seed by seed, so that chance which is the same for both cancels out.

        Args:
          name: of the column that is compared.
          first, second: values of the key columns that choose one row of each run.
          other: the column of the second, if it is another.
        """
        values = [_value(run, name, first) - _value(run, other or name, second) for run in self.runs]
        low, high = interval_of(values, may_be_negative=True) or (values[0], values[0])
        return SchemeDifference(sum(values) / len(values), low, high)

    def claims(self) -> list[Claim]:
        return list(self.study.claims(self))


def _no_words(outcome: Outcome) -> str:
    return ""


def _nothing(outcome: Outcome) -> Iterable[Claim]:
    return ()


def _every(row: Row) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Study:
    """An experiment."""

    name: str  # of the command
    question: str  # in one sentence
    source: str
    parameters: type[Parameters]
    run: Callable[[Any, int], list[Row]]  # with parameters and a seed
    keys: tuple[str, ...]  # columns that say which row it is; the others are measured
    columns: dict[str, str]  # name to meaning and unit
    draw: Callable[[Figure, Outcome], None]
    caption: str  # of the figure
    seeds: int = 3  # repetitions by default
    shown: tuple[str, ...] = ()  # columns of a table in a terminal; none for all
    is_headline: Callable[[Row], bool] = _every
    claims: Callable[[Outcome], Iterable[Claim]] = _nothing
    in_words: Callable[[Outcome], str] = _no_words  # what it comes to, and how far it may be trusted

    def repeat(self, parameters: Parameters, seeds: Iterable[int]) -> Outcome:
        """Run it once for each seed, in this process."""
        chosen = tuple(seeds)
        return Outcome(self, parameters, chosen, tuple(tuple(self.run(parameters, each)) for each in chosen))


def numbers(text: str, what: str, *, least: float = 1, most: float = 1e9) -> list[int]:
    """Read whole numbers with commas between, as parameters have them.

    Raises:
      ConfigError: it is something else.
    """
    values = [
        int(value) if value == int(value) else -1 for value in amounts(text, what, least=least, most=most)
    ]
    if min(values) < least:
        raise ConfigError(f"{what} are whole numbers with commas between, such as 1,2,4; not {text!r}")
    return values


def amounts(text: str, what: str, *, least: float = 0.0, most: float = 1e9) -> list[float]:
    """Read numbers with commas between.

    Raises:
      ConfigError: it is something else.
    """
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(least <= value <= most for value in values):
        raise ConfigError(f"{what} are numbers from {least:g} to {most:g} with commas between; not {text!r}")
    return values


def interval_of(values: Sequence[float], *, may_be_negative: bool = False) -> tuple[float, float] | None:
    """Return the 95 % interval of the mean of some values, or None for a single one.

    That of a quantity that cannot be negative is Student's interval of the logarithm of the mean, by the
    delta method, so that it is never below zero and holds the mean:

        mean / f to mean * f,   f = exp(t s / (mean sqrt(n)))

    For values that are nearly alike, or may be negative, it is Student's, mean +- t s / sqrt(n).
    """
    n = len(values)
    if n < 2:
        return None
    mean = sum(values) / n
    deviation = sqrt(sum((value - mean) ** 2 for value in values) / (n - 1))
    half = (_T95[n - 2] if n - 1 <= len(_T95) else 1.96) * deviation / sqrt(n)
    if may_be_negative or min(values) < 0 or mean == 0:
        return mean - half, mean + half
    factor = exp(half / mean)
    return mean / factor, mean * factor


def ends_of(row: Row, name: str) -> tuple[float, float]:
    """Return the interval of a column of a summary; of one that has none, the value itself, twice."""
    value = float(row[name])
    return row.get(f"{name} low", value), row.get(f"{name} high", value)


def _mean(rows: Sequence[Row], keys: tuple[str, ...]) -> Row:
    result: Row = {}
    for name, first in rows[0].items():
        if name in keys:
            result[name] = first
        elif isinstance(first, str):
            (text, count), *_ = Counter(row[name] for row in rows).most_common(1)
            result[name] = text if count == len(rows) else f"{text} ({count} of {len(rows)})"
        else:
            values = [float(row[name]) for row in rows]
            result[name] = sum(values) / len(values)
            if interval := interval_of(values):
                result[f"{name} low"], result[f"{name} high"] = interval
    return result


def _value(rows: Iterable[Row], name: str, where: Mapping[str, Any]) -> float:
    (row,) = (row for row in rows if all(row[key] == value for key, value in where.items()))
    return float(row[name])
