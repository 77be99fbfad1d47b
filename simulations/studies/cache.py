"""How many queries does a cache of results answer, and how many lists one of postings? The book's table 9-2.

Results: the book's FIFO, LRU and LFU with decay, later policies, and the most that any could have (`caches`
has all), on a query log or a made-up one. Postings: what the queries that are not answered read, of an index
that the engine makes (`posting_lists`), or that an engine was seen to read (`recorded_reads`), through pages
and whole lists, GD-Size(1) among them (section 8.5), and how local these reads are (`locality`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from msgspec import Meta

from simulations.model.caches import (
    POLICIES,
    LeastRecent,
    ListAccess,
    accesses_of,
    arc_hits,
    fifo_hits,
    gdsf_hits,
    lfu_hits,
    lru_hits,
    most_hits,
    s3_fifo_hits,
    sieve_hits,
    static_hits,
)
from simulations.model.locality import LENGTHS, distinct_strings, interval_slope, pages_of, reads_of
from simulations.outcomes.figures import lines, measure, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study, amounts, numbers
from simulations.traces.queries import BOOK_RATE_PER_S, BOOK_REPEAT, made_up_queries, read_queries
from simulations.traces.recorded_reads import bytes_of, read_reads
from simulations.world.posting_lists import posting_lists

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, table 9-2"
BOOK_8: Final = "Li, Yan, Wang 2004, chapter 8, section 5"
RESULTS, POSTINGS, LOCALITY = "results", "postings", "locality"
READS, PAGES, AT_RANDOM = "reads", "pages", "reads at random"
SLOPES_OF_BOOK: Final = {READS: 1.039, PAGES: 0.764}
NOT_TOLD: Final = -1.0
OPTIMUM: Final = "optimum (Belady)"
SIZES_OF_BOOK: Final = (100, 300, 500, 1_000, 2_000, 3_000)
LRU, LFU = "LRU", "LFU, tuned decay"
LRU_OF_BOOK: Final = dict(zip(SIZES_OF_BOOK, (0.629, 0.680, 0.693, 0.707, 0.723, 0.734), strict=True))
LFU_OF_BOOK: Final = dict(zip(SIZES_OF_BOOK, (0.630, 0.681, 0.694, 0.711, 0.730, 0.741), strict=True))
OF_BOOK: Final = {LRU: LRU_OF_BOOK, LFU: LFU_OF_BOOK}


class CacheParameters(Parameters, frozen=True, kw_only=True):
    """A log as long as a fifth of the book's (about 960,000 queries, 160,000 distinct ones).

    Nothing of it is fitted to table 9-2, which says what that is worth (`traces.queries`).
    """

    queries: Annotated[str, Meta(description="File of queries; made up if there is none.")] = ""
    count: Annotated[int, Meta(ge=1_000, le=50_000_000, description="Of made-up queries.")] = 200_000
    distinct: Annotated[int, Meta(ge=10, le=50_000_000, description="That people may ask, made up.")] = (
        160_000
    )
    repeat: Annotated[float, Meta(ge=0, lt=1, description="Share that repeats one of the last queries.")] = (
        BOOK_REPEAT
    )
    rate: Annotated[float, Meta(gt=0, le=1e6, description="Queries a second, made up.")] = BOOK_RATE_PER_S
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
    reads: Annotated[
        str, Meta(description="File of reads that `tianmesh search --record-reads` wrote; made up if none.")
    ] = ""
    results: Annotated[int, Meta(ge=1, description="Results cached before the caches of postings.")] = 1_500


def run(parameters: CacheParameters, seed: int) -> list[Row]:
    """A row for each cache, policy and size."""
    if parameters.queries:
        asked = read_queries(Path(parameters.queries)).tolist()
    else:
        asked = made_up_queries(
            parameters.count, parameters.distinct, parameters.repeat, parameters.rate, seed=seed
        ).tolist()
    decays = amounts(parameters.decays, "--decays", least=0.01, most=1.0)
    rows = []
    policies: dict[str, Callable[[list[int], int], int]] = {
        "FIFO": fifo_hits,
        LRU: lru_hits,
        LFU: lambda queries, size: max(lfu_hits(queries, size, decay) for decay in decays),
        "static + LRU": static_hits,
        "GDSF": gdsf_hits,
        "ARC": arc_hits,
        "SIEVE": sieve_hits,
        "S3-FIFO": s3_fifo_hits,
        OPTIMUM: most_hits,
    }
    for size in numbers(parameters.sizes, "--sizes", most=10_000_000):
        for name, hits_of in policies.items():
            rate = hits_of(asked, size) / len(asked)
            book = OF_BOOK.get(name, {}).get(size, NOT_TOLD)
            rows.append(
                {
                    "of": RESULTS,
                    "policy": name,
                    "size": size,
                    "hit_rate": rate,
                    "byte_rate": rate,
                    "book": book,
                    "strings": NOT_TOLD,
                    "slope": NOT_TOLD,
                }
            )
    accesses, n_bytes = _recorded(parameters) if parameters.reads else _made_up(parameters, asked, seed)
    return rows + _posting_rows(parameters, accesses, n_bytes) + _locality_rows(accesses, seed)


def _made_up(parameters: CacheParameters, asked: list[int], seed: int) -> tuple[list[ListAccess], int]:
    """Return the lists that are read for queries which the cache of results misses, and bytes of all."""
    lists = posting_lists(parameters.documents, seed)
    results = LeastRecent(parameters.results)
    missed = [query for query in asked if not results.touch(query, 1)]
    return accesses_of(missed, lists, max(asked) + 1, parameters.words, seed), int(lists.n_bytes.sum())


def _recorded(parameters: CacheParameters) -> tuple[list[ListAccess], int]:
    """Return the same of recorded reads; all bytes are those that any query read."""
    results = LeastRecent(parameters.results)
    reads = read_reads(Path(parameters.reads))
    accesses, query, is_missed = list[ListAccess](), -1, False
    for read in reads:
        if read.query != query:
            query, is_missed = read.query, not results.touch(read.first, 1)
        if is_missed:
            accesses.append(ListAccess(read.thing, read.start, read.n_bytes))
    return accesses, bytes_of(reads)


def _locality_rows(accesses: list[ListAccess], seed: int) -> list[Row]:
    reads = reads_of(accesses)
    shuffled = np.random.default_rng((seed, 10)).permutation(reads)
    return [
        {
            "of": LOCALITY,
            "policy": name,
            "size": length,
            "hit_rate": NOT_TOLD,
            "byte_rate": NOT_TOLD,
            "book": NOT_TOLD,
            "strings": count,
            "slope": interval_slope(things),
        }
        for name, things in ((READS, reads), (PAGES, pages_of(accesses)), (AT_RANDOM, shuffled))
        for length, count in zip(LENGTHS, distinct_strings(things), strict=True)
    ]


def _posting_rows(parameters: CacheParameters, accesses: list[ListAccess], all_bytes: int) -> list[Row]:
    rows = []
    for share in amounts(parameters.shares, "--shares", least=1e-6, most=1.0):
        for name, found_by in POLICIES.items():
            found = found_by(accesses, int(share * all_bytes))
            rows.append(
                {
                    "of": POSTINGS,
                    "policy": name,
                    "size": share,
                    "hit_rate": found.hits,
                    "byte_rate": found.byte_hits,
                    "book": NOT_TOLD,
                    "strings": NOT_TOLD,
                    "slope": NOT_TOLD,
                }
            )
    return rows


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
    left.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))  # ten lines leave no room inside
    name_axes(
        right, "Lists that a cache of postings has", "% of all postings held", "% of lists that are read"
    )


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = outcome.summary()
    rates = {(row["policy"], row["size"]): row["hit_rate"] for row in rows if row["of"] == RESULTS}
    sizes = sorted({size for _, size in rates})
    for name, book in OF_BOOK.items():
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
    yield from _claims_of_locality(rows)


def _claims_of_locality(rows: list[Row]) -> Iterable[Claim]:
    local = {(row["policy"], row["size"]): row for row in rows if row["of"] == LOCALITY}
    slopes = {name: local[name, 1]["slope"] for name in SLOPES_OF_BOOK}
    yield Claim(
        BOOK_8,
        "reads come again sooner than pages: intervals fall with a slope of 1.039, those of pages with .764",
        ", ".join(f"{name}: {slope:.3f}" for name, slope in slopes.items()),
        slopes[READS] > slopes[PAGES] > 0,
    )
    counts = {
        name: [local[name, length]["strings"] for length in LENGTHS] for name in (READS, PAGES, AT_RANDOM)
    }
    yield Claim(
        BOOK_8,
        "of strings of 1 to 9 reads in a row there are fewer distinct ones than of pages, and of pages than "
        "at random",
        "; ".join(f"{name}: " + ", ".join(f"{n:,.0f}" for n in each) for name, each in counts.items()),
        all(a <= b <= c for a, b, c in list(zip(*counts.values(), strict=True))[1:]),
    )


STUDY: Final = Study(
    name="cache",
    question="How many queries does a cache of results answer, and how many lists one of postings?",
    source=f"{BOOK}; {BOOK_8}",
    parameters=CacheParameters,
    run=run,
    keys=("of", "policy", "size"),
    columns={
        "of": "what is kept: results of queries, or posting lists that queries read which have no result; or "
        "how local these reads are",
        "policy": "what is replaced: the oldest; the longest unused; the least frequent, with decay; "
        "nothing in a static half; the least of frequency and age (GDSF); by lists of what went out (ARC); "
        "the oldest not asked again, in one queue (SIEVE) or behind a short one (S3-FIFO); what is asked "
        "last of all (Belady). Of lists, GD-Size(1): large ones that are long unused",
        "size": "queries that the cache holds; of postings, the share of all their bytes (of recorded reads "
        "of all bytes read); of locality, reads in a row",
        "hit_rate": "queries that it answers, share; of postings, lists that are all there",
        "book": "hit rate in table 9-2; -1 where it says nothing",
        "byte_rate": "bytes of what was there, share of the bytes that were wanted; of results the same",
        "strings": "distinct strings of so many in a row, among the first 100,000; -1 elsewhere",
        "slope": "of the logarithm of intervals until the same is read again, in groups of 2,000; -1 if none",
    },
    draw=draw,
    caption="Hit rates of caches of results, beside the book's table 9-2, and of posting lists behind one.",
    seeds=2,
    claims=claims,
)
