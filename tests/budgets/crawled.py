"""What a page of the demo web costs a real peer: counts from inside its process, and of its parser. [io]"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

import pytest

from bootstrap.demo_web import DemoWeb
from peers.crawler.model.messages import PageParsed
from peers.crawler.parsing.extraction import extract
from tests.budgets.calls import ROOT, counted
from tests.helpers import fetched
from tests.live.lab_process import up
from tests.live.web import served_web

COUNTED: Final[dict[str, tuple[str, ...]]] = {  # one step that reads or writes many rows counts as one
    "table_reads": (
        "mesh/tables/lmdb_table.py:LmdbTable.get",
        "mesh/tables/lmdb_table.py:LmdbTable.get_many",
    ),
    "table_writes": (
        "mesh/tables/lmdb_table.py:LmdbTable.put",
        "mesh/tables/lmdb_table.py:LmdbTable.put_many",
    ),
    "documents_inverted": ("peers/engine/segments/inversion.py:Inverter.add",),
    "index_commits": ("peers/engine/index.py:Index.commit",),
    "table_commits": ("mesh/tables/lmdb_table.py:CommitBatch.write",),
    "thread_trips": ("trio/_threads.py:to_thread_run_sync",),
}


def crawled_costs(folder: Path) -> dict[str, float]:
    """Crawl the demo web with one peer, on one core, so that it builds segments itself; what a page costs.

    What a peer costs that finds nothing, to start and to end, is counted apart.
    """
    pages, of_crawl = _calls_of_crawl(folder / "crawl", "")
    nothing, of_start = _calls_of_crawl(folder / "start", "nothing-is-here")
    assert pages
    assert not nothing
    costs = {
        name: sum(n for called, n in of_crawl.items() if called.endswith(functions))
        for name, functions in COUNTED.items()
    }
    assert all(costs.values()), costs
    costs["calls_of_peer"] = of_crawl.total() - of_start.total()
    return {name: round(count / pages, 3) for name, count in costs.items()} | {
        "calls_of_start": of_start.total()
    }


def _calls_of_crawl(folder: Path, path: str) -> tuple[int, Counter[str]]:
    """Crawl from this path of each host that is a seed; how many pages were stored, and the peer's calls."""
    counts = folder / "counts"
    counts.mkdir(parents=True)
    report = folder / "report.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIANMESH_COUNTS", str(counts))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), str(ROOT)]))
        with served_web() as web, one_core():
            options = ("--peers", "1", "--set", "mesh.replicas=1", "--once", "--report", report)
            with up(folder, web, *options, seeds=[urljoin(seed, path) for seed in web.seeds]) as lab:
                assert lab.end() == 0, lab.messages
    of_peer = Counter[str]()
    for told in counts.glob("*.json"):
        seen = json.loads(told.read_text(encoding="utf-8"))
        if "peer" in seen["program"]:
            of_peer.update(seen["calls"])
    return json.loads(report.read_text())["total"]["pages_stored"], of_peer


@contextmanager
def one_core() -> Iterator[None]:
    """Have what is started meanwhile use one core only."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def parsed_costs() -> dict[str, float]:
    """Return what it costs to take a page apart, as the process for that does."""
    web = DemoWeb.load()
    pages = [
        fetched(f"http://{host}{path}", body=response.body)
        for host in web.hosts
        for path, response in web.responses_of(host).items()
        if response.status == 200 and path != "/robots.txt"
    ]
    extract(pages[0], 1)  # loads what is loaded once
    with counted() as calls:
        for page in pages:
            assert isinstance(extract(page, 1), PageParsed)
    return {"calls": round(calls.total / len(pages), 1)}
