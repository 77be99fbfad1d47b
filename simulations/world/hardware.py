"""The parts of a machine for which work waits: processors, a disk, and the outlet that a site shares.

Theory of operation
===================
Each is a *station*: work that comes while it is busy waits for the work that came before. So what is asked
of a machine takes longer the more there is, and a mesh is as fast as the station that is never idle.

Questions come before the work of the crawl, which runs in processes of low priority: a question waits for
other questions alone, and what comes after it waits for it, too.

A disk is asked for a sync by every batch of the archive and by every commit of a table or of the index. Pages
come through the outlet; what peers say to each other stays within a building and is free.
"""

from __future__ import annotations

from heapq import heapreplace
from math import inf
from typing import Final

PARSE_S: Final = 0.004  # of one core for a page of ordinary size
SYNC_S: Final = 0.005  # fsync of an SSD
COMMIT_S: Final = 0.050  # of an index segment, and
COMMIT_PAGE_S: Final = 0.001  # for each of its pages
ANSWER_S: Final = 0.0012  # of one core for a question
QUESTIONS: Final = 3  # to a machine, of a search: counts, hits, excerpts, as in `model.costs`


class Station:
    """One or several servers with one queue."""

    def __init__(self, servers: int = 1) -> None:
        self.servers = servers
        self.busy_s = 0.0  # of all servers, with the work that waits
        self._free_at = [-inf] * servers  # a heap
        self._urgent_until = [-inf] * servers  # a heap

    @property
    def free_at(self) -> float:
        """When work that comes now would be begun, or a time before."""
        return self._free_at[0]

    def take(self, work_s: float, now: float) -> float:
        """Return the seconds from now until this work is done."""
        end = max(now, self._free_at[0]) + work_s
        heapreplace(self._free_at, end)
        self.busy_s += work_s
        return end - now

    def take_urgent(self, work_s: float, now: float) -> float:
        """Likewise, of work that goes before all that is not urgent."""
        end = max(now, self._urgent_until[0]) + work_s
        heapreplace(self._urgent_until, end)
        self.take(work_s, now)
        return end - now


class Hardware:
    """A machine without limits: each thing takes its time, however much there is at once."""

    def parse(self, now: float) -> float:
        """Return the seconds from now until a page is parsed."""
        return PARSE_S

    def commit(self, pages: int, now: float) -> float:
        """Return the seconds until a segment of so many pages is durable."""
        return COMMIT_S + COMMIT_PAGE_S * pages

    def answer(self, now: float) -> float:
        """Return the seconds until a question is answered; without limits the experiment says how long."""
        return 0.0

    def sync(self, now: float) -> float:
        """Return the seconds until all that was written is durable."""
        return SYNC_S

    def sync_from(self) -> float:
        """Return when the disk is free; -inf if it always is."""
        return -inf

    def receive(self, n_bytes: int, now: float) -> float:
        """Return the seconds until so many bytes have come, if their sender is as fast as that."""
        return 0.0


LIMITLESS: Final = Hardware()


class FiniteHardware(Hardware):
    """A machine whose processors, disk and outlet do one thing after the other."""

    def __init__(
        self,
        *,
        cores: int,
        speed: float,
        syncs_per_s: float,
        outlet: Station,
        bytes_per_s: float,
        searches_per_s: float = 0.0,
    ) -> None:
        """Put a machine together.

        Args:
          speed: of a core, as a multiple of that by which the costs were measured.
          outlet: of the site; all its machines have the same.
          bytes_per_s: that it carries.
          searches_per_s: of the mesh, one after the other and as far apart; each asks every machine.
        """
        self.processors, self.disk, self.outlet = Station(cores), Station(), outlet
        self._speed = speed
        self._sync_s = 1.0 / syncs_per_s
        self._bytes_per_s = bytes_per_s
        self._search_every_s = 1.0 / searches_per_s if searches_per_s else inf
        self._next_search = self._search_every_s

    def sync_from(self) -> float:
        return self.disk.free_at

    def parse(self, now: float) -> float:
        self._search(now)
        return self.processors.take(PARSE_S / self._speed, now)

    def commit(self, pages: int, now: float) -> float:
        self._search(now)
        built_s = self.processors.take(COMMIT_PAGE_S * pages / self._speed, now)
        return COMMIT_S + max(built_s, self.sync(now))

    def answer(self, now: float) -> float:
        return self.processors.take_urgent(ANSWER_S / self._speed, now)

    def sync(self, now: float) -> float:
        return self.disk.take(self._sync_s, now)

    def receive(self, n_bytes: int, now: float) -> float:
        return self.outlet.take(n_bytes / self._bytes_per_s, now)

    def _search(self, now: float) -> None:
        """Answer the searches since the last work: they came before that of now."""
        while self._next_search <= now:
            self.processors.take_urgent(QUESTIONS * ANSWER_S / self._speed, self._next_search)
            self._next_search += self._search_every_s
