"""The statistics of a trace as a table."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from simulations.traces.statistics import Spread, TraceInfo


def info_table(info: TraceInfo) -> RenderableType:
    """For people."""
    table = Table(title=f"{info.pages:,} pages of {info.hosts:,} hosts")
    for heading in ("of", "mean", "10 %", "median", "90 %", "most"):
        table.add_column(heading, justify="left" if heading == "of" else "right")
    for name, spread, digits in (
        ("host: pages", info.host_pages, 0),
        ("host: median seconds of a page", info.host_seconds, 3),
        ("page: seconds", info.page_seconds, 3),
        ("page: bytes", info.page_bytes, 0),
        ("page: links", info.links, 1),
        ("page: links to it", info.linked, 1),
        ("link: characters of its text", info.text_chars, 1),
    ):
        table.add_row(name, *_cells(spread, digits))
    statuses = ", ".join(f"{status}: {count:,}" for status, count in info.by_status.items())
    seconds, size = info.page_seconds_fit, info.page_bytes_fit
    text = (
        f"{info.visits:,} visits in {info.hours:,.2f} hours, {info.bytes / 1e6:,.1f} MB; status {statuses}\n"
        f"{info.domains:,} domains, {info.seeds:,} seeds; "
        f"{info.largest_host} has {info.largest_share:.1%} of the pages\n"
        f"links: {info.inside_share:.1%} inside their host, {info.outside_share:.1%} to other hosts, "
        f"{info.missing_share:.1%} to what is not in the trace\n"
        f"fits: host pages ~ rank^-{info.host_exponent:.2f}; "
        f"seconds log-normal mu {seconds.mu:.2f} sigma {seconds.sigma:.2f}; "
        f"bytes log-normal mu {size.mu:.2f} sigma {size.sigma:.2f}"
    )
    return Group(table, Text(text))


def _cells(spread: Spread, digits: int) -> list[str]:
    return [
        f"{value:,.{digits}f}" for value in (spread.mean, spread.p10, spread.median, spread.p90, spread.max)
    ]
