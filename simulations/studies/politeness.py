"""Where do more machines stop helping? Throughput against delay, hosts and peers, and the bounds on it.

Hosts are of unlike size, and those that are empty give nothing more: what is left at the end are a few large
ones, at their own pace. Four bounds: hosts that want to be left alone; fetches in flight; the bandwidth of
the outlet; the processors of the peers. All costs are those of `plan`, and how far its sum (`crawl_time`) is
from hosts that empty one after the other is told. Chapter 6 section 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from mesh.counts import counted
from peers.crawler.model.politeness import delay_s
from peers.crawler.model.settings import CrawlSettings
from simulations.model.costs import Costs
from simulations.model.crawl_time import CrawlTime
from simulations.model.fluid_share import wait_seconds
from simulations.model.hosts import SECONDS_SIGMA, power_law
from simulations.outcomes.figures import lines, measure, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study, amounts, numbers
from simulations.studies.plan import PlanParameters
from simulations.traces.columns import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Bools: TypeAlias = npt.NDArray[np.bool_]

BOOK: Final = "Li, Yan, Wang 2004, chapter 6, section 2"
PLAN: Final = PlanParameters()
PEER_PAGES: Final = PLAN.pages_per_core * Costs().peer_cores / PLAN.replicas
STEP: Final = 0.08  # of the pages that are left; half of it changes hours by less than 2 %
MOST: Final = 0.9  # of the pages: those behind are of few hosts
HELPS: Final = 1.1  # times the pages a second, of twice as many peers
PLANNED_WITHIN: Final = 1.2  # times the hours of the plan, the accuracy that it is held to
HOSTS, FETCHES, BANDWIDTH, PROCESSORS = "hosts", "fetches in flight", "bandwidth", "processors"
# Pages a second that others have told of, to compare with: Tianwang's crawler of 2004 at 1 Gbit/s (50 million
# pages a day; Li, Yan, Wang 2004), and IRLbot on one server, over 41 days (Lee et al. 2009).
PUBLISHED: Final = {"Tianwang 2004": 579.0, "IRLbot, one server": 1_789.0}


class PolitenessParameters(Parameters, frozen=True, kw_only=True):
    """A web, and meshes that fetch it, at the costs of `plan`."""

    peers: Annotated[str, Meta(description="Sizes of the mesh, by comma.")] = "1,2,4,8,16,32,64"
    delays: Annotated[str, Meta(description="Least seconds between two fetches of a host, by comma.")] = (
        "0,1,10,30"
    )
    hosts: Annotated[int, Meta(ge=1, le=10_000_000, description="Of the web.")] = 50_000
    pages: Annotated[int, Meta(ge=1, le=10_000_000_000, description="Of the web, one a host at least.")] = (
        5_000_000
    )
    host_pages: Annotated[float, Meta(ge=1, description="Of one host at most, as crawls are limited.")] = (
        PLAN.host_pages
    )
    exponent: Annotated[float, Meta(ge=0, le=3, description="The k-th host has 1/k^this pages.")] = 0.9
    per_address: Annotated[float, Meta(ge=1, le=1e6, description="Hosts of one address, mean.")] = 1.0
    seconds: Annotated[float, Meta(gt=0, le=3_600, description="Of a page, median over hosts.")] = (
        PLAN.seconds
    )
    delay_factor: Annotated[
        float,
        Meta(ge=0, description="Pause in times that an answer takes, where longer; without at delay 0."),
    ] = PLAN.delay_factor
    fetches: Annotated[int, Meta(ge=1, le=100_000, description="In flight, of each peer.")] = PLAN.fetches
    page_kb: Annotated[float, Meta(gt=0, description="Of a page as it is sent, kB.")] = PLAN.page_kb
    mbps: Annotated[float, Meta(gt=0, description="Bandwidth of the outlet, Mbit/s.")] = PLAN.mbps
    peer_pages: Annotated[float, Meta(gt=0, description="Pages a second that a peer can process.")] = (
        PEER_PAGES
    )


class CrawlCourse(NamedTuple):
    """A crawl until its last page."""

    times_s: Floats
    pages: Floats  # fetched by then, of all peers
    binds: str  # what it waited for, for most of the time to nine tenths of the pages


def run(parameters: PolitenessParameters, seed: int) -> list[Row]:
    """A row for each delay and number of peers."""
    random = np.random.default_rng(seed)
    count = max(1, round(parameters.hosts / parameters.per_address))  # what is asked one thing at a time
    pages = power_law(max(parameters.pages, count), count, parameters.exponent)
    pages = np.minimum(pages, round(parameters.host_pages))
    seconds = parameters.seconds * np.exp(random.normal(0.0, SECONDS_SIGMA, count))
    rows = []
    for delay in amounts(parameters.delays, "--delays", most=86_400):
        settings = CrawlSettings(delay_s=delay, delay_factor=parameters.delay_factor)
        period = seconds + np.array([delay_s((), settings, seconds=each) for each in seconds.tolist()])
        plan = CrawlTime(pages.astype(np.float64), period)
        for n in numbers(parameters.peers, "--peers", most=100_000):
            peer = random.integers(0, n, count)
            course = crawl_course(parameters, pages, seconds, period, peer, n)
            most_s = float(np.interp(MOST * pages.sum(), course.pages, course.times_s))
            bounds = _bounds(parameters, seconds, period, n)
            rows.append(
                {
                    "delay_s": delay,
                    "peers": n,
                    "pages_s": MOST * float(pages.sum()) / most_s,
                    "hours": float(course.times_s[-1]) / 3_600,
                    "planned_hours": plan.seconds(min(bounds.values()))[0] / 3_600,
                    "largest_hours": plan.alone_s / 3_600,
                    "hosts_bound": bounds[HOSTS],
                    "bottleneck": course.binds,
                }
            )
    return rows


def _bounds(parameters: PolitenessParameters, seconds: Floats, period: Floats, n: int) -> dict[str, float]:
    """Return the pages a second that each allows as long as all hosts have pages left."""
    wait = wait_seconds(np.zeros(len(seconds), np.int64), seconds, period, n * parameters.fetches, None, 1)
    return {
        HOSTS: float((1.0 / period).sum()),
        FETCHES: float((1.0 / (wait[0] + period)).sum()),
        BANDWIDTH: _outlet_pages(parameters),
        PROCESSORS: n * parameters.peer_pages,
    }


def _outlet_pages(parameters: PolitenessParameters) -> float:
    return parameters.mbps * 1e6 / 8 / (parameters.page_kb * 1e3)


def crawl_course(
    parameters: PolitenessParameters, pages: Ints, seconds: Floats, period: Floats, peer: Ints, n: int
) -> CrawlCourse:
    """Let peers fetch hosts until all are empty.

    Args:
      pages, seconds, period, peer: of each host; the period is from one question to it to the next.
    """
    left = pages.astype(np.float64)
    times, fetched = [0.0], [0.0]
    bound_s: defaultdict[str, float] = defaultdict(float)
    while len(left):
        wait = wait_seconds(peer, seconds, period, parameters.fetches, None, n)
        rate = 1.0 / (wait[peer] + period)
        by_peer = np.maximum(np.bincount(peer, rate, n), 1e-12)
        slowed = np.minimum(1.0, parameters.peer_pages / by_peer)
        rate *= slowed[peer]
        narrowed = min(1.0, _outlet_pages(parameters) / float(rate.sum()))
        rate *= narrowed
        # A part of what is left, or, of a few hosts, until the next one is empty.
        step_s = max(STEP * float(left.sum() / rate.sum()), float((left / rate).min()))
        if fetched[-1] < MOST * pages.sum():
            bound_s[_binding(narrowed, rate, slowed[peer] < 1.0, wait[peer] > 0.0)] += step_s
        left = left - np.minimum(left, rate * step_s)
        times.append(times[-1] + step_s)
        fetched.append(float(pages.sum() - left.sum()))
        is_left = left > 1e-9
        left, seconds, period = (each[is_left] for each in (left, seconds, period))
        peer = peer[is_left]
    return CrawlCourse(np.array(times), np.array(fetched), max(bound_s, key=bound_s.__getitem__))


def _binding(narrowed: float, rate: Floats, is_slowed: Bools, is_waiting: Bools) -> str:
    if narrowed < 1.0:
        return BANDWIDTH
    for name, of in ((PROCESSORS, is_slowed), (FETCHES, is_waiting)):
        if float(rate[of].sum()) > 0.5 * float(rate.sum()):
            return name
    return HOSTS


def draw(figure: Figure, outcome: Outcome) -> None:
    left, middle, right = figure.subplots(1, 3)
    rows = [{**row, **measure(row, "pages_s", "each", 1 / row["peers"])} for row in outcome.summary()]
    for axes, measured in ((left, "pages_s"), (middle, "each"), (right, "hours")):
        lines(axes, rows, "delay_s", "peers", measured, lambda delay: f"delay {delay:g} s")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        counts = sorted({row["peers"] for row in rows})
        axes.set_xticks(counts, [str(count) for count in counts])
    for delay in dict.fromkeys(row["delay_s"] for row in rows):
        of = [row for row in rows if row["delay_s"] == delay]
        right.plot([row["peers"] for row in of], [row["planned_hours"] for row in of], ":", color="0.5")
    for crawler, pages_s in PUBLISHED.items():
        left.axhline(pages_s, color="0.5", linestyle="-.", linewidth=0.8)
        left.annotate(
            crawler, (0.98, pages_s), xycoords=("axes fraction", "data"), fontsize=7, ha="right", va="bottom"
        )
    name_axes(left, "To nine tenths of the pages", "peers", "pages/s of the mesh")
    name_axes(middle, "What one peer adds", "peers", "pages/s and peer")
    name_axes(right, "Last page (dotted: plan)", "peers", "hours")
    for axes in (middle, right):
        if legend := axes.get_legend():  # the lines are those of the first
            legend.remove()


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = {(row["delay_s"], row["peers"]): row for row in outcome.summary()}
    delays, counts = (sorted({key[at] for key in rows}) for at in (0, 1))
    polite, most = delays[-1], counts[-1]
    if polite > 0 and len(counts) > 1:
        before = counts[-2]
        times = rows[polite, most]["pages_s"] / rows[polite, before]["pages_s"]
        yield Claim(
            BOOK,
            "where hosts want to be left alone, more machines stop helping",
            f"with {polite:g} s between fetches of a host, {counted(most, 'peer')} fetch {times:.2f} "
            "times the pages a "
            f"second of {before}: what binds is {rows[polite, most]['bottleneck']}",
            times < HELPS,
        )
    over = {key: row["hours"] / row["planned_hours"] for key, row in rows.items()}
    worst = max(over, key=lambda key: abs(np.log(over[key])))
    yield Claim(
        "sim plan",
        "hosts that share a mesh evenly, until one goes on at its own pace, tell the hours within 20 %",
        f"{min(over.values()):.2f} to {max(over.values()):.2f} times the hours of the plan; the worst with "
        f"{worst[0]:g} s and {counted(worst[1], 'peer')}",
        all(1 / PLANNED_WITHIN <= each <= PLANNED_WITHIN for each in over.values()),
    )


STUDY: Final = Study(
    name="politeness",
    question="Where do more machines stop helping, and what bounds them?",
    source=BOOK,
    parameters=PolitenessParameters,
    run=run,
    keys=("delay_s", "peers"),
    columns={
        "delay_s": "least seconds between two fetches of a host",
        "peers": "peers of the mesh",
        "pages_s": "pages a second of the whole mesh, until it has nine tenths of them",
        "hours": "until the last page",
        "planned_hours": "the same as `plan` sums it up",
        "largest_hours": "that the host takes which needs longest, at its own pace",
        "hosts_bound": "pages a second that hosts give at most, while all have pages",
        "bottleneck": "what the mesh waits for, most of the time to nine tenths of the pages",
    },
    draw=draw,
    caption="Throughput against peers and delay; where a line is flat, hosts or the outlet are few. Across: "
    "crawlers of others, as their authors told.",
    shown=("delay_s", "peers", "pages_s", "hours", "planned_hours", "bottleneck"),
    seeds=20,
    claims=claims,
)
