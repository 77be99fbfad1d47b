"""How fast the simulation is. Run with: pytest --benchmark-enable tests/benchmarks/bench_simulation.py

The crawl of 100,000 pages by 8 peers has to be done in 60 s on one core (issue 2), and runs with faults have
to pass 20,000 events a second on one core (issue 3).
"""

from __future__ import annotations

import os

from pytest_benchmark.fixture import BenchmarkFixture

from simulations.checks import reachable
from simulations.experiments import crawl
from simulations.fault_runs import Sizes, run_all
from simulations.web import SyntheticWeb

PAGES = int(os.environ.get("TIANMESH_BENCH_PAGES", "100000"))
FAULT_SEEDS = range(1, 21)


def test_simulated_crawl_by_eight_peers(benchmark: BenchmarkFixture) -> None:
    result = benchmark.pedantic(crawl, kwargs={"peers": 8, "seed": 7, "pages": PAGES}, rounds=1)
    benchmark.extra_info["pages"] = PAGES
    benchmark.extra_info["cpu_seconds"] = result.cpu_seconds
    benchmark.extra_info["microseconds_per_event"] = 1e6 * result.cpu_seconds / result.events
    benchmark.extra_info["digest"] = result.digest
    assert result.checks.total == 0
    assert result.cpu_seconds < 60 * PAGES / 100_000


def test_runs_with_faults_on_one_core(benchmark: BenchmarkFixture) -> None:
    run_all([0], Sizes(3, 3), workers=0)  # has numba load its kernels
    result = benchmark.pedantic(run_all, args=(FAULT_SEEDS, Sizes(3, 9)), kwargs={"workers": 0}, rounds=1)
    benchmark.extra_info["seeds"] = result.seeds
    benchmark.extra_info["events_per_second"] = result.events_per_second
    assert not result.failures
    assert result.events_per_second > 20_000


def test_walk_over_the_synthetic_web(benchmark: BenchmarkFixture) -> None:
    web = SyntheticWeb(7, 20_000)
    pages = benchmark.pedantic(reachable, args=(web,), rounds=3)
    assert len(pages) == 20_000
