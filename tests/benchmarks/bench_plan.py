"""The capacity planner held against crawls of real peers that share this machine's cores.

pytest tests/benchmarks/bench_plan.py -s

The documentation sites of the live tests, each under a host of its own, from nginx without delay: one peer
is measured, and its report predicts the pages a second of two and four, which cores limit. Where delays
limit, `bench_exact_live.py` holds the plan against the same crawls as the simulation.

Measured (2 shared vCPU AMD EPYC, 2026-11-25; other work was there, but our sessions had the weight of 20 of
its: on a machine shared evenly seconds mean nothing), from the first page that was asked for to the last:

    peers  R  measured  planned    pages per CPU-second
    1      1  289       293        172
    2      1  320       345  +8 %  181
    4      1  299       345 +15 %  149
    4      2  167       172  +3 %   88
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from simulations.studies import plan
from tests.live.dev_web import dev_sites
from tests.live.lab_process import setting, up
from tests.live.web import served_web

CORES = float(os.cpu_count() or 1)


@pytest.mark.timeout(1_800)
def test_two_and_four_peers_as_planned_by_a_crawl_of_one(tmp_path: Path) -> None:
    calibration = tmp_path / "1-1.json"
    for peers, replicas in ((1, 1), (2, 1), (4, 1), (4, 2)):
        pages, rate = crawled(tmp_path, peers, replicas)
        given = plan.PlanParameters(
            pages=float(pages),
            hosts=1_000,  # more than are asked at a time: they are not what limits
            seconds=0.001,
            delay=0.0,
            queries=0.0,
            replicas=replicas,
            machines=1,
            peers_each=peers,
            cores=CORES,
            measured=str(calibration),
        )
        planned = pages / plan.run(given, 1)[0]["hours"] / 3_600
        total = json.loads((tmp_path / f"{peers}-{replicas}.json").read_text())["total"]
        print(
            f"\n{peers} peers, R = {replicas}: {rate:.0f} pages/s, planned {planned:.0f} "
            f"({planned / rate - 1:+.0%}); {pages / total['cpu_seconds']:.0f} per CPU-second"
        )


def crawled(folder: Path, peers: int, replicas: int) -> tuple[int, float]:
    """Crawl all sites; return the pages, and pages a second as the web server saw it."""
    report = folder / f"{peers}-{replicas}.json"
    options = ("--once", "--peers", str(peers), *setting("mesh.replicas", replicas), "--report", report)
    with served_web(dev_sites(is_split=True)) as web:
        with up(folder / report.stem, web, *options, seeds=web.seeds) as lab:
            assert lab.end(600) == 0, lab.messages
        pages = [access for access in web.accesses() if access.status == 200 and not access.is_robots]
    seconds = max(page.ended_s for page in pages) - min(page.began_s for page in pages)
    return len(pages), len(pages) / seconds
