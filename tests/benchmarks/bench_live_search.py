"""Relevant pages among those fetched while somebody waits, without and with a live search.

    python -m tests.benchmarks.bench_live_search 10 11 12

The webs of `tests/simulations/test_live_search.py`, one for each seed: some 600 pages of 6 hosts, a quarter
about the topic, a fifth crawled; then 20 seconds, in virtual time.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final

from tests.simulations.test_live_search import LiveMesh, last_of

SECONDS: Final = 20.0
WAYS: Final[dict[str, dict[str, Any] | None]] = {"without": None, "live": {}, "fish": {"fish": True}}


def fetched(seed: int, wish: dict[str, Any] | None) -> tuple[int, int, float]:
    """Return the relevant pages fetched, all of them, and the shortest pause of a host in seconds."""
    mesh = LiveMesh(seed)
    since_s = mesh.now()
    if wish is not None:
        asyncio.run(last_of(mesh.search_live(pages=100, seconds=SECONDS, **wish)))
    mesh.pass_time(since_s + SECONDS - mesh.now())
    pages = mesh.pages_since(since_s)
    return sum(map(mesh.web.is_relevant, pages)), len(pages), mesh.shortest_pause()


def main(seeds: list[int]) -> None:
    """Print a line for each way, and the sums."""
    for name, wish in WAYS.items():
        counts = [fetched(seed, wish) for seed in seeds]
        by_seed = ", ".join(f"{relevant} of {n}" for relevant, n, _ in counts)
        relevant, total = (sum(column) for column in list(zip(*counts, strict=True))[:2])
        shortest_s = min(pause_s for _, _, pause_s in counts)
        print(f"{name:8} {relevant} of {total} ({by_seed}); pauses of {shortest_s:.3f} s and more")


if __name__ == "__main__":
    main(list(map(int, sys.argv[1:])))
