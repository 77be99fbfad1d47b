"""The parts of an experiment: parameters, a run from a seed, rows, a figure, and the claims of its source.

An experiment is a file like `politeness`: a class of parameters, a function that makes rows of them from a
seed, and a `Study` that names both. Everything else (repetitions, confidence intervals, tables, files, the
command) follows from that:

    outcome = STUDY.repeat(STUDY.parameters(peers="1,2,4"), seeds=range(5))
    outcome.summary()           # a row for each key, with means and half-widths of 95 % intervals
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, Final, TypeAlias

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


@dataclass(frozen=True, slots=True)
class Outcome:
    """The rows of all repetitions."""

    study: Study
    parameters: Parameters
    seeds: tuple[int, ...]
    runs: tuple[tuple[Row, ...], ...]  # of each seed

    def summary(self) -> list[Row]:
        """Means over the seeds, key by key; `NAME +-` is half the width of the 95 % interval of NAME.

        A text is that of the first seed.
        """
        grouped: dict[tuple[Any, ...], list[Row]] = {}
        for row in (row for run in self.runs for row in run):
            grouped.setdefault(tuple(row[key] for key in self.study.keys), []).append(row)
        return [_mean(rows, self.study.keys) for rows in grouped.values()]

    def headline(self) -> list[Row]:
        """Those rows of the summary that a table shows."""
        return [row for row in self.summary() if self.study.is_headline(row)]

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


def _mean(rows: Sequence[Row], keys: tuple[str, ...]) -> Row:
    result: Row = {}
    for name, first in rows[0].items():
        if name in keys or isinstance(first, str):
            result[name] = first
            continue
        values = [float(row[name]) for row in rows]
        mean = sum(values) / len(values)
        result[name] = mean
        if len(values) > 1:
            freedom = len(values) - 1
            deviation = sqrt(sum((value - mean) ** 2 for value in values) / freedom)
            t = _T95[freedom - 1] if freedom <= len(_T95) else 1.96
            result[f"{name} +-"] = t * deviation / sqrt(len(values))
    return result
