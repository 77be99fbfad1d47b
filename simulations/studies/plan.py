"""How many machines do I need?

A web and some wishes in; peers, hours, disk, memory, traffic, p99 and the bottleneck out.

Each figure is told for costs as they are usual, and for the 5 and 95 of 100 draws of all of them between the
least and the most that was measured (`costs`). Whoever has crawled something on their own machine gives the
report of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, inf, sqrt
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from msgspec.structs import replace

from mesh.counts import counted, plural_of
from mesh.errors import ConfigError, unreadable
from peers.crawler.model.settings import CrawlSettings
from simulations.model.costs import ANSWERS, Costs, answer_ms, drawn_costs, query_cpu_s
from simulations.model.crawl_time import CrawlTime
from simulations.model.fluid_share import wait_seconds
from simulations.model.hosts import SECONDS_SIGMA, capped_power_law
from simulations.model.pauses import turns
from simulations.outcomes.figures import lines, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study
from simulations.studies.crawls import SLOTS, trace_columns
from simulations.studies.search import SearchParameters
from simulations.studies.search import run as run_search
from simulations.traces.columns import Floats
from simulations.traces.recorded_reads import read_reads

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MACHINES_MAX: Final = 4_096
SEARCHED_MAX: Final = 20_000  # peers
DAY_S: Final = 86_400.0
AS_MEASURED: Final = "as measured"
QUANTILES: Final = {"5 of 100": 0.05, "95 of 100": 0.95}
PROCESSORS: Final = "processors"
HOSTS: Final = "hosts, which want to be left alone"
FETCHES: Final = "fetches in flight"
BANDWIDTH: Final = "bandwidth"
LARGEST: Final = "the largest hosts, at their own pace"
REVISITS: Final = "pages that are visited again"
DISK: Final = "disk"
MEMORY: Final = "memory"
COPIES: Final = "copies on as many machines"
DECIDED_BY: Final = {
    PROCESSORS: ("cores", "pages_per_core"),
    HOSTS: ("hosts", "seconds", "delay", "delay_factor"),
    FETCHES: ("fetches", "seconds"),
    BANDWIDTH: ("mbps", "page_kb"),
    LARGEST: ("host_pages", "hosts", "seconds", "delay", "delay_factor"),
    REVISITS: ("revisit_days",),
    DISK: ("disk_gb", "page_kb"),
    MEMORY: ("memory_gb",),
    COPIES: ("replicas",),
}
HOSTS_DRAWN_MAX: Final = 200_000  # more are alike
HELPS: Final = 0.99  # times the hours, or less, of a tenth more machines
CALIBRATION: Final = (
    "A crawl of one peer predicted those of two and four that shared two cores within 15 %; costs of other "
    "machines, and of pages much larger or much smaller than these, are others: crawl some with one peer, "
    "and give its report (--measured)."
)


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
    reads: Annotated[
        str, Meta(description="File of reads (`search --record-reads`) with the next two instead.")
    ] = ""
    reads_each: Annotated[
        float, Meta(gt=0, le=1e6, description="Of the lists of a peer that a search makes, mean.")
    ] = 5.0
    read_kb: Annotated[float, Meta(ge=0, le=1e6, description="Of such a read, mean.")] = 44.0
    iops: Annotated[float, Meta(gt=0, le=1e8, description="Reads a second of a machine's disk.")] = 100.0
    disk_mb_s: Annotated[float, Meta(gt=0, le=1e6, description="That its disk gives, MB/s.")] = 20.0
    draws: Annotated[int, Meta(ge=20, le=10_000, description="Of all costs, between least and most.")] = 100


class CrawlTotals(msgspec.Struct, frozen=True):
    """The work of all peers of a crawl."""

    documents: int  # every copy
    cpu_seconds: float


class CrawlReport(msgspec.Struct, frozen=True):
    """The part of the report of a crawl that matters here."""

    total: CrawlTotals


class PlannedWeb(NamedTuple):
    """The web to be crawled; arrays have each host, or as many as are alike."""

    pages: float
    page_bytes: float
    hosts: int
    host_pages: Floats
    seconds: Floats  # of a page of each
    is_known: bool  # are these the hosts that there are, or is it chance which of them are slow?


def run(parameters: PlanParameters, seed: int) -> list[Row]:
    """A row for costs as they are usual, and those that 5 and 95 of 100 draws of all costs stay below."""
    parameters = _as_recorded(_as_measured(parameters))
    _refuse_absurd(parameters)
    plan = CrawlPlan(parameters, _web(parameters, seed))
    usual = plan.figures(Costs())
    drawn = [plan.figures(costs) for costs in drawn_costs(parameters.draws, seed)]
    rows = [{"costs": AS_MEASURED} | usual]
    for name, share in QUANTILES.items():
        rows.append({"costs": name} | {each: _quantile(drawn, each, share, usual[each]) for each in usual})
    return [row | {"search_p99_ms": _search_p99_ms(parameters, row, seed)} for row in rows]


def _quantile(drawn: list[Row], name: str, share: float, usual: Any) -> Any:
    """Return the figure that this share of the draws stays below; of a text the usual one."""
    if isinstance(usual, str):
        return usual
    return float(np.quantile([row[name] for row in drawn], share, method="nearest"))


def _as_recorded(parameters: PlanParameters) -> PlanParameters:
    """Take the reads of a search from a file of them, if there is one. ConfigError when it is none."""
    if not parameters.reads:
        return parameters
    reads = read_reads(Path(parameters.reads))
    queries = len({read.query for read in reads})
    read_kb = sum(read.n_bytes for read in reads) / len(reads) / 1e3
    return replace(parameters, reads_each=len(reads) / queries, read_kb=read_kb)


def disk_searches_s(reads: float, read_bytes: float, iops: float, mb_s: float) -> float:
    """Return the searches a second m that a disk allows by the throughput inequality.

        (latency + bytes of a read / bandwidth) L_q m <= 1,   latency = 1 / IOPS

    Args:
      reads: L_q, of a search; the book has one for each of its terms.
      read_bytes: of a read, mean; the book has T_N TF, all occurrences of a term.

    Source: Li, Yan, Wang 2004, chapter 8, section 3.
    """
    return 1 / ((1 / iops + read_bytes / (mb_s * 1e6)) * reads)


def _refuse_absurd(parameters: PlanParameters) -> None:
    """Refuse webs that cannot be.

    Raises:
      ConfigError: there are more hosts than pages, or more pages than are crawled of so many hosts.
    """
    pages, hosts, most = parameters.pages, parameters.hosts, parameters.host_pages
    if parameters.trace:
        return
    if pages < hosts:
        raise ConfigError(
            f"{pages:,.0f} pages cannot be on {counted(hosts, 'host')}, each of which has one at least; "
            f"give fewer --hosts or more --pages"
        )
    if pages > hosts * most:
        raise ConfigError(
            f"of a host {most:,.0f} pages are crawled at most, of {counted(hosts, 'host')} "
            f"{hosts * most:,.0f} and not {pages:,.0f}; give fewer --pages, or more --hosts or --host-pages"
        )


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
        raise unreadable(f"the report {parameters.measured}", error) from error
    if not total.documents or total.cpu_seconds <= 0:
        raise ConfigError(f"the report {parameters.measured} is of a crawl that has fetched nothing")
    return replace(parameters, pages_per_core=total.documents / total.cpu_seconds)


def _web(parameters: PlanParameters, seed: int) -> PlannedWeb:
    """The web of a trace, or of the parameters, by the law of `model.hosts`."""
    if parameters.trace:
        columns = trace_columns(parameters.trace)
        sizes = columns.host_sizes
        seconds = np.bincount(columns.page_host, columns.seconds) / sizes
        n_bytes = float(columns.n_bytes.mean())
        host_pages = np.minimum(sizes.astype(np.float64), parameters.host_pages)
        return PlannedWeb(columns.page_count, n_bytes, len(sizes), host_pages, seconds, is_known=True)
    random = np.random.default_rng(seed)
    drawn = min(parameters.hosts, HOSTS_DRAWN_MAX)
    seconds = parameters.seconds * np.exp(random.normal(0.0, SECONDS_SIGMA, drawn))
    host_pages = capped_power_law(parameters.pages * drawn / parameters.hosts, drawn, parameters.host_pages)
    n_bytes = parameters.page_kb * 1e3
    return PlannedWeb(parameters.pages, n_bytes, parameters.hosts, host_pages, seconds, is_known=False)


def _settings(parameters: PlanParameters) -> CrawlSettings:
    return CrawlSettings(delay_s=parameters.delay, delay_factor=parameters.delay_factor)


class CrawlPlan:
    """The plan for a web, its figures as functions of costs."""

    def __init__(self, parameters: PlanParameters, web: PlannedWeb) -> None:
        self._wanted, self.web, self._seconds = parameters, web, web.seconds
        self._period = turns(web.seconds, _settings(parameters))[1]
        self._alike = web.hosts / len(web.seconds)
        # A plan is not to follow from a large host that is slow by chance.
        pace = self._period if web.is_known else np.full_like(self._period, np.median(self._period))
        self._time = CrawlTime(web.host_pages, pace, self._alike)
        self._by_fetches: dict[int, float] = {}  # pages a second, by peers: the same for all costs

    @property
    def _revisits_s(self) -> float:
        """Pages a second that fall due again when all have been visited."""
        return self.web.pages / (self._wanted.revisit_days * DAY_S)

    def pages_a_second(self, machines: int, costs: Costs) -> dict[str, float]:
        """Return the pages a second that each bound allows."""
        wanted, peers = self._wanted, machines * self._wanted.peers_each
        copies = min(wanted.replicas, peers)
        searching = wanted.queries * query_cpu_s(self.web.pages * copies / peers, costs)
        # Cores that are left for the crawl, which the peers of a machine share. A copy is checked, stored and
        # indexed as the page is: 172 pages a second of a core were measured with one copy, 88 with two.
        free = max(0.05, wanted.cores - searching * wanted.peers_each)
        busy = min(free, wanted.peers_each * costs.peer_cores)
        return {
            PROCESSORS: machines * busy * wanted.pages_per_core * costs.core_speed / copies,
            HOSTS: float((1 / self._period).sum()) * self._alike,
            FETCHES: self._fetched_by(peers),
            BANDWIDTH: wanted.mbps * 1e6 / 8 / self.web.page_bytes,
        }

    def _fetched_by(self, peers: int) -> float:
        if peers not in self._by_fetches:
            fetches = np.array([self._wanted.fetches * peers / self._alike])
            one = np.zeros(len(self._seconds), np.int64)
            wait = wait_seconds(one, self._seconds, self._period, fetches, None, 1)
            self._by_fetches[peers] = float((1 / (wait[0] + self._period)).sum()) * self._alike
        return self._by_fetches[peers]

    def hours(self, machines: int, costs: Costs) -> tuple[float, str]:
        """Return the hours that a crawl takes, and the bound that it waits for.

        In a crawl that takes longer than D, the time between two visits of a page, pages fall due again, and
        a visit again costs as much as the first. If P pages come evenly in T, (T - D)^2 P / (2 D T) visits
        are made again by then; with B visits a second that makes T = sqrt(P D / (2 B - P / D)), or no end
        where 2 B <= P / D.
        """
        bounds = self.pages_a_second(machines, costs)
        least = min(bounds, key=bounds.__getitem__)
        seconds, alone_s = self._time.seconds(bounds[least])
        steady_s, due_s = self.web.pages / bounds[least], self._wanted.revisit_days * DAY_S
        if steady_s > due_s:
            left = 2 * bounds[least] - self._revisits_s
            seconds = max(seconds, sqrt(self.web.pages * due_s / left) if left > 0 else inf)
        return seconds / 3_600, LARGEST if 2 * alone_s > seconds else least

    def alone_hours(self) -> float:
        """Return the hours of the host that takes longest at its own pace."""
        return self._time.alone_s / 3_600

    def machines(self, costs: Costs) -> tuple[int, str]:
        """Return the fewest machines that suffice, and why fewer do not, or why more would not help.

        Raises:
          ConfigError: it takes more than this can plan for.
        """
        wanted = self._wanted
        if wanted.machines:
            return wanted.machines, "as many as there are"
        machines, reason = self._machines_to_hold(costs)
        if machines > MACHINES_MAX:
            raise ConfigError(
                f"{self.web.pages:,.0f} pages take {counted(machines, 'machine')} or more, for their "
                f"{reason}, and a "
                f"plan is for {MACHINES_MAX:,} at most; give fewer --pages, or larger machines"
            )
        hours, waits_for = self.hours(machines, costs)
        again_s = self._visits_s(machines, costs)
        while (hours > wanted.hours or again_s < self._revisits_s) and machines < MACHINES_MAX:
            more = max(machines + 1, min(MACHINES_MAX, ceil(machines * 1.1)))
            less_hours, next_for = self.hours(more, costs)
            more_again_s = self._visits_s(more, costs)
            is_late = hours > wanted.hours
            if less_hours > hours * HELPS and (is_late or more_again_s < again_s * 1.001):
                return machines, f"{waits_for}: more machines would not help"
            machines, reason = more, waits_for if is_late else REVISITS
            hours, waits_for, again_s = less_hours, next_for, more_again_s
        return machines, reason

    def _machines_to_hold(self, costs: Costs) -> tuple[int, str]:
        wanted = self._wanted
        machines = wanted.replicas
        reason = f"{machines} {COPIES}" if machines > 1 else "one is enough"
        disk = ceil(self._disk_gb(machines, costs) / (wanted.disk_gb * 0.8))
        free = max(1e6, wanted.memory_gb * 0.5e9 - wanted.peers_each * costs.memory_mb * 1e6)
        memory = ceil(self.web.pages * machines * costs.memory_page_bytes / free)
        return max((machines, reason), (disk, DISK), (memory, MEMORY), key=itemgetter(0))

    def _visits_s(self, machines: int, costs: Costs) -> float:
        return min(self.pages_a_second(machines, costs).values())

    def _disk_gb(self, copies: int, costs: Costs) -> float:
        page = self.web.page_bytes * costs.stored_share + costs.index_bytes
        return self.web.pages * (page + costs.known_urls * costs.url_row_bytes) * copies / 1e9

    def figures(self, costs: Costs) -> Row:
        """Return all but the searches of the whole mesh."""
        wanted, web = self._wanted, self.web
        machines, reason = self.machines(costs)
        peers = machines * wanted.peers_each
        copies = min(wanted.replicas, peers)
        documents = web.pages * copies / peers
        hours, waits_for = self.hours(machines, costs)
        crossing = web.pages * wanted.links * (1 - 1 / peers) * costs.link_bytes
        replicated = web.pages * web.page_bytes * costs.stored_share * (copies - 1)
        rate = wanted.changes_a_day * wanted.revisit_days
        median_ms, p99_ms = answer_ms(documents, costs)
        again = self._revisits_s * copies / (wanted.pages_per_core * costs.core_speed)
        memory_gb = (costs.memory_mb * 1e6 + documents * costs.memory_page_bytes) / 1e9
        return {
            "machines": float(machines),
            "peers": float(peers),
            "hours": hours,
            "waits_for": waits_for,
            "disk_gb": self._disk_gb(copies, costs) / machines,
            "memory_gb": memory_gb * wanted.peers_each,
            "fetched_mbps": web.pages * web.page_bytes * 8 / 1e6 / (hours * 3_600),
            "between_peers_gb": (crossing + replicated) / 1e9,
            "documents_each": documents,
            "answer_ms": median_ms,
            "answer_p99_ms": p99_ms,
            "search_cores": wanted.queries * query_cpu_s(documents, costs) * wanted.peers_each,
            "fresh": float(-np.expm1(-rate) / rate) if rate else 1.0,
            "revisits_s": self._revisits_s,
            "revisit_cores": again / machines,
            "disk_searches_s": disk_searches_s(
                wanted.reads_each * wanted.peers_each, wanted.read_kb * 1e3, wanted.iops, wanted.disk_mb_s
            ),
            "slots_per_peer": SLOTS / peers,
            "bottleneck": reason,
        }


def _search_p99_ms(parameters: PlanParameters, row: Row, seed: int) -> float:
    """Return the time that 99 of 100 searches of the whole mesh stay below."""
    peers = int(row["peers"])
    searched = run_search(
        SearchParameters(
            peers=str(min(peers, SEARCHED_MAX)),
            queries=1_000,
            replicas=min(parameters.replicas, peers),
            median_ms=row["answer_ms"],
            p99_ms=row["answer_p99_ms"],
            slow=0.0,
            dead=0.0,
        ),
        seed,
    )
    return float(searched[-1]["p99_ms"])


def in_words(outcome: Outcome) -> str:
    """Return the plan in words, for the person that has to buy the machines."""
    usual, low, high = outcome.summary()
    wanted = outcome.parameters
    assert isinstance(wanted, PlanParameters)
    machines = _range(low["machines"], high["machines"], usual["machines"], "machine", "{:.0f}")
    each = f" and {counted(wanted.peers_each, 'peer')}" if wanted.peers_each > 1 else ""
    is_in_time = high["hours"] <= wanted.hours
    growth = (
        " More documents on a peer than were measured: how searches slow down then is an estimate."
        if usual["documents_each"] > ANSWERS[-1].documents
        else ""
    )
    return (
        f"You {'have' if wanted.machines else 'need'} {machines} of {wanted.cores:g} cores{each}. "
        f"A crawl takes {_range(low['hours'], high['hours'], usual['hours'], 'hour')}, "
        + ("as you wish. " if is_in_time else f"and not {wanted.hours:g} as you wish. ")
        + f"What decides their number: {usual['bottleneck']}. "
        f"What the crawl waits for: {usual['waits_for']}. "
        + _assumed(wanted, usual)
        + f"Each machine fills {_range(low['disk_gb'], high['disk_gb'], usual['disk_gb'], 'GB')} of disk and "
        f"holds {_range(low['memory_gb'], high['memory_gb'], usual['memory_gb'], 'GB')} of memory. "
        f"The outlet carries {usual['fetched_mbps']:.0f} Mbit/s while the crawl lasts. "
        f"99 of 100 searches take less than {max(usual['search_p99_ms'], high['search_p99_ms']):.0f} ms, "
        f"with {usual['documents_each']:,.0f} documents on a peer.{growth} "
        f"While no list is in memory, the disk of a machine allows {usual['disk_searches_s']:.3g} searches a "
        f"second ({wanted.iops:g} IOPS, {wanted.disk_mb_s:g} MB/s). "
        f"Visited every {wanted.revisit_days:g} days ({usual['revisits_s']:.1f} pages a second, "
        f"{usual['revisit_cores']:.2f} cores of each machine), {usual['fresh']:.0%} of the pages are as they "
        f"are on the web. In brackets: where 90 of 100 draws of all costs are. " + CALIBRATION
    )


def _assumed(wanted: PlanParameters, usual: Row) -> str:
    """Name the options that decide and that nobody gave."""
    reasons = (usual["bottleneck"], usual["waits_for"])
    names = [
        name for text, names in DECIDED_BY.items() if any(text in each for each in reasons) for name in names
    ]
    of_trace = ("pages", "page_kb", "hosts", "seconds") if wanted.trace else ()
    usual_values = PlanParameters()
    assumed = [
        f"--{name.replace('_', '-')} {getattr(wanted, name):,.10g}"
        for name in dict.fromkeys(names)
        if name not in of_trace and getattr(wanted, name) == getattr(usual_values, name)
    ]
    return f"That follows from what nobody gave and is assumed: {', '.join(assumed)}. " if assumed else ""


def _range(low: float, high: float, usual: float, unit: str, form: str = "{:.1f}") -> str:
    """Write a figure with its unit, and its range behind it where that is another."""
    if unit in ("machine", "hour"):
        unit = plural_of(unit) if usual != 1 or high > 1 else unit
    least, most, text = (form.format(value) for value in (low, high, usual))
    return f"{text} {unit}" if least == most == text else f"{text} {unit} [{least} to {most}]"


def draw(figure: Figure, outcome: Outcome) -> None:
    axes = figure.subplots()
    assert isinstance(outcome.parameters, PlanParameters)
    parameters = _as_measured(outcome.parameters)
    plan = CrawlPlan(parameters, _web(parameters, outcome.seeds[0]))
    needed = int(max(row["machines"] for row in outcome.summary()))
    counts = sorted({max(1, round(needed * part)) for part in (0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6)})
    drawn = drawn_costs(parameters.draws, outcome.seeds[0])
    rows = [{"costs": AS_MEASURED, "machines": n, "hours": plan.hours(n, Costs())[0]} for n in counts]
    for n in counts:
        hours = [plan.hours(n, costs)[0] for costs in drawn]
        rows += [
            {"costs": name, "machines": n, "hours": float(np.quantile(hours, share, method="nearest"))}
            for name, share in QUANTILES.items()
        ]
    lines(axes, rows, "costs", "machines", "hours")
    alone = plan.alone_hours()
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
        draws=20,
        revisit_days=1e6,
    )
    hours = run(book, 1)[0]["hours"]
    yield Claim(
        "Li, Yan, Wang 2004, chapter 6, section 2",
        "10^8 pages of 15 KB over 100 Mbps: T >= 33.3 h",
        f"{hours:.1f} h",
        abs(hours - 33.3) < 0.5,
    )
    least, most = (disk_searches_s(5, read_bytes, 100, 20) for read_bytes in (200e3, 0))
    yield Claim(
        "Li, Yan, Wang 2004, chapter 8, section 3",
        "5 reads a query at 100 IOPS and 20 MB/s: 20 queries a second, fewer where a list has 200 KB",
        f"{most:.1f} a second, and {least:.1f}",
        abs(most - 20) < 0.5 and least < 20,
    )


STUDY: Final = Study(
    name="plan",
    question="How many machines do I need?",
    source="Li, Yan, Wang 2004, chapter 6, section 2, with what our peers cost",
    parameters=PlanParameters,
    run=run,
    keys=("costs",),
    columns={
        "costs": "of our peers: as measured; and what 5 and 95 of 100 draws of all costs stay below",
        "machines": "machines",
        "peers": "peers on all of them",
        "hours": "of a crawl of the whole web",
        "waits_for": "what the crawl waits for",
        "disk_gb": "of each machine",
        "memory_gb": "of each machine",
        "fetched_mbps": "of the outlet, while the crawl lasts, Mbit/s",
        "between_peers_gb": "links and copies between peers, whole crawl",
        "documents_each": "of each peer, every copy",
        "answer_ms": "of a peer to a search, median",
        "answer_p99_ms": "of a peer to a search, 99 of 100",
        "search_p99_ms": "of a search while all peers are well, 99 of 100",
        "search_cores": "of each machine, busy with searches",
        "fresh": "share of pages that are as on the web, visited regularly (Cho, Garcia-Molina 2000)",
        "revisits_s": "pages a second that are visited again",
        "revisit_cores": "of each machine, busy with them",
        "disk_searches_s": "searches a second that the disk of a machine allows if no list is in memory",
        "slots_per_peer": "of a mesh of 50,000",
        "bottleneck": "what decides the number of machines",
    },
    draw=draw,
    caption="Hours of a crawl against machines; it takes as long as the largest host, at least.",
    seeds=1,
    claims=claims,
    in_words=in_words,
)
