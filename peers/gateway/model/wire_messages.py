"""Messages between gateways about the status of their peers."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from mesh.actors.actor import Message
from mesh.wire_fields import Count


class StatusWanted(Message, frozen=True, array_like=True, tag=50):
    """A gateway to every gateway: how are you?"""

    request: Count


class StatusTold(Message, frozen=True, array_like=True, tag=51):
    """Answer to `StatusWanted`: the encoded `status.PeerStatus`."""

    request: Count
    status: Annotated[bytes, Meta(max_length=65_536)]
