"""Shared by `balance` and `speedup`: a trace fetched by meshes of several sizes, in equal units of time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta

from mesh.errors import ConfigError
from mesh.trace import read_trace
from peers.crawler.model.settings import CrawlSettings
from simulations.model.flow import Flow, host_bound
from simulations.model.hosts import Hosts
from simulations.model.replay import ReplayItems, items_of, replay
from simulations.model.streamed_web import owners
from simulations.outcomes.study import Parameters, numbers
from simulations.traces.columns import Floats, TraceColumns, columns_of
from simulations.world.experiments import INTERVALS, interval_for

# Of a unit, for a trace. With 50, a peer with one fetch was idle a fifth of the time, as pages that are found
# in a step can be fetched in the next, and so four peers were 4.3 times as fast.
STEPS: int = 400
SLOTS: int = 50_000  # m, as the book has it and meshes by default


class CrawlParameters(Parameters, frozen=True, kw_only=True):
    """The book's first experiment, as far as it says; the rest is named here."""

    peers: Annotated[str, Meta(description="Sizes of the mesh, by comma.")] = "1,2,4,8,16"
    trace: Annotated[str, Meta(description="Trace to fetch; a web is drawn if there is none.")] = ""
    pages: Annotated[int, Meta(ge=1, le=2_000_000_000, description="Of a web that is drawn.")] = 761_129
    pages_per_host: Annotated[float, Meta(ge=1, le=1e6, description="Mean, of a drawn web.")] = 50.0
    exponent: Annotated[float, Meta(ge=0, le=3, description="The k-th host has 1/k^this pages.")] = 0.9
    seconds: Annotated[float, Meta(gt=0, le=3_600, description="Median of a page, of a drawn web.")] = 4.0
    fetches: Annotated[int, Meta(ge=1, le=100_000, description="In flight, of each peer.")] = 200
    delay: Annotated[float, Meta(ge=0, le=86_400, description="Seconds between two fetches of a host.")] = 0.0
    delay_factor: Annotated[
        float, Meta(ge=0, le=1_000, description="The same in times that an answer takes, if that is longer.")
    ] = CrawlSettings().delay_factor
    slow: Annotated[int, Meta(ge=0, le=20_000, description="Peers that are slow, the first ones.")] = 0
    speed: Annotated[float, Meta(gt=0, le=1, description="Share of the time that a slow peer runs.")] = 0.25
    unit: Annotated[float, Meta(ge=0, description="Seconds of a unit of time; 0 chooses one.")] = 0.0


@lru_cache(2)
def trace_columns(path: str) -> TraceColumns:
    """The columns of a trace that has pages; the last ones are remembered, for repetitions."""
    columns = columns_of(read_trace(Path(path)))
    if not columns.page_count:
        raise ConfigError(f"the trace {path} has no pages; record a crawl that fetches some")
    return columns


def settings_of(parameters: CrawlParameters) -> CrawlSettings:
    """The settings of each peer."""
    return CrawlSettings(
        delay_s=parameters.delay,
        delay_factor=parameters.delay_factor,
        fetches_in_flight_max=parameters.fetches,
    )


def _speeds(parameters: CrawlParameters, count: int) -> Floats | None:
    """The speed of each peer; None where all run all the time."""
    return np.where(np.arange(count) < parameters.slow, parameters.speed, 1.0) if parameters.slow else None


def sizes_of(parameters: CrawlParameters) -> list[int]:
    """The numbers of peers that are wanted, in order."""
    return sorted(set(numbers(parameters.peers, "--peers", most=20_000)))


def fetched(
    parameters: CrawlParameters, hosts: Hosts, counts: Sequence[int], seed: int
) -> tuple[float, dict[int, Flow]]:
    """Let meshes of some sizes, in order, fetch the trace; return the unit of time, and the work of each.

    Args:
      hosts: of the trace.
    """
    unit_s = parameters.unit or _unit_for(hosts, counts[-1], parameters)
    return unit_s, {count: _replayed(parameters, count, unit_s, seed) for count in counts}


def _replayed(parameters: CrawlParameters, count: int, unit_s: float, seed: int) -> Flow:
    items = _items(parameters.trace)
    settings = settings_of(parameters)
    # Units begin when the first host may be asked: a mesh that takes its slots leaves all alone for a delay.
    ends = settings.delay_s + unit_s * np.arange(1, INTERVALS + 1)
    course = replay(
        items,
        slot_owners(count, seed)[items.slots].astype(np.int64),
        count,
        settings=settings,
        step_s=unit_s / STEPS,
        speed=_speeds(parameters, count),
        until_s=float(ends[-1]),
    )
    # A crawl that was over before stays as it was then.
    at = np.searchsorted(course.times, ends * (1 + 1e-9), "right") - 1
    return Flow(course.pages[at], course.busy_s[at], course.n_bytes[at])


@lru_cache(2)
def _items(path: str) -> ReplayItems:
    return items_of(trace_columns(path), SLOTS)


@lru_cache(16)
def slot_owners(count: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """Return the owner of each slot; the seed gives the names of the peers, and these decide."""
    return owners(count, SLOTS, f"s{seed}-")


def _unit_for(hosts: Hosts, peers: int, parameters: CrawlParameters) -> float:
    """A unit of which ten pass before the largest mesh can have fetched half of the pages."""
    work_s = float((hosts.pages * hosts.seconds).sum())
    by_fetches = work_s / (peers * parameters.fetches)
    by_hosts = hosts.page_count / host_bound(hosts, settings_of(parameters))
    return interval_for(max(by_fetches, by_hosts) / 2)
