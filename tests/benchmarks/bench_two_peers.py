"""Two peers of one machine on a large web: a crawl, the minutes after it, and searches. [io]

    TIANMESH_WEB_PACKAGES=FOLDER pytest tests/benchmarks/bench_two_peers.py --benchmark-enable -s

FOLDER has the packages of the large web, unpacked (5 GB); it is served by nginx on the same two cores. Two
peers, R = 2, crawl without delay until all is found. Then they have nothing to do for two minutes, and then
one client asks a gateway 400 distinct queries, words of titles, one after the other.

Wanted: 350 pages a second and 200 per CPU-second, 300 MB of private memory a peer, .2 CPU-seconds a minute at
rest, searches of p50 5 and p99 20 ms.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest

from tests.benchmarks.bench_search import UNLIMITED, ask_all
from tests.live.dev_web import large_sites
from tests.live.lab_process import Up, search, setting, up
from tests.live.web import served_web

LOOK_S: Final = 5.0
REST_S: Final = 120.0
QUERIES: Final = 400
WORDS: Final = ("of", "the", "to", "file", "python", "linux", "config", "system", "的", "中文", "設定", "die")
HITS: Final = 100
MB: Final = 1e6


@pytest.mark.timeout(0)
def test_crawl_of_a_large_web(tmp_path: Path) -> None:
    """Print what the crawl, the rest and the searches take."""
    options = ("--peers", "2", *setting("mesh.replicas", 2), *UNLIMITED)
    with served_web(large_sites()) as web, up(tmp_path, web, *options, seeds=web.seeds) as lab:
        crawl(lab)
        before = cpu_s(lab)
        time.sleep(REST_S)
        rest = (cpu_s(lab) - before) * 60 / REST_S
        print(f"at rest  {rest:.2f} CPU-seconds a minute of both peers")
        gateway = lab.gateways()[0]
        times = ask_all(gateway, [f"/api/search?q={quote(text)}" for text in queries(gateway)], 1)
        print(f"searches p50 {times[len(times) // 2]:.1f}, p99 {times[len(times) * 99 // 100]:.1f} ms")


def crawl(lab: Up) -> None:
    """Wait until all is found; print the pace, and the most memory."""
    lab.wait_until(lambda report: report["total"]["pages_stored"] > 0)
    began, most = time.monotonic(), 0.0
    while not (report := lab.status())["total"]["idle"] or not is_found(report):
        most = max(most, *(peer["private_bytes"] / MB for peer in report["peers"]))
        time.sleep(LOOK_S)
    total, took = report["total"], time.monotonic() - began
    pages = total["pages_stored"]
    rates = f"{pages / took:.0f} a second, {pages / total['cpu_seconds']:.0f} per CPU-second"
    resting = ", ".join(f"{peer['private_bytes'] / MB:.0f}" for peer in report["peers"])
    shares = ", ".join(f"{peer['pages_stored']:,}" for peer in report["peers"])
    print(f"\ncrawl    {pages:,} pages, {rates}; private MB of a peer at most {most:.0f}, then {resting}")
    print(f"         pages of each {shares}")


def is_found(report: dict[str, dict[str, int]]) -> bool:
    return report["total"]["pages_indexed"] >= report["total"]["pages_stored"]


def cpu_s(lab: Up) -> float:
    return float(lab.status()["total"]["cpu_seconds"])


def queries(gateway: str) -> list[str]:
    """Return distinct queries of one to three words of a title; a small web has fewer than `QUERIES`."""
    draw = random.Random(7)
    titles = sorted({hit["title"] for word in WORDS for hit in search(gateway, word, HITS)["hits"]})
    texts: dict[str, None] = {}
    for _ in range(100 * QUERIES):
        words = draw.choice(titles).split()
        if words and len(texts) < QUERIES:
            begin = draw.randrange(len(words))
            texts[" ".join(words[begin : begin + draw.randint(1, 3)])] = None
    return list(texts)
