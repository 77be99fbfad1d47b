"""Results for people: tables, and the book's figures 6-5 to 6-7 as an image."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mesh.counts import counted
from mesh.errors import ConfigError, unwritable
from simulations.world.results import CrawlResult, FaultsResult, ReplayResult

FAILURES_SHOWN: Final = 3


def crawl_table(result: CrawlResult) -> RenderableType:
    """A simulated crawl: its results, per peer, and whether all promises of the mesh held."""
    table = Table(
        title=f"{counted(result.pages, 'page')} on {counted(result.hosts, 'host')}, seed {result.seed}"
    )
    table.add_column("peer")
    table.add_column("pages", justify="right")
    table.add_column("share", justify="right")
    for peer, pages in result.pages_per_peer.items():
        table.add_row(peer, f"{pages:,}", f"{pages / max(1, result.pages_fetched):.1%}")
    table.add_row("all", f"{result.pages_fetched:,}", f"max/mean {result.balance.max_over_mean:.2f}")
    links, checks = result.cross_links, result.checks
    traffic, real = result.traffic, result.real_seconds
    lines = [
        f"{result.virtual_seconds:,.0f} virtual seconds, {result.events:,} events, {real:.1f} s of real time",
        f"{counted(traffic.messages, 'message')} between peers, {traffic.bytes / 1e6:,.1f} MB (no bodies)",
        f"{links.sent:,} of {counted(links.found, 'link')} sent on, {links.bytes_per_link:.0f} bytes each",
        "checks: " + ("all hold" if checks.total == 0 else f"{checks.total:,} violations"),
        *(f"  {example}" for example in checks.examples),
        f"digest {result.digest}",
    ]
    return Group(table, Text("\n".join(lines)))


def faults_report(result: FaultsResult) -> RenderableType:
    """Runs with faults: their numbers and costs; for each failure, the violations and how to see it again."""
    lines = [
        f"{result.passed:,} of {counted(result.seeds, 'seed')} passed, from seed {result.first_seed}",
        f"{result.events:,} events, {result.events_per_second:,.0f} a second on one core",
        f"{result.virtual_seconds / 3_600:,.1f} virtual hours",
        f"{counted(result.requests, 'request')}, {result.refetched:,} again for want of an answer",
        f"{counted(result.searches, 'search')}, {result.complete_searches:,} complete",
    ]
    table = Table(title="What a run costs", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for heading in ("least", "median", "p90", "most", "mean", "runs"):
        table.add_column(heading, justify="right")
    for spread in result.costs:
        values = (spread.least, spread.median, spread.p90, spread.most, spread.mean)
        table.add_row(spread.cost, *(f"{value:,.3g}" for value in values), f"{spread.runs:,}")
    return Group(Text("\n".join(lines)), table, Text("\n".join(_failures(result))))


def _failures(result: FaultsResult) -> list[str]:
    lines: list[str] = []
    for failure in result.failures[:FAILURES_SHOWN]:
        lines += ["", f"seed {failure.seed} with {counted(failure.peers, 'peer')} failed:"]
        lines += [f"  {violation}" for violation in failure.violations]
        lines += ["the end of its transcript:", *(f"  {line}" for line in failure.transcript)]
        lines += ["to see all of it:", f"  {failure.replay}"]
    if len(result.failures) > FAILURES_SHOWN:
        seeds = ", ".join(str(failure.seed) for failure in result.failures[FAILURES_SHOWN:])
        lines += ["", f"also failed: {seeds}"]
    return lines


def replay_table(result: ReplayResult) -> RenderableType:
    """The first experiment: one row for each number of peers, then the notes."""
    units = len(result.runs[0].intervals)
    table = Table(
        title=f"{counted(result.pages, 'page')}, {counted(result.hosts, 'host')}, "
        f"{counted(units, 'unit')} of {result.interval_s:g} s",
        pad_edge=False,
        padding=(0, 1, 0, 0),
        box=SIMPLE_HEAD,
    )
    below = f"<{result.reference_variance:g}"
    for heading in (
        "peers",
        "pages/\nunit",
        "vari-\nance",
        below,
        "CV",
        "max/\nmean",
        "speed-\nup",
        "same\nmix",
        "cross\nURLs",
        "bytes",
        "why",
    ):
        table.add_column(heading, justify="left" if heading == "why" else "right")
    for run in result.runs:
        table.add_row(
            str(run.peers),
            f"{run.pages / run.peers / len(run.intervals):,.1f}",
            f"{run.variance_max:.3f}",
            "yes" if run.is_below_reference else "no",
            f"{run.total.variation:.2f}",
            f"{run.total.max_over_mean:.2f}",
            f"{run.speed_up:.1f}",
            f"{run.same_mix:.1f}",
            f"{run.cross_links.sent / max(1, run.cross_links.found):.1%}",
            f"{run.cross_links.bytes_per_link:.0f}",
            run.why,
        )
    legend = (
        "pages/unit: of each peer on average. variance: of the peers' shares, in the worst unit; every one "
        f"is to be below {result.reference_variance:g}, two peers that split 2 : 3. CV (coefficient of "
        "variation) and max/mean: of the peers' pages in all units. speed-up: pages in the same time over "
        "those of one peer with as many fetches in flight; same mix: n times the pages of one peer that "
        "fetches the same mix of hosts. why: idle, fetches for which there was no host to ask; mix, by how "
        "much faster the pages are that more peers fetch first, since hosts take turns and slow ones hold "
        "one peer up. cross URLs: share of all links that went to another peer; bytes of each. Each peer "
        f"fetched {result.fetches_in_flight} at a time, {result.delay_s:g} s between two fetches from a host."
    )
    return Group(table, Text("\n".join([legend, *(f"note: {note}" for note in result.notes)])))


def draw_replay(result: ReplayResult, path: Path) -> None:
    """Draw variance per unit, pages over time and speed-up side by side; the ending names the format.

    Raises:
      ConfigError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError(
            "figures need matplotlib: pip install matplotlib, or pipx inject tianmesh matplotlib"
        ) from error
    figure = Figure(figsize=(15, 4.5), layout="constrained")
    variance, pages, speed = figure.subplots(1, 3)
    units = range(1, len(result.runs[0].intervals) + 1)
    for run in result.runs:
        label = counted(run.peers, "peer")
        done = accumulate(sum(interval.pages) for interval in run.intervals)
        pages.plot(units, list(done), marker=".", label=label)
        if run.peers > 1:
            variance.plot(units, [each.balance.variance for each in run.intervals], marker=".", label=label)
    variance.axhline(result.reference_variance, linestyle="--", color="black", label="reference 2:3")
    counts = [run.peers for run in result.runs]
    speed.plot(counts, [run.speed_up for run in result.runs], marker="o", label="pages(n) / pages(1)")
    speed.plot(counts, [run.same_mix for run in result.runs], marker="s", label="n, same mix of hosts")
    speed.plot(counts, counts, linestyle="--", color="black", label="linear")
    unit = f"units of {result.interval_s:g} s"
    for axes, title, x, y in (
        (variance, "Variance of the peers' shares", unit, "variance"),
        (pages, "Pages fetched", unit, "pages"),
        (speed, "Speed-up", "peers", "times one peer"),
    ):
        axes.set_title(title)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.legend()
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise unwritable(f"the figure {path}", error) from error
