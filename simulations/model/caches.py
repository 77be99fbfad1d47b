"""Caches and their hit rates: of results, all of one size, and of the posting lists that queries read.

Results: FIFO, LRU, LFU with decay, a static part with LRU beside it (Fagni et al. 2006), GDSF (Cherkasova
1998), ARC (Megiddo and Modha 2003), SIEVE (Zhang et al. 2024), S3-FIFO (Yang et al. 2023), and the optimum
(Belady 1966). Each is a function of the queries and of how many a cache holds, to its hits.

Postings: pages, whole lists, GD-Size(1). An access is one list; it hits when all of it is there. Before these
caches is one of results, as in the book.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple, Protocol

import numpy as np

from simulations.world.posting_lists import PostingLists, words_of_queries

ADDED_MAX: Final = 1e200  # then all values are brought down again
STATIC_SHARE: Final = 0.5  # of the cache, for the most popular queries of the first half of the log
SMALL_SHARE: Final = 10  # of S3-FIFO: a tenth of the cache is its short queue
ASKED_MAX: Final = 3  # of S3-FIFO: two bits count
PAGE_BYTES: Final = 4_096  # of an operating system, and of the book
WARM: Final = 0.2  # of the accesses, which do not count


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


def arc_hits(queries: list[int], size: int) -> int:
    """Balance queries asked once against those asked again, by lists of those given up.

    Adaptive replacement: a hit in one of these lists makes room for its kind.
    Megiddo and Modha 2003, figure 4.
    """
    once, again = OrderedDict[int, None](), OrderedDict[int, None]()  # T1, T2: the oldest first
    gone_once, gone_again = OrderedDict[int, None](), OrderedDict[int, None]()  # B1, B2
    room_once, hits = 0.0, 0  # p

    def replace(query: int) -> None:
        if once and (len(once) > room_once or (query in gone_again and len(once) == room_once)):
            gone_once[once.popitem(last=False)[0]] = None
        else:
            gone_again[again.popitem(last=False)[0]] = None

    for query in queries:
        if query in once or query in again:
            hits += 1
            (once if query in once else again).pop(query)
            again[query] = None
        elif query in gone_once or query in gone_again:
            if query in gone_once:
                room_once = min(size, room_once + max(1.0, len(gone_again) / len(gone_once)))
            else:
                room_once = max(0.0, room_once - max(1.0, len(gone_once) / len(gone_again)))
            replace(query)
            (gone_once if query in gone_once else gone_again).pop(query)
            again[query] = None
        else:
            if len(once) + len(gone_once) == size:
                if len(once) < size:
                    gone_once.popitem(last=False)
                    replace(query)
                else:
                    once.popitem(last=False)
            elif len(once) + len(again) + len(gone_once) + len(gone_again) >= size:
                if len(once) + len(again) + len(gone_once) + len(gone_again) == 2 * size:
                    gone_again.popitem(last=False)
                if len(once) + len(again) >= size:
                    replace(query)
            once[query] = None
    return hits


def sieve_hits(queries: list[int], size: int) -> int:
    """Replace the first query not asked again that a hand finds, going from the oldest to the newest.

    What it passes has to be asked again before it comes back. Zhang et al. 2024, algorithm 1.
    """
    is_asked: dict[int, bool] = {}
    newer: dict[int, int] = {}  # neighbours in the queue; -1 is before the oldest and behind the newest
    older: dict[int, int] = {}
    newer[-1] = older[-1] = hand = -1
    hits = 0
    for query in queries:
        if query in is_asked:
            hits += 1
            is_asked[query] = True
            continue
        if len(is_asked) >= size:
            hand = hand if hand >= 0 else newer[-1]
            while is_asked[hand]:
                is_asked[hand] = False
                hand = newer[hand] if newer[hand] >= 0 else newer[-1]
            before, behind = older.pop(hand), newer.pop(hand)
            newer[before], older[behind] = behind, before
            del is_asked[hand]
            hand = behind
        newest = older[-1]
        newer[newest], older[query], newer[query], older[-1] = query, newest, -1, query
        is_asked[query] = False
    return hits


def s3_fifo_hits(queries: list[int], size: int) -> int:
    """Try queries in a short queue before they come into a long one.

    One asked more than once while it is in the short queue, or again while its name is still known, goes into
    the long one; at the end of that it is put in anew if it was asked since. Yang et al. 2023, algorithm 1.
    """
    small_room = max(1, size // SMALL_SHARE)
    main_room = size - small_room
    small, main = deque[int](), deque[int]()
    asked: dict[int, int] = {}  # of all that is held: how often since it came into its queue
    gone = OrderedDict[int, None]()

    def give_up_of_main() -> None:
        while asked[main[0]]:
            asked[main[0]] -= 1
            main.rotate(-1)
        del asked[main.popleft()]

    def give_up_of_small() -> None:
        while small:
            query = small.popleft()
            if asked[query] > 1 and main_room:
                if len(main) >= main_room:
                    give_up_of_main()
                main.append(query)
                asked[query] = 0
                continue
            del asked[query]
            gone[query] = None
            if len(gone) > main_room:
                gone.popitem(last=False)
            return

    hits = 0
    for query in queries:
        if query in asked:
            hits += 1
            asked[query] = min(ASKED_MAX, asked[query] + 1)
            continue
        while len(asked) >= size:
            if len(small) >= small_room:
                give_up_of_small()
            else:
                give_up_of_main()
        if query in gone:
            del gone[query]
            main.append(query)
        else:
            small.append(query)
        asked[query] = 0
    return hits


def most_hits(queries: list[int], size: int) -> int:
    """Count the hits of the best cache there could be: it gives up the query asked again last of all.

    That may be the query itself, which is then not kept. Belady 1966.
    """
    later: dict[int, int] = {}
    next_at = [0] * len(queries)  # of each: when it is asked again
    for at in range(len(queries) - 1, -1, -1):
        next_at[at] = later.get(queries[at], len(queries) + at)
        later[queries[at]] = at
    held: dict[int, int] = {}
    heap: list[tuple[int, int]] = []  # what is asked last first; entries of what was asked since are behind
    hits = 0
    for query, soon in zip(queries, next_at, strict=True):
        hits += query in held
        held[query] = soon
        heappush(heap, (-soon, query))
        while len(held) > size:
            late, other = heappop(heap)
            if held.get(other) == -late:
                del held[other]
    return hits


class ListAccess(NamedTuple):
    """A list that a query reads."""

    word: int
    start: int
    n_bytes: int


class HitRates(NamedTuple):
    """Shares of accesses."""

    hits: float
    byte_hits: float


class Cache(Protocol):
    """Keeps objects of unlike size within some bytes."""

    def touch(self, name: int, n_bytes: int) -> bool:
        """Use an object; False when it was not there and had to be read."""


class LeastRecent:
    """Gives up the object that was not used for the longest."""

    def __init__(self, room: int) -> None:
        self._room = self._free = room
        self._sizes: OrderedDict[int, int] = OrderedDict()

    def touch(self, name: int, n_bytes: int) -> bool:
        if name in self._sizes:
            self._sizes.move_to_end(name)
            return True
        if n_bytes <= self._room:
            self._sizes[name] = n_bytes
            self._free -= n_bytes
            while self._free < 0:
                self._free += self._sizes.popitem(last=False)[1]
        return False


class GreedyDualSize:
    """GD-Size(1), Cao and Irani 1997: to read costs the same for each, so large ones go first.

    An object that is used gets H = L + 1 / size; that of the least H goes, and L becomes its H.
    """

    def __init__(self, room: int) -> None:
        self._room = self._free = room
        self._given_up = 0.0  # L
        self._values: dict[int, float] = {}
        self._heap: list[tuple[float, int, int]] = []  # with values that an object may no longer have

    def touch(self, name: int, n_bytes: int) -> bool:
        is_hit = name in self._values
        if n_bytes > self._room:
            return False
        value = self._values[name] = self._given_up + 1 / n_bytes
        heappush(self._heap, (value, name, n_bytes))
        if not is_hit:
            self._free -= n_bytes
            while self._free < 0:
                value, name, n_bytes = heappop(self._heap)
                if self._values.get(name) == value:
                    self._given_up = value
                    del self._values[name]
                    self._free += n_bytes
        return is_hit


def accesses_of(
    missed: Iterable[int], lists: PostingLists, distinct: int, words: float, seed: int
) -> list[ListAccess]:
    """Return the posting lists that queries read, one after the other.

    Args:
      missed: queries that the cache of results did not answer.
      distinct: more than the number of any query.
      words: of a query, mean.
    """
    random = np.random.default_rng((seed, 9))
    words_of = words_of_queries(distinct, len(lists.doc_freqs), words, random)
    starts, sizes = lists.starts.tolist(), lists.n_bytes.tolist()
    return [ListAccess(word, starts[word], sizes[word]) for query in missed for word in words_of[query]]


POLICIES: Final[dict[str, Callable[[Sequence[ListAccess], int], HitRates]]] = {
    "pages, LRU": lambda accesses, room: _page_hits(accesses, LeastRecent(room)),
    "lists, LRU": lambda accesses, room: _list_hits(accesses, LeastRecent(room)),
    "lists, GD-Size(1)": lambda accesses, room: _list_hits(accesses, GreedyDualSize(room)),
}


def _list_hits(accesses: Sequence[ListAccess], cache: Cache) -> HitRates:
    return _found(accesses, [cache.touch(word, n_bytes) for word, _, n_bytes in accesses])


def _page_hits(accesses: Sequence[ListAccess], cache: Cache) -> HitRates:
    hits = []
    for _, start, n_bytes in accesses:
        pages = range(start // PAGE_BYTES, (start + n_bytes - 1) // PAGE_BYTES + 1)
        hits.append(sum(cache.touch(page, PAGE_BYTES) for page in pages) == len(pages))
    return _found(accesses, hits)


def _found(accesses: Sequence[ListAccess], hits: list[bool]) -> HitRates:
    first = int(WARM * len(accesses))
    sizes = np.array([n_bytes for _, _, n_bytes in accesses[first:]], np.float64)
    is_hit = np.array(hits[first:], bool)
    return HitRates(float(is_hit.mean()), float(sizes[is_hit].sum() / sizes.sum()))
