"""The figures of the book's chapter 9: beside slow ones that follow its formulas, and published values."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Iterable
from itertools import islice, pairwise
from math import isqrt, sqrt
from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.query_log.log_files import NO_CLIENT, LoggedQuery, QueryLog, read_log
from simulations.traces import query_statistics
from simulations.traces.columns import Floats
from simulations.traces.query_statistics import (
    BOOK_FIT,
    QueryStatistics,
    figures_of,
    fit_of,
    hurst_of,
    statistics_of,
)
from tests.shared_data import shared


def figures(entries: Iterable[LoggedQuery]) -> QueryStatistics:
    return statistics_of(QueryLog("made up", iter(entries)))


def asked(queries: Iterable[object]) -> QueryStatistics:
    return figures(LoggedQuery(str(query)) for query in queries)


# --- Concentration, (9-1) and (9-2) ---


@given(st.lists(st.integers(0, 30), min_size=1, max_size=200))
def test_book_9_1_the_most_frequent_queries_have_their_share(queries: list[int]) -> None:
    falling = [count for _, count in Counter(queries).most_common()]
    for percent, share in asked(queries).concentration.items():
        assert share == pytest.approx(sum(falling[: percent * len(falling) // 100]) / len(queries))


def test_book_9_2_its_own_fit_is_found_again() -> None:
    a, b, c = BOOK_FIT
    x = np.arange(0, 20_001) / 20_000
    cumulated = np.where(x < 0.05, x / 0.05 * (a + b * 0.05) ** c, np.maximum(a + b * x, 0) ** c)
    fit = fit_of(np.round(1e9 * np.diff(cumulated)).astype(np.int64))
    # As it is printed it comes to .9967 at x = 1, where Y is 1: so a and b are larger by its c-th root.
    assert (fit.a, fit.b, fit.c) == pytest.approx((a / (a + b), b / (a + b), c), rel=1e-3)
    assert fit.error < 1e-5
    assert 0.002 < fit.book_error < 0.0033


def test_book_9_2_a_fifth_of_the_queries_are_four_fifths_of_what_is_asked() -> None:
    told = {figure.name: figure.book for figure in figures_of(asked("ab"))}
    assert told["share of queries, top 20%"] == pytest.approx(0.783, abs=0.001)
    assert told["share of queries, top 1%"] is None  # it does not hold there


def test_equal_counts_are_a_straight_line() -> None:
    fit = fit_of(np.full(1_000, 3))
    assert (fit.a, fit.b, fit.c) == pytest.approx((0.0, 1.0, 1.0), abs=1e-6)


# --- The order of requests, (9-3) and (9-4) ---


def slow_order(queries: list[int]) -> tuple[list[float], list[float]]:
    size = query_statistics.GROUP
    groups = [queries[at : at + size] for at in range(0, len(queries) - size + 1, size)]
    overlap = [sum(query in groups[0] for query in group) / size for group in groups[1:]]
    deviation = [
        sum((a.count(query) / size - b.count(query) / size) ** 2 for query in {*a, *b})
        for a, b in pairwise(groups)
    ]
    return overlap, deviation


@pytest.mark.parametrize(("count", "spread"), [(5_999, 3), (3_000, 40), (1_000, 9), (999, 9)])
def test_book_9_3_and_9_4_groups_of_1_000_are_compared(count: int, spread: int) -> None:
    random = np.random.default_rng(count)
    queries = (random.pareto(1, count) * spread).astype(int) + np.arange(count) // 500
    overlap, deviation = slow_order(queries.tolist())
    found = asked(queries).order
    assert found is not None
    assert found.overlap == {2 + at: overlap[at] for at in (0, 1, 3) if at < len(overlap)}
    if deviation:
        assert found.deviation is not None
        assert found.deviation.mean == pytest.approx(fmean(deviation))
        assert found.deviation.max == pytest.approx(max(deviation))
    else:
        assert found.deviation is None


def test_book_9_3_the_first_group_that_asks_nothing_of_the_first_is_named() -> None:
    groups = [*range(1_000), *range(500, 1_500), *range(5_000, 6_000), *range(1_000)]
    found = asked(groups).order
    assert found is not None
    assert (found.overlap, found.none_from_group) == ({2: 0.5, 3: 0.0}, 3)
    again = asked(groups[:2_000]).order
    assert again is not None
    assert again.none_from_group == 0


def test_a_log_that_goes_backwards_has_no_figures_of_its_order() -> None:
    times = [*range(99), 0]
    entries = [LoggedQuery("red", float(at)) for at in times]
    assert figures(entries).order is not None  # one in a hundred: servers whose logs were merged
    found = figures([*entries, LoggedQuery("red", -1.0)])
    assert found.order is None
    assert found.backwards_share == 2 / 101
    assert not any("group" in figure.name or "Hurst" in figure.name for figure in figures_of(found))


# --- Self-similarity, (9-10) ---


def slow_ratio(part: list[float]) -> float:
    """R(n)/S(n), line by line."""
    mean, n = fmean(part), len(part)
    sums = [sum(part[:k]) - k * mean for k in range(1, n + 1)]
    return (max(0.0, *sums) - min(0.0, *sums)) / pstdev(part)


def test_book_9_10_the_exponent_is_the_slope_of_the_rescaled_range() -> None:
    series = np.random.default_rng(3).integers(0, 50, 100).astype(float).tolist()
    sizes = [8, 16, 32]
    means = [fmean(slow_ratio(series[at : at + n]) for at in range(0, len(series) - n + 1, n)) for n in sizes]
    found = hurst_of(np.array(series))
    assert found is not None
    assert found.exponent == pytest.approx(np.polyfit(np.log(sizes), np.log(means), 1)[0])


def test_anis_and_lloyd_1976_values_without_memory_have_the_slope_that_is_told() -> None:
    random = np.random.default_rng(1)
    found = [hurst_of(random.normal(size=2_048)) for _ in range(100)]
    slopes = [(each.exponent, each.without_memory) for each in found if each is not None]
    means = np.mean(slopes, axis=0)
    assert means[0] == pytest.approx(means[1], abs=0.01)
    assert means[1] == pytest.approx(0.553, abs=0.001)
    for n in (8, 12):
        ratios = [slow_ratio(random.normal(size=n).tolist()) for _ in range(3_000)]
        assert query_statistics.ratio_without_memory(n) == pytest.approx(fmean(ratios), rel=0.01)


def gaussian_noise(exponent: float, count: int, seed: int) -> Floats:
    """Fractional Gaussian noise by circulant embedding (Davies and Harte 1987): its exponent is known."""
    k = np.arange(count + 1, dtype=float)
    h = 2 * exponent
    autocovariance = (np.abs(k + 1) ** h - 2 * k**h + np.abs(k - 1) ** h) / 2
    eigenvalues = np.fft.fft(np.concatenate((autocovariance, autocovariance[-2:0:-1]))).real
    random = np.random.default_rng(seed)
    n = len(eigenvalues)
    drawn = random.normal(size=n) + 1j * random.normal(size=n)
    noise: Floats = np.fft.fft(np.sqrt(np.maximum(eigenvalues, 0) / n) * drawn).real[:count]
    return noise


@pytest.mark.parametrize("exponent", [0.5, 0.67, 0.82])
def test_the_exponent_of_noise_that_has_it_is_found(exponent: float) -> None:
    found = hurst_of(gaussian_noise(exponent, 1 << 15, seed=5))
    assert found is not None
    assert found.exponent == pytest.approx(exponent, abs=0.05)


def test_distinct_queries_are_counted_in_each_500_and_1_000_and_2_000(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queries = (np.random.default_rng(2).pareto(1, 70_001) * 30).astype(int).tolist()
    found = asked(queries).order
    assert found is not None
    for size in (500, 1_000, 2_000):
        series = [len({*queries[at : at + size]}) for at in range(0, len(queries) - size + 1, size)]
        assert found.hurst[size] == hurst_of(np.array(series, float))


@pytest.mark.parametrize("series", [np.arange(31.0), np.ones(1_000), np.array([])])
def test_a_series_that_is_short_or_never_changes_has_no_exponent(series: Floats) -> None:
    assert hurst_of(series) is None


# --- Pages of results (9-5) and clicks (9-6) ---


def test_book_9_5_requests_are_counted_by_the_page_of_results() -> None:
    pages = [1] * 10 + [2] * 4 + [3] * 3 + [100] * 2 + [101]
    found = figures(LoggedQuery("red", page=page) for page in pages)
    assert found.page_shares == [0.5, 0.2, 0.15, 0.0, 0.0]
    assert found.late_pages_share == 0.05


CLICKS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=60)


@given(CLICKS)
def test_book_9_6_clicks_of_a_query_are_beside_those_of_all(clicks: list[tuple[int, int]]) -> None:
    found = figures(LoggedQuery(str(q), rank=1, url=str(url)) for q, url in clicks).clicks
    assert found is not None
    own, all_ = Counter(clicks), Counter(url for _, url in clicks)
    cosines, several = [], []
    for query in {query for query, _ in clicks}:
        pages = [url for q, url in own if q == query]
        product = sum(own[query, url] * all_[url] for url in pages)
        norms = sqrt(sum(own[query, url] ** 2 for url in pages) * sum(all_[url] ** 2 for url in pages))
        cosines.append(product / norms)
        if len(pages) > 1:
            several.append(product / norms)
    assert (found.queries, found.several_pages) == (len(cosines), len(several))
    assert found.cosine.mean == pytest.approx(fmean(cosines))
    assert found.alike_share == pytest.approx(fmean(cosine > 0.8 for cosine in cosines))
    assert found.several_alike_share == pytest.approx(fmean([c > 0.8 for c in several] or [0]))
    assert (found.clicks, found.pages) == (len(clicks), len(all_))
    assert found.once_share == pytest.approx(fmean(count == 1 for count in all_.values()))
    falling = [count for _, count in all_.most_common()]
    needed = next(n for n in range(1, len(falling) + 1) if 3 * sum(falling[:n]) >= 2 * len(clicks))
    assert found.two_thirds_share == pytest.approx(needed / len(all_))


def test_only_the_queries_with_the_most_clicks_are_compared() -> None:
    twice = [LoggedQuery(f"two {n}", rank=1, url="a") for n in range(query_statistics.QUERIES_COMPARED)]
    once = [LoggedQuery(f"one {n}", rank=1, url=url) for n in range(3) for url in "ab"]
    found = figures([*once, *twice, *twice, *twice]).clicks
    assert found is not None
    assert (found.queries, found.several_pages) == (query_statistics.QUERIES_COMPARED, 0)


# --- Repetitions, as made-up logs have them ---


def test_repetitions_of_a_client_and_their_gaps_are_found_again() -> None:
    random = np.random.default_rng(6)
    gaps = random.lognormal(np.log(57), 1.74, 20_000)
    events = [(float(at), at) for at in range(20_000)]  # each client asks once, half of them once more
    events += [(at + gap, at) for at, gap in zip(range(0, 20_000, 2), gaps, strict=False)]
    found = figures(LoggedQuery("red", at, str(client)) for at, client in sorted(events))
    assert found.repeats is not None
    assert found.repeats.share == pytest.approx(1 / 3)
    assert np.exp(found.repeats.gap_s.mu) == pytest.approx(57.5, rel=0.05)
    assert found.repeats.gap_s.sigma == pytest.approx(1.74, rel=0.05)
    assert found.order is not None
    assert found.order.rate_per_s == pytest.approx(30_000 / (max(events)[0] - min(events)[0]))


def test_what_other_clients_ask_is_no_repetition() -> None:
    found = figures(LoggedQuery("red", 0.0, client) for client in "abab")
    assert found.repeats is not None
    assert found.repeats.share == 0.5
    assert asked("aa").repeats is None  # nobody knows whose these are


# --- All of them ---


@pytest.mark.more
def test_the_sample_of_sogouq_has_the_figures_that_others_counted() -> None:
    """Each click is taken for a request, as they were counted then, apart from this program."""
    path = shared("suites/query-logs/SogouQ.sample")
    found = figures(entry._replace(client=NO_CLIENT) for entry in read_log(path).entries)
    assert found.requests == 10_000
    told = [found.concentration[5], found.concentration[20], *found.page_shares]
    assert told == pytest.approx([0.296, 0.545, 0.833, 0.063, 0.024, 0.013, 0.009], abs=0.0006)
    assert found.clicks is not None
    assert round(found.clicks.once_share, 3) == 0.889


def test_counts_are_the_same_however_often_they_are_merged() -> None:
    random = np.random.default_rng(4)
    pairs = (random.pareto(1, (50_000, 2)) * 9).astype(int).tolist()
    once, often = query_statistics.DigestCounts(2), query_statistics.DigestCounts(2, held=64)
    for query, page in pairs:
        once.add(query, page)
        often.add(query, page)
    (keys, counts), (keys_often, counts_often) = once.counted(), often.counted()
    assert np.array_equal(keys, keys_often)
    assert np.array_equal(counts, counts_often)
    told = dict(zip(zip(*keys.tolist(), strict=True), counts.tolist(), strict=True))
    assert told == Counter((query, page) for query, page in pairs)


def test_memory_is_that_of_what_is_distinct_and_not_of_lines() -> None:
    peaks = []
    for count in (30_000, 300_000):
        entries = (
            LoggedQuery(f"q{isqrt(n)}", float(n), str(n % 97), 1, 1, str(n % 89)) for n in range(count)
        )
        tracemalloc.start()
        statistics_of(QueryLog("made up", islice(entries, count)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0] + (25 << 20)  # what waits to be counted; lines would be 100 MB
