"""How many queries does a cache of results answer, and how many lists one of postings? The book's table 9-2.

Results: FIFO, LRU, LFU with decay, a static part with LRU beside it (Fagni et al. 2006), and GDSF (Cherkasova
1998), on a query log or a made-up one. Postings: what the queries that are not answered read, of an index
that the engine makes (`posting_lists`), through pages and whole lists, GD-Size(1) among them (section 8.5).
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from msgspec import Meta

from simulations.studies.figures import lines, measure, name_axes
from simulations.studies.posting_caches import POLICIES, LeastRecent, accesses_of
from simulations.studies.posting_lists import posting_lists
from simulations.studies.study import Claim, Outcome, Parameters, Row, Study, amounts, numbers
from simulations.traces.queries import made_up_queries, read_queries

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, table 9-2"
BOOK_8: Final = "Li, Yan, Wang 2004, chapter 8, section 5"
RESULTS, POSTINGS = "results", "postings"
SIZES_OF_BOOK: Final = (100, 300, 500, 1_000, 2_000, 3_000)
LRU_OF_BOOK: Final = dict(zip(SIZES_OF_BOOK, (0.629, 0.680, 0.693, 0.707, 0.723, 0.734), strict=True))
LFU_OF_BOOK: Final = dict(zip(SIZES_OF_BOOK, (0.630, 0.681, 0.694, 0.711, 0.730, 0.741), strict=True))
ADDED_MAX: Final = 1e200  # then all values are brought down again
STATIC_SHARE: Final = 0.5  # of the cache, for the most popular queries of the first half of the log


class CacheParameters(Parameters, frozen=True, kw_only=True):
    """A log as long as a fifth of the book's (about 960,000 queries, 160,000 distinct ones)."""

    queries: Annotated[str, Meta(description="File of queries; made up if there is none.")] = ""
    count: Annotated[int, Meta(ge=1_000, le=50_000_000, description="Of made-up queries.")] = 200_000
    distinct: Annotated[int, Meta(ge=10, le=50_000_000, description="That people may ask, made up.")] = (
        160_000
    )
    repeat: Annotated[float, Meta(ge=0, lt=1, description="Share that repeats one of the last queries.")] = (
        0.6
    )
    sizes: Annotated[str, Meta(description="Queries that a cache holds, by comma.")] = (
        "100,300,500,1000,2000,3000"
    )
    decays: Annotated[str, Meta(description="Of LFU at a replacement, by comma; the best counts.")] = (
        "0.9,0.99,0.998"
    )
    documents: Annotated[int, Meta(ge=10, le=1_000_000, description="Of the index, made up.")] = 10_000
    words: Annotated[float, Meta(ge=1, le=20, description="Of a query, made up, mean.")] = 2.5
    shares: Annotated[str, Meta(description="Of all postings, that a cache holds, by comma.")] = (
        "0.01,0.02,0.05,0.1,0.2"
    )
    results: Annotated[int, Meta(ge=1, description="Results cached before the caches of postings.")] = 1_500


def run(parameters: CacheParameters, seed: int) -> list[Row]:
    """A row for each cache, policy and size."""
    if parameters.queries:
        asked = read_queries(Path(parameters.queries)).tolist()
    else:
        asked = made_up_queries(parameters.count, parameters.distinct, parameters.repeat, seed).tolist()
    decays = amounts(parameters.decays, "--decays", least=0.01, most=1.0)
    rows = []
    policies: dict[str, Callable[[list[int], int], int]] = {
        "FIFO": fifo_hits,
        "LRU": lru_hits,
        "LFU, tuned decay": lambda queries, size: max(lfu_hits(queries, size, decay) for decay in decays),
        "static + LRU": static_hits,
        "GDSF": gdsf_hits,
    }
    for size in numbers(parameters.sizes, "--sizes", most=10_000_000):
        for name, hits_of in policies.items():
            rate = hits_of(asked, size) / len(asked)
            rows.append({"of": RESULTS, "policy": name, "size": size, "hit_rate": rate, "byte_rate": rate})
    return rows + _posting_rows(parameters, asked, seed)


def _posting_rows(parameters: CacheParameters, asked: list[int], seed: int) -> list[Row]:
    lists = posting_lists(parameters.documents, seed)
    results = LeastRecent(parameters.results)
    missed = [query for query in asked if not results.touch(query, 1)]
    accesses = accesses_of(missed, lists, max(asked) + 1, parameters.words, seed)
    rows = []
    for share in amounts(parameters.shares, "--shares", least=1e-6, most=1.0):
        for name, found_by in POLICIES.items():
            found = found_by(accesses, int(share * lists.n_bytes.sum()))
            rows.append(
                {
                    "of": POSTINGS,
                    "policy": name,
                    "size": share,
                    "hit_rate": found.hits,
                    "byte_rate": found.byte_hits,
                }
            )
    return rows


def fifo_hits(queries: list[int], size: int) -> int:
    held: set[int] = set()
    order: deque[int] = deque()
    hits = 0
    for query in queries:
        if query in held:
            hits += 1
            continue
        if len(held) >= size:
            held.discard(order.popleft())
        held.add(query)
        order.append(query)
    return hits


def lru_hits(queries: list[int], size: int) -> int:
    held: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for query in queries:
        if query in held:
            hits += 1
            held.move_to_end(query)
        else:
            if len(held) >= size:
                held.popitem(last=False)
            held[query] = None
    return hits


def lfu_hits(queries: list[int], size: int, decay: float) -> int:
    """Replace the query with the least count; at a replacement all counts are multiplied by `decay`.

    Here what is added grows instead, which comes to the same.
    """
    held = _Valued()
    added, hits = 1.0, 0
    for query in queries:
        if query in held.values:
            hits += 1
            held.values[query] += added
            continue
        if len(held.values) >= size:
            held.evict()
            added /= decay
            if added > ADDED_MAX:
                held.divide(added)
                added = 1.0
        held.add(query, added)
    return hits


def gdsf_hits(queries: list[int], size: int) -> int:
    """Greedy dual size frequency, all of one size and cost: the count and the last value that went out."""
    held = _Valued()
    counts: dict[int, int] = {}
    clock, hits = 0.0, 0
    for query in queries:
        if query in held.values:
            hits += 1
            counts[query] += 1
            held.values[query] = clock + counts[query]
            continue
        if len(held.values) >= size:
            gone, clock = held.evict()
            del counts[gone]
        counts[query] = 1
        held.add(query, clock + 1)
    return hits


class _Valued:
    """Queries with values that only grow, of which that of least value goes first, of several the oldest."""

    def __init__(self) -> None:
        self.values: dict[int, float] = {}
        self._heap: list[tuple[float, int, int]] = []  # entries may say less than a value is by now
        self._count = 0

    def add(self, query: int, value: float) -> None:
        self.values[query] = value
        self._count += 1
        heappush(self._heap, (value, self._count, query))

    def evict(self) -> tuple[int, float]:
        while True:
            value, number, query = heappop(self._heap)
            if self.values[query] == value:
                del self.values[query]
                return query, value
            heappush(self._heap, (self.values[query], number, query))

    def divide(self, by: float) -> None:
        """Bring all values down; their order stays."""
        self.values = {query: value / by for query, value in self.values.items()}
        self._heap = [(value / by, number, query) for value, number, query in self._heap]


def static_hits(queries: list[int], size: int) -> int:
    """Half of the cache holds for ever the queries most frequent in the log's first half; the rest is LRU.

    Only hits of the second half count, and those of an LRU cache in the first, when nothing is known yet.
    """
    middle = len(queries) // 2
    counts = np.bincount(queries[:middle])
    held = set(np.argsort(counts)[::-1][: round(size * STATIC_SHARE)].tolist())
    rest = [query for query in queries[middle:] if query not in held]
    static = len(queries) - middle - len(rest)
    return lru_hits(queries[:middle], size) + static + lru_hits(rest, size - len(held))


def draw(figure: Figure, outcome: Outcome) -> None:
    left, right = figure.subplots(1, 2)
    rows = [{**row, **measure(row, "hit_rate", "share", 100)} for row in outcome.summary()]
    lines(left, [row for row in rows if row["of"] == RESULTS], "policy", "size", "share")
    left.plot(
        list(LRU_OF_BOOK),
        [100 * rate for rate in LRU_OF_BOOK.values()],
        color="0.5",
        linestyle=":",
        linewidth=3,
        label="LRU in the book's table 9-2",
    )
    held = [{**row, "size": 100 * row["size"]} for row in rows if row["of"] == POSTINGS]
    lines(right, held, "policy", "size", "share")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.set_xscale("log")
    name_axes(left, "Queries that a cache of results answers", "queries held", "% of queries")
    name_axes(
        right, "Lists that a cache of postings has", "% of all postings held", "% of lists that are read"
    )


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = outcome.summary()
    rates = {(row["policy"], row["size"]): row["hit_rate"] for row in rows if row["of"] == RESULTS}
    sizes = sorted({size for _, size in rates})
    for name, book in (("LRU", LRU_OF_BOOK), ("LFU, tuned decay", LFU_OF_BOOK)):
        both = [size for size in sizes if size in book]
        if both:
            yield Claim(
                BOOK,
                f"{name}: " + ", ".join(f"{size}: {book[size]:.3f}" for size in both),
                ", ".join(f"{size}: {rates[name, size]:.3f}" for size in both),
                all(abs(rates[name, size] - book[size]) < 0.05 for size in both),
            )
    fifo, lru = ([rates[name, size] for size in sizes] for name in ("FIFO", "LRU"))
    yield Claim(
        "Li, Yan, Wang 2004, section 9.3",
        "FIFO is the worst of the three",
        ", ".join(f"{size}: {rate:.3f}" for size, rate in zip(sizes, fifo, strict=True)),
        all(a <= b for a, b in zip(fifo, lru, strict=True)),
    )
    found = {(row["policy"], row["size"]): row["hit_rate"] for row in rows if row["of"] == POSTINGS}
    shares = sorted({share for _, share in found})
    greedy, pages = ([found[name, share] for share in shares] for name in ("lists, GD-Size(1)", "pages, LRU"))
    yield Claim(
        BOOK_8,
        "whole lists by GD-Size(1) spare clearly more reads than pages, as an operating system keeps them",
        ", ".join(
            f"{share:.0%}: {a:.2f} to {b:.2f}" for share, a, b in zip(shares, greedy, pages, strict=True)
        ),
        all(a > b for a, b in zip(greedy, pages, strict=True)),
    )


STUDY: Final = Study(
    name="cache",
    question="How many queries does a cache of results answer, and how many lists one of postings?",
    source=f"{BOOK}; {BOOK_8}",
    parameters=CacheParameters,
    run=run,
    keys=("of", "policy", "size"),
    columns={
        "of": "what is kept: results of queries, or posting lists that queries read which have no result",
        "policy": "what is replaced: the oldest; the longest unused; the least frequent, with decay; "
        "nothing in a static half; the least of frequency and age (GDSF). Of lists, GD-Size(1): large ones "
        "that are long unused",
        "size": "queries that the cache holds; of postings, the share of all their bytes",
        "hit_rate": "queries that it answers, share; of postings, lists that are all there",
        "byte_rate": "bytes of what was there, share of the bytes that were wanted; of results the same",
    },
    draw=draw,
    caption="Hit rates of caches of results, beside the book's table 9-2, and of posting lists behind one.",
    seeds=2,
    claims=claims,
)
