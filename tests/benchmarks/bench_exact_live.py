"""The exact simulation beside real peers on a larger web: pages per peer, and how long the crawl takes.

BENCH_LIVE_PAGES=1500 pytest tests/benchmarks/bench_exact_live.py -s

As `tests/live/test_exact.py`, on hosts of 40 pages: a web is served with the seconds of a trace, recorded by
the peers that crawl it, and replayed by the same peers in virtual time; `plan` says how long it takes, too.

Measured (2 shared vCPU AMD EPYC, load 23, 2026-11-25), 1,500 pages, pages of each peer equal:

    peers  real     exact    of real  planned  of real
    2      124.7 s  119.2 s  .956     111.6 s  .90
    4      120.6 s  116.7 s  .968     111.6 s  .93
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.live.test_exact import DELAY_S, both, planned_s, trace_of

PAGES = int(os.environ.get("BENCH_LIVE_PAGES", "1500"))


@pytest.mark.parametrize("n_peers", [2, 4])
def test_exact_beside_live(n_peers: int, tmp_path: Path) -> None:
    trace = trace_of(PAGES, pages_per_host=40.0)
    real, exact = both(trace, n_peers, DELAY_S, tmp_path)
    print(
        f"\n{n_peers} peers, {PAGES:,} pages: real {real.seconds:.1f} s {sorted(real.pages.values())}, "
        f"exact {exact.seconds:.1f} s {sorted(exact.pages.values())}: {exact.seconds / real.seconds:.3f} x; "
        f"planned {(plan_s := planned_s(trace, n_peers, tmp_path)):.1f} s: {plan_s / real.seconds:.3f} x"
    )
    assert real.pages == exact.pages
    assert exact.seconds == pytest.approx(real.seconds, rel=0.15)
    assert plan_s == pytest.approx(real.seconds, rel=0.2)
