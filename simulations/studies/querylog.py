"""How do people ask? The figures of the book's chapter 9, of a query log or of many that are made up."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from peers.query_log.log_files import LoggedQuery, QueryLog, read_log
from simulations.outcomes.figures import lines, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study
from simulations.traces.queries import BOOK_RATE_PER_S, BOOK_REPEAT, made_up_queries
from simulations.traces.query_statistics import figures_of, statistics_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, section 9.2"
HURST: Final = "Hurst exponent, distinct in 500"


class QuerylogParameters(Parameters, frozen=True, kw_only=True):
    """Where the queries come from."""

    queries: Annotated[str, Meta(description="File of queries; made up if there is none.")] = ""
    count: Annotated[int, Meta(ge=10_000, le=50_000_000, description="Of made-up queries.")] = 960_000
    distinct: Annotated[int, Meta(ge=10, le=50_000_000, description="That people may ask, made up.")] = (
        160_000
    )
    repeat: Annotated[float, Meta(ge=0, lt=1, description="Share that repeats one of the last queries.")] = (
        BOOK_REPEAT
    )
    rate: Annotated[float, Meta(gt=0, le=1e6, description="Queries a second, made up.")] = BOOK_RATE_PER_S


def run(parameters: QuerylogParameters, seed: int) -> list[Row]:
    """Rows of two kinds: the concentration at some shares, and single figures."""
    if parameters.queries:
        log = read_log(Path(parameters.queries))
    else:
        asked = made_up_queries(
            parameters.count, parameters.distinct, parameters.repeat, parameters.rate, seed=seed
        )
        log = QueryLog("made up", (LoggedQuery(str(query)) for query in asked.tolist()))
    return [
        {
            "figure": each.name,
            "x": each.percent / 100 if each.percent else -1.0,
            "value": float(each.value),
            "book": -1.0 if each.book is None else float(each.book),
        }
        for each in figures_of(statistics_of(log))
    ]


def draw(figure: Figure, outcome: Outcome) -> None:
    axes = figure.subplots()
    rows = [row for row in outcome.summary() if row["x"] > 0]
    both = [{"what": "this log", "x": 100 * row["x"], "y": 100 * row["value"]} for row in rows]
    both += [
        {"what": "the book's fit (9-2)", "x": 100 * row["x"], "y": 100 * row["book"]}
        for row in rows
        if row["book"] >= 0
    ]
    lines(axes, both, "what", "x", "y")
    axes.set_ylim(0, 102)
    name_axes(
        axes, "How few queries are most of what is asked", "most popular distinct queries (%)", "queries (%)"
    )


def claims(outcome: Outcome) -> Iterable[Claim]:
    figures = {row["figure"]: row["value"] for row in outcome.summary()}
    top = figures["share of queries, top 20%"]
    yield Claim(BOOK, "20 % of the queries are 80 % of what is asked", f"{top:.1%}", abs(top - 0.8) < 0.06)
    if HURST in figures:  # a short log has none
        slope = figures[HURST]
        yield Claim(
            BOOK,
            "the series is self-similar: Hurst 0.67 (0.58 to 0.82)",
            f"{slope:.2f}",
            0.58 <= slope <= 0.82,
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
