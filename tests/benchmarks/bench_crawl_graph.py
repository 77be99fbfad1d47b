"""A public crawl graph as a web: the peers' own code, in virtual time, has to find all of it.

BENCH_GRAPH=folder/cnr-2000 pytest tests/benchmarks/bench_crawl_graph.py -s

The graph is one of WebGraph's (law.di.unimi.it), `folder/cnr-2000.graph` and `.properties`; BENCH_GRAPH_PEERS
is how many peers crawl it, 8 by default. What can be reached is counted beside the crawl, on arrays alone.

Measured (2 shared vCPU AMD EPYC, 2026-11-25), cnr-2000, which is published with 325,557 pages and 3,216,152
links: 8 peers fetched 325,557 pages, each once, from 7 seeds, and found 3,216,152 links, in 397 virtual
seconds and 189 s of CPU, with 796 MB at most.
"""

from __future__ import annotations

import os
import resource
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from peers.crawler.model.settings import CrawlSettings
from peers.policy.rules import EVERYTHING
from simulations.traces.web_graph import Successors, pages_of_graph, read_graph
from simulations.webs.trace import TraceWeb
from simulations.world.checks import duplicates
from simulations.world.crawl import SimulatedCrawl

PEERS = int(os.environ.get("BENCH_GRAPH_PEERS", "8"))


def test_every_page_of_a_public_graph_that_can_be_reached_is_fetched_once_and_no_other() -> None:
    if "BENCH_GRAPH" not in os.environ:
        pytest.skip("BENCH_GRAPH names no graph")
    successors = read_graph(Path(os.environ["BENCH_GRAPH"]))
    web = TraceWeb(pages_of_graph(successors, pages_per_host=500, seconds_median=0.25, seed=7))
    settings = CrawlSettings(delay_s=0.0, delay_factor=0.0, requests_per_host_day_max=1_000_000)
    crawl = SimulatedCrawl(web, peers=PEERS, seed=7, replicas=1, settings=settings, policy=EVERYTHING)
    begin_s = time.process_time()
    crawl.run(lambda pages, of: print(f"\r{pages:,} of {of:,}", end="", flush=True))
    cpu_s = time.process_time() - begin_s
    numbers = [int(r.url.rpartition("/p")[2]) for r in crawl.log if r.status == 200]
    reached = reachable(successors, [int(seed.rpartition("/p")[2]) for seed in web.seeds])
    statistics = crawl.crawl_statistics().values()
    print(
        f"\n{len(successors):,} pages, {sum(map(len, successors)):,} links, {len(web.seeds)} seeds, "
        f"{len(reached):,} can be reached; {PEERS} peers fetched {len(numbers):,}, "
        f"found {sum(each.links_found for each in statistics):,} links, "
        f"pages of each {sorted(Counter(r.peer for r in crawl.log if r.status == 200).values())}, "
        f"in {max(r.until_s for r in crawl.log):,.0f} virtual s, {cpu_s:,.0f} s of CPU, "
        f"{crawl.world.n_events / cpu_s:,.0f} events/s, "
        f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024:,.0f} MB"
    )
    assert len(reached) == len(successors)
    assert sorted(numbers) == reached
    assert not duplicates(crawl.log)


def reachable(successors: Successors, seeds: list[int]) -> list[int]:
    """The pages that can be reached, on arrays, a ring of pages at a time."""
    starts = np.cumsum([0, *map(len, successors)])
    targets = np.fromiter((target for links in successors for target in links), np.int64, starts[-1])
    found = np.zeros(len(successors), bool)
    ring = np.array(seeds)
    while len(ring):
        found[ring] = True
        linked = np.concatenate([targets[starts[page] : starts[page + 1]] for page in ring])
        ring = np.unique(linked[~found[linked]])
    reached: list[int] = np.flatnonzero(found).tolist()
    return reached
