"""The answers that the living members of a team have still to give, message by message.

A `mesh.actors.delivery` repeats each to each member; here is held together who lacks the same one. Says to
whom what is to be sent, sends nothing. Nothing of it is in a table: who does not answer is left to the
comparison of slots. The key of a message says what it is about, so an answer is right whatever life it was
meant for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Generic, NamedTuple, TypeVar

from mesh.actors.actor import Message
from mesh.actors.delivery import Delivery, DeliverySettings

Key = TypeVar("Key", bound=Hashable)
Order = TypeVar("Order", bound=Message)


class Silence(NamedTuple, Generic[Key]):
    """A member does not answer for something, or has too much before it."""

    key: Key
    slot: int
    peer: str


@dataclass(slots=True)
class _Replication(Generic[Order]):
    """One message and the members that have still to answer it."""

    message: Order
    slot: int
    missing: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)


class Replications(Generic[Key, Order]):
    """Messages by key that are repeated until the members of their team have answered."""

    def __init__(self, settings: DeliverySettings, size_of: Callable[[Order], int]) -> None:
        """Begin with nothing under way.

        Args:
          size_of: about how many bytes a message takes.
        """
        self._delivery: Delivery[Key, Order] = Delivery(settings)
        self._size_of = size_of
        self._under_way: dict[Key, _Replication[Order]] = {}
        self._refused: list[Silence[Key]] = []  # since the last `wake`

    def __len__(self) -> int:
        return len(self._under_way)

    def wake_at(self) -> float:
        return -inf if self._refused else self._delivery.wake_at_s

    def is_waiting(self, key: Key) -> bool:
        return key in self._under_way

    def begin(self, key: Key, slot: int, message: Order, members: Iterable[str], now: float) -> None:
        """Note a message, in place of the one before of that key; `wake`, due then, names its receivers."""
        self.drop(key)
        members = list(members)
        replication = self._under_way[key] = _Replication(message, slot, asked=set(members))
        self._ask(key, replication, members, now)

    def note_answer(self, key: Key, peer: str, now: float) -> bool:
        """Strike a member out; return whether that was the last one."""
        replication = self._under_way.get(key)
        if replication is None or self._delivery.note_answer(peer, key, now) is None:
            return False
        replication.missing.remove(peer)
        return self._end_if_done(key, replication)

    def drop(self, key: Key) -> None:
        replication = self._under_way.pop(key, None)
        if replication is not None:
            self._withdraw(key, replication.missing)

    def change_members(self, key: Key, slot: int, message: Order, members: Sequence[str], now: float) -> None:
        """Wait for these members, and for no others.

        Who was away is asked again, and so is everybody when nobody was waited for any more.
        """
        replication = self._under_way.get(key)
        if replication is None:
            self.begin(key, slot, message, members, now)
            return
        gone = replication.missing - set(members)
        replication.missing -= gone
        self._withdraw(key, gone)
        new = [peer for peer in members if peer not in replication.asked]
        replication.asked = set(members)
        self._ask(key, replication, new, now)

    def ask_again(self, key: Key, slot: int, message: Order, members: Iterable[str], now: float) -> None:
        """Wait also for members that have answered, or were given up, before."""
        replication = self._under_way.get(key)
        if replication is None:
            self.begin(key, slot, message, members, now)
        else:
            self._ask(key, replication, [peer for peer in members if peer not in replication.missing], now)

    def wake(self, now: float) -> tuple[list[tuple[str, Order]], list[Silence[Key]]]:
        """Return by receiver the messages to send, for the first time or again, and those given up."""
        leaving, given_up = self._delivery.wake(now)
        silent, self._refused = self._refused, []
        for peer, key, _ in given_up:
            replication = self._under_way[key]
            replication.missing.remove(peer)
            silent.append(Silence(key, replication.slot, peer))
            self._end_if_done(key, replication)
        return [(peer, message) for peer, _, message in leaving], silent

    def _ask(self, key: Key, replication: _Replication[Order], members: list[str], now: float) -> None:
        n_bytes = self._size_of(replication.message) if members else 0
        for peer in members:
            if self._delivery.add(peer, key, replication.message, n_bytes, now):
                replication.missing.add(peer)
            else:
                self._refused.append(Silence(key, replication.slot, peer))
        self._end_if_done(key, replication)

    def _withdraw(self, key: Key, peers: Iterable[str]) -> None:
        for peer in sorted(peers):
            self._delivery.withdraw(peer, key)

    def _end_if_done(self, key: Key, replication: _Replication[Order]) -> bool:
        if replication.missing:
            return False
        del self._under_way[key]
        return True
