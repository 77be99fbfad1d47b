"""Reports on their way to the peers that answer for the slots that they are about.

They lie in a table until they are noted, so a crash of the sender loses none, and go to another peer when
that one answers for their slot. Some kinds are told only by keepers of the slot that they come from; those
of slots that were given away meanwhile are forgotten, since who answers for them tells what there is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import Final, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from mesh.actors.actor import Address, Message, Send
from mesh.actors.delivery import DeliverySettings, in_batches
from mesh.actors.durable_delivery import DurableDelivery
from mesh.actors.ownership import Ownership
from mesh.tables.table import Table

Item = TypeVar("Item")


_SETTINGS: Final = DeliverySettings(again_s=2.0, again_max_s=60.0, window=8, window_bytes=1 << 20)
# With more that others have not noted, nothing is looked for that could be told again.
_WAITING_MAX: Final = 50_000
_HOLD_OFF_S: Final = 1.0  # for what has another receiver by now: the others may not know that yet


@dataclass(frozen=True, slots=True)
class ReportKind(Generic[Item]):
    """One kind of reports: their type, and the message that carries them."""

    item_type: type[Item]
    number_of: Callable[[Item], int]  # modulo the number of slots it is the slot that an item is about
    message: Callable[[int, tuple[Item, ...]], Message]  # of the number of a batch and its items
    items_max: int  # in one batch
    source_of: Callable[[Item], int] | None = None  # the slot whose keepers alone may tell it; None: all may
    again_s: float = 2.0  # first pause before a batch that was not noted goes out again


class SlotReports(Generic[Item]):
    """Batches by receiver; in a table, since each thing is told once."""

    def __init__(self, me: str, actor: str, table: Table, life: int, kind: ReportKind[Item]) -> None:
        """Take up the batches that an earlier life left; nothing is sent before the owners are known.

        Args:
          actor: that is told, at each peer.
          table: nothing else is in it.
          life: of this peer.
        """
        self._me = me
        self._actor = actor
        self._kind = kind
        # The type of the items is known at run time only, so that no checker can name the type of the batch.
        decoder = msgspec.msgpack.Decoder(tuple[kind.item_type, ...])  # type: ignore[name-defined]
        self._delivery: DurableDelivery[tuple[Item, ...]] = DurableDelivery(
            table,
            life,
            replace(_SETTINGS, again_s=kind.again_s),
            msgspec.msgpack.Encoder().encode,
            decoder.decode,
        )
        self._ownership: Ownership | None = None
        self.n_told = 0

    def change_ownership(self, ownership: Ownership, now: float) -> None:
        """Go by new answerers; batches that wait may be for others by now."""
        self._ownership = ownership
        for peer in self._delivery.receivers():
            self._delivery.hasten(peer, now)

    def tell(self, items: Iterable[Item], now: float, *, hold_off_s: float = 0.0) -> None:
        """Have items told; those that nobody answers for go to ourselves, until somebody does."""
        by_peer: dict[str, list[Item]] = defaultdict(list)
        for item in items:
            by_peer[self._receiver_of(item)].append(item)
            self.n_told += 1
        for peer, some in by_peer.items():
            for batch in in_batches(some, _no_size, items_max=self._kind.items_max):
                self._delivery.add(peer, tuple(batch), len(batch), now, hold_off_s=hold_off_s)

    def note_answer(self, peer: str, batch: int, now: float) -> None:
        self._delivery.note_answer(peer, batch, now)

    def clear(self) -> None:
        """Forget all that was not noted so far: it is to be told to nobody any more."""
        self._delivery.clear()

    def wake(self, now: float) -> list[Send]:
        """Send due batches; put items that others answer for into new ones, but none we may not tell."""
        sends: list[Send] = []
        for peer, number, items, has_waited in self._delivery.wake(now):
            if has_waited and not all(
                self._may_tell(item) and self._receiver_of(item) == peer for item in items
            ):
                self._delivery.withdraw(peer, number)
                self.n_told -= len(items)
                self.tell(filter(self._may_tell, items), now, hold_off_s=_HOLD_OFF_S)
            else:
                sends.append(Send(Address(peer, self._actor), self._kind.message(number, items)))
        return sends

    def wake_at(self) -> float:
        return inf if self._ownership is None else self._delivery.wake_at()

    @property
    def waiting_count(self) -> int:
        return self._delivery.weight

    @property
    def is_full(self) -> bool:
        return self._delivery.weight > _WAITING_MAX

    def _may_tell(self, item: Item) -> bool:
        source_of, ownership = self._kind.source_of, self._ownership
        return source_of is None or ownership is None or self._me in ownership.team_of(source_of(item))

    def _receiver_of(self, item: Item) -> str:
        if self._ownership is None:
            return self._me
        slot = self._kind.number_of(item) % self._ownership.table.slot_count
        return self._ownership.answerer_of(slot) or self._me


def _no_size(item: object) -> int:
    """For items that are so small that their number bounds a batch."""
    return 0
