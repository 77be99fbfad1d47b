"""Caches for the posting lists that queries read, and their hit rates: pages, whole lists, GD-Size(1).

An access is one list; it hits when all of it is there. Before these caches is one of results, as in the book.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple, Protocol

import numpy as np

from simulations.studies.posting_lists import PostingLists, words_of_queries

PAGE_BYTES: Final = 4_096  # of an operating system, and of the book
WARM: Final = 0.2  # of the accesses, which do not count


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
