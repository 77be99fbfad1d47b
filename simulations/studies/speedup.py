"""How much faster are more peers, and how much do they send to each other? The book's figures 6-6 and 6-7.

Speed-up is the work done in the same time, in seconds of fetches, over that of one peer with the same number
of fetches in flight: it cannot be above n. Pages in the same time can: hosts take turns, so where one peer
waits for slow hosts, many peers let the fast ones give more, and their pages are cheaper; that factor is told
apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from msgspec import Meta

from simulations.model.flow import Flow, host_bound
from simulations.model.hosts import Hosts
from simulations.studies.crawls import (
    SLOTS,
    CrawlParameters,
    fetched,
    settings_of,
    sizes_of,
    slot_owners,
    trace_columns,
    web_of,
)
from simulations.studies.figures import lines, name_axes
from simulations.studies.study import Claim, Outcome, Row, Study
from simulations.world.experiments import INTERVALS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, section 6.2, figures 6-6 and 6-7"
URL_BYTES: Final = 128  # of a cross URL at most, in the book


class SpeedupParameters(CrawlParameters, frozen=True, kw_only=True):
    """Those of the crawl, and the links of a drawn web."""

    links: Annotated[float, Meta(ge=0, le=10_000, description="Of a page, in a drawn web.")] = 12.0
    outside: Annotated[float, Meta(ge=0, le=1, description="Share of links that leave their host.")] = 0.06


def run(parameters: SpeedupParameters, seed: int) -> list[Row]:
    """A row for each number of peers and unit of time."""
    hosts = web_of(parameters, seed)
    unit_s, flows = fetched(parameters, hosts, sorted({1, *sizes_of(parameters)}), seed)
    bound = host_bound(hosts, settings_of(parameters))
    rows = []
    for count, done in flows.items():
        links, crossing, n_bytes = _links(parameters, hosts, count, seed)
        for unit in range(INTERVALS):
            rows.append(
                {
                    "peers": count,
                    "unit": unit + 1,
                    "unit_s": unit_s,
                    "pages": float(done.pages[unit].sum()),
                    **_speed(done, flows[1], unit, count),
                    "host_bound": bound,
                    "cross_share": crossing / max(1.0, links),
                    "cross_urls": crossing,
                    "cross_mb": n_bytes / 1e6,
                    "why": _why(done, flows[1], unit, count, bound, unit_s),
                }
            )
    return rows


def _speed(done: Flow, alone: Flow, unit: int, count: int) -> dict[str, float]:
    work = float(done.busy_s[unit].sum() / alone.busy_s[unit].sum())
    pages = float(done.pages[unit].sum() / max(1.0, alone.pages[unit].sum()))
    return {"speed_up": work, "efficiency": work / count, "pages_times": pages, "cheaper": pages / work}


def _why(done: Flow, alone: Flow, unit: int, count: int, bound: float, unit_s: float) -> str:
    """Name the bounds of the speed-up, in some words."""
    if count == 1:
        return "-"
    speed = _speed(done, alone, unit, count)
    rate = float(done.pages[unit].sum()) / unit_s / (unit + 1)
    reasons = []
    if speed["efficiency"] < 0.9:
        reasons.append("few hosts" if rate > 0.5 * bound else "hosts run out")
    if speed["pages_times"] > count:
        reasons.append(f"mix {speed['cheaper']:.2f}")
    return ", ".join(reasons) or "linear"


def _links(parameters: SpeedupParameters, hosts: Hosts, count: int, seed: int) -> tuple[float, float, float]:
    """All links, those to other peers, and the bytes of these."""
    owner = slot_owners(count, seed)
    if parameters.trace:
        columns = trace_columns(parameters.trace)
        peer = owner[_slots(parameters.trace)]
        crossing = float((peer[columns.page_host[columns.link_page]] != peer[columns.link_host]).sum())
        return len(columns.link_page), crossing, crossing * columns.url_bytes / max(1, len(columns.link_page))
    share = np.bincount(owner[hosts.slots], hosts.pages, count) / hosts.page_count
    links = parameters.links * hosts.page_count
    crossing = links * parameters.outside * float(1 - (share**2).sum())
    return links, crossing, crossing * URL_BYTES


def _slots(path: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    from simulations.model.hosts import slots_of_names

    return slots_of_names(trace_columns(path).hosts, SLOTS)


def draw(figure: Figure, outcome: Outcome) -> None:
    left, middle, right = figure.subplots(1, 3)
    rows = outcome.summary()
    unit = f"time (units of {rows[0]['unit_s']:g} s)"
    lines(left, rows, "peers", "unit", "pages", "{} peers")
    name_axes(left, "Pages fetched (figure 6-6)", unit, "pages")
    last = [row for row in rows if row["unit"] == INTERVALS]
    counts = [row["peers"] for row in last]
    middle.plot(counts, counts, color="0.6", linestyle=":", label="linear")
    series = [{**row, "what": "work in the same time"} for row in last]
    series += [
        {"what": "pages in the same time", "peers": row["peers"], "speed_up": row["pages_times"]}
        for row in last
    ]
    lines(middle, series, "what", "peers", "speed_up")
    name_axes(middle, "Speed-up (figure 6-7)", "peers", "times one peer")
    lines(
        right,
        [{"one": "", "peers": row["peers"], "share": 100 * row["cross_share"]} for row in last],
        "one",
        "peers",
        "share",
    )
    right.set_ylim(bottom=0)
    name_axes(right, "Links that go to another peer", "peers", "% of all links")
    for axes in (middle, right):
        axes.set_xticks(counts, [str(count) for count in counts])


def claims(outcome: Outcome) -> Iterable[Claim]:
    last = [row for row in outcome.headline() if row["peers"] > 1]
    speeds = ", ".join(f"{row['peers']}: {row['speed_up']:.2f}" for row in last)
    yield Claim(
        BOOK,
        "the speed-up is basically linear up to 16 peers",
        speeds,
        all(row["efficiency"] >= 0.9 for row in last),
    )
    yield Claim("arithmetic", "and never above the number of peers", speeds, _is_sublinear(last))
    yield Claim(
        BOOK,
        "a cross URL takes 128 bytes at most",
        f"{max((row['cross_mb'] * 1e6 / max(1, row['cross_urls']) for row in last), default=0):.0f} bytes",
        all(row["cross_mb"] * 1e6 <= URL_BYTES * max(1, row["cross_urls"]) * 1.001 for row in last),
    )


def _is_sublinear(rows: list[Row]) -> bool:
    return all(row["speed_up"] <= row["peers"] * 1.001 for row in rows)


STUDY: Final = Study(
    name="speedup",
    question="How much faster are more peers, and how much do they say to each other?",
    source=BOOK,
    parameters=SpeedupParameters,
    run=run,
    keys=("peers", "unit"),
    columns={
        "peers": "peers of the mesh",
        "unit": "number of the unit of time; the table shows the last, the files have all",
        "unit_s": "seconds of a unit",
        "pages": "fetched since the start",
        "speed_up": "seconds of fetches since the start over those of one peer with as many in flight",
        "efficiency": "speed-up over peers",
        "pages_times": "pages since the start over those of one peer",
        "cheaper": "pages_times over speed_up: how much faster the pages are that more peers fetch first",
        "host_bound": "pages a second that all hosts of the web can give at most, whoever asks",
        "cross_share": "links that go to another peer, of all links",
        "cross_urls": "such links of the whole web",
        "cross_mb": "their bytes, in MB",
        "why": "what the speed-up is bound by; mix: pages are more than that since fast hosts come first",
    },
    draw=draw,
    caption="Pages over time, speed-up and cross traffic, as in the book's figures 6-6 and 6-7.",
    shown=("peers", "pages", "speed_up", "pages_times", "cross_share", "cross_mb", "why"),
    is_headline=lambda row: row["unit"] == INTERVALS,
    claims=claims,
)
