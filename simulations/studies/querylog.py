"""How do people ask? The statistics of the book's chapter 9, of a query log or a made-up one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from msgspec import Meta

from simulations.studies.figures import lines, name_axes
from simulations.studies.study import Claim, Outcome, Parameters, Row, Study
from simulations.traces.columns import Floats, Ints
from simulations.traces.queries import made_up_queries, read_queries

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, section 9.2"
GROUP: Final = 1_000  # queries, for the decay of what is asked again
SERIES: Final = 500  # queries, of each number of distinct ones
SHARES: Final = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class QuerylogParameters(Parameters, frozen=True, kw_only=True):
    """Where the queries come from."""

    queries: Annotated[str, Meta(description="File of queries; made up if there is none.")] = ""
    count: Annotated[int, Meta(ge=10_000, le=50_000_000, description="Of made-up queries.")] = 960_000
    distinct: Annotated[int, Meta(ge=10, le=50_000_000, description="That people may ask, made up.")] = (
        160_000
    )
    repeat: Annotated[float, Meta(ge=0, lt=1, description="Share that repeats one of the last queries.")] = (
        0.0
    )


def run(parameters: QuerylogParameters, seed: int) -> list[Row]:
    """Rows of two kinds: the concentration at some shares, and single figures."""
    if parameters.queries:
        asked = read_queries(Path(parameters.queries))
    else:
        asked = made_up_queries(parameters.count, parameters.distinct, parameters.repeat, seed)
    counts = np.sort(np.bincount(asked))[::-1]
    counts = counts[counts > 0]
    cumulated = np.cumsum(counts) / len(asked)
    rows: list[Row] = []
    for share in SHARES:
        ours = float(cumulated[max(0, int(share * len(counts)) - 1)])
        rows.append(
            {"figure": f"share of queries, top {share:.0%}", "x": share, "value": ours, "book": fit(share)}
        )
    overlap = again_in_groups(asked)
    rows += [
        {"figure": "queries", "x": -1.0, "value": float(len(asked)), "book": 960_000.0},
        {"figure": "distinct queries", "x": -1.0, "value": float(len(counts)), "book": 160_000.0},
        *(
            {
                "figure": f"share of group {group} asked in group 1",
                "x": -1.0,
                "value": float(overlap[group - 2]),
                "book": -1.0,
            }
            for group in (2, 10)
            if len(overlap) > group - 2  # a log may have fewer
        ),
        {"figure": "Hurst exponent (R/S)", "x": -1.0, "value": hurst(distinct_series(asked)), "book": 0.67},
    ]
    return rows


def fit(x: float) -> float:
    """y = (-0.04103 + 1.01689 x)^0.1346, (9-2): the share of queries that the top x of distinct ones has."""
    return float((-0.04103 + 1.01689 * x) ** 0.1346)


def again_in_groups(asked: Ints) -> Floats:
    """Of each group of 1,000 queries behind the first: the share that is asked in the first, (9-3)."""
    whole = asked[: len(asked) // GROUP * GROUP].reshape(-1, GROUP)
    first = np.unique(whole[:1])
    shares: Floats = np.isin(whole[1:], first).mean(axis=1)
    return shares


def distinct_series(asked: Ints) -> Floats:
    """Distinct queries in each 500."""
    whole = asked[: len(asked) // SERIES * SERIES].reshape(-1, SERIES)
    return np.array([len(np.unique(part)) for part in whole], np.float64)


def hurst(series: Floats) -> float:
    """Slope of log R/S over log n, (9-10); 0.5 for a series without memory."""
    sizes, ratios = [], []
    size = 8
    while size <= len(series) // 2:
        parts = series[: len(series) // size * size].reshape(-1, size)
        sums = np.cumsum(parts - parts.mean(axis=1, keepdims=True), axis=1)
        spread = np.maximum(sums.max(axis=1), 0) - np.minimum(sums.min(axis=1), 0)
        deviation = parts.std(axis=1)
        is_moving = deviation > 0
        if is_moving.any():
            sizes.append(size)
            ratios.append(float((spread[is_moving] / deviation[is_moving]).mean()))
        size *= 2
    return float(np.polyfit(np.log(sizes), np.log(ratios), 1)[0]) if len(sizes) > 1 else 0.5


def draw(figure: Figure, outcome: Outcome) -> None:
    axes = figure.subplots()
    rows = [row for row in outcome.summary() if row["x"] > 0]
    both = [{"what": "this log", "x": 100 * row["x"], "y": 100 * row["value"]} for row in rows]
    both += [{"what": "the book's fit (9-2)", "x": 100 * row["x"], "y": 100 * row["book"]} for row in rows]
    lines(axes, both, "what", "x", "y")
    axes.set_ylim(0, 102)
    name_axes(
        axes, "How few queries are most of what is asked", "most popular distinct queries (%)", "queries (%)"
    )


def claims(outcome: Outcome) -> Iterable[Claim]:
    figures = {row["figure"]: row["value"] for row in outcome.summary()}
    top = figures["share of queries, top 20%"]
    yield Claim(BOOK, "20 % of the queries are 80 % of what is asked", f"{top:.1%}", abs(top - 0.8) < 0.06)
    slope = figures["Hurst exponent (R/S)"]
    yield Claim(
        BOOK, "the series is self-similar: Hurst 0.67 (0.58 to 0.82)", f"{slope:.2f}", 0.58 <= slope <= 0.82
    )


STUDY: Final = Study(
    name="querylog",
    question="How do people ask: how often the same, how soon again?",
    source=BOOK,
    parameters=QuerylogParameters,
    run=run,
    keys=("figure",),
    columns={
        "figure": "what is counted",
        "x": "share of the distinct queries, most popular first; -1 where it is something else",
        "value": "of this log",
        "book": "in the book; -1 where it says nothing",
    },
    draw=draw,
    caption="Concentration of the queries, beside the book's fit.",
    seeds=1,
    claims=claims,
)
