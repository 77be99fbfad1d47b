"""A world in which messages cross from peer to peer as they are, for crawls without a count of bytes.

Nothing is encoded, so there is no digest, no message has a size, and nobody notices what could not cross a
wire.
"""

from __future__ import annotations

from mesh.actors.actor import Address, Message
from simulations.world.world import World


class Parcel(bytes):
    """A frame without bytes, which brings the message itself."""

    actor: str
    message: Message


class WirelessWorld(World):
    """Hands over messages as they are, where its base encodes and decodes them."""

    def _pack(self, source: Address, target: Address, message: Message) -> bytes:
        parcel = Parcel()
        parcel.actor, parcel.message = target.actor, message
        return parcel

    def _unpack(self, frame: bytes) -> tuple[str, Message]:
        assert isinstance(frame, Parcel)
        return frame.actor, frame.message

    def _note_local(self, source: Address, target: Address, message: Message) -> None:
        """There is no digest."""

    def _note(self, source: Address, target: Address, content: bytes) -> None:
        """There is no digest."""
