"""Links on their way to the peers that own them: kept in the table until accepted.

In memory there are only the numbers of the batches and when they are due: to a mesh that does not listen for
a while there may be millions of links.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf
from typing import Final, NamedTuple

import msgspec

from mesh.messages import LINKS_MAX, FoundLink
from mesh.table import Table

RESEND_S: Final = 2.0  # first pause before an unanswered batch goes out again; doubled each time
RESEND_MAX_S: Final = 60.0
BATCHES_PER_TURN: Final = 32  # that `due` returns at once: reading and sending them takes some milliseconds


class Batch(NamedTuple):
    """Links that go to one peer."""

    number: int
    peer: str
    links: tuple[FoundLink, ...]


class _Waiting(NamedTuple):
    """What is in memory of a batch that was not accepted so far."""

    peer: str
    link_count: int
    resend_at_s: float
    pause_s: float


class Outbox:
    """Batches by number, each at most LINKS_MAX links to one peer."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._waiting: dict[int, _Waiting] = {}
        self._due: list[tuple[float, int]] = []  # heap; without void entries at its top
        self.link_count = 0
        for key, value in table.scan(b""):
            peer, links = _decoder.decode(value)
            # After a restart everything is due at once.
            self._waiting[int.from_bytes(key, "big")] = _Waiting(peer, len(links), 0.0, RESEND_S)
            self.link_count += len(links)
        self._due = [(0.0, number) for number in self._waiting]
        heapify(self._due)
        self._last = max(self._waiting, default=0)

    def add(self, peer: str, links: list[FoundLink], now: float) -> list[Batch]:
        """Keep links for a peer; return the batches to be sent now."""
        added = []
        for start in range(0, len(links), LINKS_MAX):
            # Numbers follow the mesh clock, so that those of an earlier life do not come again: a late
            # answer to one of them must not pass for the answer to a batch that never arrived.
            self._last = max(self._last + 1, int(now * 1_000))
            batch = Batch(self._last, peer, tuple(links[start : start + LINKS_MAX]))
            self._table.put(_key(batch.number), _encode((peer, batch.links)))
            self.link_count += len(batch.links)
            self._wait(batch.number, _Waiting(peer, len(batch.links), now + RESEND_S, RESEND_S))
            added.append(batch)
        return added

    def accepted(self, number: int, peer: str) -> bool:
        """Forget a batch that its peer has promised to keep; False when there is none such."""
        waiting = self._waiting.get(number)
        if waiting is None or waiting.peer != peer:
            return False
        self.remove(number)
        return True

    def remove(self, number: int) -> None:
        self.link_count -= self._waiting.pop(number).link_count
        self._table.delete(_key(number))
        while self._due and self._is_void(*self._due[0]):
            heappop(self._due)

    def due(self, now: float) -> list[tuple[int, str]]:
        """Numbers and peers of batches that have waited long enough; their next pause is longer."""
        due: list[tuple[int, str]] = []
        while self._due and self._due[0][0] <= now and len(due) < BATCHES_PER_TURN:
            at, number = heappop(self._due)
            if self._is_void(at, number):
                continue
            waiting = self._waiting[number]
            pause = min(waiting.pause_s * 2, RESEND_MAX_S)
            self._wait(number, waiting._replace(resend_at_s=now + pause, pause_s=pause))
            due.append((number, waiting.peer))
        return due

    def hasten(self, peers: frozenset[str], now: float) -> None:
        """Let everything that is for none of these peers be due at once: it goes to others by now."""
        for number, waiting in list(self._waiting.items()):
            if waiting.peer not in peers and waiting.resend_at_s > now:
                self._wait(number, waiting._replace(resend_at_s=now))

    def batch(self, number: int) -> Batch:
        """Read a batch that waits."""
        value = self._table.get(_key(number))
        assert value is not None, "what waits is in the table"
        return Batch(number, *_decoder.decode(value))

    def next_time(self) -> float:
        """When to call `due` next, seconds of the mesh clock."""
        return self._due[0][0] if self._due else inf

    @property
    def batch_count(self) -> int:
        return len(self._waiting)

    def _wait(self, number: int, waiting: _Waiting) -> None:
        self._waiting[number] = waiting
        heappush(self._due, (waiting.resend_at_s, number))

    def _is_void(self, at: float, number: int) -> bool:
        waiting = self._waiting.get(number)
        return waiting is None or waiting.resend_at_s != at


def _key(number: int) -> bytes:
    return number.to_bytes(8, "big")


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(tuple[str, tuple[FoundLink, ...]])
