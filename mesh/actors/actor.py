"""The contract of an actor, and the one thing it can do to the world: send.

An actor is a state machine with a name. Messages and the time come in as arguments; what it
wants done comes back as a list of sends. It never awaits and never reads a clock, a socket, a
file or global randomness, so the very same object runs live (`mesh.process.runtime`) and in a simulation
(`simulations.world.world`). A *port* is addressed like an actor but belongs to the driver: it is the
code that may block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import ClassVar, Final, NamedTuple

import msgspec

EVERYBODY: Final = "*"  # the peer of an address that means all peers, this one included


class Message(msgspec.Struct, frozen=True, array_like=True):
    """A value on its way between actors. Those that cross the wire have a tag, each one its own."""

    # A promise says that something is durable. The driver holds it back until what the actors
    # wrote to the table before sending it has been committed.
    is_promise: ClassVar[bool] = False
    # On its way to another peer it leaves with a commit, in one envelope with all else that is for that peer
    # then (`mesh.actors.departures`). For what has to get to one place, however late: what is asked for by
    # somebody that waits leaves at once.
    waits_for_company: ClassVar[bool] = False
    # Of what waits: for so long it leaves only with what else is for that peer.
    patience_s: ClassVar[float] = 0.0


class Address(NamedTuple):
    """Where an actor or a port lives."""

    peer: str  # a peer id, or EVERYBODY
    actor: str


class Send(NamedTuple):
    """A message on its way, to an actor of this peer, of another, or of every peer."""

    target: Address
    message: Message


class Statistics(msgspec.Struct, frozen=True):
    """The figures that an actor shows of itself: plain counters and gauges."""


class Actor(ABC):
    """A state machine addressed by messages.

    Every handler may see a message twice, late or never: it must be idempotent, and what has to
    happen is retried from `wake`.
    """

    name: ClassVar[str]
    # What it takes from actors of other peers. All else is refused before it gets here, so that a peer
    # that sends the wrong thing is told from a bug of ours.
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset()
    # It has nothing to do before some message ends that for good: it only takes messages until then.
    is_dormant: bool = False

    @abstractmethod
    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        """React to a message; `now` is in seconds of the mesh clock, which never goes back.

        Raises:
          RemoteProtocolError: another peer sent it, and what it says cannot be; nothing has changed.
          LocalProtocolError: it should not have come here, which is a bug of ours and ends the process.
        """

    def wake(self, now: float) -> list[Send]:
        """React to the passing of time; called once `now` has reached `wake_at()`."""
        return []

    def wake_at(self) -> float:
        """The next time this actor has something to do; inf when only messages can tell.

        It changes only in `receive` and `wake`: a node asks after these and remembers the answer.
        """
        return inf

    @property
    def has_news(self) -> bool:
        """Is there anything to be sent by `before_commit`, though perhaps no row has changed?"""
        return False

    def before_commit(self, now: float) -> list[Send]:
        """Write to the table, once a commit, the values that most changes move, such as counters.

        Returns:
          What others hear of all that has changed since the last commit; it leaves with this one.
        """
        return []

    def observe(self) -> Statistics:
        """Counters and gauges for tests, status pages and simulations."""
        return Statistics()
