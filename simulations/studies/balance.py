"""How evenly is the work spread over the peers, hour by hour and in all? The book's figure 6-5.

A web is drawn and crawled by the peers' own code in virtual time: pages are found by links, and counted. A
peer that has too few hosts left to keep its fetches busy falls behind: that is the end of its crawl, and no
imbalance while it lasts; how unlike the crawls of the peers are is told by their pages in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import numpy as np
from msgspec import Meta
from msgspec.structs import replace

from mesh.errors import ConfigError
from peers.policy.rules import EVERYTHING
from simulations.model.flow import Flow
from simulations.model.hosts import Hosts, hosts_of
from simulations.outcomes.figures import lines, name_axes, peers_named
from simulations.outcomes.study import Claim, Outcome, Row, Study, ends_of
from simulations.studies.crawls import (
    SLOTS,
    CrawlParameters,
    fetched,
    sizes_of,
    slot_owners,
    trace_columns,
)
from simulations.traces.columns import Floats, TraceColumns, columns_of
from simulations.webs.trace import TraceWeb, recorded
from simulations.webs.web import SyntheticWeb, WebShape
from simulations.world.balance import REFERENCE_VARIANCE, Balance, balance_of
from simulations.world.checks import pages_by_peer
from simulations.world.crawl import SimulatedCrawl
from simulations.world.experiments import INTERVALS, interval_for, replay_settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, section 6.2, figure 6-5"
WHOLE: Final = 0  # the unit of the row that has all pages of each peer
BUSY: Final = 0.9  # of its fetches; a peer that keeps fewer busy lacks hosts
MEAN_OVER_MEDIAN: Final = 1.6  # of the seconds of drawn pages, which are log-normal, with some slow hosts
HASHED_WITHIN: Final = 0.25  # of the variation by arithmetic: 20 meshes of 2 peers have 16 % of chance


class DrawnWebParameters(CrawlParameters, frozen=True, kw_only=True):
    """The book's first experiment at a 50th of its web and of the fetches of a peer.

    What stays are the hosts for each fetch. Chance does not: a peer's pace is the mean of that of its
    fetches, and the variance of a unit falls like one over them (2 peers: .0046 with 4, .0012 with 16).
    """

    pages: Annotated[int, Meta(ge=1, le=10_000_000, description="Of a web that is drawn.")] = 15_000
    fetches: Annotated[int, Meta(ge=1, le=100_000, description="In flight, of each peer.")] = 4
    links: Annotated[float, Meta(ge=0, le=10_000, description="Of a page, in a drawn web.")] = 12.0
    outside: Annotated[float, Meta(ge=0, le=1, description="Share of links that leave their host.")] = 0.06


class Crawled(NamedTuple):
    """A web, and the first units of time of its crawls by meshes of some sizes."""

    columns: TraceColumns
    hosts: Hosts
    unit_s: float
    flows: dict[int, Flow]  # by the number of peers

    def owned(self, count: int, seed: int) -> Floats:
        """Return the pages of each peer in the whole web."""
        owner = slot_owners(count, seed)[self.hosts.slots]
        return np.bincount(owner, self.hosts.pages, count).astype(np.float64)


def crawled(parameters: DrawnWebParameters, counts: Sequence[int], seed: int) -> Crawled:
    """Let meshes of some sizes, in order, crawl a web from its seeds.

    A web that is drawn is crawled by the peers' own code in virtual time, a trace, which may be large, by the
    model, which has slow peers, too.

    Raises:
      ConfigError: slow peers are wanted for a drawn web.
    """
    if parameters.trace:
        columns = trace_columns(parameters.trace)
        hosts = hosts_of(columns, SLOTS)
        return Crawled(columns, hosts, *fetched(parameters, hosts, counts, seed))
    if parameters.slow:
        raise ConfigError("only the model has slow peers: give a --trace with --slow")
    shape = WebShape(
        pages_per_host=parameters.pages_per_host,
        size_exponent=parameters.exponent,
        seconds_median=parameters.seconds,
        links_mean=parameters.links,
        outside_share=parameters.outside,
    )
    pages = list(recorded(SyntheticWeb(seed, parameters.pages, shape)))
    columns = columns_of(pages)
    hosts = hosts_of(columns, SLOTS)
    # Ten pass before the fetches of the largest mesh can have half of the pages: the same for every seed.
    work_s = parameters.pages * parameters.seconds * MEAN_OVER_MEDIAN
    unit_s = parameters.unit or interval_for(work_s / (counts[-1] * parameters.fetches) / 2)
    web = TraceWeb(pages)
    return Crawled(
        columns, hosts, unit_s, {count: _exact(parameters, web, count, unit_s, seed) for count in counts}
    )


def _exact(parameters: DrawnWebParameters, web: TraceWeb, count: int, unit_s: float, seed: int) -> Flow:
    crawl = SimulatedCrawl(
        web,
        peers=[f"s{seed}-{number}" for number in range(count)],  # as `slot_owners` has them
        seed=seed,
        replicas=1,
        slots=SLOTS,
        settings=replace(
            replay_settings(parameters.fetches, parameters.delay), delay_factor=parameters.delay_factor
        ),
        policy=EVERYTHING,
        has_documents=False,
        has_wires=False,
    )
    crawl.run_for(unit_s * INTERVALS)
    ends = np.arange(1, INTERVALS + 1) * unit_s
    times = pages_by_peer(crawl.log, crawl.table.peers)
    pages = np.array([np.searchsorted(times[peer], ends, "right") for peer in crawl.table.peers])
    number = {peer: at for at, peer in enumerate(crawl.table.peers)}
    busy_s = np.zeros((INTERVALS, count))
    for request in crawl.log:
        busy_s[:, number[request.peer]] += np.clip(ends, request.at_s, request.until_s) - request.at_s
    return Flow(pages.T.astype(np.float64), busy_s, np.zeros_like(busy_s))


def idle_fetches(done: Flow, owned: Floats, fetches: int, unit_s: float) -> tuple[Floats, Floats]:
    """Return the shares of fetches that lack hosts not found yet, and hosts that have run out.

    Both are arrays of units and peers. Until a peer has half of its pages its hosts are being found, from
    then on they run out.

    Args:
      owned: pages of each peer in the whole web.
    """
    busy = np.diff(done.busy_s, axis=0, prepend=0.0) / (fetches * unit_s)
    idle = np.maximum(0.0, 1.0 - busy)
    is_early = done.pages < owned / 2
    return np.where(is_early, idle, 0.0), np.where(is_early, 0.0, idle)


def run(parameters: DrawnWebParameters, seed: int) -> list[Row]:
    """A row for each number of peers and unit of time, and one for the pages of the peers in all."""
    counts = [count for count in sizes_of(parameters) if count > 1]
    if not counts:
        raise ConfigError("one peer is in balance with itself: give --peers with more, such as 2,4,8")
    course = crawled(parameters, counts, seed)
    unit_s = course.unit_s
    rows = []
    for count, done in course.flows.items():
        owned = course.owned(count, seed)
        by_hash = {"by_hash": _variation_by_hash(course.hosts, count)}
        rows.append(
            _row(count, WHOLE, unit_s, balance_of(owned.tolist()), float(owned.mean()), 0.0) | by_hash
        )
        run_out = (idle_fetches(done, owned, parameters.fetches, unit_s)[1] > 1 - BUSY).mean(axis=1)
        for unit, pages in enumerate(np.diff(done.pages, axis=0, prepend=0), 1):
            balance, share = balance_of(pages.tolist()), float(run_out[unit - 1])
            rows.append(_row(count, unit, unit_s, balance, float(pages.mean()), share) | by_hash)
    return rows


def _row(count: int, unit: int, unit_s: float, balance: Balance, pages: float, run_out: float) -> Row:
    return {
        "peers": count,
        "unit": unit,
        "unit_s": unit_s,
        "pages_per_peer": pages,
        "variance": balance.variance,
        "variation": balance.variation,
        "max_over_mean": balance.max_over_mean,
        "run_out": run_out,
    }


def _variation_by_hash(hosts: Hosts, count: int) -> float:
    """Return the root mean square variation of pages that n peers have of hosts which are dealt by chance.

    sqrt((n - 1) sum p^2), with the shares p of the hosts: each is of a peer with probability 1/n.
    """
    shares = hosts.pages / hosts.page_count
    return sqrt((count - 1) * float((shares**2).sum()))


def draw(figure: Figure, outcome: Outcome) -> None:
    left, middle, right = figure.subplots(1, 3)
    rows = [row for row in outcome.summary() if row["unit"] != WHOLE]
    unit = f"time (units of {rows[0]['unit_s']:g} s)"
    for axes, measured in ((left, "variance"), (middle, "max_over_mean")):
        lines(axes, rows, "peers", "unit", measured, peers_named)
        _mark_run_out(axes, rows, measured)
    left.axhline(REFERENCE_VARIANCE, color="0.4", linestyle=":", label="reference, 2 : 3")
    left.set_yscale("log")
    name_axes(left, "Variance of the peers' shares", unit, "variance (of shares of 1)")
    name_axes(middle, "Busiest peer of each unit", unit, "pages over the mean")
    whole = [row for row in outcome.summary() if row["unit"] == WHOLE]
    series = [{**row, "what": "all pages of the largest peer"} for row in whole]
    lines(right, series, "what", "peers", "max_over_mean")
    right.set_xticks([row["peers"] for row in whole], [str(row["peers"]) for row in whole])
    right.set_ylim(bottom=0)
    name_axes(right, "Largest peer, whole crawl", "peers", "pages over the mean")
    for axes in (left, middle):
        if legend := axes.get_legend():  # intervals leave no room for one
            legend.remove()
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)


def _mark_run_out(axes: Axes, rows: list[Row], measured: str) -> None:
    late = [row for row in rows if _has_run_out(row)]
    axes.plot(
        [row["unit"] for row in late],
        [row[measured] for row in late],
        "x",
        color="0.35",
        markersize=9,
        label="hosts of some peer run out",
    )


def _has_run_out(row: Row) -> bool:
    """Have the hosts of one peer of the mesh run out, in most seeds?"""
    return bool(row["run_out"] * row["peers"] > 0.5)


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = [row for row in outcome.summary() if row["unit"] != WHOLE and not _has_run_out(row)]
    worst: dict[int, float] = {}
    for row in rows:
        worst[row["peers"]] = max(worst.get(row["peers"], 0.0), ends_of(row, "variance")[1])
    whole = max(row["max_over_mean"] for row in outcome.summary() if row["unit"] == WHOLE)
    yield Claim(
        BOOK,
        "the variance is below that of two peers that split 2 : 3 (0.01), at all times until hosts run out",
        f"with 95 % certainty at most {', '.join(f'{count}: {most:.2g}' for count, most in worst.items())}; "
        f"alike is the pace, not the work: in all, the largest peer has {whole:.2f} times the mean",
        max(worst.values()) < REFERENCE_VARIANCE,
    )
    counts = sorted({row["peers"] for row in rows})
    means = [np.mean([row["variance"] for row in rows if row["peers"] == count]) for count in counts]
    variations = [np.mean([row["variation"] for row in rows if row["peers"] == count]) for count in counts]
    yield Claim(
        BOOK,
        "it is smaller for more peers",
        ", ".join(f"{count}: {mean:.2g}" for count, mean in zip(counts, means, strict=True))
        + "; the variation, which their number alone does not lower: "
        + ", ".join(f"{count}: {each:.2f}" for count, each in zip(counts, variations, strict=True)),
        means == sorted(means, reverse=True),
    )
    yield _hashed(outcome)


def _hashed(outcome: Outcome) -> Claim:
    whole = [row for row in outcome.summary() if row["unit"] == WHOLE]
    ratios = []
    for each in whole:
        same = [
            row for run in outcome.runs for row in run if (row["peers"], row["unit"]) == (each["peers"], 0)
        ]
        ratios.append(
            sqrt(sum(row["variation"] ** 2 for row in same) / sum(row["by_hash"] ** 2 for row in same))
        )
    return Claim(
        "arithmetic of hashing, sqrt((n - 1) sum p^2)",
        "in all, the pages of the peers vary as those of hosts of unlike size that are dealt by chance",
        ", ".join(f"{row['peers']}: {ratio:.2f} of it" for row, ratio in zip(whole, ratios, strict=True))
        + "; the largest peer has, over the mean, "
        + ", ".join(f"{row['peers']}: {row['max_over_mean']:.2f}" for row in whole),
        abs(sum(ratios) / len(ratios) - 1) < HASHED_WITHIN,
    )


STUDY: Final = Study(
    name="balance",
    question="How evenly is the work spread over the peers, unit by unit of time, and in all?",
    source=BOOK,
    parameters=DrawnWebParameters,
    run=run,
    keys=("peers", "unit"),
    columns={
        "peers": "peers of the mesh",
        "unit": "number of the unit of time, 0 for all pages of the peers; the files have all units",
        "unit_s": "seconds of a unit",
        "pages_per_peer": "pages of a peer in this unit, mean",
        "variance": "of the peers' shares of the pages of the unit; two peers that split 2 : 3 have 0.01",
        "variation": "standard deviation over mean of the peers' pages; their number alone does not lower it",
        "max_over_mean": "pages of the busiest peer over the mean",
        "run_out": "share of the peers whose hosts run out: the end of their crawl, not an imbalance",
        "by_hash": "variation of all pages that hashing hosts of unlike size makes, sqrt((n - 1) sum p^2)",
    },
    draw=draw,
    caption="Balance of the load as in the book's figure 6-5, and of all pages: hosts are of unlike size.",
    shown=("peers", "unit", "pages_per_peer", "variance", "variation", "max_over_mean", "run_out"),
    seeds=20,
    is_headline=lambda row: row["unit"] in (WHOLE, 1, INTERVALS // 2, INTERVALS),
    claims=claims,
)
