"""Where do more machines stop helping? Throughput against delay, hosts and peers, and the bounds on it.

In the steady state: all hosts have pages left. Four bounds: hosts that want to be left alone; fetches in
flight; the bandwidth of the outlet; the processor of a peer. Chapter 3 section 3 and the model of chapter 6
section 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from msgspec import Meta

from simulations.model.fluid_share import wait_seconds
from simulations.studies.figures import lines, name_axes
from simulations.studies.study import Claim, Outcome, Parameters, Row, Study, amounts, numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK_3: Final = "Li, Yan, Wang 2004, chapter 3, section 3"
BOOK_6: Final = "Li, Yan, Wang 2004, chapter 6, section 2"
FRAME_BYTES: Final = 1_500  # of Ethernet


class PolitenessParameters(Parameters, frozen=True, kw_only=True):
    """A web, and meshes that fetch it."""

    peers: Annotated[str, Meta(description="Sizes of the mesh, by comma.")] = "1,2,4,8,16,32,64"
    delays: Annotated[str, Meta(description="Seconds between two fetches of a host, by comma.")] = "0,2,10,30"
    hosts: Annotated[int, Meta(ge=1, le=10_000_000, description="That have pages left.")] = 10_000
    per_address: Annotated[float, Meta(ge=1, le=1e6, description="Hosts of one address, mean.")] = 1.0
    seconds: Annotated[float, Meta(gt=0, le=3_600, description="Of a page, median over hosts.")] = 0.5
    fetches: Annotated[int, Meta(ge=1, le=100_000, description="In flight, of each peer.")] = 200
    page_kb: Annotated[float, Meta(gt=0, description="Of a page as it is sent, kB.")] = 15.0
    mbps: Annotated[float, Meta(gt=0, description="Bandwidth of the outlet, Mbit/s.")] = 1_000.0
    peer_pages: Annotated[float, Meta(gt=0, description="Pages a second that a peer can process.")] = 90.0


def run(parameters: PolitenessParameters, seed: int) -> list[Row]:
    """A row for each delay and number of peers."""
    random = np.random.default_rng(seed)
    count = max(1, round(parameters.hosts / parameters.per_address))  # what is asked one thing at a time
    seconds = parameters.seconds * np.exp(random.normal(0.0, 0.8, count))
    rows = []
    for delay in amounts(parameters.delays, "--delays", most=86_400):
        for n in numbers(parameters.peers, "--peers", most=100_000):
            peer = random.integers(0, n, count)
            period = seconds + delay
            wait = wait_seconds(peer, seconds, period, parameters.fetches, None, n)
            by_fetches = float((1.0 / (wait[peer] + period)).sum())
            bounds = {
                "hosts": float((1.0 / period).sum()),
                "fetches in flight": n * parameters.fetches / float(seconds.mean()),
                "bandwidth": parameters.mbps * 1e6 / 8 / (parameters.page_kb * 1e3),
                "processors": n * parameters.peer_pages,
            }
            least = min(bounds, key=bounds.__getitem__)
            rows.append(
                {
                    "delay_s": delay,
                    "peers": n,
                    "pages_s": min(by_fetches, bounds["bandwidth"], bounds["processors"]),
                    "hosts_bound": bounds["hosts"],
                    "fetches_bound": bounds["fetches in flight"],
                    "bandwidth_bound": bounds["bandwidth"],
                    "processors_bound": bounds["processors"],
                    "bottleneck": least,
                }
            )
    return rows


def draw(figure: Figure, outcome: Outcome) -> None:
    left, right = figure.subplots(1, 2)
    rows = outcome.summary()
    lines(left, rows, "delay_s", "peers", "pages_s", "delay {:g} s")
    left.set_yscale("log")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        counts = sorted({row["peers"] for row in rows})
        axes.set_xticks(counts, [str(count) for count in counts])
    name_axes(left, "Throughput of the mesh", "peers", "pages/s")
    lines(
        right,
        [{**row, "each": row["pages_s"] / row["peers"]} for row in rows],
        "delay_s",
        "peers",
        "each",
        "delay {:g} s",
    )
    right.set_ylim(bottom=0)
    name_axes(right, "What one peer adds", "peers", "pages/s and peer")


def hours_at_least(pages: float, mbps: float, page_bytes: float = 15e3) -> float:
    """T >= (P x 15x10^3 x 8) / (B x 10^6 x 3600), the book's model of section 6.2."""
    return pages * page_bytes * 8 / (mbps * 1e6 * 3_600)


def pages_a_day(fetchers: int, rtt_s: float = 0.2, spt_s: float = 0.1, page_bytes: float = 13e3) -> float:
    """Upper bound of one machine: a TCP transaction (2 RTT + SPT) for each frame of a page; book, 3.3."""
    seconds = page_bytes / FRAME_BYTES * (2 * rtt_s + spt_s)
    return 86_400 / round(seconds) * fetchers


def claims(outcome: Outcome) -> Iterable[Claim]:
    hours = hours_at_least(1e8, 100)
    yield Claim(
        BOOK_6, "10^8 pages over 100 Mbps take at least 33.3 hours", f"{hours:.1f} h", abs(hours - 33.3) < 0.1
    )
    pages = pages_a_day(100)
    yield Claim(
        BOOK_3, "100 gatherers fetch at most 2,160,000 pages a day", f"{pages:,.0f}", pages == 2_160_000
    )
    frames = 100e6 / (FRAME_BYTES * 8)
    by_page = 100e6 / 8 / (FRAME_BYTES * np.ceil(13e3 / FRAME_BYTES))
    yield Claim(
        BOOK_3,
        "100 Mbps are 8,333 frames a second, said to be as many pages",
        f"{frames:,.0f} frames; of pages of 13 KB, 9 frames each, only {by_page:,.0f}",
        int(frames) == 8_333,
    )


STUDY: Final = Study(
    name="politeness",
    question="Where do more machines stop helping, and what bounds them?",
    source=f"{BOOK_6}; {BOOK_3}",
    parameters=PolitenessParameters,
    run=run,
    keys=("delay_s", "peers"),
    columns={
        "delay_s": "seconds between two fetches of a host",
        "peers": "peers of the mesh",
        "pages_s": "pages a second of the whole mesh",
        "hosts_bound": "pages a second that hosts give at most",
        "fetches_bound": "pages a second of all fetches in flight",
        "bandwidth_bound": "pages a second that the outlet carries",
        "processors_bound": "pages a second that the peers' processors can do",
        "bottleneck": "the least of these bounds",
    },
    draw=draw,
    caption="Throughput against peers and delay; where a line is flat, hosts or the outlet are few.",
    shown=("delay_s", "peers", "pages_s", "hosts_bound", "bottleneck"),
    claims=claims,
)
