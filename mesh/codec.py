"""Messages to bytes and back: MessagePack arrays, typed and validated by msgspec while decoding."""

from __future__ import annotations

import msgspec

from mesh.actor import Message
from mesh.errors import RemoteProtocolError
from mesh.messages import FRAME_BYTES_MAX, PROTOCOL_VERSION, Name, WireMessage


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    """One frame: a message and the actors at both ends of it, on whatever peers."""

    version: int
    source: Name
    target: Name
    message: WireMessage


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Envelope)


def encode(source: str, target: str, message: Message) -> bytes:
    """The frame that carries a wire message from one actor to another."""
    return _encoder.encode((PROTOCOL_VERSION, source, target, message))


def decode(frame: bytes) -> Envelope:
    """Read a frame.

    Raises:
      RemoteProtocolError: too long, not MessagePack, unknown tag, a value out of its limits, or a
        version other than ours.
    """
    if len(frame) > FRAME_BYTES_MAX:
        raise RemoteProtocolError(f"frame of {len(frame)} bytes is over the limit")
    try:
        envelope = _decoder.decode(frame)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RemoteProtocolError(f"undecodable frame of {len(frame)} bytes: {error}") from error
    if envelope.version != PROTOCOL_VERSION:
        raise RemoteProtocolError(f"frame of protocol version {envelope.version}, not {PROTOCOL_VERSION}")
    return envelope
