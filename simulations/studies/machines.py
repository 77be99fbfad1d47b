"""How much faster are more machines, and which part of them, or of the web, binds? The book's figure 6-7.

Exact: peers with all their actors, on machines whose processors, disks and common outlet do one thing after
the other (`simulations.world.hardware`), crawl four webs, each of which is short of something else. All hosts
have as many pages, so that none of them is at its end while it counts.

Speed-up is the book's, pages(n) / pages(1): of the time in which the fastest mesh has fetched half of the
web. What binds is the part that is used most, where it is used nearly all of the time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from msgspec import Meta
from msgspec.structs import replace

from peers.crawler.model.politeness import delay_s
from peers.policy.rules import EVERYTHING
from simulations.outcomes.figures import lines, measure, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study, numbers
from simulations.webs.web import SyntheticWeb, WebShape
from simulations.world.crawl import SimulatedCrawl
from simulations.world.experiments import COMPARED_SHARE, replay_settings
from simulations.world.hardware import COMMIT_PAGE_S, PARSE_S, FiniteHardware, Station
from simulations.world.ports import LoggedRequest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, section 6.2, figure 6-7"
HOSTS, OUTLET, PROCESSORS, DISKS, FETCHES = "hosts", "outlet", "processors", "disks", "fetches"
NOTHING: Final = "nothing"
LINEAR: Final = 0.15  # "basically": as far from n at most, as a share
BUSY: Final = 0.85  # of the time: what is used so much binds
IN_VAIN: Final = 1.25  # times one machine: more machines bring nothing
SHAPE: Final = WebShape(size_exponent=0.0, slow_hosts_share=0.0, dead_hosts_share=0.0, robots_share=0.0)
PLENTY: Final = 1e6


class MachinesParameters(Parameters, frozen=True, kw_only=True):
    """Meshes of one site with a peer on each machine, and how little a web has of its scarce part."""

    peers: Annotated[str, Meta(description="Sizes of the mesh, by comma.")] = "1,2,4,8"
    pages: Annotated[int, Meta(ge=100, le=100_000, description="Of each web.")] = 3_000
    fetches: Annotated[int, Meta(ge=1, le=256, description="In flight, of a peer.")] = 8
    replicas: Annotated[int, Meta(ge=1, le=8, description="R, copies of every page.")] = 1
    cores: Annotated[int, Meta(ge=1, le=256, description="Of a machine.")] = 2
    delay: Annotated[float, Meta(ge=0, le=60, description="Between fetches of a host, where hosts bind.")] = (
        5.0
    )
    outlet: Annotated[float, Meta(gt=0, description="Mbit/s of the site, where it binds.")] = 8.0
    page_ms: Annotated[float, Meta(gt=0, description="Of a core for a page, where processors bind.")] = 250.0
    syncs: Annotated[float, Meta(gt=0, description="A second of a disk, where disks bind.")] = 12.0
    searches: Annotated[float, Meta(ge=0, le=1e4, description="A second of the mesh, while it crawls.")] = 0.0


class _Short(NamedTuple):
    """The machines, and the pause of the hosts, of a web."""

    delay_s: float = 0.0
    pages_per_host: float = 20.0
    mbits: float = PLENTY
    speed: float = 1.0
    syncs_per_s: float = PLENTY


class _Course(NamedTuple):
    """A crawl, until half of the web was fetched and a little longer."""

    ends_s: list[float]  # of pages, in order
    used: dict[str, float]  # share of the time, by part


def run(parameters: MachinesParameters, seed: int) -> list[Row]:
    """A row for each web and number of machines."""
    counts = sorted({1, *numbers(parameters.peers, "--peers", most=64)})
    wanted = round(COMPARED_SHARE * parameters.pages)
    rows: list[Row] = []
    for web, short in _webs(parameters).items():
        courses = {count: _crawled(parameters, short, count, seed) for count in counts}
        until_s = min(course.ends_s[wanted - 1] for course in courses.values())
        pages = {count: sum(end <= until_s for end in each.ends_s) for count, each in courses.items()}
        for count, course in courses.items():
            rows.append(
                {
                    "web": web,
                    "machines": count,
                    "rate": wanted / course.ends_s[wanted - 1],
                    "speed_up": pages[count] / max(1, pages[1]),
                    **course.used,
                    "binds": next((part for part, used in course.used.items() if used >= BUSY), NOTHING),
                }
            )
    return rows


def _webs(parameters: MachinesParameters) -> dict[str, _Short]:
    """Return the webs by the part that each is short of."""
    return {
        HOSTS: _Short(delay_s=parameters.delay, pages_per_host=50.0),
        OUTLET: _Short(mbits=parameters.outlet),
        PROCESSORS: _Short(speed=1e3 * (PARSE_S + COMMIT_PAGE_S) / parameters.page_ms),
        DISKS: _Short(syncs_per_s=parameters.syncs),
    }


def _crawled(parameters: MachinesParameters, short: _Short, count: int, seed: int) -> _Course:
    outlet = Station()
    machines = {
        f"p{number}": FiniteHardware(
            cores=parameters.cores,
            speed=short.speed,
            syncs_per_s=short.syncs_per_s,
            outlet=outlet,
            bytes_per_s=short.mbits * 1e6 / 8,
            searches_per_s=parameters.searches,
        )
        for number in range(count)
    }
    shape = dataclasses.replace(SHAPE, pages_per_host=short.pages_per_host)
    web = SyntheticWeb(seed, parameters.pages, shape)
    # Pages that wait to be parsed and stored are few beside the web: those that were fetched are counted.
    waiting, fetches = 2 * parameters.fetches, parameters.fetches
    settings = replace(
        replay_settings(fetches, short.delay_s), delay_factor=0.0, pages_in_progress_max=waiting
    )
    crawl = SimulatedCrawl(
        web,
        peers=count,
        seed=seed,
        replicas=parameters.replicas,
        settings=settings,
        policy=EVERYTHING,
        has_wires=False,
        hardware=machines,
    )
    crawl.run_to(round(COMPARED_SHARE * parameters.pages))
    now = crawl.world.now
    ended = [each for each in crawl.log if each.until_s <= now]
    asked_s = sum(each.until_s - each.at_s for each in ended)
    hosts_s = asked_s + delay_s((), settings) * len(ended)
    used = {
        HOSTS: hosts_s / web.host_count,
        OUTLET: outlet.busy_s,
        PROCESSORS: sum(each.processors.busy_s for each in machines.values()) / count / parameters.cores,
        DISKS: sum(each.disk.busy_s for each in machines.values()) / count,
        FETCHES: asked_s / count / parameters.fetches,
    }
    pages = sorted(each.until_s for each in ended if _is_page(each))
    return _Course(pages, {part: min(1.0, busy_s / now) for part, busy_s in used.items()})


def _is_page(request: LoggedRequest) -> bool:
    return request.status == 200 and not request.url.endswith("/robots.txt")


def draw(figure: Figure, outcome: Outcome) -> None:
    left, right = figure.subplots(1, 2)
    rows = outcome.summary()
    counts = sorted({row["machines"] for row in rows})
    left.plot(counts, counts, color="0.6", linestyle=":", label="n")
    lines(left, [{**row, **measure(row, "speed_up", "times")} for row in rows], "web", "machines", "times")
    name_axes(left, "Speed-up, by what a web is short of (figure 6-7)", "machines", "times one machine")
    lines(right, [{**row, **measure(row, "rate", "rate")} for row in rows], "web", "machines", "rate")
    for row in rows:
        place = (row["machines"], row["rate"])
        right.annotate(row["binds"], place, (4, 4), textcoords="offset points", fontsize=6)
    name_axes(right, "Pages a second, and what binds", "machines", "pages a second")
    for axes in (left, right):
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.set_ylim(bottom=0)


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = [row for row in outcome.summary() if row["machines"] > 1]
    most = max((row["machines"] for row in rows), default=0)
    if not most:
        return
    own = [row for row in rows if row["web"] in (PROCESSORS, DISKS)]
    yield Claim(
        BOOK,
        "the speed-up, pages(n) / pages(1), is basically linear where what each machine brings binds",
        _by_machines(own),
        all(abs(row["speed_up"] / row["machines"] - 1) <= LINEAR for row in own),
    )
    [shared] = (row for row in rows if row["web"] == OUTLET and row["machines"] == most)
    yield Claim(
        BOOK,
        "machines that share an outlet fetch as much as it carries, and no more",
        f"{_by_machines([shared])}; it is used {shared['outlet']:.0%} of the time",
        shared["outlet"] >= BUSY and shared["speed_up"] < (1 - LINEAR) * most,
    )
    [polite] = (row for row in rows if row["web"] == HOSTS and row["machines"] == most)
    yield Claim(
        BOOK,
        "where hosts want to be left alone, more machines bring next to nothing",
        f"{_by_machines([polite])}; hosts are asked or left alone {polite['hosts']:.0%} of the time",
        polite["hosts"] >= BUSY and polite["speed_up"] <= IN_VAIN,
    )


def _by_machines(rows: Sequence[Row]) -> str:
    return ", ".join(f"{row['web']}, {row['machines']}: {row['speed_up']:.2f}" for row in rows)


STUDY: Final = Study(
    name="machines",
    question="How much faster are more machines, and which part of them, or of the web, binds?",
    source=BOOK,
    parameters=MachinesParameters,
    run=run,
    keys=("web", "machines"),
    columns={
        "web": "which part it is short of",
        "machines": "with a peer each, at one outlet",
        "rate": "pages a second until half of the web is fetched",
        "speed_up": "pages over those of one machine, when the fastest mesh has half of the web",
        HOSTS: "share of the time in which a host is asked or wants to be left alone, mean",
        OUTLET: "share of the time in which it carries pages",
        PROCESSORS: "share of their time that is used, mean over machines",
        DISKS: "share of the time in which a disk makes something durable, likewise",
        FETCHES: "share of those that a peer may have at a time, likewise",
        "binds": f"the first of these that is used {BUSY:.0%} of the time or more",
    },
    draw=draw,
    caption="Speed-up and pages a second by the number of machines, where hosts, an outlet, processors or "
    "disks bind.",
    shown=("web", "machines", "rate", "speed_up", "binds"),
    seeds=3,
    claims=claims,
)
