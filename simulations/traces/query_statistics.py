"""The figures of the book's chapter 9 for any query log, in one pass and little memory.

Queries, clients and pages are counted by 64-bit digests: a log takes some 50 bytes for each that is distinct,
none for a line. Figures of the order of requests come from groups of them, of which two are held at a time.

Source: Li, Yan, Wang 2004, section 9.2; each figure names its formula.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, OrderedDict
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from mesh.errors import ConfigError
from peers.query_log.log_files import (
    BACKWARDS_MAX,
    NO_CLIENT,
    LoggedQuery,
    QueryLog,
    digest_of,
    requests_of,
)
from simulations.traces.columns import Floats, Ints
from simulations.traces.queries import BOOK_RATE_PER_S, BOOK_REPEAT
from simulations.traces.statistics import LogNormal, QuantitySpread, spread_of

GROUP: Final = 1_000  # requests, for (9-3) and (9-4)
SERIES: Final = (500, 1_000, 2_000)  # requests of which the distinct ones are counted, for (9-10)
PERCENTS: Final = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90)  # of the distinct queries, that are told
FIT_FROM: Final = 5  # percent: (9-2) holds from 4.04 on
OVERLAPS: Final = (2, 3, 5, 10, 20, 48, 100, 1_000)  # groups that are told
PAGES_TOLD: Final = 5  # as (9-5) does
PAGE_LATE: Final = 100  # of results; behind it there is almost nothing
QUERIES_COMPARED: Final = 10_000  # as (9-6) does
ALIKE: Final = 0.8  # cosine
PART_LEAST: Final = 8  # values of the shortest part of a series: R/S of fewer says nothing
PAIRS_REMEMBERED: Final = 100_000  # of a client and a query
DIGESTS_HELD: Final = 1 << 20  # before they are counted
BOOK_FIT: Final = (-0.04103, 1.01689, 0.1346)  # (9-2)
BOOK_PAGES: Final = (0.473, 0.122, 0.074, 0.050, 0.037)  # (9-5)
BOOK_GROUP: Final = 48  # the first that asks nothing of the first (9-3)
BOOK_HURST: Final = 0.67  # (9-10)

Digests = NDArray[np.uint64]


class ConcentrationFit(msgspec.Struct, frozen=True):
    """y = (a + b x)^c: the share of the requests that the share x of the queries has, most frequent first."""

    a: float
    b: float
    c: float
    error: float  # root of the mean square, over x from 5 % to 100 %
    book_error: float  # the same of the book's a, b and c (9-2)


class ClickStatistics(msgspec.Struct, frozen=True):
    """Clicks, and the pages that they were on."""

    clicks: int
    pages: int  # clicked on at all
    once_share: float  # of these pages: clicked on once; above .5 in the book
    two_thirds_share: float  # of these pages: the most clicked ones that have 2/3 of all clicks; below 1/3
    queries: int  # compared: those with the most clicks
    cosine: QuantitySpread  # of their clicks and all queries' (9-6)
    alike_share: float  # of them: with a cosine above .8; "mostly" in the book
    several_pages: int  # of them: with clicks on more than one page; one page alone is a cosine of 1
    several_alike_share: float  # of these: above .8


class Hurst(msgspec.Struct, frozen=True):
    """The Hurst exponent of a series, as R/S shows it (9-10)."""

    exponent: float  # .67 in the book (.58 to .82)
    without_memory: float  # that as many values show which have none: above .5, the more so for few of them


class RepeatStatistics(msgspec.Struct, frozen=True):
    """Requests for a query that their client has asked before, as `made_up_queries` makes them up.

    That is known of the last 100,000 pairs of a client and a query.
    """

    share: float  # of the requests
    gap_s: LogNormal  # since it was asked last; whole seconds are taken in their middle


class OrderStatistics(msgspec.Struct, frozen=True):
    """Figures of requests in the order in which they came."""

    overlap: dict[int, float]  # of a group of 1,000 by its number: requests for what the first asked (9-3)
    none_from_group: int  # the first group that asks nothing of the first (48 in the book); 0 if each does
    rate_per_s: float  # requests a second; 0 for a log without times
    deviation: QuantitySpread | None  # of neighbouring groups (9-4); mostly .02 to .06 in the book
    hurst: dict[
        int, Hurst | None
    ]  # of the distinct queries in each 500, 1,000 and 2,000; None for a short log


class QueryStatistics(msgspec.Struct, frozen=True):
    """A log in the figures of chapter 9."""

    layout: str
    entries: int
    requests: int  # as `requests_of` counts them
    clients: int  # that it tells apart
    distinct: int  # queries
    concentration: dict[int, float]  # requests that so many percent of the queries have (9-1)
    fit: ConcentrationFit | None  # None for fewer than 100 queries
    page_shares: list[float]  # of the requests: the first page of results, and so on (9-5)
    late_pages_share: float  # of the requests: pages behind the hundredth
    backwards_share: float  # of the entries: earlier than the one before
    order: OrderStatistics | None  # None where more than 1 % go backwards: the log is in another order
    repeats: RepeatStatistics | None  # None for a log that tells no clients
    clicks: ClickStatistics | None  # None without clicks


def statistics_of(log: QueryLog) -> QueryStatistics:
    """Read a log to its end and count.

    Raises:
      ConfigError: a line does not fit, or scipy is not installed, which fits the concentration.
    """
    watched = _Watched()
    queries, pages, groups, repeats = DigestCounts(1), Counter[int](), _Groups(), _Repeats()
    n_requests = 0
    for request in requests_of(map(watched.see, log.entries)):
        digest = digest_of(request.query)
        n_requests += 1
        queries.add(digest)
        pages[min(request.page, PAGE_LATE + 1)] += 1
        groups.add(digest)
        repeats.add(request)
    is_in_order = watched.backwards <= BACKWARDS_MAX * watched.entries
    counts = queries.counted()[1]
    return QueryStatistics(
        layout=log.layout,
        entries=watched.entries,
        requests=n_requests,
        clients=len(watched.clients.counted()[1]),
        distinct=len(counts),
        concentration=dict(zip(PERCENTS, concentration_of(counts, PERCENTS).tolist(), strict=True)),
        fit=fit_of(counts) if len(counts) >= 100 else None,
        page_shares=[pages[page] / max(1, n_requests) for page in range(1, PAGES_TOLD + 1)],
        late_pages_share=pages[PAGE_LATE + 1] / max(1, n_requests),
        backwards_share=watched.backwards / max(1, watched.entries),
        order=groups.figures(n_requests / watched.seconds if watched.seconds else 0.0)
        if is_in_order
        else None,
        repeats=repeats.figures() if len(watched.clients.counted()[1]) else None,
        clicks=click_statistics(*watched.clicks.counted()),
    )


class BookFigure(NamedTuple):
    """A figure of a log, and the same in the book."""

    name: str
    value: float
    book: float | None  # None where it says nothing, or a range, which the name has
    is_share: bool = True
    percent: int = 0  # of the distinct queries, where it is their concentration


def figures_of(found: QueryStatistics) -> list[BookFigure]:
    """List the figures that a log has beside those of the book."""
    figures = [
        BookFigure("requests", found.requests, 960_000, is_share=False),
        BookFigure("distinct queries", found.distinct, 160_000, is_share=False),
        *(
            BookFigure(
                f"share of queries, top {percent}%", share, book_concentration(percent), percent=percent
            )
            for percent, share in found.concentration.items()
        ),
        *(
            BookFigure(f"page {page} of results", share, book)
            for page, (share, book) in enumerate(zip(found.page_shares, BOOK_PAGES, strict=True), 1)
        ),
        BookFigure(f"pages of results behind the {PAGE_LATE}th", found.late_pages_share, 0.0),
    ]
    if found.fit is not None:
        named = zip(("a", "b", "c"), (found.fit.a, found.fit.b, found.fit.c), BOOK_FIT, strict=True)
        figures += [
            BookFigure(f"{name} of (a + b x)^c, top share x", value, book, is_share=False)
            for name, value, book in named
        ]
        figures += [
            BookFigure("error of this fit", found.fit.error, None),
            BookFigure("error of the book's fit", found.fit.book_error, None),
        ]
    if found.repeats is not None:
        gap_s = found.repeats.gap_s
        figures += [
            BookFigure("queries that their client has asked before", found.repeats.share, BOOK_REPEAT),
            BookFigure("seconds since then, median (log-normal)", math.exp(gap_s.mu), None, is_share=False),
            BookFigure("sigma of their logarithm", gap_s.sigma, None, is_share=False),
        ]
    return figures + _figures_of_order(found.order) + _figures_of_clicks(found.clicks)


def _figures_of_order(order: OrderStatistics | None) -> list[BookFigure]:
    if order is None:
        return []
    figures = [
        BookFigure(f"share of group {group} asked in group 1", share, 0.0 if group == BOOK_GROUP else None)
        for group, share in order.overlap.items()
    ]
    if order.rate_per_s:
        figures.append(BookFigure("requests a second", order.rate_per_s, BOOK_RATE_PER_S, is_share=False))
    if order.none_from_group:
        figures.append(BookFigure("first group of which none is", order.none_from_group, BOOK_GROUP, False))
    if order.deviation is not None:
        figures += [
            BookFigure(
                "deviation of neighbouring groups, mean (.02 to .06)", order.deviation.mean, None, False
            ),
            BookFigure("deviation, largest", order.deviation.max, None, is_share=False),
        ]
    for size, hurst in order.hurst.items():
        if hurst is not None:
            figures += [
                BookFigure(f"Hurst exponent, distinct in {size}", hurst.exponent, BOOK_HURST, is_share=False),
                BookFigure(f"the same without memory, {size}", hurst.without_memory, None, is_share=False),
            ]
    return figures


def _figures_of_clicks(clicks: ClickStatistics | None) -> list[BookFigure]:
    if clicks is None:
        return []
    return [
        BookFigure("clicks", clicks.clicks, 500_000, is_share=False),
        BookFigure("pages clicked on", clicks.pages, 160_000, is_share=False),
        BookFigure("of these clicked on once (above 50%)", clicks.once_share, None),
        BookFigure("of these have 2/3 of the clicks (below 33%)", clicks.two_thirds_share, None),
        BookFigure("queries whose clicks are as all are, cosine above .8 (most)", clicks.alike_share, None),
        BookFigure("the same of those with several pages", clicks.several_alike_share, None),
    ]


def book_concentration(percent: int) -> float | None:
    """y = (-0.04103 + 1.01689 x)^0.1346, (9-2), x from 5 %; None below, where it does not hold."""
    return float(_fitted(np.array([percent / 100]), *BOOK_FIT)[0]) if percent >= FIT_FROM else None


def concentration_of(counts: Ints, percents: tuple[int, ...]) -> Floats:
    """Return the share of all requests that some percent of the distinct queries have, most frequent first.

    Y(x) = sum of C_i for i to floor(x m) / sum of all C_j, (9-1); m queries, C_1 the most frequent.
    """
    cumulated = np.concatenate(([0], np.cumsum(np.sort(counts)[::-1])))
    shares: Floats = cumulated[len(counts) * np.array(percents) // 100] / max(1, cumulated[-1])
    return shares


def fit_of(counts: Ints) -> ConcentrationFit:
    """Fit (9-2) to how often each query was asked, by least squares at each percent from the fifth on.

    Raises:
      ConfigError: scipy is not installed.
    """
    try:
        from scipy.optimize import curve_fit
    except ImportError as error:
        raise ConfigError(
            "the figures of a query log need scipy: pip install scipy, or pipx inject tianmesh scipy"
        ) from error
    percents = tuple(range(FIT_FROM, 101))
    x, y = np.array(percents) / 100, concentration_of(counts, percents)
    (a, b, c), _ = curve_fit(_fitted, x, y, BOOK_FIT, bounds=((-1, 0.1, 0.01), (1, 10, 10)))
    ours, book = (_root_mean_square(_fitted(x, *fit) - y) for fit in ((a, b, c), BOOK_FIT))
    return ConcentrationFit(float(a), float(b), float(c), ours, book)


def _fitted(x: Floats, a: float, b: float, c: float) -> Floats:
    y: Floats = np.maximum(a + b * x, 0.0) ** c
    return y


def _root_mean_square(values: Floats) -> float:
    return float(np.sqrt((values**2).mean()))


def click_statistics(keys: Digests, counts: Ints) -> ClickStatistics | None:
    """Count clicks.

    Those of the 10,000 queries with the most are compared with the clicks of all queries, over the pages p
    that were clicked on for the query q:

        cos_q = sum a_p b_p / sqrt(sum a_p^2 sum b_p^2),   a_p clicks on p for q, b_p for any query (9-6)

    Args:
      keys: digests of query and page, two rows of pairs that differ.
      counts: of each pair, clicks.
    """
    if not len(counts):
        return None
    query_of, of_query = _numbered(keys[0], counts)
    page_of, of_page = _numbered(keys[1], counts)
    own, all_ = counts.astype(np.float64), of_page[page_of].astype(np.float64)
    n_queries = len(of_query)
    product, own_square, all_square = (
        np.bincount(query_of, weights, n_queries) for weights in (own * all_, own**2, all_**2)
    )
    most = np.argsort(-of_query, kind="stable")[:QUERIES_COMPARED]
    cosine = (product / np.sqrt(own_square * all_square))[most]
    is_several = np.bincount(query_of, minlength=n_queries)[most] > 1
    falling = np.cumsum(np.sort(of_page)[::-1])
    return ClickStatistics(
        clicks=int(counts.sum()),
        pages=len(of_page),
        once_share=float((of_page == 1).mean()),
        two_thirds_share=float((1 + np.searchsorted(3 * falling, 2 * falling[-1])) / len(of_page)),
        queries=len(most),
        cosine=spread_of(cosine),
        alike_share=float((cosine > ALIKE).mean()),
        several_pages=int(is_several.sum()),
        several_alike_share=float((cosine[is_several] > ALIKE).mean()) if is_several.any() else 0.0,
    )


def _numbered(digests: Digests, counts: Ints) -> tuple[Ints, Ints]:
    """Number distinct digests: return the number of each digest, and the sum of the counts of each number."""
    distinct, number_of = np.unique(digests, return_inverse=True)
    return number_of, np.bincount(number_of, counts, len(distinct)).astype(np.int64)


def hurst_of(series: Floats) -> Hurst | None:
    """Estimate the Hurst exponent: the slope of log(R/S) over log(n), by least squares (9-10).

        R/S = (max(0, W_1 .. W_n) - min(0, W_1 .. W_n)) / S,   W_k = X_1 + .. + X_k - k mean

    of each part of n values, S their standard deviation, the mean over the parts; n is 8 and doubles to half
    of the series. Of values without memory (Anis and Lloyd 1976)

        E(R/S) = G((n - 1) / 2) / (sqrt(pi) G(n / 2)) sum sqrt((n - i) / i) for i from 1 to n - 1,

    G the gamma function, whose slope is .59 for n from 8 to 64, and .54 to 8,192.

    Returns: None for fewer than 32 values, or for a series of which only one n has parts that change.
    """
    sizes, ratios = [], []
    size = PART_LEAST
    while size <= len(series) // 2:
        parts = series[: len(series) // size * size].reshape(-1, size)
        sums = np.cumsum(parts - parts.mean(axis=1, keepdims=True), axis=1)
        spread = np.maximum(sums.max(axis=1), 0) - np.minimum(sums.min(axis=1), 0)
        deviation = parts.std(axis=1)
        is_changing = deviation > 0
        if is_changing.any():
            sizes.append(size)
            ratios.append(float((spread[is_changing] / deviation[is_changing]).mean()))
        size *= 2
    if len(sizes) < 2:
        return None
    expected = [ratio_without_memory(size) for size in sizes]
    exponent, without_memory = np.polyfit(np.log(sizes), np.log(np.array([ratios, expected]).T), 1)[0]
    return Hurst(float(exponent), float(without_memory))


def ratio_without_memory(n: int) -> float:
    """Expect of R/S of n values without memory, as `hurst_of` has it."""
    steps = np.arange(1, n)
    return float(np.sqrt((n - steps) / steps).sum()) * math.exp(
        math.lgamma((n - 1) / 2) - math.lgamma(n / 2) - math.log(math.pi) / 2
    )


class DigestCounts:
    """How often each tuple of digests came, sorted by them."""

    def __init__(self, width: int, held: int = DIGESTS_HELD) -> None:
        self._width = width
        self._held_max = held
        self._keys: Digests = np.empty((width, 0), np.uint64)
        self._counts: Ints = np.empty(0, np.int64)
        self._held = array("Q")  # tuples that are not counted yet, one after the other

    def add(self, *key: int) -> None:
        self._held.extend(key)
        # As many as there are distinct ones: then each of these is merged a constant number of times.
        if len(self._held) >= max(self._held_max, self._keys.size):
            self.counted()

    def counted(self) -> tuple[Digests, Ints]:
        """Return the distinct tuples, a column each, and how often each came."""
        held = np.frombuffer(self._held, np.uint64).reshape(-1, self._width).T
        keys = np.concatenate((self._keys, held), axis=1)
        counts = np.concatenate((self._counts, np.ones(held.shape[1], np.int64)))
        order = np.lexsort(keys)
        keys, counts = keys[:, order], counts[order]
        is_first = np.ones(len(counts), bool)
        is_first[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
        starts = np.flatnonzero(is_first)
        self._keys = keys[:, starts]
        self._counts = np.add.reduceat(counts, starts) if len(starts) else counts
        self._held = array("Q")
        return self._keys, self._counts


class _Watched:
    """Counts entries, requests and further clicks alike."""

    def __init__(self) -> None:
        self.entries = self.backwards = 0
        self.clients, self.clicks = DigestCounts(1), DigestCounts(2)
        self.seconds = 0.0  # from the first entry to the last, without steps back
        self._last_at = 0.0

    def see(self, entry: LoggedQuery) -> LoggedQuery:
        if self.entries:
            self.backwards += entry.at < self._last_at
            self.seconds += max(0.0, entry.at - self._last_at)
        self.entries += 1
        self._last_at = entry.at
        if entry.client != NO_CLIENT:
            self.clients.add(digest_of(entry.client))
        if entry.rank:
            self.clicks.add(digest_of(entry.query), digest_of(entry.url))
        return entry


class _Repeats:
    """Counts requests for a query that their client has asked before."""

    def __init__(self) -> None:
        self._asked_at = OrderedDict[int, float]()  # by client and query, the longest ago first
        self._requests = self._repeats = self._gaps = 0
        self._sum = self._squares = 0.0  # of the logarithms of gaps

    def add(self, request: LoggedQuery) -> None:
        self._requests += 1
        if request.client == NO_CLIENT:
            return
        pair = digest_of(f"{request.client}\n{request.query}")
        before = self._asked_at.pop(pair, None)
        self._asked_at[pair] = request.at
        if before is not None:
            self._repeats += 1
            if request.at >= before:
                log = math.log(request.at - before + 0.5)
                self._gaps += 1
                self._sum += log
                self._squares += log * log
        elif len(self._asked_at) > PAIRS_REMEMBERED:
            self._asked_at.popitem(last=False)

    def figures(self) -> RepeatStatistics:
        mu = self._sum / max(1, self._gaps)
        sigma = math.sqrt(max(0.0, self._squares / max(1, self._gaps) - mu * mu))
        return RepeatStatistics(self._repeats / self._requests, LogNormal(mu, sigma))


class _Groups:
    """Figures of requests in their order, of which the last two groups are held.

    Of group i, the share of its requests whose query is one of group 1, (9-3), and how far the frequencies of
    its queries are from those of the group before, over the queries of either,

        S = sum (A_q - B_q)^2,   A_q = F_q / 1000, B_q that of the group before (9-4)
    """

    def __init__(self) -> None:
        self._distinct: dict[int, list[int]] = {size: [] for size in SERIES}
        self._parts: dict[int, set[int]] = {size: set() for size in SERIES}
        self._count = 0
        self._first: frozenset[int] = frozenset()
        self._before = Counter[int]()
        self._group = Counter[int]()
        self._overlap, self._deviation = array("d"), array("d")

    def add(self, query: int) -> None:
        self._count += 1
        self._group[query] += 1
        for size, part in self._parts.items():
            part.add(query)
            if self._count % size == 0:
                self._distinct[size].append(len(part))
                part.clear()
        if self._count % GROUP == 0:
            self._close()

    def _close(self) -> None:
        group, before = self._group, self._before
        if before:
            self._overlap.append(sum(group[query] for query in self._first & group.keys()) / GROUP)
            apart = (group[query] - before[query] for query in group.keys() | before.keys())
            self._deviation.append(sum(each * each for each in apart) / GROUP**2)
        else:
            self._first = frozenset(group)
        self._before, self._group = group, Counter()

    def figures(self, rate_per_s: float) -> OrderStatistics:
        overlap, deviation = np.array(self._overlap), np.array(self._deviation)
        none = np.flatnonzero(overlap == 0)
        return OrderStatistics(
            overlap={group: float(overlap[group - 2]) for group in OVERLAPS if group - 2 < len(overlap)},
            none_from_group=int(none[0]) + 2 if len(none) else 0,
            deviation=spread_of(deviation) if len(deviation) else None,
            rate_per_s=rate_per_s,
            hurst={size: hurst_of(np.array(series, np.float64)) for size, series in self._distinct.items()},
        )
