"""The contents of a trace, and the distributions that fit it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np

from mesh.domains import registrable_domain
from mesh.trace import TracedPage
from simulations.traces.columns import Floats, Ints, TraceColumns, columns_of
from simulations.traces.link_structure import BowTie, structure_of


class QuantitySpread(msgspec.Struct, frozen=True):
    """Of one quantity."""

    mean: float
    p10: float
    median: float
    p90: float
    max: float


class LogNormal(msgspec.Struct, frozen=True):
    """exp(mu + sigma z), z standard normal; of the values above 0, by the moments of their logarithms."""

    mu: float
    sigma: float


class TraceInfo(msgspec.Struct, frozen=True):
    """A trace in some numbers."""

    pages: int
    visits: int
    by_status: dict[str, int]
    hosts: int
    domains: int
    seeds: int  # pages that no earlier one links to
    begin_s: float  # seconds since the epoch
    hours: float  # from the first page to the last
    bytes: int
    host_pages: QuantitySpread
    largest_host: str
    largest_share: float  # of all pages
    host_exponent: float  # the k-th largest host has 1/k^exponent of the pages of the largest
    links: QuantitySpread  # of a page
    inside_share: float  # of all links: to pages of the same host
    outside_share: float  # to pages of other hosts that are in the trace
    missing_share: float  # to what is not in the trace
    linked: QuantitySpread  # links to a page from others of the trace
    page_bytes: QuantitySpread
    page_bytes_fit: LogNormal
    page_seconds: QuantitySpread
    page_seconds_fit: LogNormal
    host_seconds: QuantitySpread  # medians of hosts
    text_chars: QuantitySpread  # of the text of a link
    depth: QuantitySpread  # links from the nearest seed to a page
    strong_components: int
    bow_tie: BowTie


def info_of(pages: Sequence[TracedPage]) -> TraceInfo:
    """Count; there is at least one page.

    Raises:
      ConfigError: scipy is not installed, which finds the structure of links.
    """
    columns = columns_of(pages)
    sizes = columns.host_sizes
    largest = int(sizes.argmax())
    n_links = max(1, len(columns.link_page))
    is_inside, is_there = columns.is_inside, columns.link_target >= 0
    times = np.array([page.fetched_at for page in pages])
    structure = structure_of(columns.link_page[is_there], columns.link_target[is_there], columns.parent < 0)
    chars = np.array([count for page in pages for count in page.text_chars])
    return TraceInfo(
        pages=columns.page_count,
        visits=len(pages),
        by_status={str(status): n for status, n in sorted(Counter(page.status for page in pages).items())},
        hosts=columns.host_count,
        domains=len({registrable_domain(host) for host in columns.hosts[: columns.host_count]}),
        seeds=int((columns.parent < 0).sum()),
        begin_s=float(times.min()),
        hours=float(np.ptp(times)) / 3_600,
        bytes=sum(page.n_bytes for page in pages),
        host_pages=spread_of(sizes),
        largest_host=columns.hosts[largest],
        largest_share=float(sizes[largest] / columns.page_count),
        host_exponent=rank_exponent(sizes),
        links=spread_of(np.bincount(columns.link_page, minlength=columns.page_count)),
        inside_share=float((is_inside & is_there).sum() / n_links),
        outside_share=float((~is_inside & is_there).sum() / n_links),
        missing_share=float((~is_there).sum() / n_links),
        linked=spread_of(np.bincount(columns.link_target[is_there], minlength=columns.page_count)),
        page_bytes=spread_of(columns.n_bytes),
        page_bytes_fit=fit_log_normal(columns.n_bytes),
        page_seconds=spread_of(columns.seconds),
        page_seconds_fit=fit_log_normal(columns.seconds),
        host_seconds=spread_of(host_medians(columns)),
        text_chars=spread_of(chars),
        depth=spread_of(np.array(structure.depths)),
        strong_components=structure.strong_components,
        bow_tie=structure.bow_tie,
    )


def host_medians(columns: TraceColumns) -> Floats:
    """Median seconds of a page, host by host."""
    order = np.lexsort((columns.seconds, columns.page_host))
    sizes = columns.host_sizes
    starts = np.cumsum(sizes) - sizes
    medians: Floats = columns.seconds[order][starts + sizes // 2]
    return medians


def rank_exponent(sizes: Ints) -> float:
    """Fit size ~ rank^-exponent by least squares of the logarithms; 0 for fewer than three hosts."""
    if len(sizes) < 3:
        return 0.0
    falling = np.sort(sizes)[::-1]
    slope = np.polyfit(np.log(np.arange(1, len(falling) + 1)), np.log(falling), 1)[0]
    return float(-slope)


def fit_log_normal(values: Ints | Floats) -> LogNormal:
    logs = np.log(values[values > 0].astype(np.float64))
    return LogNormal(float(logs.mean()), float(logs.std())) if len(logs) else LogNormal(0.0, 0.0)


def spread_of(values: Ints | Floats) -> QuantitySpread:
    """All 0 for no values."""
    if not len(values):
        return QuantitySpread(0.0, 0.0, 0.0, 0.0, 0.0)
    p10, median, p90 = np.percentile(values, (10, 50, 90))
    return QuantitySpread(float(values.mean()), float(p10), float(median), float(p90), float(values.max()))
