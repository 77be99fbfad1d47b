"""The cost of a search to the one peer that asks all others, and how much of the mesh its answer speaks for.

Exact: searchers and indexers of peers in virtual time (`simulations.world.searched_mesh`), one gateway, and
documents in proportion to the peers, so that what grows is the mesh and not a peer. Each mesh is searched
while all are well, and while some are slow and others have died without membership noticing. The answers of
one peer that holds everything are what those of others have to equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import numpy as np
from msgspec import Meta

from mesh.counts import counted
from peers.gateway.model.messages import PagesFound
from peers.gateway.search.shared_state import AGGREGATED_FROM
from simulations.outcomes.figures import lines, measure, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study, numbers
from simulations.world.searched_mesh import (
    Cost,
    SearchedMesh,
    SlowPeers,
    made_up_documents,
    made_up_queries,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, chapter 8, sections 2 and 3"
TAIL: Final = "Dean and Barroso 2013, the tail at scale"
WELL: Final = "all well"
SICK: Final = "slow and dead"
COST_OF_MORE: Final = (
    1.25  # of a peer in the largest mesh, over that in the next smaller one: more is no line
)
WORSE_MAX: Final = 8.0  # times what a healthy mesh costs: 4 plans, of which each is asked twice


class MulticastParameters(Parameters, frozen=True, kw_only=True):
    """Meshes that are searched by one gateway."""

    peers: Annotated[str, Meta(description="Sizes of the mesh, by comma.")] = "3,10,30,100,300"
    documents: Annotated[int, Meta(ge=1, le=1_000, description="Of each peer.")] = 50
    queries: Annotated[int, Meta(ge=1, le=10_000, description="Of each mesh.")] = 10
    replicas: Annotated[int, Meta(ge=1, le=8, description="R, copies of every slot.")] = 2
    slow: Annotated[
        float, Meta(ge=0, le=0.5, description="Share of peers that are slow, where some are.")
    ] = 0.1
    slower: Annotated[float, Meta(ge=1, le=1e4, description="So many times.")] = 20.0
    aggregated_from: Annotated[
        int, Meta(ge=1, le=10_000, description="Peers from which on others merge answers for the gateway.")
    ] = AGGREGATED_FROM
    dead: Annotated[float, Meta(ge=0, le=0.5, description="Share of peers that have died, likewise.")] = 0.05


class _Searched(NamedTuple):
    found: PagesFound
    cost: Cost


def run(parameters: MulticastParameters, seed: int) -> list[Row]:
    """Two rows for each number of peers."""
    rows = []
    for n in numbers(parameters.peers, "--peers", least=2, most=2_000):
        documents = made_up_documents(parameters.documents * n, seed)
        queries = made_up_queries(parameters.queries, seed)
        alone = SearchedMesh(documents, 1, seed=seed)
        right = [alone.search(text)[0] for text in queries]
        for state in (WELL, SICK):
            is_sick = state == SICK
            mesh = SearchedMesh(
                documents,
                n,
                seed=seed,
                replicas=parameters.replicas,
                slow=SlowPeers(parameters.slow if is_sick else 0.0, parameters.slower),
                aggregated_from=parameters.aggregated_from,
            )
            if is_sick:
                mesh.kill(parameters.dead)
            searched = [_Searched(*mesh.search(text)) for text in queries]
            rows.append({"peers": n, "state": state, **_measured(searched, right)})
    return rows


def _measured(searched: Sequence[_Searched], right: Sequence[PagesFound]) -> Row:
    """Means over the searches, but for quantiles of the time."""
    costs = [each.cost for each in searched]
    covered = np.array([each.found.coverage.answered / each.found.coverage.slots for each in searched])
    equal = [is_same(each.found, alone) for each, alone in zip(searched, right, strict=True)]
    is_whole = covered == 1.0
    seconds = [cost.seconds for cost in costs]
    return {
        "messages": float(np.mean([cost.messages for cost in costs])),
        "kilobytes": float(np.mean([cost.n_bytes for cost in costs])) / 1e3,
        "calls": float(np.mean([cost.work for cost in costs])),
        "rounds": float(np.mean([cost.rounds for cost in costs])),
        "p50_ms": float(np.median(seconds)) * 1e3,
        "slowest_ms": max(seconds) * 1e3,
        "coverage": float(covered.mean()),
        "whole": float(is_whole.mean()),
        "false": float(np.mean([claims and not same for claims, same in zip(is_whole, equal, strict=True)])),
    }


def is_same(one: PagesFound, other: PagesFound) -> bool:
    """Have two answers the same pages with the same scores, and where both have counted all, as many?"""
    has_counted = one.is_exact and other.is_exact
    pages = [[(hit.url, hit.score) for hit in each.hits] for each in (one, other)]
    return pages[0] == pages[1] and (not has_counted or one.total == other.total)


def draw(figure: Figure, outcome: Outcome) -> None:
    left, middle, right = figure.subplots(1, 3)
    rows = outcome.summary()
    for axes, name, unit, title in (
        (left, "calls", "calls", "Calls of the gateway for a search"),
        (middle, "messages", "messages", "Messages to and from it"),
        (right, "p50_ms", "ms", "Time of an answer, median"),
    ):
        lines(axes, [{**row, **measure(row, name, unit)} for row in rows], "state", "peers", unit)
        axes.set_xscale("log")
        axes.set_yscale("log")
        name_axes(axes, title, "peers", unit)


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = {(row["peers"], row["state"]): row for row in outcome.summary()}
    sizes = sorted({n for n, _ in rows})
    false = max(row["false"] for row in rows.values())
    well = min(row["whole"] for row in rows.values() if row["state"] == WELL)
    yield Claim(
        BOOK,
        "an answer that claims all slots is that of one peer with all documents, by page and score",
        f"{false:.1%} of the answers claim more than they have; {well:.1%} are whole where all are well",
        false == 0.0 and well == 1.0,
    )
    if len(sizes) > 1:
        before, most = sizes[-2:]
        each, each_before = (rows[n, WELL]["calls"] / n for n in (most, before))
        yield Claim(
            BOOK,
            "a peer more costs the gateway no more than those before it",
            f"{each:.0f} calls of a search for each of {counted(most, 'peer')}, {each_before:.0f} of "
            f"{before}",
            each <= COST_OF_MORE * each_before,
        )
    worse = {
        name: max(rows[n, SICK][name] / rows[n, WELL][name] for n in sizes) for name in ("messages", "calls")
    }
    yield Claim(
        TAIL,
        "asking others for those that are late costs a few times as much, however many are late",
        f"at most {worse['messages']:.1f} times the messages and {worse['calls']:.1f} times the calls of a "
        "mesh in which all are well",
        max(worse.values()) <= WORSE_MAX,
    )


STUDY: Final = Study(
    name="multicast",
    question="What does a search cost the peer that asks all others?",
    source=BOOK,
    parameters=MulticastParameters,
    run=run,
    keys=("peers", "state"),
    columns={
        "peers": "peers of the mesh",
        "state": "are some slow, and others dead, unnoticed?",
        "messages": "that the gateway sends and receives for a search, a multicast once for each receiver",
        "kilobytes": "of these messages",
        "calls": "of Python functions by the gateway for a search, its own index left out",
        "rounds": "of questions of a search",
        "p50_ms": "half of the answers are there, of virtual time",
        "slowest_ms": "all answers are there",
        "coverage": "slots that an answer speaks for, mean share",
        "whole": "answers that claim to speak for all slots, share",
        "false": "of all answers, those that claim so and are not that of one peer with all documents, share",
    },
    draw=draw,
    seeds=3,
    caption="Calls, messages and time of a search at its gateway against the number of peers.",
    claims=claims,
)
