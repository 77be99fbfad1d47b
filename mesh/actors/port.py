"""The contract of a port: the code of a driver that may block, addressed like an actor."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeAlias

from mesh.actors.actor import Address, Message

# deliver(source, actor, message): hand a message to an actor of this peer, at once.
Deliver: TypeAlias = Callable[[Address, str, Message], None]


class DiskFilled(Message, frozen=True):
    """A port, or the runtime, to controller: no space is left, so that fetching stops while search goes on.

    To cell as well from a port that cannot write. Repeated while it is so.
    """

    detail: str


class SpaceFound(Message, frozen=True):
    """A port to cell: writes that lacked space are done, though nothing of cell may have waited for them."""


class Port(Protocol):
    """The world behind a name: the network, a disk, threads, a server."""

    name: ClassVar[str]

    def receive(self, source: Address, message: Message) -> None:
        """Take an order; called on the event loop's thread, so it only notes the work to be done."""

    async def run(self, deliver: Deliver) -> None:
        """Carry out orders and deliver answers until cancelled; then finish the work that was begun."""
