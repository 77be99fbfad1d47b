"""Stands for the membership in meshes of members that know each other from the start and never change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from mesh.actors.actor import Actor, Address, Message, Send
from mesh.actors.ownership import OwnershipChanged


class Herald(Actor):
    """Passes an ownership on to all listeners, in one go as the membership does; hears all other messages."""

    name: ClassVar[str] = "membership"

    def __init__(self, me: str, listeners: Iterable[Actor]) -> None:
        self._listeners = [Address(me, actor.name) for actor in listeners]

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        if not isinstance(message, OwnershipChanged):
            return []
        return [Send(listener, message) for listener in self._listeners]
