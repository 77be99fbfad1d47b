"""The model of crawls: URLs a second and memory of large webs, and a trace played by 1 to 16 peers.

BENCH_MODEL_PAGES=100000000 BENCH_MODEL_PEERS=1000 pytest tests/benchmarks/bench_model.py -s

One process on two shared cores of an AMD EPYC, busy with other work; ten hours of virtual time, hosts of 50
pages on average, 200 fetches in flight, 2 s of delay; hosts are drawn and hashed to slots meanwhile:

    peers    URLs            wall    per second of CPU  memory
    1,000    100,000,000     11 s    77,000,000 URLs    139 MB
    10,000   1,000,000,000   171 s   60,000,000 URLs    998 MB

To make the table of slots, which a mesh does once, is 1.0 and 8.8 s of CPU besides.
"""

from __future__ import annotations

import os
import resource
import time

import numpy as np

from peers.crawler.model.settings import CrawlSettings
from simulations.model.replay import items_of, replay
from simulations.model.streamed_web import crawl, owners
from simulations.traces.columns import columns_of
from simulations.traces.synthesis import synthesise
from tests.simulations.traces.test_columns import recorded

PAGES = int(os.environ.get("BENCH_MODEL_PAGES", "20000000"))
PEERS = int(os.environ.get("BENCH_MODEL_PEERS", "100"))
TRACE_PAGES = 50_000
SLOTS = 50_000
SETTINGS = CrawlSettings(delay_s=2.0, delay_factor=0.0)
FEW = CrawlSettings(delay_s=1.0, delay_factor=0.0, fetches_in_flight_max=50)


def test_a_large_web() -> None:
    owner = owners(PEERS, SLOTS)
    begin = time.perf_counter(), time.process_time()
    done = crawl(PAGES, owner, PEERS, settings=SETTINGS, interval_s=3_600.0, intervals=10)
    wall_s, cpu_s = time.perf_counter() - begin[0], time.process_time() - begin[1]
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    print(
        f"\n{PEERS:,} peers, {PAGES:,} URLs on {done.hosts:,} hosts: {wall_s:.1f} s, {cpu_s:.1f} s of CPU, "
        f"{PAGES / cpu_s:,.0f} URLs/s, at most {memory_mb:,.0f} MB"
    )
    assert done.pages_owned.sum() == PAGES


def test_a_trace_on_1_to_16_peers() -> None:
    columns = columns_of(synthesise(columns_of(recorded(5_000)), TRACE_PAGES, seed=1))
    items = items_of(columns, SLOTS)
    begin = time.process_time()
    for peers in (1, 2, 4, 8, 16):
        peer = owners(peers, SLOTS)[items.slots].astype(np.int64)
        course = replay(items, peer, peers, settings=FEW, step_s=1.0)
        assert course.pages[-1].sum() == TRACE_PAGES
    print(f"\n{TRACE_PAGES:,} pages on 1, 2, 4, 8 and 16 peers: {time.process_time() - begin:.1f} s of CPU")
