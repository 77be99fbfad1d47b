"""How evenly is the work spread over the peers, hour by hour? The book's figure 6-5."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from mesh.errors import ConfigError
from simulations.studies.crawls import CrawlParameters, fetched, sizes_of, web_of
from simulations.studies.figures import lines, name_axes
from simulations.studies.study import Claim, Outcome, Row, Study
from simulations.world.balance import REFERENCE_VARIANCE, balance_of
from simulations.world.experiments import INTERVALS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, section 6.2, figure 6-5"


def run(parameters: CrawlParameters, seed: int) -> list[Row]:
    """A row for each number of peers and unit of time."""
    hosts = web_of(parameters, seed)
    counts = [count for count in sizes_of(parameters) if count > 1]
    if not counts:
        raise ConfigError("one peer is in balance with itself: give --peers with more, such as 2,4,8")
    unit_s, flows = fetched(parameters, hosts, counts, seed)
    rows = []
    for count, done in flows.items():
        each_unit = np.diff(done.pages, axis=0, prepend=0)
        for unit, pages in enumerate(each_unit, 1):
            balance = balance_of(pages.tolist())
            rows.append(
                {
                    "peers": count,
                    "unit": unit,
                    "unit_s": unit_s,
                    "pages_per_peer": float(pages.mean()),
                    "variance": balance.variance,
                    "variation": balance.variation,
                    "max_over_mean": balance.max_over_mean,
                    "below": "yes" if balance.variance < REFERENCE_VARIANCE else "no",
                }
            )
    return rows


def draw(figure: Figure, outcome: Outcome) -> None:
    left, right = figure.subplots(1, 2)
    rows = outcome.summary()
    unit = f"time (units of {rows[0]['unit_s']:g} s)"
    lines(left, rows, "peers", "unit", "variance", "{} peers")
    left.axhline(REFERENCE_VARIANCE, color="0.4", linestyle=":", label="reference, 2 : 3")
    left.set_yscale("log")
    name_axes(left, "Variance of the peers' shares", unit, "variance (of shares of 1)")
    lines(right, rows, "peers", "unit", "variation", "{} peers")
    right.set_ylim(bottom=0)
    name_axes(right, "The same, whatever the number of peers", unit, "coefficient of variation")


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = outcome.summary()
    worst = max(row["variance"] for row in rows)
    yield Claim(
        BOOK,
        "the variance is below that of two peers that split 2 : 3 (0.01), at all times",
        f"at most {worst:.4f}",
        worst < REFERENCE_VARIANCE,
    )
    by_peers: dict[int, list[float]] = {}
    for row in rows:
        by_peers.setdefault(row["peers"], []).append(row["variance"])
    means = [sum(each) / len(each) for _, each in sorted(by_peers.items())]
    yield Claim(
        BOOK,
        "it is smaller for more peers",
        ", ".join(f"{count}: {mean:.5f}" for count, mean in zip(sorted(by_peers), means, strict=True)),
        means == sorted(means, reverse=True),
    )


STUDY: Final = Study(
    name="balance",
    question="How evenly is the work spread over the peers, unit by unit of time?",
    source=BOOK,
    parameters=CrawlParameters,
    run=run,
    keys=("peers", "unit"),
    columns={
        "peers": "peers of the mesh",
        "unit": "number of the unit of time; the table shows the last, the files have all",
        "unit_s": "seconds of a unit",
        "pages_per_peer": "pages of a peer in this unit, mean",
        "variance": "of the peers' shares of the pages of the unit; two peers that split 2 : 3 have 0.01",
        "variation": "standard deviation over mean of the peers' pages; their number alone does not lower it",
        "max_over_mean": "pages of the busiest peer over the mean",
        "below": "is the variance below the reference?",
    },
    draw=draw,
    caption="Balance of the load as in the book's figure 6-5, with the coefficient of variation beside it.",
    is_headline=lambda row: row["unit"] == INTERVALS,
    claims=claims,
)
