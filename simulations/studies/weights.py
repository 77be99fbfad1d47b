"""Do weights that follow the queues help? The thesis's rule, as `mesh.membership.own.balance` has it.

Peers of different speed have hosts of different size; each tick of a minute queues shrink by what a peer
fetches, grow by what its hosts bring, and the peer with the longest and that with the shortest queue change
their weights by the rule. The slots are those of the mesh, so what moves is what would move.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from mesh.config import WEIGHT_DEFAULT
from mesh.membership.own.balance import BalanceSettings, MemberLoad, weight_for
from mesh.slots import slot_table
from simulations.model.hosts import Hosts, drawn_hosts
from simulations.outcomes.figures import lines, measure, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

THESIS: Final = "Li Wei 2006, dynamic load balance, 1/2 - 1/(2K)"
TICK_S: Final = 60.0
WITH: Final = "with the rule"
WITHOUT: Final = "without"


class WeightParameters(Parameters, frozen=True, kw_only=True):
    """A mesh in which some machines are slower than others."""

    peers: Annotated[int, Meta(ge=2, le=200, description="Peers of the mesh.")] = 8
    slow: Annotated[int, Meta(ge=0, le=199, description="How many of them are slow.")] = 2
    slowness: Annotated[float, Meta(ge=1, le=100, description="A slow one takes so many times as long.")] = (
        3.0
    )
    pages: Annotated[int, Meta(ge=1_000, le=100_000_000, description="Of the web.")] = 2_000_000
    rate: Annotated[float, Meta(gt=0, description="Pages a second of a peer that is not slow.")] = 60.0
    minutes: Annotated[int, Meta(ge=10, le=10_000, description="That are looked at.")] = 120
    threshold: Annotated[int, Meta(ge=1, description="N: shorter queues are left alone.")] = 5_000
    ratio: Annotated[float, Meta(gt=1, description="a: K from which something moves.")] = 3.5
    stretch: Annotated[float, Meta(ge=1, description="A weight changes by this factor at most.")] = 2.0


def run(parameters: WeightParameters, seed: int) -> list[Row]:
    """A row for each minute, with the rule and without."""
    hosts = drawn_hosts(parameters.pages, 50_000, seed=seed)
    rows = []
    for is_enabled in (True, False):
        rows += _course(parameters, hosts, is_enabled=is_enabled, seed=seed)
    return rows


def _course(parameters: WeightParameters, hosts: Hosts, *, is_enabled: bool, seed: int) -> list[Row]:
    settings = BalanceSettings(
        is_enabled=is_enabled,
        threshold=parameters.threshold,
        ratio=parameters.ratio,
        stretch_max=parameters.stretch,
    )
    names = [f"s{seed}-{number:03}" for number in range(parameters.peers)]
    speed = (
        np.where(np.arange(parameters.peers) < parameters.slow, 1 / parameters.slowness, 1.0)
        * parameters.rate
    )
    weights = dict.fromkeys(names, WEIGHT_DEFAULT)
    changed = dict.fromkeys(names, -inf)
    left = hosts.pages.astype(np.float64)
    table = slot_table(weights, 50_000, 1)
    rows: list[Row] = []
    moved_urls = 0.0
    for minute in range(1, parameters.minutes + 1):
        peer = table.ranking[0][hosts.slots].astype(np.int64)
        queue = np.bincount(peer, left, parameters.peers)
        part = np.minimum(1.0, speed * TICK_S / np.maximum(queue, 1e-9))
        left = left * (1.0 - part[peer])
        queue = np.bincount(peer, left, parameters.peers)
        shares = {
            name: MemberLoad(weights[name], weights[name], int(queue[number]))
            for number, name in enumerate(names)
        }
        now = minute * TICK_S
        after = {
            name: weight_for(name, WEIGHT_DEFAULT, shares, settings, unchanged_s=now - changed[name])
            for name in names
        }
        changed |= {name: now for name in names if after[name] != weights[name]}
        if after != weights:
            weights, table = after, slot_table(after, 50_000, 1, near=table)
            is_moved = table.ranking[0][hosts.slots] != peer
            moved_urls += float(left[is_moved].sum())
        rows.append(
            _row(minute, is_enabled, queue, weights, moved_urls, float(left.sum() / parameters.pages))
        )
    return rows


def _row(
    minute: int, is_enabled: bool, queue: npt.NDArray[Any], weights: dict[str, int], moved: float, left: float
) -> Row:
    return {
        "rule": WITH if is_enabled else WITHOUT,
        "minute": minute,
        "ratio": float(queue.max() / max(1.0, queue.min())),
        "longest": float(queue.max()),
        "left": left,
        "weight_spread": max(weights.values()) / max(1, min(weights.values())),
        "moved_urls": moved,
    }


def draw(figure: Figure, outcome: Outcome) -> None:
    left, right = figure.subplots(1, 2)
    every = outcome.summary()
    step = max(1, len(every) // 60)
    rows = [row for row in every if row["minute"] % step == 0]
    lines(left, rows, "rule", "minute", "longest")
    left.set_ylim(bottom=0)
    name_axes(left, "The longest queue", "time (minutes)", "URLs")
    lines(right, [{**row, **measure(row, "left", "share", 100)} for row in rows], "rule", "minute", "share")
    right.set_ylim(bottom=0)
    name_axes(right, "What is left to fetch", "time (minutes)", "% of all pages")


def claims(outcome: Outcome) -> Iterable[Claim]:
    last = {row["rule"]: row for row in outcome.summary()}
    ours, without = last[WITH], last[WITHOUT]
    end = {"minute": ours["minute"]}
    shorter = outcome.paired("longest", {"rule": WITHOUT} | end, {"rule": WITH} | end)
    yield Claim(
        THESIS,
        "moving from the longest queue to the shortest makes them alike",
        f"the longest queue at the end: {ours['longest']:,.0f} URLs, without {without['longest']:,.0f}; "
        f"seed by seed shorter by {shorter}",
        shorter.is_above,
    )


STUDY: Final = Study(
    name="weights",
    question="Do weights that follow the queues help where machines are not alike?",
    source=THESIS,
    parameters=WeightParameters,
    run=run,
    keys=("rule", "minute"),
    columns={
        "rule": "is the rule applied?",
        "minute": "of time; the table shows some, the files have all",
        "ratio": "K, the longest queue over the shortest",
        "longest": "URLs of the longest queue",
        "left": "pages not fetched yet, of all",
        "weight_spread": "the greatest weight over the least",
        "moved_urls": "URLs that have changed their peer since the start",
    },
    draw=draw,
    caption="Queues of peers of different speed, with weights that follow them and without.",
    shown=("rule", "minute", "longest", "left", "weight_spread", "moved_urls"),
    is_headline=lambda row: row["minute"] in (1, 10, 30, 60, 90, 120),
    seeds=20,
    claims=claims,
)
