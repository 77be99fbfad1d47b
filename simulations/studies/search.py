"""How long does a search take, and how much of the mesh does it speak for?

A query goes to all peers at once; each answers for the slots it is the first live one of. The answer is
complete when the last has come, so what counts is the slowest of n, not the mean: that is what hedging is
for. Where a peer has not answered after the hedging delay, the standbys of its slots are asked as well, each
for the part that it stands by for. Service times are drawn from a log-normal distribution, or from a file of
times that were measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from msgspec import Meta

from mesh.errors import ConfigError
from simulations.outcomes.figures import lines, measure, name_axes, peers_named
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study, numbers
from simulations.traces.columns import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, chapter 8, sections 2 and 3"
TAIL: Final = "Dean and Barroso 2013, the tail at scale"
HEDGED: Final = "hedged"
PLAIN: Final = "not hedged"
WHOLE: Final = 0.99  # of the slots; an answer of a mesh of which less answers is not bounded but cut off
SLOT_GROUPS: Final = 40  # standbys that share the slots of a peer, at most


class SearchParameters(Parameters, frozen=True, kw_only=True):
    """A mesh that is searched; times as measured with three peers: p50 8.5 ms, p99 22 ms."""

    peers: Annotated[str, Meta(description="Sizes of the mesh, by comma.")] = "1,3,10,30,100,300,1000"
    replicas: Annotated[int, Meta(ge=1, le=8, description="R, copies of every slot.")] = 2
    k: Annotated[int, Meta(ge=1, le=10_000, description="Hits that every peer returns.")] = 100
    queries: Annotated[int, Meta(ge=100, le=1_000_000, description="That are drawn.")] = 4_000
    median_ms: Annotated[float, Meta(gt=0, description="Of a peer's answer.")] = 5.0
    p99_ms: Annotated[float, Meta(gt=0, description="Of a peer's answer.")] = 14.0
    times: Annotated[str, Meta(description="File of measured times of answers, ms a line, instead.")] = ""
    hedge_ms: Annotated[float, Meta(gt=0, description="After which standbys are asked as well.")] = 50.0
    deadline_ms: Annotated[float, Meta(gt=0, description="After which the answer is given as it is.")] = (
        2_000.0
    )
    slow: Annotated[float, Meta(ge=0, le=1, description="Share of answers that are late by slow_ms.")] = 0.001
    slow_ms: Annotated[float, Meta(ge=0, description="A pause of a machine.")] = 1_000.0
    dead: Annotated[float, Meta(ge=0, le=1, description="Share of peers that have just died.")] = 0.001
    hit_us: Annotated[float, Meta(ge=0, description="Of the gateway for a hit that it merges.")] = 1.0


def run(parameters: SearchParameters, seed: int) -> list[Row]:
    """A row for each number of peers, with hedging and without."""
    random = np.random.default_rng(seed)
    measured = _measured(parameters.times)
    rows = []
    for n in numbers(parameters.peers, "--peers", most=20_000):
        for is_hedged in (False, True):
            latency, coverage = [], []
            for _ in range(0, parameters.queries, 1_000):
                some = _ask(
                    parameters, n, min(1_000, parameters.queries), measured, random, is_hedged=is_hedged
                )
                latency.append(some[0])
                coverage.append(some[1])
            every = np.concatenate(latency)
            covered = np.concatenate(coverage)
            p50, p99 = np.percentile(every, (50, 99))
            rows.append(
                {
                    "peers": n,
                    "hedging": HEDGED if is_hedged else PLAIN,
                    "p50_ms": float(p50),
                    "p99_ms": float(p99),
                    "coverage": float(covered.mean()),
                    "complete": float((covered > 1 - 1e-9).mean()),
                    "hits_merged": float(n * parameters.k),
                }
            )
    return rows


def _ask(
    parameters: SearchParameters,
    n: int,
    queries: int,
    measured: Floats | None,
    random: np.random.Generator,
    *,
    is_hedged: bool,
) -> tuple[Floats, Floats]:
    """Latency in ms and coverage of some queries."""
    first = _times(parameters, (queries, n), measured, random)
    is_dead = np.zeros((queries, n), bool)
    if parameters.dead:
        is_dead = random.random((queries, n)) < parameters.dead
        first[is_dead] = np.inf
    groups = min(SLOT_GROUPS, max(1, n - 1))
    worst = np.zeros(queries)
    covered = np.full(queries, float(n))
    late = (
        np.argwhere(first > parameters.hedge_ms) if is_hedged and parameters.replicas > 1 and n > 1 else None
    )
    base = np.where(first > parameters.hedge_ms, 0.0, first) if late is not None else first
    worst = base.max(axis=1)
    if late is None:
        covered -= (first > parameters.deadline_ms).sum(axis=1)
    elif len(late):
        own = first[late[:, 0], late[:, 1]]
        standby = np.full((len(late), groups), np.inf)
        for number in range(1, parameters.replicas):
            answer = parameters.hedge_ms * number + _times(parameters, standby.shape, measured, random)
            answer[random.random(standby.shape) < parameters.dead] = np.inf
            np.minimum(standby, answer, out=standby)
        part = np.minimum(standby, own[:, np.newaxis])
        np.maximum.at(worst, late[:, 0], part.max(axis=1))
        np.subtract.at(covered, late[:, 0], (part > parameters.deadline_ms).mean(axis=1))
    merging_ms = n * parameters.k * parameters.hit_us / 1_000
    return np.minimum(worst, parameters.deadline_ms) + merging_ms, covered / n


def _times(
    parameters: SearchParameters, shape: tuple[int, int], measured: Floats | None, random: np.random.Generator
) -> Floats:
    if measured is not None:
        times: Floats = random.choice(measured, shape)
    else:
        sigma = np.log(parameters.p99_ms / parameters.median_ms) / 2.326  # the 99 % quantile of the normal
        times = parameters.median_ms * np.exp(random.normal(0.0, max(0.0, sigma), shape))
    return times + np.where(random.random(shape) < parameters.slow, parameters.slow_ms, 0.0)


def _measured(path: str) -> Floats | None:
    if not path:
        return None
    try:
        return np.array([float(line) for line in Path(path).read_text().split()], np.float64)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the times {path}: {error}; give a number of ms a line") from error


def draw(figure: Figure, outcome: Outcome) -> None:
    left, right = figure.subplots(1, 2)
    rows = outcome.summary()
    series = [
        {
            "what": f"{what}, {row['hedging']}",
            "peers": row["peers"],
            **measure(row, name, "ms"),
        }
        for hedging in (PLAIN, HEDGED)
        for what, name in (("p99", "p99_ms"), ("p50", "p50_ms"))
        for row in rows
        if row["hedging"] == hedging
    ]
    lines(left, series, "what", "peers", "ms")
    left.set_xscale("log")
    left.set_yscale("log")
    name_axes(left, "Latency of an answer, at most the deadline", "peers", "ms")
    lines(
        right,
        [{**row, **measure(row, "complete", "share", 100)} for row in rows],
        "hedging",
        "peers",
        "share",
    )
    right.set_xscale("log")
    name_axes(right, "Answers that speak for the whole mesh", "peers", "% of queries")


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = {(row["peers"], row["hedging"]): row for row in outcome.summary()}
    least, most = min(n for n, _ in rows), max(n for n, _ in rows)
    few, plain, hedged = rows[least, PLAIN], rows[most, PLAIN], rows[most, HEDGED]
    if most > least:
        yield Claim(
            TAIL,
            "with many servers the rare slow one decides: the tail grows with their number",
            f"p99 of {peers_named(least)} {few['p99_ms']:.0f} ms, of {most} {plain['p99_ms']:.0f} ms",
            plain["coverage"] >= WHOLE
            and outcome.paired("p99_ms", _of(most, PLAIN), _of(least, PLAIN)).is_above,
        )
    faster = outcome.paired("p99_ms", _of(most, PLAIN), _of(most, HEDGED))
    yield Claim(
        TAIL,
        "asking a second time bounds it",
        f"p99 of {peers_named(most)} {plain['p99_ms']:.0f} ms, hedged {hedged['p99_ms']:.0f} ms, of answers "
        f"that speak for {hedged['coverage']:.2%} of the slots; seed by seed less by {faster} ms",
        faster.is_above and hedged["coverage"] >= WHOLE,
    )


def _of(peers: int, hedging: str) -> dict[str, int | str]:
    return {"peers": peers, "hedging": hedging}


STUDY: Final = Study(
    name="search",
    question="How long does a search take, and how much of the mesh does it speak for?",
    source=BOOK,
    parameters=SearchParameters,
    run=run,
    keys=("peers", "hedging"),
    columns={
        "peers": "peers of the mesh",
        "hedging": "are standbys asked after hedge_ms?",
        "p50_ms": "half of the answers are there",
        "p99_ms": "99 of 100 answers are there",
        "coverage": "slots that an answer speaks for, mean share",
        "complete": "answers that speak for all slots, share",
        "hits_merged": "hits that the gateway merges for an answer",
    },
    draw=draw,
    seeds=20,
    caption="Latency and completeness of answers against the number of peers, hedged and not.",
    claims=claims,
)
