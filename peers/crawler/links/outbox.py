"""Links on their way to the peers that own them: kept in the table until accepted.

To a peer that does not accept any for a while there may be millions of links, and those of one page after the
other go to many peers. So little of it is in memory (`mesh.actors.durable_delivery`), and who finds links
stops finding more when `is_full` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple

import msgspec

from mesh.actors.delivery import DeliverySettings, in_batches
from mesh.actors.durable_delivery import DurableDelivery
from mesh.tables.table import Table
from peers.crawler.links.deaf_members import Waiting
from peers.crawler.model.wire_messages import LINKS_MAX, FoundLink

RESEND_S: Final = 6.0  # first pause before an unanswered batch goes out again; doubled each time
RESEND_MAX_S: Final = 60.0
BATCH_BYTES: Final = 256 << 10  # of texts in a batch; LINKS_MAX ordinary links have 100 kB
BATCHES_UNDER_WAY: Final = 32  # to one peer; an answer takes a commit or two, some tenths of a second
BYTES_UNDER_WAY: Final = 4 << 20


class LinkBatch(NamedTuple):
    """Links that go to one peer."""

    number: int
    peer: str
    links: tuple[FoundLink, ...]
    has_waited: bool  # perhaps others own the links by now


class LinkOutbox:
    """Batches by peer and number, each at most LINKS_MAX links."""

    def __init__(self, table: Table, life: int, links_max: float = inf) -> None:
        """Take up the batches that earlier runs of this peer left.

        Args:
          life: greater than in any earlier life of this peer.
          links_max: with more it is full; it takes what it is given all the same.
        """
        settings = DeliverySettings(
            again_s=RESEND_S,
            again_max_s=RESEND_MAX_S,
            window=BATCHES_UNDER_WAY,
            window_bytes=BYTES_UNDER_WAY,
        )
        self._delivery: DurableDelivery[tuple[FoundLink, ...]] = DurableDelivery(
            table, life, settings, _encode, _decode
        )
        self.links_max = links_max

    def add(self, peer: str, links: Sequence[FoundLink], now: float, *, hold_off_s: float = 0.0) -> list[int]:
        """Keep links for a peer; return the numbers of their batches, which `wake` gives out in turn."""
        return [
            self._delivery.add(peer, tuple(batch), len(batch), now, hold_off_s=hold_off_s)
            for batch in in_batches(links, _size_of, items_max=LINKS_MAX, bytes_max=BATCH_BYTES)
        ]

    def accepted(self, number: int, peer: str, now: float) -> bool:
        """Forget a batch that its peer has promised to keep; False when there is none such."""
        return self._delivery.note_answer(peer, number, now)

    def remove(self, batch: LinkBatch) -> None:
        """Forget a batch that `wake` has given out: its links are kept elsewhere."""
        self._delivery.withdraw(batch.peer, batch.number)

    def waiting(self) -> dict[str, Waiting]:
        """Return the links that wait for each peer: their number, and since when."""
        return {
            peer: Waiting(n_links, self._delivery.under_way_since(peer))
            for peer, n_links in self._delivery.weights().items()
        }

    def hasten(self, peers: frozenset[str], now: float) -> None:
        """Let everything that is for none of these peers be due at once: it goes to others by now."""
        for peer in self._delivery.receivers():
            if peer not in peers:
                self._delivery.hasten(peer, now)

    def wake(self, now: float) -> list[LinkBatch]:
        """Return the batches to be sent now, for the first time or again."""
        return [
            LinkBatch(number, peer, links, has_waited)
            for peer, number, links, has_waited in self._delivery.wake(now)
        ]

    def wake_at(self) -> float:
        """When to call `wake` next, seconds of the mesh clock."""
        return self._delivery.wake_at()

    @property
    def batch_count(self) -> int:
        return self._delivery.n_parcels

    @property
    def link_count(self) -> int:
        return self._delivery.weight

    @property
    def batches_in_memory(self) -> int:
        """Of which anything is in memory; nothing of their links is."""
        return self._delivery.n_in_memory

    @property
    def is_full(self) -> bool:
        return self._delivery.weight > self.links_max


def _size_of(link: FoundLink) -> int:
    return len(link.url) + len(link.anchor)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[FoundLink, ...]).decode
