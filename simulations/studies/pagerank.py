"""How like the exact ranks are those of a mesh that loses messages, peers and links? PageRank by messages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import numpy as np
from msgspec import Meta

from simulations.link_graphs.drawn_graph import drawn_graph
from simulations.link_graphs.graph import LinkGraph
from simulations.link_graphs.graph_files import read_named_graph
from simulations.link_graphs.rank_mesh import RankMesh, RankNetwork
from simulations.link_graphs.ranks import distance, exact_ranks, tau_of_top
from simulations.outcomes.figures import lines, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study, numbers
from simulations.traces.columns import Ints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KOLLIAS: Final = "Kollias, Gallopoulos, Szyld 2006"
SANKARALINGAM: Final = "Sankaralingam, Sethumadhavan, Browne 2003"
FROM_NOTHING, AFTER_FAULTS = "from nothing", "after faults"
DISTANCE_MAX: Final = 1e-3
TAU_MIN: Final = 0.99
SUMS_MAX: Final = 10.0
BETWEEN_S: Final = 1.0  # virtual seconds from one fault to the next, so that it hits messages under way
HOST_PAGES: Final = (
    500  # pages in a row that are a host in a graph without names, as `tianmesh trace` has them
)


class PagerankParameters(Parameters, frozen=True, kw_only=True):
    """A web whose hosts are a slot each, and a bad network."""

    graph: Annotated[str, Meta(description="Graph of WebGraph, or folder of an export; drawn if absent.")] = (
        ""
    )
    peers: Annotated[str, Meta(description="Peers of the mesh, by comma.")] = "1,3,8"
    pages: Annotated[int, Meta(ge=100, le=10_000_000, description="Of a drawn graph.")] = 10_000
    hosts: Annotated[int, Meta(ge=1, le=100_000, description="Of a drawn graph.")] = 40
    loss: Annotated[float, Meta(ge=0, le=0.5, description="Share of messages that are lost.")] = 0.1
    repeat: Annotated[float, Meta(ge=0, le=0.5, description="Share of messages that come twice.")] = 0.1
    changed: Annotated[float, Meta(ge=0, le=1, description="Share of all links that change.")] = 0.05
    removed: Annotated[float, Meta(ge=0, le=1, description="Share of all pages that go.")] = 0.01
    tolerance: Annotated[
        float, Meta(gt=0, le=1, description="Change of a rank that is not told; the mean rank is about 1.")
    ] = 1e-4


class _Web(NamedTuple):
    graph: LinkGraph
    slot: Ints  # of each page: its host


def run(parameters: PagerankParameters, seed: int) -> list[Row]:
    """Two rows for each number of peers: when it has come to rest, and when it has again after faults."""
    web = _web(parameters, seed)
    rows = []
    for n_peers in numbers(parameters.peers, "--peers", most=1_000):
        network = RankNetwork(parameters.loss, parameters.repeat)
        mesh = RankMesh(web.graph, web.slot, n_peers, parameters.tolerance, network, seed)
        mesh.run()
        rows.append(_row(n_peers, FROM_NOTHING, mesh))
        _fail(mesh, parameters)
        mesh.run()
        rows.append(_row(n_peers, AFTER_FAULTS, mesh))
    return rows


def _web(parameters: PagerankParameters, seed: int) -> _Web:
    if not parameters.graph:
        return _Web(*drawn_graph(parameters.pages, parameters.hosts, seed))
    named = read_named_graph(Path(parameters.graph))
    pages = np.arange(named.graph.page_count)
    return _Web(named.graph, named.host if named.urls else pages // HOST_PAGES)


def _fail(mesh: RankMesh, parameters: PagerankParameters) -> None:
    """Change links and pages; meanwhile crash a peer, move half of the slots of one, and lose it for good."""
    mesh.change_links(parameters.changed, parameters.removed)
    mesh.run(BETWEEN_S)
    mesh.crash(mesh.peers[-1])
    if len(mesh.peers) > 1:
        mesh.run(BETWEEN_S)
        mesh.hand_over(mesh.peers[0], mesh.peers[1], 0.5)
        mesh.run(BETWEEN_S)
        mesh.lose(mesh.peers[0])


def _row(n_peers: int, course: str, mesh: RankMesh) -> Row:
    exact, ranks, traffic = exact_ranks(mesh.graph), mesh.ranks(), mesh.traffic
    return {
        "peers": n_peers,
        "course": course,
        "distance": distance(ranks, exact),
        "tau": tau_of_top(ranks, exact),
        "sums_page": traffic.sums / len(ranks),
        "envelopes": traffic.envelopes,
        "seconds": mesh.now,
    }


def draw(figure: Figure, outcome: Outcome) -> None:
    left, right = figure.subplots(1, 2)
    rows = outcome.summary()
    lines(left, rows, "course", "peers", "distance")
    left.axhline(DISTANCE_MAX, color="0.5", linestyle=":")
    left.set_ylim(bottom=0)
    name_axes(left, "Distance from the exact ranks", "peers", "L1, share of all rank")
    lines(right, rows, "course", "peers", "sums_page")
    right.set_ylim(bottom=0)
    name_axes(right, "Sums sent, from the beginning", "peers", "sums a page")


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = outcome.summary()
    for course, says in (
        (
            FROM_NOTHING,
            "ranks that peers find by messages, each at its own time, are those of power iteration",
        ),
        (AFTER_FAULTS, "crashes, hand-overs, a lost disk and changed links make no difference to that"),
    ):
        chosen = [row for row in rows if row["course"] == course]
        yield Claim(
            KOLLIAS,
            f"{says}: L1 below .001, Kendall's tau of the first 1,000 above .99",
            ", ".join(f"{row['peers']}: {row['distance']:.2g}, {row['tau']:.4f}" for row in chosen),
            all(row["distance"] < DISTANCE_MAX and row["tau"] > TAU_MIN for row in chosen),
        )
    first = [row for row in rows if row["course"] == FROM_NOTHING]
    yield Claim(
        SANKARALINGAM,
        "ten messages a page are enough",
        ", ".join(f"{row['peers']}: {row['sums_page']:.2f}" for row in first),
        all(row["sums_page"] <= SUMS_MAX for row in first),
    )


STUDY: Final = Study(
    name="pagerank",
    question="How like the exact ranks are those of a mesh that loses messages, peers and links?",
    source=f"{KOLLIAS}; {SANKARALINGAM}",
    parameters=PagerankParameters,
    run=run,
    keys=("peers", "course"),
    columns={
        "peers": "peers of the mesh at the beginning",
        "course": "from nothing to rest; or to rest once more after links changed and pages went, while one "
        "peer crashed, half of the slots of another were handed over, and that was lost with its disk",
        "distance": "sum of the differences from exact ranks, as a share of all rank",
        "tau": "Kendall's tau-b of the 1,000 pages with the highest exact ranks",
        "sums_page": "sums sent to other peers since the beginning, a page; also those that got lost",
        "envelopes": "messages sent to other peers since the beginning; each has the sums of many pages",
        "seconds": "virtual seconds since the beginning; a message takes half a second at most, a retry two",
    },
    draw=draw,
    caption="Distance of the ranks of a mesh from the exact ones, and the sums that it took.",
    seeds=3,
    claims=claims,
)
