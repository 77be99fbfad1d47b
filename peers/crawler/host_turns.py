"""Which host may be asked next.

Among the hosts that may be asked now, those of which no page has been asked come first, so that every known
host gives one page before any gives its second, as in WebCrawler (Pinkerton 1994).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Set
from heapq import heapify, heappop, heappush
from math import inf

from peers.crawler.host_state import HostState


class HostTurns:
    """The hosts that have something to come: by the time of their turn, or ready for it."""

    def __init__(self) -> None:
        self.stopped: set[int] = set()  # slots of which no host is given out
        self._waiting: list[tuple[float, int, HostState]] = []  # heap by time of the next turn, and ticket
        self._ready_new: deque[HostState] = deque()  # may be asked now, no page asked so far
        self._ready: deque[HostState] = deque()
        self._tickets = 0

    def next_time(self) -> float:
        """When a host may be asked next, mesh clock; -inf when one may now, inf when none ever."""
        if self._ready_new or self._ready:
            return -inf
        return self._waiting[0][0] if self._waiting else inf

    def take(self, now: float) -> HostState | None:
        """Return a host that may be asked now and has something due; it stays busy until it is released."""
        while self._waiting and self._waiting[0][0] <= now:
            _, ticket, state = heappop(self._waiting)
            if ticket == state.ticket:
                state.ticket = 0
                (self._ready if state.record.fetched else self._ready_new).append(state)
        for ready in (self._ready_new, self._ready):
            while ready:
                state = ready.popleft()
                if state.due_s() <= now:
                    return state
                state.is_busy = False  # its clock was put forward meanwhile, or nothing is left
                self.schedule(state, now)
        return None

    def schedule(self, state: HostState, now: float) -> None:
        """Give a host its turn, or an earlier one, if something is to come of it."""
        at_s = state.due_s()
        if at_s == inf or state.slot in self.stopped:
            return
        if state.is_busy:
            if state.ticket and at_s < state.turn_s:  # something new is due sooner than what it waits for
                self._wait(state, at_s)
        elif at_s <= now:
            state.is_busy = True
            (self._ready if state.record.fetched else self._ready_new).append(state)
        else:
            state.is_busy = True
            self._wait(state, at_s)

    def stop(self, slots: Set[int]) -> None:
        """Give out no more hosts of slots."""
        self.stopped |= slots
        self._remove(slots)

    def drop(self, slots: Set[int]) -> None:
        """Forget the hosts of slots."""
        self.stopped -= slots
        self._remove(slots)

    def _wait(self, state: HostState, at_s: float) -> None:
        self._tickets += 1
        state.ticket, state.turn_s = self._tickets, at_s
        heappush(self._waiting, (at_s, self._tickets, state))

    def _remove(self, slots: Set[int]) -> None:
        """Take the hosts of some slots out of those that wait for being asked."""
        if not slots:
            return
        waiting, self._waiting = self._waiting, []
        for entry in waiting:
            if entry[2].slot in slots:
                entry[2].is_busy = False
                entry[2].ticket = 0
            else:
                self._waiting.append(entry)
        heapify(self._waiting)
        for ready in (self._ready_new, self._ready):
            for _ in range(len(ready)):
                state = ready.popleft()
                if state.slot in slots:
                    state.is_busy = False
                else:
                    ready.append(state)
