"""Delivery that outlives a crash of the sender: parcels that lie in a table until they are answered.

In memory there is what is under way, without its content, and two numbers for each receiver: to one that does
not answer for a while there may be millions of parcels. Behind the window a lane is the table itself, in
the order of numbers, and what is read from it is sent at once. See `mesh.actors.delivery` for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final, Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from mesh.actors.delivery import Delivery, DeliverySettings
from mesh.tables.lives import NUMBER_BITS, numbers_of
from mesh.tables.table import Table

Item = TypeVar("Item")

NUMBER_BYTES: Final = 8
WEIGHT_BYTES: Final = 4


class DurableParcel(NamedTuple, Generic[Item]):
    """A numbered item that is sent to one receiver and answered as one."""

    receiver: str
    number: int
    item: Item
    has_waited: bool  # it was not added just now, so the world may be another one since


@dataclass(slots=True)
class _Rest:
    """Parcels for a receiver that are in the table only: all with greater numbers than those in memory."""

    n_parcels: int = 0
    last_loaded: int = 0  # the number up to which parcels are, or were, in memory


class DurableDelivery(Generic[Item]):
    """Parcels by receiver and number, each with a weight that its owner counts in. Items are never None."""

    def __init__(
        self,
        table: Table,
        life: int,
        settings: DeliverySettings,
        encode: Callable[[Item], bytes],
        decode: Callable[[bytes], Item],
    ) -> None:
        """Take up the parcels that an earlier life left in the table: all of them are due at once.

        Args:
          table: nothing else is in it.
          life: greater than in any earlier life of this peer.
          settings: nothing is given up or refused, so these bounds do not count.
        """
        self._table = table
        endless = replace(settings, give_up_s=inf, waiting_max=inf, waiting_bytes_max=inf)
        self._delivery: Delivery[int, int] = Delivery(endless)  # items are weights
        self._rests: dict[str, _Rest] = {}
        self._loadable: dict[str, None] = {}  # those with a rest and perhaps room in the window, in order
        self._encode = encode
        self._decode = decode
        self._fresh: dict[int, Item] = {}  # what was added since the last `wake`, and leaves with the next
        self.n_parcels = 0  # of all that waits
        self.weight = 0
        self._weights: dict[str, int] = {}  # by receiver
        last = 0
        for key, value in table.scan(b""):
            receiver = _receiver_in(key)
            self._rests.setdefault(receiver, _Rest()).n_parcels += 1
            self._loadable[receiver] = None
            self._count(receiver, 1, _weight_in(value))
            last = max(last, _number_in(key))
        self._numbers = numbers_of(life)
        assert last >> NUMBER_BITS < life, "a life that was before"

    def add(self, receiver: str, item: Item, weight: int, now: float, *, hold_off_s: float = 0.0) -> int:
        """Keep a parcel until its receiver has it; return its number. `wake`, due then, sends it.

        Args:
          weight: above 0.
          hold_off_s: it does not leave sooner than so long after now, unless it has to wait for others.
        """
        assert weight > 0
        number = next(self._numbers)
        content = self._encode(item)
        self._table.put(_key(receiver, number), weight.to_bytes(WEIGHT_BYTES, "big") + content)
        self._count(receiver, 1, weight)
        rest = self._rests.get(receiver)
        if rest is not None:
            rest.n_parcels += 1
        elif self._delivery.has_room(receiver, len(content)):
            self._delivery.add(receiver, number, weight, len(content), now, hold_off_s=hold_off_s)
            if not hold_off_s:
                self._fresh[number] = item
        else:
            self._rests[receiver] = _Rest(1, number - 1)
        return number

    def note_answer(self, receiver: str, number: int, now: float) -> bool:
        """Forget a parcel that its receiver has; False when nothing such is under way."""
        weight = self._delivery.note_answer(receiver, number, now)
        if weight is not None:
            self._remove(receiver, number, weight)
        return weight is not None

    def withdraw(self, receiver: str, number: int) -> None:
        """Forget a parcel that `wake` has given out."""
        weight = self._delivery.withdraw(receiver, number)
        assert weight is not None, "it is under way"
        self._remove(receiver, number, weight)

    def clear(self) -> None:
        """Forget all parcels, at once and in the table too; later answers to them count for nothing."""
        for receiver in self._delivery.receivers():
            self._delivery.remove_receiver(receiver)
        for key in [key for key, _ in self._table.scan(b"")]:
            self._table.delete(key)
        for each in (self._rests, self._loadable, self._fresh, self._weights):
            each.clear()
        self.n_parcels = self.weight = 0

    def hasten(self, receiver: str, now: float) -> None:
        """Have parcels under way to a receiver given out again now; those behind follow as room comes."""
        self._delivery.hasten(receiver, now)

    def wake(self, now: float) -> list[DurableParcel[Item]]:
        """Return the parcels to send now."""
        loaded = self._load(now) if self._loadable else {}
        parcels = []
        for receiver, number, _ in self._delivery.wake(now).leaving:
            item = self._fresh.get(number)
            has_waited = item is None
            if item is None:
                content = loaded[number] if number in loaded else self._read(receiver, number)
                item = self._decode(content)
            parcels.append(DurableParcel(receiver, number, item, has_waited))
        self._fresh.clear()
        return parcels

    def wake_at(self) -> float:
        """When to call `wake` next, seconds of the mesh clock."""
        return -inf if self._loadable else self._delivery.wake_at_s

    def receivers(self) -> list[str]:
        """Return the receivers for which parcels wait."""
        return list(dict.fromkeys([*self._delivery.receivers(), *self._rests]))

    def weights(self) -> Mapping[str, int]:
        """Return how much waits for each receiver."""
        return self._weights

    def under_way_since(self, receiver: str) -> float:
        """Return since when the first unanswered parcel to a receiver is under way; inf when none is."""
        return self._delivery.under_way_since(receiver)

    @property
    def n_in_memory(self) -> int:
        """Parcels of which anything is in memory."""
        return len(self._delivery)

    def _load(self, now: float) -> dict[int, bytes]:
        """Move parcels from the table into windows while there is room; return their content by number."""
        loaded: dict[int, bytes] = {}
        for receiver in self._loadable:
            rest = self._rests[receiver]
            after = _key(receiver, rest.last_loaded + 1)
            for key, value in self._table.scan(after, limit=rest.n_parcels):
                number, content = _number_in(key), value[WEIGHT_BYTES:]
                if not self._delivery.has_room(receiver, len(content)):
                    break
                self._delivery.add(receiver, number, _weight_in(value), len(content), now)
                loaded[number] = content
                rest.last_loaded = number
                rest.n_parcels -= 1
            if not rest.n_parcels:
                del self._rests[receiver]
        self._loadable.clear()
        return loaded

    def _read(self, receiver: str, number: int) -> bytes:
        value = self._table.get(_key(receiver, number))
        assert value is not None, "what is under way is in the table"
        return value[WEIGHT_BYTES:]

    def _remove(self, receiver: str, number: int, weight: int) -> None:
        self._fresh.pop(number, None)
        self._table.delete(_key(receiver, number))
        self._count(receiver, -1, -weight)
        if receiver in self._rests:
            self._loadable[receiver] = None

    def _count(self, receiver: str, n_parcels: int, weight: int) -> None:
        self.n_parcels += n_parcels
        self.weight += weight
        of_receiver = self._weights.get(receiver, 0) + weight
        if of_receiver:
            self._weights[receiver] = of_receiver
        else:
            del self._weights[receiver]


def _key(receiver: str, number: int) -> bytes:
    """Parcels of a receiver stand together, in the order of their numbers."""
    name = receiver.encode()
    return bytes((len(name),)) + name + number.to_bytes(NUMBER_BYTES, "big")


def _receiver_in(key: bytes) -> str:
    return key[1:-NUMBER_BYTES].decode()


def _number_in(key: bytes) -> int:
    return int.from_bytes(key[-NUMBER_BYTES:], "big")


def _weight_in(value: bytes) -> int:
    return int.from_bytes(value[:WEIGHT_BYTES], "big")
