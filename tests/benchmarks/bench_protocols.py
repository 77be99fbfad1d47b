"""The protocols of a crawl without its documents: events a second of one core, and what an event calls.

BENCH_PROTOCOL_PAGES=20000 pytest tests/benchmarks/bench_protocols.py -s

Asked are 100,000 events a second. Measured (2 shared vCPU AMD EPYC, load 25, CPython 3.11.7, 2026-11-25), 8
peers, R = 1, 6,000 pages:

                              events/s  events a page  ms a page  calls an event
    documents, wires          16,300    10.4           .64        248
    no documents, wires       21,300     8.6           .40        213
    no documents, no wires    23,900     8.6           .36        208

The profile is flat: the crawler takes half of it, no function takes 3 %. An event is a turn of a whole node
(route a message, the handler, what follows from it, when to wake next), some 200 calls of 50 ns at least, so
that 100,000 events a second are out of reach of the very nodes in this interpreter.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import time

import pytest

from simulations.webs.web import SyntheticWeb
from simulations.world.crawl import SimulatedCrawl

PAGES = int(os.environ.get("BENCH_PROTOCOL_PAGES", "6000"))
PEERS = 8


@pytest.mark.parametrize(("has_documents", "has_wires"), [(True, True), (False, True), (False, False)])
def test_events_a_second(has_documents: bool, has_wires: bool) -> None:
    _crawl(200, has_documents, has_wires)  # has what is loaded late loaded
    begin_s = time.process_time()
    crawl = _crawl(PAGES, has_documents, has_wires)
    cpu_s = time.process_time() - begin_s
    profile = cProfile.Profile()
    small = profile.runcall(_crawl, PAGES // 6, has_documents, has_wires)
    calls = getattr(pstats.Stats(profile), "total_calls")  # noqa: B009 - the stubs have no such field
    n_events = crawl.world.n_events
    print(
        f"\ndocuments {has_documents}, wires {has_wires}: {n_events / cpu_s:,.0f} events/s, "
        f"{n_events / PAGES:.1f} events and {1e3 * cpu_s / PAGES:.2f} ms a page, "
        f"{calls / small.world.n_events:.0f} calls an event"
    )


def _crawl(pages: int, has_documents: bool, has_wires: bool) -> SimulatedCrawl:
    crawl = SimulatedCrawl(
        SyntheticWeb(7, pages),
        peers=PEERS,
        seed=7,
        replicas=1,
        has_documents=has_documents,
        has_wires=has_wires,
    )
    crawl.run()
    return crawl
