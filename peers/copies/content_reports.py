"""Contents that pages have, or have no more, on the way to the peers that answer for the contents' slots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import inf
from typing import Final

import msgspec

from mesh.actors.actor import Address, Send
from mesh.actors.delivery import DeliverySettings, in_batches
from mesh.actors.durable_delivery import DurableDelivery
from mesh.actors.ownership import Ownership
from mesh.tables.table import Table
from peers.copies.wire_messages import PAGES_MAX, ContentsTold, ToldContent

_SETTINGS: Final = DeliverySettings(again_s=2.0, again_max_s=60.0, window=8, window_bytes=1 << 20)
_PAGE_BYTES: Final = 80  # about
# With more that others have not noted, nothing is looked for that could be told again.
_WAITING_MAX: Final = 50_000
_HOLD_OFF_S: Final = 1.0  # for what has another receiver by now: the others may not know that yet


class ContentReports:
    """Batches by receiver; in a table, since a content that a page has no more is told once."""

    def __init__(self, me: str, actor: str, table: Table, life: int) -> None:
        """Take up the batches that an earlier life left; nothing is sent before the owners are known."""
        self._me = me
        self._actor = actor
        self._delivery: DurableDelivery[tuple[ToldContent, ...]] = DurableDelivery(
            table, life, _SETTINGS, _encode, _decode
        )
        self._ownership: Ownership | None = None
        self.n_told = 0

    def change_ownership(self, ownership: Ownership, now: float) -> None:
        """Go by new answerers; batches that wait may be for others by now."""
        self._ownership = ownership
        for peer in self._delivery.receivers():
            self._delivery.hasten(peer, now)

    def tell(self, pages: Iterable[ToldContent], now: float, *, hold_off_s: float = 0.0) -> None:
        """Have contents told; those that nobody answers for go to ourselves, until somebody does."""
        by_peer: dict[str, list[ToldContent]] = defaultdict(list)
        for page in pages:
            by_peer[self._receiver_of(page)].append(page)
            self.n_told += 1
        for peer, some in by_peer.items():
            for batch in in_batches(some, lambda _: _PAGE_BYTES, items_max=PAGES_MAX, bytes_max=inf):
                self._delivery.add(peer, tuple(batch), len(batch), now, hold_off_s=hold_off_s)

    def note_answer(self, peer: str, batch: int, now: float) -> None:
        self._delivery.note_answer(peer, batch, now)

    def wake(self, now: float) -> list[Send]:
        """Send due batches, and put into new ones those pages that others answer for by now."""
        sends: list[Send] = []
        for peer, number, pages, has_waited in self._delivery.wake(now):
            if has_waited and any(self._receiver_of(page) != peer for page in pages):
                self._delivery.withdraw(peer, number)
                self.n_told -= len(pages)
                self.tell(pages, now, hold_off_s=_HOLD_OFF_S)
            else:
                sends.append(Send(Address(peer, self._actor), ContentsTold(number, pages)))
        return sends

    def wake_at(self) -> float:
        return inf if self._ownership is None else self._delivery.wake_at()

    @property
    def waiting_count(self) -> int:
        return self._delivery.weight

    @property
    def is_full(self) -> bool:
        return self._delivery.weight > _WAITING_MAX

    def _receiver_of(self, page: ToldContent) -> str:
        if self._ownership is None:
            return self._me
        slot = page.content % self._ownership.table.slot_count
        return self._ownership.answerer_of(slot) or self._me


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[ToldContent, ...]).decode
