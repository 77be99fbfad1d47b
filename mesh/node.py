"""The actors of one peer and the routing between them. No I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from mesh.actor import EVERYBODY, Actor, Address, Message, Send, Statistics


class Outgoing(NamedTuple):
    """A send that the node does not deliver itself: to a port, another peer or everybody.

    A promise leaves the node even to an actor of the same peer: the driver hands it back to
    `Node.receive` once the table has been committed.
    """

    source: Address
    target: Address
    message: Message


class Node:
    """Delivers messages among the actors of one peer, first in first out.

    Both drivers use it alike: they hand in a message or the time and carry out what comes back.
    """

    def __init__(self, peer: str, actors: Iterable[Actor]) -> None:
        self.peer = peer
        self._actors = {actor.name: actor for actor in actors}
        self._addresses = {name: Address(peer, name) for name in self._actors}
        # What each actor last answered, so that not all are asked after every message.
        self._wake_times = {name: actor.wake_at() for name, actor in self._actors.items()}

    def has_actor(self, name: str) -> bool:
        return name in self._actors

    def receive(self, source: Address, actor: str, message: Message, now: float) -> list[Outgoing]:
        """Hand a message to one actor, deliver what stays here, return what leaves."""
        sends = self._hand(actor, source, message, now)
        return self._deliver(self._addresses[actor], sends, now) if sends else []

    def wake(self, now: float) -> list[Outgoing]:
        """Wake every actor that is due at `now`."""
        leaving: list[Outgoing] = []
        for name, actor in self._actors.items():
            if self._wake_times[name] <= now:
                sends = actor.wake(now)
                self._wake_times[name] = actor.wake_at()
                leaving += self._deliver(self._addresses[name], sends, now)
        return leaving

    def wake_at(self) -> float:
        """The earliest time any actor has something to do, in seconds of the mesh clock."""
        return min(self._wake_times.values())

    def observe(self) -> dict[str, Statistics]:
        """What each actor lets be seen, by actor name."""
        return {name: actor.observe() for name, actor in self._actors.items()}

    def _deliver(self, source: Address, sends: list[Send], now: float) -> list[Outgoing]:
        leaving: list[Outgoing] = []
        queue = deque((source, send) for send in sends)
        while queue:
            source, (target, message) = queue.popleft()
            actor = self._actors.get(target.actor)
            if target.peer != self.peer or actor is None or message.is_promise:
                leaving.append(Outgoing(source, target, message))
            if actor is None or message.is_promise or target.peer not in (self.peer, EVERYBODY):
                continue
            here = self._addresses[target.actor]
            sends = self._hand(target.actor, source, message, now)
            if sends:
                queue.extend([(here, send) for send in sends])
        return leaving

    def _hand(self, name: str, source: Address, message: Message, now: float) -> list[Send]:
        actor = self._actors[name]
        sends = actor.receive(source, message, now)
        self._wake_times[name] = actor.wake_at()
        return sends
