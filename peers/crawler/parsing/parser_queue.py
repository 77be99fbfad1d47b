"""Which page is parsed next: one of the registrable domain that has had the least processor time. Pure.

What the pages of a domain cost is added up. A domain that comes anew begins with what the one had that was
served last: neither can it claim time that it did not want before, nor is it kept waiting for what others
had. When nothing is left to do all is forgotten. (Start-time fair queueing: Goyal, Vin, Cheng 1996; what a
page costs is known afterwards, and guessed when it is given out.)

Of a domain whose last page was dear, or of which none was seen so far, one page is out at a time, so that it
holds one process and no second place in a trip.
"""

from __future__ import annotations

from collections import Counter, deque
from heapq import heapify, heappop, heappush
from math import inf
from typing import Final, Generic, TypeVar

GUESS_S: Final = 0.002  # of processor time: an ordinary page
DEAR_S: Final = 0.1
REMEMBERED_MAX: Final = 4_096  # domains of which it is known what their last page has cost
FORGOTTEN_BEYOND: Final = 1_024  # domains, after which it is looked whose time may be forgotten

Item = TypeVar("Item")


class ParserQueue(Generic[Item]):
    """A queue of waiting items, fair between domains."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Item]] = {}
        self._used_s: dict[str, float] = {}
        self._heap: list[tuple[float, int, str]] = []  # one entry of each domain that may be served now
        self._in_heap: set[str] = set()
        self._count = 0  # of entries so far: of equals the first comes first
        self._served_s = 0.0  # what the domain had that was served last
        self._out: Counter[str] = Counter()  # what is taken out, by domain
        self._last_s: dict[str, float] = {}  # what the last page of a domain has cost; the latest at the end

    def __bool__(self) -> bool:
        """Is there anything that may be taken now?"""
        return bool(self._heap)

    def is_dear(self, domain: str) -> bool:
        return self._last_s.get(domain, 0.0) > DEAR_S

    def add(self, domain: str, item: Item) -> None:
        if domain in self._waiting:
            self._waiting[domain].append(item)
            return
        self._waiting[domain] = deque([item])
        self._used_s[domain] = max(self._used_s.get(domain, 0.0), self._served_s)
        self._let_be_served(domain)

    def take(self) -> tuple[str, Item]:
        """Take out the next item, and return it with its domain; the queue must not be empty."""
        used_s, _, domain = heappop(self._heap)
        while used_s < self._used_s[domain]:  # it was charged meanwhile
            self._push(domain)
            used_s, _, domain = heappop(self._heap)
        self._in_heap.remove(domain)
        item = self._waiting[domain].popleft()
        self._served_s = used_s
        self._used_s[domain] = used_s + GUESS_S
        self._out[domain] += 1
        if self._waiting[domain]:
            self._let_be_served(domain)
        else:
            del self._waiting[domain]
        return domain, item

    def charge(self, domain: str, cpu_s: float) -> None:
        """Charge a domain for the processor time of an item that was taken out."""
        self._out[domain] -= 1
        if not self._out[domain]:
            del self._out[domain]
        self._last_s.pop(domain, None)
        self._last_s[domain] = cpu_s
        if len(self._last_s) > REMEMBERED_MAX:
            del self._last_s[next(iter(self._last_s))]
        if domain in self._used_s:
            self._used_s[domain] += max(cpu_s - GUESS_S, 0.0)
        if domain in self._waiting and self._may_be_served(domain) != (domain in self._in_heap):
            self._turn_about(domain)
        self._forget()

    def _may_be_served(self, domain: str) -> bool:
        return not self._out[domain] or self._last_s.get(domain, inf) <= DEAR_S

    def _let_be_served(self, domain: str) -> None:
        if self._may_be_served(domain):
            self._push(domain)

    def _turn_about(self, domain: str) -> None:
        """Hold up a domain whose page turned out dear, or let it be served when nothing of it is out."""
        if domain in self._in_heap:
            self._in_heap.remove(domain)
            self._heap = [entry for entry in self._heap if entry[2] != domain]
            heapify(self._heap)
        else:
            self._push(domain)

    def _push(self, domain: str) -> None:
        self._in_heap.add(domain)
        self._count += 1
        heappush(self._heap, (self._used_s[domain], self._count, domain))

    def _forget(self) -> None:
        if not (self._waiting or self._out):
            self._used_s.clear()
            self._served_s = 0.0
        elif len(self._used_s) > FORGOTTEN_BEYOND + 2 * len(self._waiting):
            self._used_s = {
                name: used_s
                for name, used_s in self._used_s.items()
                if name in self._waiting or used_s > self._served_s + GUESS_S
            }
