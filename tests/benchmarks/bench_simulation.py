"""How fast the simulation is. Run with: pytest --benchmark-enable tests/benchmarks/bench_simulation.py

Measured (2 shared vCPU AMD EPYC, CPython 3.11.7, nothing else running): 10,000 pages by 8 peers 10.7 s of CPU
(17.4 s before the digests of slots were kept up to date row by row; 4.5 s without copies of the frontier, as
it once was). Runs with faults: 16,800 events a second with 3 to 9 peers, 20,200 with 5; of 1,000 seeds, two
processes at a time, 16,900. Wanted: 100,000 pages in 60 s, 20,000 events a second.
"""

from __future__ import annotations

import os

from pytest_benchmark.fixture import BenchmarkFixture

from simulations.faults.fault_runs import Sizes, run_all
from simulations.webs.web import SyntheticWeb
from simulations.world.checks import reachable
from simulations.world.experiments import crawl

PAGES = int(os.environ.get("TIANMESH_BENCH_PAGES", "100000"))
FAULT_SEEDS = range(1, 21)


def test_simulated_crawl_by_eight_peers(benchmark: BenchmarkFixture) -> None:
    result = benchmark.pedantic(crawl, kwargs={"peers": 8, "seed": 7, "pages": PAGES}, rounds=1)
    benchmark.extra_info["pages"] = PAGES
    benchmark.extra_info["cpu_seconds"] = result.cpu_seconds
    benchmark.extra_info["microseconds_per_event"] = 1e6 * result.cpu_seconds / result.events
    benchmark.extra_info["digest"] = result.digest
    assert result.checks.total == 0


def test_runs_with_faults_on_one_core(benchmark: BenchmarkFixture) -> None:
    run_all([0], Sizes(3, 3), workers=0)  # has what is loaded late loaded
    result = benchmark.pedantic(run_all, args=(FAULT_SEEDS, Sizes(3, 9)), kwargs={"workers": 0}, rounds=1)
    benchmark.extra_info["seeds"] = result.seeds
    benchmark.extra_info["events_per_second"] = result.events_per_second
    assert not result.failures


def test_walk_over_the_synthetic_web(benchmark: BenchmarkFixture) -> None:
    web = SyntheticWeb(7, 20_000)
    pages = benchmark.pedantic(reachable, args=(web,), rounds=3)
    assert len(pages) == 20_000
