"""The cost for a mesh when peers crash, pause, are cut off, come and go: the runs of `sim faults`.

Each seed is a mesh of its own with faults of its own, drawn from it, while it crawls and is searched; whether
it keeps its promises is judged on the way. What a run has cost is one value of a distribution.
"""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from msgspec import Meta

from mesh.counts import counted
from simulations.faults.fault_run import run_faults
from simulations.faults.fault_runs import Sizes, costs_of
from simulations.outcomes.figures import name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BROKEN: Final = "promises broken"


class RecoveryParameters(Parameters, frozen=True, kw_only=True):
    """The sizes of the meshes, and whether they have a malicious member."""

    least: Annotated[int, Meta(ge=3, le=50, description="Peers of the smallest mesh.")] = 3
    most: Annotated[int, Meta(ge=3, le=50, description="Peers of the largest mesh.")] = 9
    byzantine: Annotated[
        int, Meta(ge=0, le=1, description="Members of each mesh that lie, forge, repeat and flood.")
    ] = 0


def run(parameters: RecoveryParameters, seed: int) -> list[Row]:
    """A row for each cost of one run."""
    peers = Sizes(parameters.least, max(parameters.least, parameters.most)).of(seed)
    outcome = run_faults(seed, peers, has_liar=parameters.byzantine > 0)
    costs = costs_of(outcome) | {BROKEN: float(len(outcome.violations))}
    return [{"cost": cost, "value": value} for cost, value in costs.items()]


def draw(figure: Figure, outcome: Outcome) -> None:
    costs = {cost: values for cost, values in _values(outcome).items() if cost != BROKEN}
    for axes, (cost, values) in zip(figure.subplots(1, len(costs)), costs.items(), strict=True):
        share = 100 * np.arange(len(values) + 1) / len(values)
        axes.step([0.0, *sorted(values)], share, "k-", where="post")
        axes.axvline(float(np.median(values)), color="0.4", linestyle=":")
        axes.set_xlim(left=0)
        axes.set_ylim(0, 102)
        what, _, unit = cost.rpartition(", ")
        name_axes(axes, fill(what, 24), unit, "% of runs")


def in_words(outcome: Outcome) -> str:
    parts = []
    for cost, values in _values(outcome).items():
        median, p90, most = np.percentile(values, (50, 90, 100)).tolist()
        parts.append(f"{cost}: median {median:.3g}, of nine in ten at most {p90:.3g}, at most {most:.3g}")
    return f"Of {counted(len(outcome.seeds), 'run')}, " + "; ".join(parts) + "."


def claims(outcome: Outcome) -> Iterable[Claim]:
    broken = _values(outcome)[BROKEN]
    yield Claim(
        "the promises of the mesh, judged in every run",
        "nothing is lost, fetched twice, asked too soon or answered wrongly, whatever fails",
        f"{broken.count(0.0)} of {counted(len(broken), 'run')} kept every promise",
        not any(broken),
    )


def _values(outcome: Outcome) -> dict[str, list[float]]:
    """Of each cost, one for every run that has it."""
    values: dict[str, list[float]] = {}
    for row in (row for rows in outcome.runs for row in rows):
        values.setdefault(row["cost"], []).append(row["value"])
    return values


STUDY: Final = Study(
    name="recovery",
    question="What does it cost when peers crash, pause, are cut off, come and go?",
    source="what a mesh promises (README), with the faults of `tianmesh sim faults`",
    parameters=RecoveryParameters,
    run=run,
    keys=("cost",),
    columns={
        "cost": "of one run, until a while after its last fault",
        "value": "mean over the runs that have it, one for each seed",
    },
    draw=draw,
    caption="Distributions over runs with faults: how many cost at most so much; dotted, the median.",
    seeds=20,
    claims=claims,
    in_words=in_words,
)
