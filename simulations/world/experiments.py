"""The experiments: a crawl of a synthetic web, and the book's first experiment on a recorded trace. [io]

The only real time here is that which a run took.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor, log10
from typing import Final

from msgspec.structs import replace

from mesh.trace import TracedPage
from peers.crawler.model.settings import CrawlSettings
from peers.policy.rules import EVERYTHING
from simulations.webs.trace import TraceWeb
from simulations.webs.web import SyntheticWeb
from simulations.world.balance import REFERENCE_VARIANCE, balance_of
from simulations.world.chance import random_of
from simulations.world.checks import pages_by_peer
from simulations.world.crawl import Progress, SimulatedCrawl
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.results import (
    CrawlResult,
    CrossLinks,
    Interval,
    ReplayResult,
    ReplayRun,
    TrafficResult,
)
from simulations.world.world import World

HOUR_S: Final = 3_600.0
INTERVALS: Final = 10  # as the book analyses the first ten hours

# The end of every crawl is a few large hosts at their own pace (book, 6.2): what is compared ends before.
COMPARED_SHARE: Final = 0.5

# With fewer hosts than this for each fetch at a time, hosts and not peers decide the speed.
HOSTS_PER_FETCH: Final = 4

LIMITLESS: Final = 1 << 40  # of what a replay may do to a host
DEPTH_MAX: Final = 65_535  # clicks, as many as can be set

LINEAR: Final = 0.9  # speed-up per peer below which it is explained


def crawl(
    *,
    peers: int = 8,
    seed: int = 7,
    pages: int = 100_000,
    replicas: int = 2,
    loss: float = 0.0,
    with_membership: bool = False,
    settings: CrawlSettings | None = None,
    trace: list[TracedPage] | None = None,
    progress: Progress | None = None,
) -> CrawlResult:
    """Crawl a synthetic web until nothing is left to do, and check the promises of the mesh.

    Args:
      seed: of the web and of everything else.
      pages: that the web has.
      replicas: R, peers that keep each page.
      loss: probability that a frame between peers is lost.
      with_membership: the peers join, probe and gossip as live ones do, instead of knowing each other.
      trace: takes the pages as a recorder would write them.
    """
    web = SyntheticWeb(seed, pages)
    network = Network(random_of(seed, "network"), loss=loss)
    members = Members(seed, peers, replicas) if with_membership else None
    started, cpu_started = time.perf_counter(), time.process_time()
    run = SimulatedCrawl(
        web,
        peers=peers,
        seed=seed,
        replicas=replicas,
        settings=settings,
        network=network,
        trace=trace,
        members=members,
    )
    run.run(progress)
    real_seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    return _crawl_result(run, web, seed, real_seconds, cpu_seconds)


def _crawl_result(
    run: SimulatedCrawl, web: SyntheticWeb, seed: int, real_seconds: float, cpu_seconds: float
) -> CrawlResult:
    statistics = run.crawl_statistics().values()
    fetched = {peer: len(times) for peer, times in pages_by_peer(run.log, run.peers).items()}
    status: Counter[str] = Counter()
    for each in statistics:
        status.update({str(key): count for key, count in each.fetch_status.items()})
    return CrawlResult(
        peers=len(run.peers),
        seed=seed,
        pages=web.pages,
        hosts=web.host_count,
        digest=run.world.digest,
        pages_fetched=sum(fetched.values()),
        pages_per_peer=fetched,
        urls_seen=sum(each.urls_seen for each in statistics),
        fetch_status=dict(sorted(status.items())),
        virtual_seconds=max(request.until_s for request in run.log),
        real_seconds=real_seconds,
        cpu_seconds=cpu_seconds,
        events=run.world.n_events,
        traffic=_traffic(run.world),
        cross_links=_cross_links(run),
        balance=balance_of(tuple(fetched.values())),
        checks=run.judge(),
    )


def replay(
    trace: Sequence[TracedPage],
    peer_counts: Sequence[int] = (1, 2, 4, 8, 16),
    *,
    seed: int = 7,
    fetches_in_flight: int | None = None,
    delay_s: float = 0.0,
    progress: Progress | None = None,
) -> ReplayResult:
    """Let 1, 2, 4, ... peers fetch a recorded trace, and compare each run with that of 1 peer.

    The book's experiment 1 (section 6.2): pages per peer and hour, their variance over the peers held
    against a split of 2 : 3, speed-up, and traffic of cross URLs.

    Args:
      fetches_in_flight: of each peer at a time, the book has 200. None takes as many as leave
        HOSTS_PER_FETCH hosts for each fetch of the largest mesh, at least 1, at most 200.
      delay_s: pause between two fetches from one host; the book names none.
      progress: told of the pages of the run that is going on.

    Raises:
      ValueError: the trace has no pages.
    """
    web = TraceWeb(trace)
    if not web.pages:
        raise ValueError("the trace has no pages")
    counts = sorted({1, *peer_counts})
    if fetches_in_flight is None:
        fetches_in_flight = min(200, max(1, web.host_count // (HOSTS_PER_FETCH * counts[-1])))
    settings = replay_settings(fetches_in_flight, delay_s)
    crawls = {}
    for count in counts:
        crawls[count] = SimulatedCrawl(
            web,
            peers=count,
            seed=seed,
            replicas=1,
            settings=settings,
            policy=EVERYTHING,
            has_documents=False,
        )
        crawls[count].run(progress)
    times = {count: pages_by_peer(run.log, run.peers) for count, run in crawls.items()}
    interval_s = interval_for(min(map(_compared_s, times.values())))
    runs = [_replay_run(crawls[count], times[count], interval_s) for count in counts]
    alone = runs[0]
    return ReplayResult(
        pages=web.pages,
        hosts=web.host_count,
        seeds=len(web.seeds),
        fetches_in_flight=fetches_in_flight,
        delay_s=delay_s,
        interval_s=interval_s,
        reference_variance=REFERENCE_VARIANCE,
        runs=tuple(_compared(run, alone, fetches_in_flight) for run in runs if run.peers in peer_counts),
        notes=_notes(web, runs, fetches_in_flight, interval_s),
    )


def replay_settings(fetches_in_flight: int, delay_s: float) -> CrawlSettings:
    """Make settings without limits: the trace decides which pages are requested, how often and how deep."""
    return CrawlSettings(
        delay_s=delay_s,
        fetches_in_flight_max=fetches_in_flight,
        pages_in_progress_max=fetches_in_flight + 256,
        requests_per_host_day_max=LIMITLESS,
        pages_per_host_max=LIMITLESS,
        requests_per_domain_max=LIMITLESS,
        depth_max=DEPTH_MAX,
        avoids_traps=False,
    )


def _compared(run: ReplayRun, alone: ReplayRun, n_fetches: int) -> ReplayRun:
    """Say of a run how much faster it was than that of one peer, and why.

    Pages can be more than n times as many, work cannot: hosts take turns, so where one peer waits for slow
    hosts, more peers let the fast ones give more, whose pages are cheaper.
    """
    work = run.busy_s / max(1e-9, alone.busy_s)
    pages = run.pages / max(1, alone.pages)
    reasons = []
    if work < LINEAR * run.peers:
        idle = 1 - run.busy_s / max(1e-9, run.peers * n_fetches * run.interval_s * INTERVALS)
        reasons.append(f"idle {idle:.0%}")
    if work > run.peers:
        reasons.append("1 peer idle")
    if pages > run.peers:
        reasons.append(f"mix {pages / work:.1f}")
    return replace(
        run,
        speed_up=pages,
        same_mix=run.peers * pages / max(1e-9, work),
        speed_up_to_half=alone.half_seconds / run.half_seconds,
        why=", ".join(reasons) if run.peers > 1 else "-",
    )


def interval_for(seconds: float) -> float:
    """The unit that divides a run into about ten: an hour, or the next smaller 1, 2 or 5 x 10^k seconds."""
    wanted = seconds / INTERVALS
    if wanted >= HOUR_S:
        return HOUR_S
    power = 10.0 ** floor(log10(wanted))
    return max(step * power for step in (0.5, 1.0, 2.0, 5.0) if step * power <= wanted * 1.0001)


def _compared_s(times: dict[str, list[float]]) -> float:
    """When a run had fetched COMPARED_SHARE of its pages."""
    every = sorted(until for each in times.values() for until in each)
    return every[ceil(len(every) * COMPARED_SHARE) - 1]


def _replay_run(run: SimulatedCrawl, times: dict[str, list[float]], interval_s: float) -> ReplayRun:
    edges = [number * interval_s for number in range(INTERVALS + 1)]
    done = [[bisect_right(each, edge) for each in times.values()] for edge in edges]
    intervals = []
    for before, after in pairwise(done):
        pages = tuple(late - early for early, late in zip(before, after, strict=True))
        intervals.append(Interval(pages, balance_of(pages), balance_of(after)))
    variance_max = max(interval.balance.variance for interval in intervals)
    end = edges[-1]
    return ReplayRun(
        peers=len(times),
        digest=run.world.digest,
        pages=sum(done[-1]),
        intervals=tuple(intervals),
        total=balance_of(done[-1]),
        variance_max=variance_max,
        is_below_reference=variance_max < REFERENCE_VARIANCE,
        speed_up=1.0,
        speed_up_to_half=1.0,
        half_seconds=_compared_s(times),
        virtual_seconds=max(until for each in times.values() for until in each[-1:]),
        cross_links=_cross_links(run),
        interval_s=interval_s,
        busy_s=sum(max(0.0, min(each.until_s, end) - min(each.at_s, end)) for each in run.log),
    )


def _notes(
    web: TraceWeb, runs: Sequence[ReplayRun], fetches_in_flight: int, interval_s: float
) -> tuple[str, ...]:
    notes = []
    peers = runs[-1].peers
    if interval_s < HOUR_S:
        notes.append(
            f"the trace is short: the unit of time is {interval_s:g} s instead of an hour, chosen so that "
            f"{INTERVALS} units pass before the fastest run has fetched {COMPARED_SHARE:.0%} of its pages"
        )
    if web.host_count < peers * fetches_in_flight * HOSTS_PER_FETCH:
        notes.append(
            f"{web.host_count} hosts for {peers} peers with {fetches_in_flight} fetches at a time: "
            "hosts, and not peers, bound the speed and the balance"
        )
    return tuple(notes)


def _traffic(world: World) -> TrafficResult:
    total = world.traffic.total()
    by_message = {name: (tally.messages, tally.bytes) for name, tally in sorted(world.traffic.sent.items())}
    return TrafficResult(total.messages, total.bytes, by_message)


def _cross_links(run: SimulatedCrawl) -> CrossLinks:
    statistics = run.crawl_statistics().values()
    sent = sum(each.links_sent for each in statistics)
    tally = run.world.traffic.sent.get("LinksFound")
    messages, n_bytes = (tally.messages, tally.bytes) if tally else (0, 0)
    return CrossLinks(
        found=sum(each.links_found for each in statistics),
        sent=sent,
        messages=messages,
        bytes=n_bytes,
        bytes_per_link=n_bytes / sent if sent else 0.0,
    )
