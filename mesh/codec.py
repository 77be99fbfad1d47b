"""Messages to bytes and back: MessagePack arrays, typed and validated by msgspec while decoding.

Which messages there are is not known here: who decodes says what types it expects. Each of them has a tag of
its own (`class Ping(Message, tag=1)`), and a frame with another tag is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce
from typing import Final, Generic, TypeVar

import msgspec

from mesh.actor import Message
from mesh.errors import RemoteProtocolError
from mesh.wire_fields import Name

PROTOCOL_VERSION: Final = 3

FRAME_BYTES_MAX: Final = 16 << 20  # the largest page with its records and text, and slack

_Messages = TypeVar("_Messages", bound=Message)


class Envelope(msgspec.Struct, Generic[_Messages], frozen=True, array_like=True):
    """One frame: a message and the actors at both ends of it, on whatever peers."""

    version: int
    source: Name
    target: Name
    message: _Messages


_encoder = msgspec.msgpack.Encoder()


def encode(source: str, target: str, message: Message) -> bytes:
    """The frame that carries a wire message from one actor to another."""
    return _encoder.encode((PROTOCOL_VERSION, source, target, message))


class Decoder:
    """Reads frames with messages of given types, and refuses all others."""

    def __init__(self, types: Iterable[type[Message]]) -> None:
        """Prepare for these types, at least one; making a decoder takes longer than a frame does.

        Raises:
          TypeError: two of them have the same tag, or one of several has none.
        """
        self._decoder: msgspec.msgpack.Decoder[Envelope[Message]]
        # The type checker knows no union that is made while the program runs.
        self._decoder = msgspec.msgpack.Decoder(Envelope[reduce(operator.or_, types)])  # type: ignore[misc]

    def decode(self, frame: bytes) -> Envelope[Message]:
        """Read a frame.

        Raises:
          RemoteProtocolError: too long, not MessagePack, unknown tag, a value out of its limits, or a
            version other than ours.
        """
        if len(frame) > FRAME_BYTES_MAX:
            raise RemoteProtocolError(f"frame of {len(frame)} bytes is over the limit")
        try:
            envelope = self._decoder.decode(frame)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise RemoteProtocolError(f"undecodable frame of {len(frame)} bytes: {error}") from error
        if envelope.version != PROTOCOL_VERSION:
            raise RemoteProtocolError(f"frame of protocol version {envelope.version}, not {PROTOCOL_VERSION}")
        return envelope
