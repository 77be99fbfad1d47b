"""The messages that the membership sends in one turn, in the order in which they were put."""

from __future__ import annotations

from collections.abc import Iterable

from mesh.actors.actor import Address, Message, Send


class TurnOutbox:
    """All sends since they were last taken."""

    def __init__(self, me: str, listeners: tuple[str, ...], followers: Iterable[str] = ()) -> None:
        """Begin with nothing.

        Args:
          listeners: actors of this peer that are told of the mesh; the transport is always there.
          followers: actors and ports of this peer that are told of decrees alone.
        """
        self.n_sent = 0  # count: messages to other members
        self._listeners = tuple(Address(me, name) for name in listeners)
        self._here = {
            name: Address(me, name) for name in ("network", "door", "relay", *listeners, *followers)
        }
        self._sends: list[Send] = []

    def send(self, peer: str, message: Message) -> None:
        """Send to the membership of another member."""
        self.n_sent += 1
        self._sends.append(Send(Address(peer, "membership"), message))

    def answer(self, source: Address, message: Message) -> None:
        """Send to the actor that asked, inside this peer."""
        self._sends.append(Send(source, message))

    def tell(self, actor: str, message: Message) -> None:
        """Tell an actor of this peer, if it is there and wants to know."""
        if actor in self._here:
            self._sends.append(Send(self._here[actor], message))

    def tell_listeners(self, message: Message) -> None:
        self._sends += [Send(listener, message) for listener in self._listeners]

    def take(self) -> list[Send]:
        """Return the messages to send, once."""
        sends, self._sends = self._sends, []
        return sends
