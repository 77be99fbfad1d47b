"""How much is missing of a mesh, and how much does it copy, if peers come and go by sessions?

Machines are switched off, and volunteers come and go. Of the sessions that were watched in networks of peers
most took minutes, and a few took weeks: `--shapes` says how unlike they are, 1 for exponential ones, as most
models have them. What happens then is in `simulations.model.sessions`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from msgspec import Meta

from simulations.model.sessions import Churn, ChurningMesh
from simulations.outcomes.figures import lines, measure, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study, amounts, numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STUTZBACH: Final = "Stutzbach and Rejaie 2006, understanding churn in peer-to-peer networks"
RENEWAL: Final = "renewal theory: the share of the time that a peer is there is that of its session"
FEW: Final = 0.01  # difference of shares that is none, if chance leaves room for it


class ChurnParameters(Parameters, frozen=True, kw_only=True):
    """A mesh; sessions of BitTorrent that were watched had shapes of .34 to .59."""

    peers: Annotated[int, Meta(ge=2, le=500, description="Of the mesh, present or not.")] = 20
    replicas: Annotated[str, Meta(description="R, copies of every slot, by comma.")] = "1,2,3"
    shapes: Annotated[str, Meta(description="Of the lengths (Weibull), by comma; 1: exponential.")] = (
        "1,0.59,0.34"
    )
    session_hours: Annotated[float, Meta(gt=0, le=10_000, description="Of a session, mean.")] = 8.0
    absence_hours: Annotated[float, Meta(gt=0, le=10_000, description="Of an absence, mean.")] = 4.0
    days: Annotated[float, Meta(gt=0, le=3_650, description="Watched, after a warm-up.")] = 7.0
    slots: Annotated[int, Meta(ge=1, le=65_536, description="Logical nodes, m.")] = 200
    gb: Annotated[float, Meta(gt=0, description="That a peer keeps where all are there, GB.")] = 17.0
    mbps: Annotated[float, Meta(gt=0, description="That a peer takes in, Mbit/s.")] = 100.0
    missed_s: Annotated[float, Meta(ge=0, description="After which others copy what an absent peer has.")] = (
        5.0
    )
    changed: Annotated[float, Meta(ge=0, le=1, description="Share that changes in a day.")] = 0.05
    lost: Annotated[float, Meta(ge=0, le=1, description="Share of sessions that end with the disk.")] = 0.0


def run(parameters: ChurnParameters, seed: int) -> list[Row]:
    """A row for each shape and number of copies."""
    rows = []
    for shape in amounts(parameters.shapes, "--shapes", most=10.0):
        for replicas in numbers(parameters.replicas, "--replicas", most=parameters.peers):
            slot_gb = parameters.gb * parameters.peers / parameters.slots / replicas
            churn = Churn(
                parameters.session_hours,
                parameters.absence_hours,
                shape,
                parameters.missed_s / 3_600,
                slot_gb * 8e3 / parameters.mbps / 3_600,
                parameters.changed / 24,
                parameters.lost,
            )
            random = np.random.default_rng(seed)
            mesh = ChurningMesh(parameters.peers, parameters.slots, replicas, churn, random)
            seen = mesh.run(24 * parameters.days)
            rows.append(
                {
                    "shape": shape,
                    "replicas": replicas,
                    "present": seen.present,
                    "covered": seen.covered,
                    "complete": seen.complete,
                    "copied_gb": 24 * seen.copied * slot_gb,
                    "lost": 30 * 1_000 * seen.lost / parameters.slots / parameters.days,
                    "long_sessions": seen.long_sessions,
                    "long_time": seen.long_time,
                }
            )
    return rows


def draw(figure: Figure, outcome: Outcome) -> None:
    figure.set_size_inches(10, 4.2)
    missing, copied = figure.subplots(1, 2)
    rows = [
        {**row, **measure({**row, "uncovered": 1 - row["covered"]}, "uncovered", "uncovered", 100)}
        for row in outcome.summary()
    ]
    lines(missing, rows, "shape", "replicas", "uncovered", _shape_named)
    missing.set_yscale("symlog", linthresh=0.01)
    missing.set_ylim(bottom=0)
    name_axes(missing, "Slots that nobody present has", "copies, R", "% of all, mean over time")
    lines(copied, rows, "shape", "replicas", "copied_gb", _shape_named)
    copied.set_ylim(bottom=0)
    name_axes(copied, "Copied because peers come and go", "copies, R", "GB a peer and day")
    for axes in (missing, copied):
        axes.set_xticks(sorted({row["replicas"] for row in rows}))


def _shape_named(shape: float) -> str:
    return "exponential" if shape == 1 else f"Weibull, shape {shape:g}"


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = {(row["shape"], row["replicas"]): row for row in outcome.summary()}
    shapes = sorted({shape for shape, _ in rows})
    most = max(replicas for _, replicas in rows)
    single = [{"shape": shape, "replicas": 1} for shape in shapes if (shape, 1) in rows]
    if single:
        differences = [outcome.paired("covered", keys, keys, "present") for keys in single]
        yield Claim(
            RENEWAL,
            "one copy of each slot is there as often as its peer",
            f"share of the slots less that of the peers: {', '.join(map(str, differences))}",
            all(each.low < FEW and each.high > -FEW for each in differences),
        )
    row = rows[shapes[0], most]
    if shapes[0] < 1:
        yield Claim(
            STUTZBACH,
            "most who are present at any time are of long sessions, though most sessions are short",
            f"shape {shapes[0]:g}: {row['long_sessions']:.0%} of the sessions are longer than the mean, and "
            f"have {row['long_time']:.0%} of the time",
            row["long_sessions"] < 0.5 < row["long_time"],
        )
    if shapes[0] < 1 and shapes[-1] == 1 and most > 1:
        difference = outcome.paired(
            "copied_gb", {"shape": 1.0, "replicas": most}, {"shape": shapes[0], "replicas": most}
        )
        yield Claim(
            "ours",
            "with the same means, sessions of which few are long have less copied than exponential ones",
            f"GB a peer and day less, shape {shapes[0]:g}, R = {most}: {difference}",
            difference.is_above,
        )


STUDY: Final = Study(
    name="churn",
    question="How much is missing, and how much is copied, if peers come and go by sessions?",
    source=STUTZBACH,
    parameters=ChurnParameters,
    run=run,
    keys=("shape", "replicas"),
    columns={
        "shape": "of the Weibull distribution of sessions and absences; 1 is exponential",
        "replicas": "R, copies of every slot",
        "present": "share of the peers, mean over time",
        "covered": "share of the slots that somebody present has, mean over time: what a search speaks for",
        "complete": "share of the time in which these are all slots",
        "copied_gb": "GB that a peer takes in, a day, because others or itself have come or gone",
        "lost": "slots of which no disk has a copy any more, in 30 days, of 1,000; with --lost above 0",
        "long_sessions": "sessions longer than the mean, of all",
        "long_time": "what these have of the time of all",
    },
    draw=draw,
    caption="What is missing of a mesh whose peers come and go, and what they copy for that.",
    shown=("shape", "replicas", "present", "covered", "complete", "copied_gb", "lost"),
    seeds=10,
    claims=claims,
)
