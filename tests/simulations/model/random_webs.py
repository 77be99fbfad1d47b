"""Webs and meshes drawn from a seed, fetched by the peers themselves in virtual time and by the model.

    python -m tests.simulations.model.random_webs 1001 1011 2000    # seeds from, to, and hosts at most

prints a line for each seed, which is a row of the table in `tests/benchmarks/HISTORY.md`.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from math import ceil, exp, log
from random import Random
from time import process_time
from typing import Final, NamedTuple

import numpy as np

from mesh.trace import TracedPage
from peers.crawler.model.settings import CrawlSettings
from peers.policy.rules import EVERYTHING
from simulations.model.pauses import SLICE_S
from simulations.model.replay import items_of, replay
from simulations.traces.columns import columns_of
from simulations.webs.trace import TraceWeb
from simulations.webs.web import SyntheticWeb, WebShape
from simulations.world.checks import pages_by_peer
from simulations.world.crawl import SimulatedCrawl
from tests.simulations.traces.test_columns import recorded_from

HOSTS_MIN: Final = 20
STEPS: Final = 2_000


class Drawn(NamedTuple):
    """A web, and a mesh that fetches it by the defaults of the product, but for delay and fetches."""

    seed: int
    hosts: int
    pages: int
    skew: float  # exponent of the sizes of hosts
    slow_hosts: float  # share of hosts that take 20 times as long
    delay_s: float
    fetches: int
    peers: int
    replicas: int
    slow_peers: int  # that run a quarter of the time

    @property
    def settings(self) -> CrawlSettings:
        return CrawlSettings(
            delay_s=self.delay_s,
            fetches_in_flight_max=self.fetches,
            pages_in_progress_max=self.fetches + 256,
        )

    @property
    def speed(self) -> list[float]:
        return [0.25 if number < self.slow_peers else 1.0 for number in range(self.peers)]

    def trace(self) -> list[TracedPage]:
        shape = WebShape(
            pages_per_host=self.pages / self.hosts,
            size_exponent=self.skew,
            slow_hosts_share=self.slow_hosts,
            has_domains=True,
        )
        return recorded_from(SyntheticWeb(self.seed, self.pages, shape))


class SideBySide(NamedTuple):
    """The model beside the peers; times as multiples of theirs, tenths as shares of all pages."""

    has_same_pages: bool  # of each peer
    end_s: float  # of the peers
    end: float
    half: float  # time to 50 %
    most: float  # and to 90 % of the pages
    tenths: list[float]  # model less peers, at each tenth of the time
    exact_cpu_s: float
    model_cpu_s: float


def drawn(seed: int, hosts_max: int, *, slow_peers: bool = False) -> Drawn:
    """Draw what is fetched, and by which peers; one crawl in six keeps no delay."""
    chance = Random(seed)
    hosts = round(exp(chance.uniform(log(HOSTS_MIN), log(hosts_max))))
    pages = round(hosts * chance.uniform(3, 15))
    peers = chance.randint(2, 8)
    return Drawn(
        seed=seed,
        hosts=hosts,
        pages=pages,
        skew=chance.uniform(0, 1.5),
        slow_hosts=chance.uniform(0, 0.3),
        delay_s=chance.uniform(0, 2) if chance.random() > 1 / 6 else 0.0,
        fetches=chance.choice((4, 8, 32, 200)),
        peers=peers,
        replicas=chance.randint(1, 2),
        slow_peers=1 + peers // 3 if slow_peers else 0,
    )


def side_by_side(of: Drawn) -> SideBySide:
    """Fetch it twice."""
    trace, began_s = of.trace(), process_time()
    exact = SimulatedCrawl(
        TraceWeb(trace),
        peers=of.peers,
        seed=7,
        replicas=of.replicas,
        settings=of.settings,
        policy=EVERYTHING,
        has_documents=False,
        has_wires=False,
    )
    for number in range(of.slow_peers):
        _stand_still(exact, f"p{number}", of.speed[number])
    exact.run()
    times = pages_by_peer(exact.log, exact.peers)
    every = sorted(until for each in times.values() for until in each)
    end_s, exact_s = every[-1], process_time()
    items = items_of(columns_of(trace), exact.table.slot_count)
    owner = np.array([int(name[1:]) for name in exact.table.peers])[exact.table.ranking[0]]
    course = replay(
        items,
        owner[items.slots],
        of.peers,
        settings=of.settings,
        step_s=end_s / STEPS,
        speed=np.array(of.speed),
    )
    pages = course.pages.sum(axis=1)

    def time_to(share: float) -> float:
        reached = float(course.times[np.searchsorted(pages, share * pages[-1] - 1e-9)])
        return reached / every[ceil(share * len(every)) - 1]

    tenths = [end_s * number / 10 for number in range(1, 11)]
    return SideBySide(
        has_same_pages=course.pages[-1].tolist() == [len(times[f"p{peer}"]) for peer in range(of.peers)],
        end_s=end_s,
        end=time_to(1.0),
        half=time_to(0.5),
        most=time_to(0.9),
        tenths=[
            (float(np.interp(at_s, course.times, pages)) - bisect_right(every, at_s)) / len(every)
            for at_s in tenths
        ],
        exact_cpu_s=exact_s - began_s,
        model_cpu_s=process_time() - exact_s,
    )


def _stand_still(exact: SimulatedCrawl, peer: str, speed: float) -> None:
    """Have a peer run only that share of every slice, for a crawl of any length."""

    def stop() -> None:
        exact.world.pause(peer)
        exact.world.plan(exact.world.now + (1 - speed) * SLICE_S, go_on)

    def go_on() -> None:
        exact.world.resume(peer)
        exact.world.plan(exact.world.now + speed * SLICE_S, stop)

    exact.world.plan(SLICE_S, stop)


def main() -> None:
    first, last, hosts_max = map(int, sys.argv[1:4])
    for seed in range(first, last):
        of = drawn(seed, hosts_max, slow_peers=len(sys.argv) > 4)
        seen = side_by_side(of)
        worst = max(seen.tenths, key=abs)
        print(
            f"| {seed} | {of.hosts} | {of.pages} | {of.skew:.2f} | {of.slow_hosts:.0%} | {of.delay_s:.2f} | "
            f"{of.fetches} | {of.peers} | {of.slow_peers} | {of.replicas} | {seen.end_s:.0f} | "
            f"{seen.end:.3f} | {seen.half:.3f} | {seen.most:.3f} | {worst:+.1%} | "
            f"{'yes' if seen.has_same_pages else 'no'} | {seen.exact_cpu_s:.1f}, {seen.model_cpu_s:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
