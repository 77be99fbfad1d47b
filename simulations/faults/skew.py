"""The messages of a peer of a later version of the protocol.

It appends fields, which peers of this version do not see, and sends messages that they do not know, which
they refuse and count. Source: the rules at the top of `peers.wire_tags`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from mesh.actors.codec import PROTOCOL_VERSION

UNKNOWN_TAG: Final = 1_000_000


def of_tomorrow(frame: bytes) -> bytes:
    """Append a field to the message in a frame."""
    version, source, target, message, *rest = _decode(frame)
    return _encode((version, source, target, [*message, "a field of tomorrow"], *rest))


def unknown_frame(actor: str) -> bytes:
    """A frame with a message that does not exist yet."""
    return _encode((PROTOCOL_VERSION, actor, actor, [UNKNOWN_TAG, 1, "two", [3]]))


_decode = msgspec.msgpack.Decoder().decode
_encode = msgspec.msgpack.Encoder().encode
