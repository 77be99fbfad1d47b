"""How many machines do I need?

A web and some wishes in; peers, hours, disk, memory, traffic, p99 and the bottleneck out.

Each figure is a range: with the costs of the machine as measured (`Costs`), and with those that are worse by
the uncertainty given. They were measured on two shared cores of an AMD EPYC (`tests/benchmarks/README.md`);
whoever has crawled something on their own machine gives the report of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import numpy as np
from msgspec import Meta
from msgspec.structs import replace

from mesh.errors import ConfigError
from peers.crawler.model.settings import CrawlSettings
from simulations.model.fluid_share import wait_seconds
from simulations.studies.crawls import SLOTS, trace_columns
from simulations.studies.figures import lines, name_axes
from simulations.studies.search import SearchParameters
from simulations.studies.search import run as run_search
from simulations.studies.study import Claim, Outcome, Parameters, Row, Study
from simulations.traces.columns import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MACHINES_MAX: Final = 4_096
HOSTS_DRAWN_MAX: Final = 200_000  # more are alike
CALIBRATION: Final = (
    "A crawl of one peer predicted those of two and four that shared two cores within 15 %; costs of other "
    "machines, and of pages much larger or much smaller than these, are others: crawl some with one peer, "
    "and give its report (--measured)."
)


class Costs(msgspec.Struct, frozen=True):
    """The measured costs of one peer; see `tests/benchmarks/README.md`."""

    stored_share: float = 0.25  # bytes of the archive for a byte of a page, as WARC with gzip
    index_bytes: float = 3_300.0  # of a page's document: 3.1 GB for 1,000,000
    query_cpu_s: float = 0.0035  # of each peer for a query
    memory_mb: float = 250.0  # of a peer that crawls
    memory_page_bytes: float = 415.0  # resident of a page's document while it is searched
    url_row_bytes: float = 120.0  # of the frontier, for each URL that is known
    known_urls: float = 3.0  # for each page
    link_bytes: float = 108.0  # of a link to another peer
    peer_cores: float = 1.7  # that one peer keeps busy, with the processes that take pages apart for it


class PlanParameters(Parameters, frozen=True, kw_only=True):
    """The crawl that is wanted, and the capacity of a machine."""

    trace: Annotated[str, Meta(description="Trace of the web; its pages, hosts and sizes count.")] = ""
    pages: Annotated[float, Meta(ge=1, le=1e11, description="Of the web.")] = 5e7
    page_kb: Annotated[float, Meta(gt=0, description="Of a page, mean, kB.")] = 19.0
    hosts: Annotated[int, Meta(ge=1, le=1_000_000_000, description="Of the web.")] = 500_000
    host_pages: Annotated[float, Meta(ge=1, description="Of one host at most, as crawls are limited.")] = (
        100_000
    )
    seconds: Annotated[float, Meta(gt=0, le=3_600, description="That a host takes for a page, median.")] = (
        0.25
    )
    delay: Annotated[
        float, Meta(ge=0, le=86_400, description="Between two fetches of a host, s; 0 for none.")
    ] = 1.0
    delay_factor: Annotated[
        float, Meta(ge=0, description="The same in times that an answer takes, if that is longer.")
    ] = 5.0
    hours: Annotated[float, Meta(gt=0, description="In which the crawl is to be over.")] = 72.0
    queries: Annotated[float, Meta(ge=0, le=1e6, description="A second.")] = 10.0
    replicas: Annotated[int, Meta(ge=1, le=8, description="R, copies of every page.")] = 2
    machines: Annotated[
        int, Meta(ge=0, le=100_000, description="That there are; 0 asks how many it takes.")
    ] = 0
    peers_each: Annotated[
        int, Meta(ge=1, le=1_024, description="Peers on a machine, which share what it has.")
    ] = 1
    cores: Annotated[float, Meta(gt=0, le=1_024, description="Of a machine.")] = 2.0
    disk_gb: Annotated[float, Meta(gt=0, description="Of a machine.")] = 500.0
    memory_gb: Annotated[float, Meta(gt=0, description="Of a machine.")] = 8.0
    mbps: Annotated[float, Meta(gt=0, description="Bandwidth of the outlet, Mbit/s.")] = 1_000.0
    pages_per_core: Annotated[float, Meta(gt=0, description="A second, all included, one copy.")] = 172.0
    measured: Annotated[
        str, Meta(description="Report of a crawl (`up --once --report`) with the pages of a core instead.")
    ] = ""
    fetches: Annotated[int, Meta(ge=1, le=100_000, description="In flight, of a peer.")] = 256
    links: Annotated[float, Meta(ge=0, description="To other hosts, of a page.")] = 2.0
    changes_a_day: Annotated[float, Meta(ge=0, description="Of a page, mean.")] = 0.02
    revisit_days: Annotated[float, Meta(gt=0, description="Between two visits of a page.")] = 14.0
    uncertainty: Annotated[float, Meta(ge=0, le=5, description="By which costs may be higher.")] = 0.3


class CrawlTotals(msgspec.Struct, frozen=True):
    """The work of all peers of a crawl."""

    documents: int  # every copy
    cpu_seconds: float


class CrawlReport(msgspec.Struct, frozen=True):
    """The part of the report of a crawl that matters here."""

    total: CrawlTotals


class WebFigures(msgspec.Struct, frozen=True):
    """The figures of a web that matter here."""

    pages: float
    page_bytes: float
    hosts: int
    largest_pages: float
    largest_seconds: float  # of one of its pages


def run(parameters: PlanParameters, seed: int) -> list[Row]:
    """A row for costs as measured, and one for costs that are worse."""
    parameters = _as_measured(parameters)
    web, seconds = _web(parameters, seed)
    rows = []
    for name, factor in (("as measured", 1.0), ("worse", 1.0 + parameters.uncertainty)):
        machines, reason = _machines_needed(parameters, web, seconds, factor)
        figures = _figures(parameters, web, seconds, machines, factor, seed)
        rows.append({"costs": name, "machines": float(machines), **figures, "bottleneck": reason})
    return rows


def _as_measured(parameters: PlanParameters) -> PlanParameters:
    """Take the pages of a core from the report of a crawl, if there is one.

    Raises:
      ConfigError: it cannot be read, or nothing was crawled.
    """
    if not parameters.measured:
        return parameters
    try:
        total = msgspec.json.decode(Path(parameters.measured).read_bytes(), type=CrawlReport).total
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"cannot read the report {parameters.measured}: {error}") from error
    if not total.documents or total.cpu_seconds <= 0:
        raise ConfigError(f"the report {parameters.measured} is of a crawl that has fetched nothing")
    return replace(parameters, pages_per_core=total.documents / total.cpu_seconds)


def _web(parameters: PlanParameters, seed: int) -> tuple[WebFigures, Floats]:
    """The web, and the seconds of a page of each host, or of as many as are alike."""
    if parameters.trace:
        columns = trace_columns(parameters.trace)
        sizes = columns.host_sizes
        seconds = np.bincount(columns.page_host, columns.seconds) / sizes
        largest = int((sizes * _periods(parameters, seconds)).argmax())
        web = WebFigures(
            columns.page_count,
            float(columns.n_bytes.mean()),
            len(sizes),
            float(sizes[largest]),
            float(seconds[largest]),
        )
        return web, seconds
    random = np.random.default_rng(seed)
    drawn = min(parameters.hosts, HOSTS_DRAWN_MAX)
    seconds = parameters.seconds * np.exp(random.normal(0.0, 0.8, drawn))
    ranks = np.arange(1, drawn + 1) ** -0.9
    share = 1 / (
        float(ranks.sum()) * parameters.hosts / drawn
    )  # the largest host by the law of `model.hosts`
    largest_pages = max(1.0, parameters.pages * share)
    web = WebFigures(
        parameters.pages, parameters.page_kb * 1e3, parameters.hosts, largest_pages, parameters.seconds
    )
    return web, seconds


def _periods(parameters: PlanParameters, seconds: Floats) -> Floats:
    """From one question to a host to the next, as `peers.crawler.model.politeness` has it."""
    if not parameters.delay:
        return seconds
    settings = CrawlSettings(delay_s=parameters.delay, delay_factor=parameters.delay_factor)
    by_answer = np.minimum(settings.delay_factor * seconds, settings.delay_max_s)
    periods: Floats = seconds + np.maximum(settings.delay_s, by_answer)
    return periods


def pages_a_second(
    parameters: PlanParameters, web: WebFigures, seconds: Floats, machines: int, factor: float
) -> dict[str, float]:
    """Return the pages a second that each bound allows."""
    peers = machines * parameters.peers_each
    copies = min(parameters.replicas, peers)
    search_cpu = parameters.queries * Costs().query_cpu_s * factor
    # Cores that are left for the crawl, which the peers of a machine share. A copy is checked, stored and
    # indexed as the page is: 172 pages a second of a core were measured with one copy, 88 with two.
    free = max(0.05, parameters.cores - search_cpu * parameters.peers_each)
    busy = min(free, parameters.peers_each * Costs().peer_cores)
    by_cores = machines * busy * parameters.pages_per_core / factor / copies
    period = _periods(parameters, seconds)
    wait = wait_seconds(
        np.zeros(len(seconds), np.int64),
        seconds,
        period,
        _fetches_for(parameters, web, seconds, peers),
        None,
        1,
    )
    alike = web.hosts / len(seconds)
    return {
        "processors": by_cores,
        "hosts, which want to be left alone": float((1 / period).sum()) * alike,
        "fetches in flight": float((1 / (wait[0] + period)).sum()) * alike,
        "bandwidth": parameters.mbps * 1e6 / 8 / (web.page_bytes * factor),
    }


def _fetches_for(parameters: PlanParameters, web: WebFigures, seconds: Floats, peers: int) -> Floats:
    return np.array([parameters.fetches * peers * len(seconds) / web.hosts])


def _hours(
    parameters: PlanParameters, web: WebFigures, seconds: Floats, machines: int, factor: float
) -> tuple[float, str]:
    """Return the hours that a crawl takes, and the bound that it waits for."""
    steady, least = _steady_hours(parameters, web, seconds, machines, factor)
    alone = _alone_hours(parameters, web)
    return (alone, "the largest host, at its own pace") if alone > steady else (steady, least)


def _steady_hours(
    parameters: PlanParameters, web: WebFigures, seconds: Floats, machines: int, factor: float
) -> tuple[float, str]:
    """The same as long as all hosts have pages left."""
    bounds = pages_a_second(parameters, web, seconds, machines, factor)
    least = min(bounds, key=bounds.__getitem__)
    return web.pages / bounds[least] / 3_600, least


def _alone_hours(parameters: PlanParameters, web: WebFigures) -> float:
    pages = min(web.largest_pages, parameters.host_pages) + 1  # robots.txt
    return pages * float(_periods(parameters, np.array(web.largest_seconds))) / 3_600


def _disk_gb(web: WebFigures, copies: int, factor: float) -> float:
    costs = Costs()
    page = web.page_bytes * costs.stored_share + costs.index_bytes + costs.known_urls * costs.url_row_bytes
    return web.pages * page * copies * factor / 1e9


def _machines_needed(
    parameters: PlanParameters, web: WebFigures, seconds: Floats, factor: float
) -> tuple[int, str]:
    """Return the fewest machines that suffice, and why fewer do not, or the bound that makes it too late."""
    if parameters.machines:
        return parameters.machines, "as many as there are"
    machines = parameters.replicas if parameters.replicas > 1 else 1
    disk = ceil(_disk_gb(web, parameters.replicas, factor) / (parameters.disk_gb * 0.8))
    memory = ceil(
        web.pages
        * parameters.replicas
        * Costs().memory_page_bytes
        * factor
        / max(1e6, parameters.memory_gb * 0.5e9 - parameters.peers_each * Costs().memory_mb * 1e6)
    )
    reason = f"{parameters.replicas} copies on as many machines" if machines > 1 else "one is enough"
    if max(disk, memory) > machines:
        machines, reason = max((disk, "disk"), (memory, "memory"))
    hours, waits_for = _hours(parameters, web, seconds, machines, factor)
    while hours > parameters.hours and machines < MACHINES_MAX:
        more = max(machines + 1, min(MACHINES_MAX, ceil(machines * 1.1)))
        less_hours, _ = _hours(parameters, web, seconds, more, factor)
        if less_hours > hours * 0.999:
            return machines, f"{waits_for}: more machines would not help"
        machines, reason = more, waits_for
        hours, waits_for = less_hours, _hours(parameters, web, seconds, more, factor)[1]
    return machines, reason


def _figures(
    parameters: PlanParameters, web: WebFigures, seconds: Floats, machines: int, factor: float, seed: int
) -> Row:
    peers = machines * parameters.peers_each
    copies = min(parameters.replicas, peers)
    hours, waits_for = _hours(parameters, web, seconds, machines, factor)
    costs = Costs()
    crossing = web.pages * parameters.links * (1 - 1 / peers) * costs.link_bytes
    replicated = web.pages * web.page_bytes * costs.stored_share * (copies - 1)
    searched = run_search(
        SearchParameters(
            peers=str(peers),
            queries=1_000,
            replicas=copies,
            median_ms=5 * factor,
            p99_ms=14 * factor,
            slow=0.0,
            dead=0.0,
        ),
        seed,
    )
    rate = parameters.changes_a_day * parameters.revisit_days
    fresh = -np.expm1(-rate) / rate if rate else 1.0
    return {
        "peers": float(peers),
        "hours": hours,
        "waits_for": waits_for,
        "disk_gb": _disk_gb(web, copies, factor) / machines,
        "memory_gb": (costs.memory_mb * 1e6 + web.pages * copies / peers * costs.memory_page_bytes)
        * parameters.peers_each
        * factor
        / 1e9,
        "fetched_mbps": web.pages * web.page_bytes * 8 / 1e6 / (hours * 3_600),
        "between_peers_gb": (crossing + replicated) * factor / 1e9,
        "search_p99_ms": searched[-1]["p99_ms"],
        "search_cores": parameters.queries * costs.query_cpu_s * parameters.peers_each * factor,
        "fresh": float(fresh),
        "revisits_s": web.pages / (parameters.revisit_days * 86_400),
        "slots_per_peer": SLOTS / peers,
    }


def in_words(outcome: Outcome) -> str:
    """Return the plan in words, for the person that has to buy the machines."""
    good, bad = outcome.summary()
    wanted = outcome.parameters
    assert isinstance(wanted, PlanParameters)
    machines = (
        f"{good['machines']:.0f}"
        if good["machines"] == bad["machines"]
        else f"{good['machines']:.0f} to {bad['machines']:.0f}"
    )
    each = f" and {wanted.peers_each} peers" if wanted.peers_each > 1 else ""
    hours = _range(good["hours"], bad["hours"], "hours")
    is_in_time = bad["hours"] <= wanted.hours
    return (
        f"You {'have' if wanted.machines else 'need'} {machines} machine{'s' if bad['machines'] > 1 else ''} "
        f"of {wanted.cores:g} cores{each}. "
        f"A crawl takes {hours}, "
        + ("as you wish. " if is_in_time else f"and not {wanted.hours:g} as you wish. ")
        + f"What decides their number: {good['bottleneck']}. What the crawl waits for: {good['waits_for']}. "
        f"Each machine fills {_range(good['disk_gb'], bad['disk_gb'], 'GB')} of disk and holds "
        f"{_range(good['memory_gb'], bad['memory_gb'], 'GB')} of memory. "
        f"The outlet carries {good['fetched_mbps']:.0f} Mbit/s while the crawl lasts. "
        f"99 of 100 searches take less than {max(good['search_p99_ms'], bad['search_p99_ms']):.0f} ms. "
        f"Visited every {wanted.revisit_days:g} days ({good['revisits_s']:.1f} pages a second), "
        f"{good['fresh']:.0%} of the pages are as they are on the web. " + CALIBRATION
    )


def _range(low: float, high: float, unit: str) -> str:
    low, high = sorted((low, high))
    same = f"{low:.1f}" == f"{high:.1f}"
    return f"{low:.1f} {unit}" if same else f"{low:.1f} to {high:.1f} {unit}"


def draw(figure: Figure, outcome: Outcome) -> None:
    axes = figure.subplots()
    assert isinstance(outcome.parameters, PlanParameters)
    parameters = _as_measured(outcome.parameters)
    web, seconds = _web(parameters, outcome.seeds[0])
    needed = int(max(row["machines"] for row in outcome.summary()))
    counts = sorted({max(1, round(needed * part)) for part in (0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6)})
    rows = [
        {"costs": name, "machines": n, "hours": _steady_hours(parameters, web, seconds, n, factor)[0]}
        for name, factor in (("costs as measured", 1.0), ("worse", 1.0 + parameters.uncertainty))
        for n in counts
    ]
    lines(axes, rows, "costs", "machines", "hours")
    alone = _alone_hours(parameters, web)
    axes.axhline(alone, color="0.4", linestyle="-", linewidth=3, alpha=0.5, label="the largest host alone")
    axes.axhline(parameters.hours, color="0.2", linestyle=":", label="wanted")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.minorticks_off()
    name_axes(axes, "How long a crawl takes", "machines", "hours")


def claims(outcome: Outcome) -> Iterable[Claim]:
    book = PlanParameters(
        pages=1e8,
        page_kb=15,
        hosts=10_000_000,
        seconds=0.001,
        delay=0,
        mbps=100,
        hours=inf,
        queries=0,
        replicas=1,
        pages_per_core=1e9,
        disk_gb=1e9,
        memory_gb=1e9,
        uncertainty=0,
    )
    hours = run(book, 1)[0]["hours"]
    yield Claim(
        "Li, Yan, Wang 2004, chapter 6, section 2",
        "10^8 pages of 15 KB over 100 Mbps: T >= 33.3 h",
        f"{hours:.1f} h",
        abs(hours - 33.3) < 0.5,
    )


STUDY: Final = Study(
    name="plan",
    question="How many machines do I need?",
    source="Li, Yan, Wang 2004, chapter 6, section 2, with what our peers cost",
    parameters=PlanParameters,
    run=run,
    keys=("costs",),
    columns={
        "costs": "of our peers: as measured, or higher by the uncertainty",
        "machines": "machines",
        "peers": "peers on all of them",
        "hours": "of a crawl of the whole web",
        "waits_for": "what the crawl waits for",
        "disk_gb": "of each machine",
        "memory_gb": "of each machine",
        "fetched_mbps": "of the outlet, while the crawl lasts, Mbit/s",
        "between_peers_gb": "links and copies between peers, whole crawl",
        "search_p99_ms": "of a search while all peers are well, 99 of 100",
        "search_cores": "of each machine, busy with searches",
        "fresh": "share of pages that are as on the web, visited regularly (Cho, Garcia-Molina 2000)",
        "revisits_s": "pages a second that are visited again",
        "slots_per_peer": "of a mesh of 50,000",
        "bottleneck": "what decides the number of machines",
    },
    draw=draw,
    caption="Hours of a crawl against machines; it takes as long as the largest host, at least.",
    seeds=1,
    claims=claims,
    in_words=in_words,
)
