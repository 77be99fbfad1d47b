"""The exact simulation beside real peers on a larger web: pages per peer, and how long the crawl takes.

BENCH_LIVE_PAGES=2000 pytest tests/benchmarks/bench_exact_live.py -s

As `tests/live/test_exact.py`, on hosts of 40 pages: a web is served with the seconds of a trace, recorded by
the peers that crawl it, and replayed by the same peers in virtual time.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.live.test_exact import DELAY_S, both, trace_of

PAGES = int(os.environ.get("BENCH_LIVE_PAGES", "2000"))


@pytest.mark.parametrize("n_peers", [2, 4])
def test_exact_beside_live(n_peers: int, tmp_path: Path) -> None:
    real, exact = both(trace_of(PAGES, pages_per_host=40.0), n_peers, DELAY_S, tmp_path)
    print(
        f"\n{n_peers} peers, {PAGES:,} pages: real {real.seconds:.1f} s {sorted(real.pages.values())}, "
        f"exact {exact.seconds:.1f} s {sorted(exact.pages.values())}: {exact.seconds / real.seconds:.3f} x"
    )
    assert real.pages == exact.pages
    assert exact.seconds == pytest.approx(real.seconds, rel=0.15)
