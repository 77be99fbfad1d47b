"""The contract of a port: the code of a driver that may block, addressed like an actor."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, Protocol, TypeAlias

from mesh.actors.actor import Address, Message

# deliver(source, actor, message): hand a message to an actor of this peer, at once.
Deliver: TypeAlias = Callable[[Address, str, Message], None]


BACKGROUND: Final = "background"  # the port of `CarryOut`


class DiskFilled(Message, frozen=True):
    """A port, or the runtime, to controller: no space is left, so that fetching stops while search goes on.

    To cell as well from a port that cannot write. Repeated while it is so.
    """

    detail: str


class SpaceFound(Message, frozen=True):
    """A port to cell: writes that lacked space are done, though nothing of cell may have waited for them."""


class CarryOut(Message, frozen=True):
    """An actor to port `background`: work that would hold others up. Answered by `CarriedOut`.

    What an actor gives away with it, it leaves alone until it has the answer.
    """

    ticket: int
    work: Callable[[], object]


class CarriedOut(Message, frozen=True):
    """Port `background`, when work is done."""

    ticket: int
    result: object  # of the work


class Port(Protocol):
    """The world behind a name: the network, a disk, threads, a server."""

    name: ClassVar[str]

    def receive(self, source: Address, message: Message) -> None:
        """Take an order; called on the event loop's thread, so it only notes the work to be done."""

    async def run(self, deliver: Deliver) -> None:
        """Carry out orders and deliver answers until cancelled; then finish the work that was begun."""
