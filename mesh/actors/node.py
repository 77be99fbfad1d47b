"""The actors of one peer and the routing between them. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import NamedTuple

from mesh.actors.actor import EVERYBODY, Actor, Address, Message, Send, Statistics
from mesh.actors.conduct import CONDUCT, Conduct, Misbehaved, Offence
from mesh.errors import LocalProtocolError, RemoteProtocolError


class Outgoing(NamedTuple):
    """A send that the node does not deliver itself: to a port, another peer or everybody.

    A promise leaves the node even to an actor of the same peer: the driver hands it back to
    `Node.receive` once the table has been committed. See `departures` for what else waits for that.
    """

    source: Address
    target: Address
    message: Message


class Node:
    """Delivers messages among the actors of one peer, first in first out.

    Both drivers use it alike: they hand in a message or the time and carry out what comes back.
    """

    def __init__(self, peer: str, actors: Iterable[Actor], conduct: Conduct | None = None) -> None:
        """Args: conduct: of the other members; without any charges unless it is given."""
        self.peer = peer
        self.conduct = conduct or Conduct()
        self._actors = {actor.name: actor for actor in actors}
        self._addresses = {name: Address(peer, name) for name in self._actors}
        # What each actor last answered, and which have done something since: only those are asked again.
        self._wake_times = {
            name: inf if actor.is_dormant else actor.wake_at() for name, actor in self._actors.items()
        }
        self._stirred: set[str] = set()
        self._depart: Callable[[Outgoing], None] | None = None
        self._committing = [
            name
            for name, actor in self._actors.items()
            if type(actor).before_commit is not Actor.before_commit
        ]
        self._announcing = {
            name: actor for name, actor in self._actors.items() if type(actor).has_news is not Actor.has_news
        }
        # Has any actor something for others that is to leave with a commit? As of the last `wake_at`.
        self.has_news = False

    def send_at_once(self, depart: Callable[[Outgoing], None]) -> None:
        """Hand messages for other peers to `depart` when they are sent, instead of returning them.

        So others work on a question that is put to all while the actors of this peer do, not after them.
        """
        self._depart = depart

    def has_actor(self, name: str) -> bool:
        return name in self._actors

    def receive_remote(self, source: Address, actor: str, message: Message, now: float) -> list[Outgoing]:
        """Hand in a message of another peer's actor, unless a quota or a quarantine forbids that.

        Raises:
          RemoteProtocolError: no such actor takes that from others, or it does not believe it.
        """
        try:
            ours = self._actors.get(actor)
            if ours is None or type(message) not in ours.remote_messages:
                raise RemoteProtocolError(f"{actor} takes no {type(message).__name__} from other peers")
            if not self.conduct.admits(source.peer, message, now):
                return []
            return self.receive(source, actor, message, now)
        except RemoteProtocolError:
            self.conduct.note(source.peer, Offence.ODD_MESSAGES, now)
            raise

    def receive(self, source: Address, actor: str, message: Message, now: float) -> list[Outgoing]:
        """Hand a message to one actor, deliver its sends that stay here, return those that leave."""
        self._stirred.add(actor)
        sends = self._actors[actor].receive(source, message, now)
        return self._deliver(self._addresses[actor], sends, now) if sends else []

    def wake(self, now: float) -> list[Outgoing]:
        """Wake every actor that is due at `now`."""
        leaving: list[Outgoing] = []
        wake_times = self._wake_times
        for name, actor in self._actors.items():
            if self._stirred:
                self._ask_stirred()
            if wake_times[name] <= now:
                self._stirred.add(name)
                sends = actor.wake(now)
                if sends:
                    leaving += self._deliver(self._addresses[name], sends, now)
        return leaving

    def due(self, now: float) -> list[str]:
        """Names of the actors that `wake` would wake."""
        if self._stirred:
            self._ask_stirred()
        return [name for name, at in self._wake_times.items() if at <= now]

    def wake_at(self) -> float:
        """The earliest time any actor has something to do, in seconds of the mesh clock."""
        if self._stirred:
            self._ask_stirred()
        return min(self._wake_times.values())

    def before_commit(self, now: float) -> list[Outgoing]:
        """Have the actors write the values that go with their changes; to be called before the commit.

        Returns:
          What leaves with it.
        """
        leaving: list[Outgoing] = []
        for name in self._committing:
            actor = self._actors[name]
            if actor.is_dormant:
                continue
            if name in self._announcing and actor.has_news:
                self._stirred.add(name)
            sends = actor.before_commit(now)
            if sends:
                self._stirred.add(name)
                leaving += self._deliver(self._addresses[name], sends, now)
        self.has_news = False
        return leaving

    def actor(self, name: str) -> Actor:
        """Return one of the actors, for callers that need more than its statistics."""
        return self._actors[name]

    def observe(self) -> dict[str, Statistics]:
        """Return the statistics of each actor, by actor name."""
        return {name: actor.observe() for name, actor in self._actors.items()} | {
            CONDUCT: self.conduct.observe()
        }

    def _ask_stirred(self) -> None:
        actors, wake_times, announcing = self._actors, self._wake_times, self._announcing
        for name in self._stirred:
            if actors[name].is_dormant:
                continue
            wake_times[name] = actors[name].wake_at()
            if name in announcing and not self.has_news:
                self.has_news = announcing[name].has_news
        self._stirred.clear()

    def _deliver(self, source: Address, sends: list[Send], now: float) -> list[Outgoing]:
        leaving: list[Outgoing] = []
        depart = self._depart or leaving.append
        queue = [(source, sends)]
        for source, sends in queue:  # which grows meanwhile
            for target, message in sends:
                peer, name = target
                if type(message) is Misbehaved:
                    self.conduct.note(message.peer, message.offence, now, evidence=message.evidence)
                    continue
                actor = self._actors.get(name)
                is_for_others = peer != self.peer
                may_wait = is_for_others and message.waits_for_company
                if message.is_promise or may_wait or (actor is None and not is_for_others):
                    leaving.append(Outgoing(source, target, message))
                    continue
                if is_for_others:
                    depart(Outgoing(source, target, message))
                    if actor is None or peer != EVERYBODY:
                        continue
                assert actor is not None
                self._stirred.add(name)
                try:
                    answers = actor.receive(source, message, now)
                except RemoteProtocolError as error:
                    raise LocalProtocolError(f"{name} does not believe what {source.actor} says") from error
                if answers:
                    queue.append((self._addresses[name], answers))
        return leaving
