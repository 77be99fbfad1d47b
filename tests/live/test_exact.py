"""The simulation and the planner held against real peers: the same trace, settings and ids."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from mesh.config import MeshConfig, load_config
from mesh.trace import TracedPage, read_trace, write_trace
from peers.config import PeerConfig
from peers.policy.rules import EVERYTHING
from peers.sizes import crawl_settings
from simulations.studies import plan
from simulations.webs.trace import TraceWeb
from simulations.webs.web import SyntheticWeb, WebShape
from simulations.world.chance import random_of
from simulations.world.checks import pages_by_peer, reachable
from simulations.world.crawl import SimulatedCrawl
from simulations.world.network import Network
from tests.live.lab_process import up
from tests.live.played_web import played_web

pytestmark = [pytest.mark.live, pytest.mark.timed]

DELAY_S: Final = 0.5
# What of a synthetic web is served: seconds that count beside those that two cores need for so many pages.
SHAPE: Final = WebShape(
    pages_per_host=6.0,
    size_exponent=0.3,
    dead_hosts_share=0.0,
    slow_hosts_share=0.0,
    robots_share=0.0,
    missing_share=0.0,
    redirect_share=0.0,
    forbidden_share=0.0,
    seconds_median=0.2,
)


class Fetched(NamedTuple):
    """What a crawl has come to."""

    pages: dict[str, int]  # of each peer
    seconds: float


@pytest.mark.parametrize("n_peers", [2, 4])
def test_real_peers_fetch_what_exact_ones_do_within_15_percent_of_their_time_and_20_of_the_plan(
    n_peers: int, tmp_path: Path
) -> None:
    trace = trace_of(150)
    real, exact = both(trace, n_peers, DELAY_S, tmp_path)
    assert real.pages == exact.pages
    assert exact.seconds == pytest.approx(real.seconds, rel=0.15)
    assert planned_s(trace, n_peers, tmp_path) == pytest.approx(real.seconds, rel=0.2)


def trace_of(pages: int, pages_per_host: float = SHAPE.pages_per_host) -> list[TracedPage]:
    """Every page of a synthetic web, breadth first."""
    web = SyntheticWeb(5, pages, replace(SHAPE, pages_per_host=pages_per_host))
    return [
        TracedPage(url, float(number), served.seconds, served.n_bytes, tuple(web.targets(url)))
        for number, url in enumerate(reachable(web))
        if (served := web.serve(url))
    ]


def both(trace: list[TracedPage], n_peers: int, delay_s: float, folder: Path) -> tuple[Fetched, Fetched]:
    """Let real peers crawl a trace and record it; let the same peers replay that in virtual time."""
    report, recorded = folder / "report.json", folder / "recorded.trace"
    options = ("--once", "--peers", str(n_peers), "--report", report, "--record", recorded)
    with played_web(trace, folder) as web:
        with up(folder, web.served, *options, seeds=web.served.seeds, delay_s=delay_s) as lab:
            assert lab.end(600) == 0, lab.messages
    rows: list[dict[str, Any]] = json.loads(report.read_text())["peers"]
    real = Fetched({row["id"]: row["pages_fetched"] for row in rows}, web.seconds)
    return real, replayed(list(read_trace(recorded)), [row["id"] for row in rows], folder / "mesh")


def planned_s(trace: list[TracedPage], n_peers: int, folder: Path) -> float:
    """How long the planner says that so many peers of one machine take."""
    path = folder / "planned.trace"
    write_trace(path, trace)
    given = plan.PlanParameters(trace=str(path), delay=DELAY_S, machines=1, peers_each=n_peers, queries=0.0)
    return float(plan.run(given, 1)[0]["hours"]) * 3_600


def replayed(trace: list[TracedPage], peers: list[str], mesh: Path) -> Fetched:
    config = load_config(mesh / "mesh.toml", MeshConfig)
    crawl = SimulatedCrawl(
        TraceWeb(trace),
        peers=peers,
        seed=7,
        replicas=config.replicas,
        slots=config.slot_count,
        policy=EVERYTHING,
        settings=crawl_settings(load_config(mesh / "peer-1" / "config.toml", PeerConfig)),
        network=Network(random_of(7, "network"), delay_min_s=0.0001, delay_mean_s=0.0005),  # loopback
    )
    crawl.run()
    times = pages_by_peer(crawl.log, crawl.peers)
    begin = min(request.at_s for request in crawl.log if request.status == 200)
    end = max(until for each in times.values() for until in each[-1:])
    return Fetched({peer: len(each) for peer, each in times.items()}, end - begin)
