"""Policies of caches, each beside a slow one that follows its paper line by line."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulations.model import caches
from simulations.studies.cache import LRU_OF_BOOK, SIZES_OF_BOOK
from simulations.traces.queries import BOOK_REPEAT, made_up_queries

Hits = Callable[[list[int], int], int]


def slow_sieve(queries: list[int], size: int) -> int:
    """Zhang et al. 2024, algorithm 1, on a list with the newest first."""
    queue: list[list[int]] = []  # [query, visited]
    hand: list[int] | None = None
    hits = 0
    for query in queries:
        found = next((node for node in queue if node[0] == query), None)
        if found is not None:
            found[1] = 1
            hits += 1
            continue
        if len(queue) == size:
            node = hand if hand is not None else queue[-1]
            while node[1]:
                node[1] = 0
                at = queue.index(node)
                node = queue[at - 1] if at > 0 else queue[-1]
            at = queue.index(node)
            hand = queue[at - 1] if at > 0 else None
            queue.remove(node)
        queue.insert(0, [query, 0])
    return hits


def slow_s3_fifo(queries: list[int], size: int) -> int:
    """Yang et al. 2023, algorithm 1, on lists with the newest first."""
    small: list[int] = []
    main: list[int] = []
    ghost: list[int] = []
    freq: dict[int, int] = {}
    small_size = max(1, size // 10)

    def evict_main() -> None:
        while True:
            tail = main.pop()
            if freq[tail] == 0:
                return
            freq[tail] -= 1
            main.insert(0, tail)

    def evict_small() -> None:
        while small:
            tail = small.pop()
            if freq[tail] > 1 and size > small_size:
                if len(main) >= size - small_size:
                    evict_main()
                main.insert(0, tail)
                freq[tail] = 0
            else:
                ghost.insert(0, tail)
                del ghost[size - small_size :]
                return

    hits = 0
    for query in queries:
        if query in small or query in main:
            hits += 1
            freq[query] = min(freq[query] + 1, 3)
            continue
        while len(small) + len(main) >= size:
            if len(small) >= small_size:
                evict_small()
            else:
                evict_main()
        if query in ghost:
            ghost.remove(query)
            main.insert(0, query)
        else:
            small.insert(0, query)
        freq[query] = 0
    return hits


def slow_arc(queries: list[int], size: int) -> int:
    """Megiddo and Modha 2003, figure 4, case by case, on lists with the least recent first."""
    t1: list[int] = []
    t2: list[int] = []
    b1: list[int] = []
    b2: list[int] = []
    p = 0.0
    hits = 0

    def replace(x: int) -> None:
        if t1 and ((x in b2 and len(t1) == p) or len(t1) > p):
            b1.append(t1.pop(0))
        else:
            b2.append(t2.pop(0))

    for x in queries:
        if x in t1 or x in t2:  # case I
            hits += 1
            (t1 if x in t1 else t2).remove(x)
            t2.append(x)
        elif x in b1:  # case II
            p = min(size, p + max(len(b2) / len(b1), 1))
            replace(x)
            b1.remove(x)
            t2.append(x)
        elif x in b2:  # case III
            p = max(0, p - max(len(b1) / len(b2), 1))
            replace(x)
            b2.remove(x)
            t2.append(x)
        else:  # case IV
            if len(t1) + len(b1) == size:
                if len(t1) < size:
                    b1.pop(0)
                    replace(x)
                else:
                    t1.pop(0)
            elif len(t1) + len(t2) + len(b1) + len(b2) >= size:
                if len(t1) + len(t2) + len(b1) + len(b2) == 2 * size:
                    b2.pop(0)
                replace(x)
            t1.append(x)
    return hits


def slow_optimum(queries: list[int], size: int) -> int:
    """Try all that a cache could hold after each query."""
    best = {frozenset[int](): 0}
    for query in queries:
        found: dict[frozenset[int], int] = {}
        for held, hits in best.items():
            here = sorted(held | {query})
            for n in range(min(size, len(here)) + 1):
                for kept in map(frozenset, combinations(here, n)):
                    found[kept] = max(found.get(kept, 0), hits + (query in held))
        best = found
    return max(best.values())


QUERIES = st.lists(st.integers(0, 12), max_size=120)


@given(QUERIES, st.integers(1, 12))
@pytest.mark.parametrize(
    ("policy", "oracle"),
    [
        (caches.sieve_hits, slow_sieve),
        (caches.s3_fifo_hits, slow_s3_fifo),
        (caches.arc_hits, slow_arc),
    ],
)
def test_a_policy_hits_as_often_as_its_paper(
    policy: Hits, oracle: Hits, queries: list[int], size: int
) -> None:
    assert policy(queries, size) == oracle(queries, size)


@pytest.mark.parametrize(
    ("policy", "oracle"),
    [
        (caches.sieve_hits, slow_sieve),
        (caches.s3_fifo_hits, slow_s3_fifo),
        (caches.arc_hits, slow_arc),
    ],
)
def test_a_policy_hits_as_often_as_its_paper_on_a_log(policy: Hits, oracle: Hits) -> None:
    queries = made_up_queries(3_000, 3_000, 0.6, seed=3).tolist()
    for size in (1, 7, 40, 200):
        assert policy(queries, size) == oracle(queries, size)


@given(st.lists(st.integers(0, 5), max_size=12), st.integers(1, 3))
def test_the_optimum_is_the_best_of_all_that_could_be_held(queries: list[int], size: int) -> None:
    assert caches.most_hits(queries, size) == slow_optimum(queries, size)


def test_no_policy_is_above_the_optimum_and_all_hold_what_fits() -> None:
    policies: dict[str, Hits] = {
        "FIFO": caches.fifo_hits,
        "LRU": caches.lru_hits,
        "LFU": lambda queries, size: caches.lfu_hits(queries, size, 0.998),
        "GDSF": caches.gdsf_hits,
        "ARC": caches.arc_hits,
        "SIEVE": caches.sieve_hits,
        "S3-FIFO": caches.s3_fifo_hits,
    }
    queries = made_up_queries(5_000, 2_000, 0.5, seed=1).tolist()
    for name, hits_of in policies.items():
        for size in (1, 10, 100):
            assert 0 < hits_of(queries, size) < caches.most_hits(queries, size), name
    for name, hits_of in policies.items():
        few = np.arange(20).repeat(3).tolist() * 2
        assert hits_of(few, 200) == len(few) - 20, name


def test_book_table_9_2_is_near_though_nothing_was_fitted_to_it() -> None:
    queries = made_up_queries(200_000, 160_000, BOOK_REPEAT, seed=1).tolist()
    rates = [caches.lru_hits(queries, size) / len(queries) for size in SIZES_OF_BOOK]
    apart = [rate - LRU_OF_BOOK[size] for size, rate in zip(SIZES_OF_BOOK, rates, strict=True)]
    assert rates == sorted(rates)
    assert all(-0.07 < each < 0 for each in apart)  # Sogou's log and Excite's are of engines less alike


def test_in_a_busier_log_repetitions_are_farther_apart() -> None:
    quiet, busy = (made_up_queries(20_000, 100_000, 0.5, rate, seed=1).tolist() for rate in (0.01, 10.0))
    assert caches.lru_hits(quiet, 100) > 1.5 * caches.lru_hits(busy, 100)


@pytest.mark.more
@pytest.mark.parametrize(
    ("name", "hits_of", "most_apart"),
    [
        ("FIFO", caches.fifo_hits, 0),
        ("LRU", caches.lru_hits, 0),
        ("Sieve", caches.sieve_hits, 0),
        ("ARC", caches.arc_hits, 0),
        (
            "S3FIFO",
            caches.s3_fifo_hits,
            20,
        ),  # of 20,000 queries
    ],
)
def test_libcachesim_counts_the_same_hits(name: str, hits_of: Hits, most_apart: int) -> None:
    library = pytest.importorskip("libcachesim", reason="the oracle libcachesim is not installed")
    queries = made_up_queries(20_000, 20_000, 0.6, seed=1).tolist()
    for size in (50, 500):
        cache = getattr(library, name)(cache_size=size)
        theirs = 0
        for at, query in enumerate(queries):
            request = library.Request()
            request.obj_id, request.obj_size, request.clock_time = query + 1, 1, at
            theirs += cache.get(request)
        assert abs(theirs - hits_of(queries, size)) <= most_apart
