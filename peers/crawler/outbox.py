"""Links on their way to the peers that own them: kept in the table until accepted."""

from __future__ import annotations

from math import inf
from typing import Final, NamedTuple

import msgspec

from mesh.messages import LINKS_MAX, FoundLink
from mesh.table import Table

RESEND_S: Final = 2.0  # first pause before an unanswered batch goes out again; doubled each time
RESEND_MAX_S: Final = 60.0


class Batch(NamedTuple):
    """Links that go to one peer, and when they were last sent there."""

    peer: str
    links: tuple[FoundLink, ...]
    resend_at_s: float
    pause_s: float


class Outbox:
    """Batches by number, each at most LINKS_MAX links to one peer."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._batches: dict[int, Batch] = {}
        self.link_count = 0
        for key, value in table.scan(b""):
            peer, links = _decoder.decode(value)
            # After a restart everything is due at once.
            self._batches[int.from_bytes(key, "big")] = Batch(peer, links, 0.0, RESEND_S)
            self.link_count += len(links)
        self._next = max(self._batches, default=0) + 1
        self._due_at_s = 0.0 if self._batches else inf  # a lower bound: an early look costs little

    def add(self, peer: str, links: list[FoundLink], now: float) -> list[tuple[int, Batch]]:
        """Keep links for a peer; return the numbered batches that are to be sent now."""
        added = []
        for start in range(0, len(links), LINKS_MAX):
            batch = Batch(peer, tuple(links[start : start + LINKS_MAX]), now + RESEND_S, RESEND_S)
            number, self._next = self._next, self._next + 1
            self._batches[number] = batch
            self._table.put(number.to_bytes(8, "big"), _encode((peer, batch.links)))
            self.link_count += len(batch.links)
            self._due_at_s = min(self._due_at_s, batch.resend_at_s)
            added.append((number, batch))
        return added

    def accepted(self, number: int, peer: str) -> bool:
        """Forget a batch that its peer has promised to keep; False when there is none such."""
        batch = self._batches.get(number)
        if batch is None or batch.peer != peer:
            return False
        self.remove(number)
        return True

    def remove(self, number: int) -> None:
        self.link_count -= len(self._batches.pop(number).links)
        self._table.delete(number.to_bytes(8, "big"))

    def due(self, now: float) -> list[tuple[int, Batch]]:
        """Batches that have waited long enough for an answer; their next pause is longer."""
        due = [(number, batch) for number, batch in self._batches.items() if batch.resend_at_s <= now]
        for number, batch in due:
            pause = min(batch.pause_s * 2, RESEND_MAX_S)
            self._batches[number] = batch._replace(resend_at_s=now + pause, pause_s=pause)
        self._due_at_s = min((batch.resend_at_s for batch in self._batches.values()), default=inf)
        return due

    def next_time(self) -> float:
        """When to call `due` next, seconds of the mesh clock."""
        return self._due_at_s

    @property
    def batch_count(self) -> int:
        return len(self._batches)


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(tuple[str, tuple[FoundLink, ...]])
