"""An actor that only listens: what the membership of its peer says about who is responsible."""

from __future__ import annotations

from typing import ClassVar

from mesh.actor import Actor, Address, Message, Send
from mesh.ownership import Ownership, OwnershipChanged


class Witness(Actor):
    """Remembers the last ownership."""

    name: ClassVar[str] = "witness"

    def __init__(self) -> None:
        self.ownership: Ownership | None = None

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        if isinstance(message, OwnershipChanged):
            self.ownership = message.ownership
        return []
