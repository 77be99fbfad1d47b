"""The results of the experiments: plain values that become JSON."""

from __future__ import annotations

import msgspec

from simulations.world.balance import Balance
from simulations.world.checks import Findings


class TrafficResult(msgspec.Struct, frozen=True):
    """Frames between peers. Pages have no bodies here, so those that carry pages are smaller than live."""

    messages: int
    bytes: int
    by_message: dict[str, tuple[int, int]]  # name of the message: how many, bytes


class CrossLinks(msgspec.Struct, frozen=True):
    """Links to pages of other peers (交叉 URL), the only traffic that grows with the links of the web."""

    found: int  # links on all pages
    sent: int  # to other peers
    messages: int  # that carried them
    bytes: int
    bytes_per_link: float  # the book allows 128 at most


class CrawlResult(msgspec.Struct, frozen=True):
    """One simulated crawl."""

    peers: int
    seed: int
    pages: int  # of the synthetic web
    hosts: int
    digest: str  # hash over every message in order
    pages_fetched: int
    pages_per_peer: dict[str, int]
    urls_seen: int
    fetch_status: dict[str, int]  # by HTTP status or reason
    virtual_seconds: float  # until the last answer of a web server
    real_seconds: float  # of the run, without the checks
    cpu_seconds: float  # likewise, of this process
    events: int
    traffic: TrafficResult
    cross_links: CrossLinks
    balance: Balance
    checks: Findings


class Interval(msgspec.Struct, frozen=True):
    """One unit of time of a replay."""

    pages: tuple[int, ...]  # of each peer
    balance: Balance
    balance_so_far: Balance  # of all pages since the start


class ReplayRun(msgspec.Struct, frozen=True):
    """The replay with one number of peers."""

    peers: int
    digest: str
    pages: int  # in all intervals
    intervals: tuple[Interval, ...]
    total: Balance  # of the pages of all intervals
    variance_max: float  # of the intervals
    is_below_reference: bool  # every interval is
    speed_up: float  # the book's: pages of this run over those of one peer, in the same time
    speed_up_to_half: float  # time in which one peer fetches half of the pages over that of this run
    half_seconds: float  # virtual, until half of the pages were fetched
    virtual_seconds: float  # until everything was fetched
    cross_links: CrossLinks
    interval_s: float = 0.0
    busy_s: float = 0.0  # seconds of all fetches in all intervals
    same_mix: float = 1.0  # n times the pages of one peer that fetches the mix of hosts of this run
    why: str = ""  # the speed-up is less, or the pages are more, than n times that of one peer


class ReplayResult(msgspec.Struct, frozen=True):
    """The book's first experiment: one trace, fetched by 1, 2, 4, ... peers."""

    pages: int  # in the trace
    hosts: int
    seeds: int
    fetches_in_flight: int  # of each peer at a time
    delay_s: float  # between two fetches from a host
    interval_s: float  # the unit of time; the book's is 3,600
    reference_variance: float
    runs: tuple[ReplayRun, ...]
    notes: tuple[str, ...]  # what to keep in mind when reading the figures


class FailedSeed(msgspec.Struct, frozen=True):
    """A seed that found something."""

    seed: int
    peers: int
    replay: str  # the command that does it again
    violations: tuple[str, ...]
    transcript: tuple[str, ...]  # the last lines


class CostSpread(msgspec.Struct, frozen=True):
    """How some cost is spread over runs."""

    cost: str  # what it is, with its unit
    runs: int
    least: float
    median: float
    p90: float
    most: float
    mean: float


class FaultsResult(msgspec.Struct, frozen=True):
    """The results of several seeds."""

    seeds: int
    first_seed: int
    passed: int
    failures: tuple[FailedSeed, ...]  # by seed
    events: int
    virtual_seconds: float
    events_per_second: float  # of one core
    requests: int  # to web servers
    refetched: int  # of these: URLs whose first answer was lost with a peer
    searches: int
    complete_searches: int
    costs: tuple[CostSpread, ...] = ()  # of a run
