"""How much faster are more peers, and how much do they send to each other? The book's figures 6-6 and 6-7.

Speed-up is the book's: pages of n peers over those of one peer in the same time, each with the same number of
fetches in flight. Hosts take turns: where one peer waits for slow hosts, many peers let the fast ones give
more, and fetch pages that are cheaper. So it is held against n peers that fetch at the pace of one, but the
mix of hosts that the n have fetched; what is missing to that is time in which fetches lacked hosts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from simulations.model.flow import Flow, host_bound
from simulations.model.hosts import slots_of_names
from simulations.outcomes.figures import lines, measure, name_axes, peers_named
from simulations.outcomes.study import Claim, Outcome, Row, Study
from simulations.studies.balance import BUSY, DrawnWebParameters, crawled, idle_fetches
from simulations.studies.crawls import SLOTS, settings_of, sizes_of, slot_owners
from simulations.traces.columns import TraceColumns
from simulations.world.experiments import INTERVALS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, section 6.2, figures 6-6 and 6-7"
URL_BYTES: Final = 128  # of a cross URL at most, in the book
LINEAR: Final = 0.15  # "basically": as far from n at most, as a share
FETCHES: Final = "fetches"  # what binds where all of them are busy


def run(parameters: DrawnWebParameters, seed: int) -> list[Row]:
    """A row for each number of peers and unit of time."""
    course = crawled(parameters, sorted({1, *sizes_of(parameters)}), seed)
    unit_s, flows = course.unit_s, course.flows
    bound = host_bound(course.hosts, settings_of(parameters))
    rows = []
    for count, done in flows.items():
        links = _links(course.columns, count, seed)
        idle = idle_fetches(done, course.owned(count, seed), parameters.fetches, unit_s)
        for unit in range(INTERVALS):
            rate = float(done.pages[unit].sum()) / unit_s / (unit + 1)
            not_found, run_out = (float(each[: unit + 1].mean()) for each in idle)
            rows.append(
                {
                    "peers": count,
                    "unit": unit + 1,
                    "unit_s": unit_s,
                    "pages": float(done.pages[unit].sum()),
                    **_speed(done, flows[1], unit, count),
                    "not_found": not_found,
                    "run_out": run_out,
                    "host_bound": bound,
                    **links,
                    "binds": _binding(not_found, run_out, rate / bound),
                }
            )
    return rows


def _speed(done: Flow, alone: Flow, unit: int, count: int) -> dict[str, float]:
    """Return the book's speed-up, and n times how much cheaper the pages are that n peers have fetched."""
    pages, work = (float(of[unit].sum()) for of in (done.pages, done.busy_s))
    pages_1, work_1 = (float(of[unit].sum()) for of in (alone.pages, alone.busy_s))
    speed_up, same_mix = pages / pages_1, count * (work_1 / pages_1) / (work / pages)
    return {"speed_up": speed_up, "same_mix": same_mix, "efficiency": speed_up / same_mix}


def _binding(not_found: float, run_out: float, of_bound: float) -> str:
    """Name the bound of a mesh: that for which it waits most.

    Args:
      of_bound: pages a second over those that all hosts can give.
    """
    if not_found + run_out < 1 - BUSY:
        return FETCHES
    if of_bound > 0.5:
        return "few hosts"
    return "links" if not_found > run_out else "hosts run out"


def _links(columns: TraceColumns, count: int, seed: int) -> dict[str, float]:
    """Count the links to other peers, their share of all that leave their host, and their bytes."""
    owner = slot_owners(count, seed)[slots_of_names(columns.hosts, SLOTS)]
    crossing = float((owner[columns.page_host[columns.link_page]] != owner[columns.link_host]).sum())
    links, leaving = len(columns.link_page), float((~columns.is_inside).sum())
    return {
        "cross_share": crossing / max(1, links),
        "cross_of_leaving": crossing / max(1.0, leaving),
        "cross_urls": crossing,
        "cross_mb": crossing * columns.url_bytes / max(1, links) / 1e6,
    }


def draw(figure: Figure, outcome: Outcome) -> None:
    left, middle, right = figure.subplots(1, 3)
    rows = outcome.summary()
    unit = f"time (units of {rows[0]['unit_s']:g} s)"
    lines(left, rows, "peers", "unit", "pages", peers_named)
    name_axes(left, "Pages fetched (figure 6-6)", unit, "pages")
    last = [row for row in rows if row["unit"] == INTERVALS]
    counts = [row["peers"] for row in last]
    middle.plot(counts, counts, color="0.6", linestyle=":", label="n")
    series = [
        {"what": what, "peers": row["peers"], **measure(row, name, "times")}
        for what, name in (
            ("pages(n) / pages(1)", "speed_up"),
            ("n, same mix of hosts", "same_mix"),
        )
        for row in last
    ]
    lines(middle, series, "what", "peers", "times")
    for row in last[1:]:
        place = (row["peers"], row["speed_up"])
        middle.annotate(row["binds"], place, (6, -12), textcoords="offset points", fontsize=7)
    middle.set_xlim(right=1.35 * max(counts))
    name_axes(middle, "Speed-up and what binds (figure 6-7)", "peers", "times one peer")
    shares = [{"one": "", **row, **measure(row, "cross_share", "share", 100)} for row in last]
    lines(right, shares, "one", "peers", "share")
    right.set_ylim(bottom=0)
    name_axes(right, "Links that go to another peer", "peers", "% of all links")
    for axes in (middle, right):
        axes.set_xticks(counts, [str(count) for count in counts])


def claims(outcome: Outcome) -> Iterable[Claim]:
    last = [row for row in outcome.headline() if row["peers"] > 1]
    if not last:
        return
    binds = ", ".join(f"{row['peers']}: {row['binds']}" for row in last)
    yield Claim(
        BOOK,
        "the speed-up, pages(n) / pages(1), is basically linear up to 16 peers",
        f"{_by_peers(last, 'speed_up')}; what binds: {binds}",
        all(abs(row["speed_up"] / row["peers"] - 1) <= LINEAR for row in last),
    )
    yield Claim(
        BOOK,
        "so it is against one peer with the same mix of hosts",
        f"{_by_peers(last, 'efficiency')} of n times that peer",
        all(abs(row["efficiency"] - 1) <= LINEAR for row in last),
    )
    yield Claim(
        "arithmetic of hashing",
        "of n peers, another one has (n - 1)/n of the links that leave their host",
        _by_peers(last, "cross_of_leaving"),
        all(abs(row["cross_of_leaving"] / (1 - 1 / row["peers"]) - 1) < LINEAR for row in last),
    )
    if outcome.parameters.trace:  # type: ignore[attr-defined]
        n_bytes = max(row["cross_mb"] * 1e6 / max(1, row["cross_urls"]) for row in last)
        yield Claim(
            BOOK, "a cross URL takes 128 bytes at most", f"mean {n_bytes:.0f} bytes", n_bytes <= URL_BYTES
        )


def _by_peers(rows: Iterable[Row], name: str) -> str:
    return ", ".join(f"{row['peers']}: {row[name]:.2f}" for row in rows)


STUDY: Final = Study(
    name="speedup",
    question="How much faster are more peers, and how much do they say to each other?",
    source=BOOK,
    parameters=DrawnWebParameters,
    run=run,
    keys=("peers", "unit"),
    columns={
        "peers": "peers of the mesh",
        "unit": "number of the unit of time; the table shows the last, the files have all",
        "unit_s": "seconds of a unit",
        "pages": "fetched since the start",
        "speed_up": "the book's: pages since the start over those of one peer",
        "same_mix": "n times the pages of one peer that fetches the mix of hosts which n peers have fetched",
        "efficiency": "speed_up over same_mix; 1 where n peers are as busy as one",
        "not_found": "share of the fetches that were idle since hosts were not found yet",
        "run_out": "share of the fetches that were idle since hosts had run out: an end effect",
        "host_bound": "pages a second that all hosts of the web can give at most, whoever asks",
        "cross_share": "links that go to another peer, of all links",
        "cross_of_leaving": "links that go to another peer, of those that leave their host",
        "cross_urls": "such links of the whole web",
        "cross_mb": "their bytes, in MB",
        "binds": "what a mesh waits for most: its fetches; links to be found; hosts that are few or run out",
    },
    draw=draw,
    caption="Pages over time, speed-up and cross traffic, as in the book's figures 6-6 and 6-7.",
    shown=("peers", "pages", "speed_up", "same_mix", "efficiency", "cross_share", "cross_mb", "binds"),
    seeds=20,
    is_headline=lambda row: row["unit"] == INTERVALS,
    claims=claims,
)
